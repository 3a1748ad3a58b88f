// How many heads are retrieval heads, in the shallow half, the deep half and overall.
#pragma once

#include <string>
#include <vector>

#include "buoy/analysis/sample_table.h"

namespace buoy {

enum class Depth { kShallow, kDeep, kAll };

// "shallow", "deep", "all".
std::string_view name_of(Depth depth);

struct HeadShare {
  Depth depth = Depth::kAll;
  double threshold = 0;
  Index heads = 0;    // that were looked at
  Index samples = 0;  // of the group that have the score at all
  double share = 0;   // of heads whose mean score exceeds the threshold
  Interval interval;  // percentiles: questions resampled, head means and counts computed anew
};

// Which score: "copy", "copy_wu", "mass" or "lift", on "all" samples or the "correct" ones.
struct RetrievalScore {
  std::string quantity = "copy";
  std::string part = "all";
};

// For the thresholds 0.1 and 0.5 and each depth that has heads. Shallow are the lower ⌊L/2⌋ of the layers
// that have the score. Empty when no sample of the group has it.
std::vector<HeadShare> retrieval_summary(const SampleTable& table, const Group& group,
                                         const RetrievalScore& score = {});

}  // namespace buoy
