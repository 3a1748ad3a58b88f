// The tables of a study, analysis by analysis.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "buoy/report/html.h"
#include "buoy/report/study_view.h"

namespace buoy {

// The tables of one analysis, with a note on what to keep in mind where there is something. Throws
// InternalError for an analysis that there is none of.
std::vector<Block> study_tables(const StudyView& view, std::string_view analysis);

// Name, kind, size, samples, right answers, fingerprint.
TableBlock model_table(const StudyView& view);

}  // namespace buoy
