// A question's audit as JSON and back, for runs that are broken off.
#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/run/cache_audit.h"

namespace buoy {
namespace {

Json numbers_json(const Measurements& numbers) {
  Json json = Json::array();
  for (const Measurement& m : numbers) json.push_back({m.quantity, m.layer, m.part, m.value, m.weight});
  return json;
}

Measurements numbers_from(const Json& json) {
  Measurements numbers;
  for (const Json& m : json) {
    numbers.push_back({.quantity = m.at(0).get<std::string>(),
                       .layer = m.at(1).get<Index>(),
                       .part = m.at(2).get<std::string>(),
                       .value = m.at(3).get<double>(),
                       .weight = m.at(4).get<double>()});
  }
  return numbers;
}

Json step_json(const AuditStep& s) {
  return {s.step,  s.pass,        s.age,        s.rows,        s.read,   s.kl,
          s.agree, s.stale_share, s.stale_mass, s.cached_mass, s.change, s.exposure};
}

AuditStep step_from(const Json& json) {
  const auto count = [&](std::size_t i) { return json.at(i).get<Index>(); };
  const auto real = [&](std::size_t i) { return json.at(i).get<double>(); };
  return {.step = count(0),
          .pass = count(1),
          .age = count(2),
          .rows = count(3),
          .read = count(4),
          .kl = real(5),
          .agree = real(6),
          .stale_share = real(7),
          .stale_mass = real(8),
          .cached_mass = real(9),
          .change = real(10),
          .exposure = real(11)};
}

}  // namespace

Json to_json(const QuestionAudit& audit) {
  Json json = {{"exact", numbers_json(audit.exact)}, {"caches", Json::array()}};
  for (const CacheAudit& c : audit.caches) {
    Json steps = Json::array();
    for (const AuditStep& s : c.steps) steps.push_back(step_json(s));
    json["caches"].push_back({{"cache", c.cache}, {"numbers", numbers_json(c.numbers)}, {"steps", steps}});
  }
  return json;
}

QuestionAudit question_audit_from_json(const Json& json, std::string_view place) {
  try {
    QuestionAudit audit{.exact = numbers_from(json.at("exact")), .caches = {}};
    for (const Json& c : json.at("caches")) {
      CacheAudit made{.cache = c.at("cache").get<std::string>(), .numbers = numbers_from(c.at("numbers"))};
      for (const Json& s : c.at("steps")) made.steps.push_back(step_from(s));
      audit.caches.push_back(std::move(made));
    }
    return audit;
  } catch (const Json::exception&) {  // a field that is missing or of another kind
    fail("{}: holds a line that is no audit of a question", place);
  }
}

}  // namespace buoy
