// An audit's numbers as CSV, JSON and text.
#include <algorithm>

#include <fmt/format.h>

#include "buoy/analysis/table_csv.h"
#include "buoy/io/json.h"
#include "buoy/run/audit_table.h"

namespace buoy {
namespace {

std::string audit_number(std::optional<double> value) {
  return value ? fmt::format("{:.9g}", *value) : "";
}

std::vector<std::string> runs_of(const AuditResult& result) {
  std::vector<std::string> runs = {std::string(kExactRun)};
  runs.insert(runs.end(), result.caches.begin(), result.caches.end());
  return runs;
}

// The numbers that a reader wants first.
constexpr struct {
  const char *quantity, *heading;
  double factor;
  int digits;
} kAuditColumns[] = {{"speed", "speed", 1, 2},
                     {"rows_share", "rows %", 100, 1},
                     {"equal_tokens", "equal %", 100, 1},
                     {"same_answer", "same answer %", 100, 1},
                     {"first_difference", "first differs at", 1, 1},
                     {"kl", "KL (nats)", 1, 4},
                     {"em", "EM %", 100, 1},
                     {"em_change", "EM change", 100, 1},
                     {"stale_mass", "stale mass %", 100, 1}};

std::string cell_of(const Summary* s, double factor, int digits) {
  if (s == nullptr) return "–";
  if (!s->lo || !s->hi) return fmt::format("{:.{}f}", s->mean * factor, digits);
  return fmt::format("{:.{}f} [{:.{}f}, {:.{}f}]", s->mean * factor, digits, *s->lo * factor, digits,
                     *s->hi * factor, digits);
}

// How many columns a terminal gives to a cell: its code points.
std::size_t width_of(const std::string& text) {
  std::size_t width = 0;
  for (const char c : text) width += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return width;
}

}  // namespace

std::string audit_csv(const AuditResult& result) {
  std::string csv = "cache,quantity,layer,part,n,questions,mean,std,lo,hi,null\n";
  for (const std::string& run : runs_of(result)) {
    for (const Summary& s : result.summaries.at(run).all()) {
      csv += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", csv_field(run), s.quantity,
                         s.layer < 0 ? "" : fmt::to_string(s.layer), csv_field(s.part), s.n, s.questions,
                         audit_number(s.mean), audit_number(s.std), audit_number(s.lo), audit_number(s.hi),
                         audit_number(s.null));
    }
  }
  return csv;
}

std::string audit_steps_csv(const AuditResult& result) {
  std::string csv =
      "data,sample,cache,step,pass,age,rows,read,kl,agree,stale_share,stale_mass,cached_mass,change,"
      "exposure\n";
  for (const AuditedQuestion& q : result.questions) {
    for (const CacheAudit& c : q.audit.caches) {
      for (const AuditStep& s : c.steps) {
        csv += fmt::format("{},{},{},{},{},{},{},{},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g}\n",
                           csv_field(q.data), csv_field(q.sample), csv_field(c.cache), s.step, s.pass, s.age,
                           s.rows, s.read, s.kl, s.agree, s.stale_share, s.stale_mass, s.cached_mass,
                           s.change, s.exposure);
      }
    }
  }
  return csv;
}

Json audit_json(const AuditResult& result) {
  Json json = {{"model", result.model}, {"questions", result.questions.size()}, {"caches", Json::array()}};
  const auto number = [](const Summary& s) {
    Json one = {{"mean", s.mean}, {"n", s.n}};
    if (s.lo && s.hi) one["interval"] = {*s.lo, *s.hi};
    if (s.null) one["null"] = *s.null;
    return one;
  };
  for (const std::string& cache : result.caches) {
    const AuditSummaries& summaries = result.summaries.at(cache);
    Json row = {{"cache", cache}, {"approximate", cache != name_of(CacheKind::kNone)}};
    for (const Summary& s : summaries.all()) {
      if (s.layer >= 0 || s.quantity.ends_with("_step")) continue;
      (s.part.empty() ? row[s.quantity] : row[s.quantity][s.part]) = number(s);
    }
    json["caches"].push_back(std::move(row));
  }
  return json;
}

std::string audit_text(const AuditResult& result) {
  std::vector<std::vector<std::string>> rows = {{"cache"}};
  for (const auto& c : kAuditColumns) rows[0].emplace_back(c.heading);
  for (const std::string& run : runs_of(result)) {
    const AuditSummaries& summaries = result.summaries.at(run);
    rows.push_back({run});
    for (const auto& c : kAuditColumns) {
      rows.back().push_back(cell_of(summaries.find(c.quantity), c.factor, c.digits));
    }
  }
  std::vector<std::size_t> widths(rows[0].size(), 0);
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - width_of(row[i]), ' ');
      text += i == 0 ? row[i] + space : "  " + space + row[i];
    }
    text += '\n';
  }
  return text;
}

}  // namespace buoy
