#include "buoy/run/audit_table.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "buoy/base/at.h"
#include "buoy/base/error.h"

namespace buoy {
namespace {

// As many other questions as a question's null is taken from.
constexpr std::size_t kOthers = 5;
constexpr std::size_t kFewestPairs = 4;

constexpr AuditPredictor kPredictors[] = {
    {"exposure", "attention on stale keys times their change", [](const AuditStep& s) { return s.exposure; }},
    {"mass", "attention on stale keys", [](const AuditStep& s) { return s.stale_mass; }},
    {"change", "mean change of stale keys and values", [](const AuditStep& s) { return s.change; }},
    {"share", "share of keys that are stale", [](const AuditStep& s) { return s.stale_share; }},
    {"age", "passes since the oldest row was computed",
     [](const AuditStep& s) { return static_cast<double>(s.age); }},
};

// Ranks from 1, ties at their mean.
std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first + 1;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    const double mean = static_cast<double>(first + end + 1) / 2;
    for (std::size_t i = first; i < end; ++i) ranks[order[i]] = mean;
    first = end;
  }
  return ranks;
}

// KL of the passes of one question with a predictor of another, or the same, at the same passes. Passes
// without a stale key say nothing.
std::optional<double> correlate(const CacheAudit& kl, const CacheAudit& predicting,
                                const AuditPredictor& predictor) {
  std::vector<double> x, y;
  for (std::size_t s = 0; s < std::min(kl.steps.size(), predicting.steps.size()); ++s) {
    if (kl.steps[s].stale_share == 0 || predicting.steps[s].stale_share == 0) continue;
    x.push_back(predictor.value(predicting.steps[s]));
    y.push_back(kl.steps[s].kl);
  }
  return rank_correlation(x, y);
}

// ρ of one question, beside the mean ρ with other questions' predictors.
void add_correlations(std::span<const AuditedQuestion> questions, std::size_t q, std::size_t cache,
                      Measurements& numbers) {
  for (const AuditPredictor& predictor : kPredictors) {
    const CacheAudit& own = questions[q].audit.caches[cache];
    const std::optional<double> rho = correlate(own, own, predictor);
    if (!rho) continue;
    double sum = 0;
    Index others = 0;
    for (std::size_t k = 1; k < questions.size() && k <= kOthers; ++k) {
      const AuditedQuestion& other = questions[(q + k) % questions.size()];
      const std::optional<double> null = correlate(own, other.audit.caches[cache], predictor);
      if (!null) continue;
      sum += *null;
      ++others;
    }
    Measurement m{.quantity = "rho", .part = predictor.name, .value = *rho};
    if (others > 0) m.null = sum / static_cast<double>(others);
    numbers.push_back(m);
    if (others > 0) {
      numbers.push_back({.quantity = "rho_beyond", .part = predictor.name, .value = *rho - *m.null});
    }
  }
}

}  // namespace

std::span<const AuditPredictor> audit_predictors() {
  return kPredictors;
}

std::optional<double> rank_correlation(std::span<const double> x, std::span<const double> y) {
  check(x.size() == y.size(), "pairs have two sides");
  if (x.size() < kFewestPairs) return std::nullopt;
  const std::vector<double> a = ranks_of(x), b = ranks_of(y);
  const double mean = static_cast<double>(x.size() + 1) / 2;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean) * (b[i] - mean);
    aa += (a[i] - mean) * (a[i] - mean);
    bb += (b[i] - mean) * (b[i] - mean);
  }
  if (aa == 0 || bb == 0) return std::nullopt;
  return ab / std::sqrt(aa * bb);
}

AuditResult make_audit_result(std::string model, std::vector<std::string> caches,
                              std::vector<AuditedQuestion> questions) {
  AuditResult result{
      .model = std::move(model), .caches = std::move(caches), .table = {}, .questions = {}, .summaries = {}};
  for (std::size_t q = 0; q < questions.size(); ++q) {
    const AuditedQuestion& one = questions[q];
    const auto key = [&](std::string_view run) {
      return SampleKey{.model = std::string(run),
                       .data = one.data,
                       .task = "",
                       .sample = one.sample,
                       .question = one.data + "\n" + one.sample};
    };
    result.table.add(key(kExactRun), one.audit.exact);
    check(one.audit.caches.size() == result.caches.size(), "every question has every cache");
    for (std::size_t c = 0; c < result.caches.size(); ++c) {
      Measurements numbers = one.audit.caches[c].numbers;
      add_correlations(questions, q, c, numbers);
      result.table.add(key(result.caches[c]), numbers);
    }
  }
  result.questions = std::move(questions);
  result.summaries.emplace(kExactRun, AuditSummaries(result.table, std::string(kExactRun)));
  for (const std::string& cache : result.caches) {
    result.summaries.emplace(cache, AuditSummaries(result.table, cache));
  }
  return result;
}

AuditSummaries::AuditSummaries(const SampleTable& table, const std::string& run)
    : all_(table.summaries({.model = run, .data = {}, .task = {}})) {
  if (run == kExactRun) return;
  const Pairing pairing{.a = run, .b = std::string(kExactRun), .data = {}, .task = {}};
  for (Summary& s : paired_differences(table, pairing)) {
    if (s.quantity != "em" && s.quantity != "f1") continue;
    s.quantity += "_change";
    changes_.push_back(s);
    all_.push_back(std::move(s));
  }
}

const Summary* AuditSummaries::find(std::string_view quantity, std::string_view part, Index layer) const {
  const auto found = std::ranges::find_if(
      all_, [&](const Summary& s) { return s.quantity == quantity && s.part == part && s.layer == layer; });
  return found == all_.end() ? nullptr : &*found;
}

std::optional<Summary> AuditSummaries::change_of(std::string_view score) const {
  const auto found = std::ranges::find(changes_, fmt::format("{}_change", score), &Summary::quantity);
  return found == changes_.end() ? std::nullopt : std::optional(*found);
}

}  // namespace buoy
