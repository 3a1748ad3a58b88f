// What interventions do: answers under each against none and against its control, and what the probe saw.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "buoy/analysis/sample_table.h"
#include "buoy/intervene/dose_response.h"

namespace buoy {

// The condition that all others are compared with.
inline constexpr const char* kNoIntervention = "none";

// A condition that was run, and the one that controls it: the same size and place, drawn at random.
struct InterventionCondition {
  std::string name;                 // "mask-anchors=5"
  std::string control = {};         // "mask-random=5"; empty: it has none
  std::string kind = {};            // "mask-anchors"; empty: none
  std::optional<Index> level = {};  // 5; nothing where its parameter is no number
};

// One model under one condition. Scores in percent, changes in points of percent; all with 95 % intervals.
struct InterventionRow {
  std::string model;
  std::string condition;  // "none", "mask-anchors=5"
  std::string control;    // name of the condition that controls it; empty: none
  Index n = 0;            // samples with an answer
  Summary em, f1;
  std::optional<Summary> em_change, f1_change;                    // paired, condition − none
  std::optional<Summary> em_against_control, f1_against_control;  // paired, condition − its control
  std::vector<Summary> seen;         // what the probe saw, over layers: quantity and part as in the analyses
  std::vector<Summary> seen_change;  // paired, condition − none
};

struct InterventionResult {
  std::vector<InterventionRow> rows;   // by model, then condition, in the orders given; without empty ones
  SampleTable samples = {};            // the answers that the rows were made of, for claims
  std::vector<DoseCurve> curves = {};  // of interventions that were run at several levels
};

// `answers`: "em" and "f1" in percent, part = condition; one sample per model, data, task and item.
// `seen`: numbers of the analyses with no layer and no head, key.data = "DATASET, CONDITION"; may be empty.
// Differences are of what the same item has under both conditions. Throws Error when a control was not run
// as a condition.
InterventionResult make_intervention_result(const SampleTable& answers, const SampleTable& seen,
                                            std::span<const std::string> models,
                                            std::span<const InterventionCondition> conditions);

// model,condition,control,quantity,part,against,n,mean,lo,hi: `against` is empty for the number itself and
// names the condition that it was compared with for a difference. Slopes over levels stand under the name
// without a level.
std::string intervene_csv(const InterventionResult& result);

// For a terminal: exact match under each condition, its paired change, and that against its control.
std::string intervene_text(const InterventionResult& result);

}  // namespace buoy
