#include "buoy/compute/backend.h"

namespace buoy {

void Backend::normalize(const Norm& norm, const Tensor& x, const Tensor& out) {
  std::visit([&](const RmsNorm& rms) { rms_norm(x, rms.weight, rms.epsilon, out); }, norm);
}

void Backend::transform_heads(const HeadTransform& h, const Tensor& projected) {
  const Tensor queries = projected.col_range(0, h.query_columns);
  const Tensor keys = projected.col_range(h.query_columns, h.key_columns);
  if (h.query_norm != nullptr) head_norm(queries, *h.query_norm, h.D);
  if (h.key_norm != nullptr) head_norm(keys, *h.key_norm, h.D);
  if (h.bound != 0) clip(projected, h.bound, 1);
  if (h.query_scale != 1) clip(queries, 0, h.query_scale);
}

void Backend::enter_layer(const LayerInput& layer, const Tensor& x, const Tensor& projected) {
  const Tensor normed = allocate_activations(x.rows(), x.cols());
  normalize(layer.norm, x, normed);
  linear(normed, layer.projection, Store::kOverwrite, projected);
  if (layer.heads) transform_heads(*layer.heads, projected);
  if (!layer.rotation) return;
  const Rotation& r = *layer.rotation;
  rope(projected.col_range(0, r.columns), r.D, r.positions, r.table);
}

void Backend::leave_layer(const LayerOutput& layer, const Tensor& mixed, const Tensor& x) {
  linear(mixed, layer.projection, Store::kAdd, x);
  const Tensor normed = allocate_activations(x.rows(), x.cols());
  normalize(layer.norm, x, normed);
  if (const auto* mlp = std::get_if<SwigluMlp>(&layer.feed_forward)) return feed(*mlp, normed, x);
  feed(std::get<Experts>(layer.feed_forward), normed, layer.routing, x);
}

void Backend::feed(const SwigluMlp& mlp, const Tensor& normed, const Tensor& x) {
  const Tensor gate_up = allocate_activations(x.rows(), mlp.gate_up->outputs());
  const Tensor gated = allocate_activations(x.rows(), mlp.down->inputs());
  linear(normed, *mlp.gate_up, Store::kOverwrite, gate_up);
  swiglu(gate_up, gated);
  linear(gated, *mlp.down, Store::kAdd, x);
}

void Backend::feed(const Experts& all, const Tensor& normed, Routing* routing, const Tensor& x) {
  const Index rows = x.rows(), count = std::ssize(all.experts);
  const Tensor scores = allocate(rows, count);
  linear(normed, *all.router, Store::kOverwrite, scores);
  std::vector<float> values(static_cast<std::size_t>(rows * count));
  download(scores, values);
  Routing routed;
  for (Index r = 0; r < rows; ++r) {
    route_row(all.rule,
              std::span(values).subspan(static_cast<std::size_t>(r * count), static_cast<std::size_t>(count)),
              all.bias, routed);
  }
  // A row's sum runs over its experts by number, whatever rows are beside it.
  std::vector<std::vector<Index>> members(all.experts.size());
  std::vector<std::vector<float>> factors(all.experts.size());
  for (std::size_t i = 0; i < routed.experts.size(); ++i) {
    const auto expert = static_cast<std::size_t>(routed.experts[i]);
    members[expert].push_back(static_cast<Index>(i) / all.rule.active);
    factors[expert].push_back(routed.weights[i]);
  }
  for (std::size_t e = 0; e < all.experts.size(); ++e) {
    if (members[e].empty()) continue;
    const SwigluMlp& mlp = all.experts[e];
    const Index mine = std::ssize(members[e]);
    const Tensor in = allocate_activations(mine, x.cols()), out = allocate(mine, x.cols());
    const Tensor gate_up = allocate_activations(mine, mlp.gate_up->outputs());
    const Tensor gated = allocate_activations(mine, mlp.down->inputs());
    gather_rows(normed, members[e], in);
    linear(in, *mlp.gate_up, Store::kOverwrite, gate_up);
    swiglu(gate_up, gated);
    linear(gated, *mlp.down, Store::kOverwrite, out);
    add_scaled_rows(out, factors[e], members[e], x);
  }
  if (all.shared) feed(*all.shared, normed, x);
  if (routing != nullptr) *routing = std::move(routed);
}

}  // namespace buoy
