// What stress does to answers: curves with intervals, slopes, paired losses, and how robust a model is.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "buoy/analysis/sample_table.h"
#include "buoy/run/eval_table.h"
#include "buoy/stress/stress.h"

namespace buoy {

// In the order of kScoreNames: em, substring, f1; in percent or points of percent.
using ScoreSummaries = std::array<Summary, 3>;

struct StressPoint {
  StressLevel level;
  ScoreSummaries scores;
  std::optional<ScoreSummaries> losses;  // baseline − this level, paired by item; absent at the baseline
  std::optional<Summary> stale;          // of collection=changed and collection=deleted: see stress_samples()
};

// One stressor, one model, one dataset.
struct StressCurve {
  const Stressor* stressor = nullptr;
  std::string model, data;
  std::vector<StressPoint> points;       // that have results, in the order of levels
  std::optional<ScoreSummaries> slopes;  // of numeric stressors: points per unit of stress; below 0: lost
  Index baseline = -1;  // place in `points` of the stressor's first level; -1: it has no results
  Index worst = -1;     // place in `points` of the lowest mean em besides the baseline; -1: there is none
};

// One model against another on the items that both have: a − b of every quantity of stress_samples().
struct StressDifference {
  std::string a, b, data;
  std::vector<Summary> summaries;
};

// A model under an intervention against itself, or against itself under the intervention's control, on the
// items that both have: with − without of every quantity of stress_samples(). Of em_loss it is what stress
// costs more.
struct IntervenedStress {
  std::string model, intervention;
  std::string against;  // the control; empty: the model untouched
  std::string data;
  std::vector<Summary> summaries;
};

struct StressResult {
  SampleTable samples;
  std::vector<StressCurve> curves;            // by stressor, data, model, in the orders given
  std::vector<StressDifference> differences;  // the first model against each other one, by data
  std::vector<IntervenedStress> intervened;   // by data, in the order given
};

// A dataset as it was before any stress.
struct StressData {
  std::string name;
  std::span<const QaItem> items;
};

// An intervention that a model went through, whose results stand under intervened_name().
struct StressIntervention {
  std::string model, intervention;
  std::string control;  // another of the list; empty: it has none
};
std::string intervened_name(const std::string& model,
                            const std::string& intervention);  // "MODEL + INTERVENTION"

struct StressOrder {
  std::vector<std::string> models;  // with those under interventions
  std::vector<StressData> data;
  std::vector<StressLevel> levels;  // those of a stressor together, its baseline first
  std::vector<StressIntervention> interventions = {};
};

// One row of numbers per sample (model, data, task, item), from results whose condition is a level's name();
// others are passed over. In percent:
//   em, substring, f1              part "irrelevant=0.4"
//   em_loss, substring_loss, …     part "irrelevant=0.4": score at the baseline − score here
//   em_slope, substring_slope, …   part "irrelevant": least squares of the item's own scores over units of
//                                  stress, of items that have all levels; their mean is the mean curve's
//                                  slope
//   stale                          part "collection=changed", "…=deleted": 100 where the answer equals (EM)
//   one
//                                  of the answers before the change, which the collection no longer gives
//   same_prompt                    part "irrelevant": 1 where no level changed the prompt; else absent
SampleTable stress_samples(const std::vector<SampleResult>& results, const StressOrder& order);

StressResult make_stress_result(const std::vector<SampleResult>& results, const StressOrder& order);

// Every point: scores, losses, stale share, each with n and interval. Lines of
// stressor,data,model,level,quantity,n,mean,lo,hi.
std::string stress_csv(const StressResult& result);

// One line per curve and score: baseline, worst level and the score there, its paired loss, the slope, and
// the first model's slope − this one's, each with n and interval; what does not exist is empty.
std::string robustness_csv(const StressResult& result);

// What an intervention changes at every level: scores, losses and slopes, against the model untouched
// (`against` is "none") and against its control. Lines of
// stressor,data,model,intervention,against,level,quantity,n,mean,lo,hi.
std::string intervened_csv(const StressResult& result);

// The robustness summary for a terminal.
std::string stress_text(const StressResult& result);

}  // namespace buoy
