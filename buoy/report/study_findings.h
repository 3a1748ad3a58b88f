// What a study found, in three sentences that follow from its numbers by rule.
#pragma once

#include <vector>

#include "buoy/intervene/intervene_table.h"
#include "buoy/report/html.h"
#include "buoy/report/study_view.h"

namespace buoy {

// The paper whose claims are tested, as a link, and what was asked.
LinkedText paper();

// Where attention goes, whether anchors move, whether it matters: of the first masked and the first causal
// model. `interventions` may be nullptr. "Yes" and "no" are said by the rule of the verdicts: an interval
// beyond the least size that matters, or wholly short of it. What was not measured is said to be so.
std::vector<Finding> findings(const StudyView& view, const InterventionResult* interventions);

}  // namespace buoy
