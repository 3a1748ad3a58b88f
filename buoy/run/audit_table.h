// What approximate caches come to over questions: numbers with intervals, and how the divergence goes with
// what attention does.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/analysis/sample_table.h"
#include "buoy/run/cache_audit.h"

namespace buoy {

// The exact run's name beside the caches'.
inline constexpr std::string_view kExactRun = "exact";

struct AuditedQuestion {
  std::string data, sample;
  QuestionAudit audit;
};

// What the divergence of a pass may go with.
struct AuditPredictor {
  const char *name, *about;
  double (*value)(const AuditStep&);
};
std::span<const AuditPredictor> audit_predictors();

// Every number of one cache, or of the exact run, over questions.
class AuditSummaries {
 public:
  AuditSummaries(const SampleTable& table, const std::string& run);

  // nullptr where there is none.
  const Summary* find(std::string_view quantity, std::string_view part = "", Index layer = -1) const;
  std::span<const Summary> all() const { return all_; }

  // A score less the exact run's, question by question; nothing without gold answers.
  std::optional<Summary> change_of(std::string_view score) const;

 private:
  std::vector<Summary> all_, changes_;
};

struct AuditResult {
  std::string model;
  std::vector<std::string> caches;  // as given
  // SampleKey::model is the cache, or kExactRun. Beside what a question's audit holds: "rho" and
  // "rho_beyond", part a predictor (Spearman's ρ over the passes of a question between KL and the predictor,
  // null the mean ρ with the predictor of other questions at the same passes; their difference).
  SampleTable table;
  std::vector<AuditedQuestion> questions;
  std::map<std::string, AuditSummaries> summaries;  // by cache, and of kExactRun
};

// Questions in any order. Throws Error when a question comes twice.
AuditResult make_audit_result(std::string model, std::vector<std::string> caches,
                              std::vector<AuditedQuestion> questions);

// Spearman's rank correlation, ties at their mean rank; nothing for fewer than 4 pairs or where one side is
// constant.
std::optional<double> rank_correlation(std::span<const double> x, std::span<const double> y);

// cache,quantity,layer,part,n,questions,mean,std,lo,hi,null: all numbers of all caches and of the exact run;
// em_change and f1_change among them.
std::string audit_csv(const AuditResult& result);
// data,sample,cache,step,pass,age,rows,read,kl,agree,stale_share,stale_mass,cached_mass,change,exposure.
std::string audit_steps_csv(const AuditResult& result);
// The table that is printed, as JSON: one object for each cache.
Json audit_json(const AuditResult& result);
// A table for a terminal.
std::string audit_text(const AuditResult& result);

}  // namespace buoy
