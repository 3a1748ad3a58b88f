#include "buoy/report/attention_figure.h"

#include <algorithm>

#include <fmt/format.h>

#include "buoy/base/at.h"

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
  Heatmap map{
      .note = fmt::format("{}, {}, layer {}, {}.", view.model,
                          view.step ? fmt::format("before step {}", *view.step) : "finished sequence",
                          view.layer, view.head ? fmt::format("head {}", *view.head) : "mean over heads"),
      .width = kTextWidth,
      .row_axis = {.title = "query"},
      .column_axis = {.title = "key"},
      .bands = prompt_and_answer(view),
      .color = {.title = "attention", .scale = ValueScale::kSqrt, .low = 0}};
  if (N <= kLabelledTokens) map.row_axis.labels = map.column_axis.labels = view.texts;
  HeatmapPanel panel{.title = "", .rows = N, .columns = N, .values = view.weights};
  for (const Index key : view.strongest_keys(kNamedKeys)) {
    if (N > kLabelledTokens) {
      panel.labels.push_back({.column = key, .text = view.texts[at(key)], .weight = view.received[at(key)]});
    }
  }
  for (const Index row : view.writing) {
    panel.outlined.push_back({.row_begin = row, .row_end = row + 1, .column_begin = 0, .column_end = N});
  }
  if (!view.writing.empty()) map.outline_name = "row that writes";
  map.panels = {std::move(panel)};
  return map;
}

}  // namespace buoy
