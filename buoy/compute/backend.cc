#include "buoy/compute/backend.h"

namespace buoy {

void Backend::normalize(const Norm& norm, const Tensor& x, const Tensor& out) {
  std::visit([&](const RmsNorm& rms) { rms_norm(x, rms.weight, rms.epsilon, out); }, norm);
}

void Backend::enter_layer(const LayerInput& layer, const Tensor& x, const Tensor& projected) {
  const Tensor normed = allocate_activations(x.rows(), x.cols());
  normalize(layer.norm, x, normed);
  linear(normed, layer.projection, Store::kOverwrite, projected);
  if (!layer.rotation) return;
  const Rotation& r = *layer.rotation;
  rope(projected.col_range(0, r.columns), r.D, r.positions, r.table);
}

void Backend::leave_layer(const LayerOutput& layer, const Tensor& mixed, const Tensor& x) {
  linear(mixed, layer.projection, Store::kAdd, x);
  const Tensor normed = allocate_activations(x.rows(), x.cols());
  normalize(layer.norm, x, normed);
  const auto run_mlp = [&](const SwigluMlp& mlp) {
    const Tensor gate_up = allocate_activations(x.rows(), mlp.gate_up->outputs());
    const Tensor gated = allocate_activations(x.rows(), mlp.down->inputs());
    linear(normed, *mlp.gate_up, Store::kOverwrite, gate_up);
    swiglu(gate_up, gated);
    linear(gated, *mlp.down, Store::kAdd, x);
  };
  std::visit(run_mlp, layer.feed_forward);
}

}  // namespace buoy
