#include "buoy/report/attention_figure.h"

#include <algorithm>
#include <limits>

#include <fmt/ranges.h>

#include "buoy/base/at.h"
#include "buoy/text/visible_text.h"

namespace buoy {
namespace {

constexpr Index kNamedKeys = 9, kLabelledTokens = 48;

std::vector<Band> prompt_and_answer(const AttentionView& view) {
  std::vector<Band> bands = {{.begin = 0, .end = std::min(view.prompt_length, view.N()), .name = "prompt"}};
  if (view.N() > view.prompt_length) {
    bands.push_back({.begin = view.prompt_length, .end = view.N(), .name = "generated"});
  }
  return bands;
}

}  // namespace

Heatmap attention_heatmap(const AttentionView& view) {
  const Index N = view.N();
  const bool small = N <= kLabelledTokens;
  std::string note =
      fmt::format("{}, {}, layer {}, {}.", view.model,
                  view.step ? fmt::format("before step {}", *view.step) : "finished sequence", view.layer,
                  view.head ? fmt::format("head {}", *view.head) : "mean over heads");
  if (!view.writing.empty()) {
    note += fmt::format(" Rows that write at this step: {}.", fmt::join(view.writing, ", "));
  }
  Heatmap map{.note = note,
              .width = kTextWidth,
              .row_axis = {.title = "query"},
              .column_axis = {.title = "key"},
              .bands = prompt_and_answer(view),
              .color = {.title = "attention", .scale = ValueScale::kSqrt, .low = 0}};
  HeatmapPanel panel{.title = "", .rows = N, .columns = N, .values = view.weights};
  for (Index q = 0; q < N; ++q) {  // what a query may not see is no weight of 0
    for (Index k = view.mask.visible_keys(q, N); k < N; ++k) {
      panel.values[at(q * N + k)] = std::numeric_limits<float>::quiet_NaN();
    }
  }
  if (small) {
    for (const std::string& text : view.texts) map.row_axis.labels.push_back(visible_token(text));
    map.column_axis.labels = map.row_axis.labels;
  } else {
    for (const Index key : view.strongest_keys(kNamedKeys)) {
      panel.labels.push_back(
          {.column = key, .text = visible_token(view.texts[at(key)]), .weight = view.received[at(key)]});
    }
  }
  map.panels = {std::move(panel)};
  return map;
}

}  // namespace buoy
