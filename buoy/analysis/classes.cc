#include "buoy/analysis/classes.h"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "buoy/analysis/mean.h"
#include "buoy/analysis/received.h"

namespace buoy {
namespace {

template <typename T>
using PerClass = std::array<T, kTokenClassCount>;

std::size_t number_of(TokenClass token_class) {
  return static_cast<std::size_t>(token_class);
}

TokenClass class_number(std::size_t c) {
  return static_cast<TokenClass>(c);
}

bool is_content(TokenClass token_class) {
  return token_class == TokenClass::kContent;
}

// One row of received attention by class.
struct Tally {
  PerClass<double> share{}, positions{}, anchors{};
};

Tally tally(const Received& received, std::span<const TokenClass> classes, const AnchorOptions& options) {
  Tally out;
  for (Index j = 0; j < received.size(); ++j) {
    out.share[number_of(classes[j])] += received.share[j];
    out.positions[number_of(classes[j])] += 1 / static_cast<double>(received.size());
  }
  for (const Index j : received.anchors(options)) out.anchors[number_of(classes[j])] += received.share[j];
  return out;
}

// Means over the rows of one layer: one row for the finished sequence, one per step otherwise.
struct LayerClasses {
  PerClass<Mean> share, lift, anchors;
  Mean structural, content;
};

// Lift of all classes that `belongs` names together; nothing is added when they have no positions.
void add_lift(Mean& to, const Tally& row, bool (*belongs)(TokenClass)) {
  double share = 0, positions = 0;
  for (std::size_t c = 0; c < row.share.size(); ++c) {
    if (!belongs(class_number(c))) continue;
    share += row.share[c];
    positions += row.positions[c];
  }
  if (positions > 0) to.add(share / positions);
}

void add_row(LayerClasses& to, const Tally& row) {
  const double anchors = std::accumulate(row.anchors.begin(), row.anchors.end(), 0.0);
  for (std::size_t c = 0; c < row.share.size(); ++c) {
    to.share[c].add(row.share[c]);
    if (row.positions[c] > 0) to.lift[c].add(row.share[c] / row.positions[c]);
    if (anchors > 0) to.anchors[c].add(row.anchors[c] / anchors);
  }
  add_lift(to.structural, row, is_structural);
  add_lift(to.content, row, is_content);
}

std::vector<LayerClasses> finished_layers(const Trace& trace, const AnchorOptions& options) {
  std::vector<LayerClasses> layers(trace.L());
  for (Index l = 0; l < trace.L(); ++l) {
    add_row(layers[l], tally(finished_received(trace, l), trace.classes, options));
  }
  return layers;
}

std::vector<LayerClasses> step_layers(const Trace& trace, const AnchorOptions& options) {
  std::vector<LayerClasses> layers(trace.L());
  for (Index t = 0; has_steps(trace) && t < trace.S(); ++t) {
    std::vector<TokenClass> classes;
    for (Index j = 0; j < trace.steps.lengths[t]; ++j) classes.push_back(trace.class_at(t, j));
    for (Index l = 0; l < trace.L(); ++l) {
      add_row(layers[l], tally(step_received(trace, t, l, Rows::kAll), classes, options));
    }
  }
  return layers;
}

Mean mean_of(std::span<const LayerClasses> layers, Mean LayerClasses::*lift) {
  Mean mean;
  for (const LayerClasses& layer : layers) {
    if (!(layer.*lift).empty()) mean.add((layer.*lift).value());
  }
  return mean;
}

void emit_contrast(Measurements& out, const Measurement& measurement, std::span<const LayerClasses> layers,
                   Mean LayerClasses::*lift) {
  if (layers.size() < 2) return;
  const std::size_t third = std::max<std::size_t>(1, layers.size() / 3);
  const Mean shallow = mean_of(layers.first(third), lift), deep = mean_of(layers.last(third), lift);
  if (shallow.empty() || deep.empty()) return;
  emit(out, measurement, {.sum = shallow.value() - deep.value(), .n = 1});
}

void emit_part(Measurements& out, const Trace& trace, const std::string& part,
               std::span<const LayerClasses> layers) {
  for (Index l = 0; l < std::ssize(layers); ++l) {
    const Index layer = trace.layers[l];
    for (std::size_t c = 0; c < kTokenClassCount; ++c) {
      const std::string of_class = fmt::format("{}:{}", part, name_of(class_number(c)));
      emit(out, {.quantity = "class_share", .layer = layer, .part = of_class}, layers[l].share[c]);
      emit(out, {.quantity = "class_lift", .layer = layer, .part = of_class}, layers[l].lift[c]);
      emit(out, {.quantity = "anchor_class", .layer = layer, .part = of_class}, layers[l].anchors[c]);
    }
    emit(out, {.quantity = "structural_lift", .layer = layer, .part = part}, layers[l].structural);
    emit(out, {.quantity = "content_lift", .layer = layer, .part = part}, layers[l].content);
  }
  emit_contrast(out, {.quantity = "structural_contrast", .part = part}, layers, &LayerClasses::structural);
  emit_contrast(out, {.quantity = "content_contrast", .part = part}, layers, &LayerClasses::content);
}

}  // namespace

Measurements classes(const Trace& trace, const AnalysisOptions& options) {
  Measurements out;
  emit_part(out, trace, "finished", finished_layers(trace, options.anchors));
  emit_part(out, trace, "steps", step_layers(trace, options.anchors));
  return out;
}

}  // namespace buoy
