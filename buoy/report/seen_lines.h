// What a page shows of the attention that was recorded beside answers; all else is in the CSV.
#pragma once

#include <string_view>

#include "buoy/report/study_view.h"

namespace buoy {

struct SeenLine {
  std::string_view label;
  Quantity quantity;
  std::string_view definition;
};

inline constexpr SeenLine kSeenLines[] = {
    {"Anchors per step", {"anchor_count", "read"}, "read rows, mean over steps and layers"},
    {"Turnover", {"turnover", "read"}, "share of anchors replaced from step to step, read rows"},
    {"Absorbed by the first token, %", {"absorb_bos", "finished"}, "finished sequence, mean over layers"},
    {"Absorbed by anchors, %", {"absorb_anchors", "finished"}, "finished sequence, mean over layers"},
    {"Absorbed by the strongest token, %",
     {"absorb_top1", "finished"},
     "finished sequence, mean over layers"},
    {"Flow, answer into gold ÷ others", {"answer_to_gold", ""}, "mean over layers, under sum pooling"},
    {"Gold lift", {"gold_lift", "per-token"}, "rolled out, per token, relative to uniform attention"},
};

}  // namespace buoy
