#include "buoy/compute/backend.h"

namespace buoy {

void Backend::enter_layer(const LayerInput& layer, const Tensor& x, const Tensor& qkv) {
  const Tensor normed = allocate_activations(x.rows(), x.cols());
  rms_norm(x, layer.norm, layer.epsilon, normed);
  linear(normed, layer.qkv, Store::kOverwrite, qkv);
  rope(qkv.col_range(0, layer.rotated), layer.D, layer.positions, layer.rope);
}

void Backend::leave_layer(const LayerOutput& layer, const Tensor& attended, const Tensor& x) {
  linear(attended, layer.o, Store::kAdd, x);
  const Tensor normed = allocate_activations(x.rows(), x.cols());
  const Tensor gate_up = allocate_activations(x.rows(), layer.gate_up.outputs());
  const Tensor gated = allocate_activations(x.rows(), layer.down.inputs());
  rms_norm(x, layer.norm, layer.epsilon, normed);
  linear(normed, layer.gate_up, Store::kOverwrite, gate_up);
  swiglu(gate_up, gated);
  linear(gated, layer.down, Store::kAdd, x);
}

}  // namespace buoy
