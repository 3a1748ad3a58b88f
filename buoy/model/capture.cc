#include "buoy/model/capture.h"

#include <algorithm>

namespace buoy {

CaptureTap::CaptureTap(const CaptureOptions& options) : options_(options) {
  request_.matrix = options.attentions;
}

Tap::Plan CaptureTap::plan(Index /*layer*/, Index /*sequence*/) {
  return {.request = options_.attentions ? &request_ : nullptr};
}

Tap::Next CaptureTap::measured(Index /*layer*/, Index /*sequence*/, const AttentionStats& stats) {
  attentions.insert(attentions.end(), stats.matrix.begin(), stats.matrix.end());
  return Next::kGoOn;
}

void CaptureTap::hidden(Index /*depth*/, Backend& backend, const Tensor& rows) {
  const std::size_t old = hidden_states.size(), count = static_cast<std::size_t>(rows.rows() * rows.cols());
  hidden_states.resize(old + count);
  backend.download(rows, std::span(hidden_states).subspan(old, count));
}

bool CaptureTap::fits(const ModelConfig& config, Index T) {
  return config.H * T * T <= kMaxMatrixElements;
}

LayerTap::LayerTap(std::vector<Index> layers, AttentionRequest request, Take take)
    : layers_(std::move(layers)), request_(std::move(request)), take_(std::move(take)) {}

Tap::Plan LayerTap::plan(Index layer, Index /*sequence*/) {
  return {.request = std::ranges::binary_search(layers_, layer) ? &request_ : nullptr};
}

Tap::Next LayerTap::measured(Index layer, Index /*sequence*/, const AttentionStats& stats) {
  take_(layer, stats);
  return Next::kGoOn;
}

}  // namespace buoy
