#include "buoy/compute/cuda/cuda_experts.h"

#include <algorithm>
#include <cstring>

#include "buoy/base/error.h"
#include "buoy/compute/cuda/gemm.h"
#include "buoy/compute/cuda/hopper/tensor_map.h"

namespace buoy::cuda {
namespace {

constexpr Index kStep = 8;  // sizes are multiples of it: 16 bytes of bf16

const CudaLinear& on_card(const Linear& linear) {
  return static_cast<const CudaLinear&>(linear);
}

struct ExpertWork {
  ExpertView view;
  bool hopper;
};

void run_experts(const ExpertWork& work, cudaStream_t stream) {
  route_experts(work.view, stream);
  work.hopper ? run_hopper_experts(work.view, stream) : run_mma_experts(work.view, stream);
  combine_experts(work.view, stream);
}

// Arrays behind one another in one block, each aligned; laid out before there is an address.
class Layout {
 public:
  Index add(Index count, Index size) {
    const Index at = bytes_;
    bytes_ += (count * size + kAlignment - 1) / kAlignment * kAlignment;
    return at;
  }
  Index bytes() const { return bytes_; }

 private:
  static constexpr Index kAlignment = 256;
  Index bytes_ = 0;
};

template <typename T>
T* at(const std::shared_ptr<Buffer>& block, Index offset) {
  return reinterpret_cast<T*>(static_cast<std::byte*>(block->data()) + offset);
}

}  // namespace

bool CudaExperts::can_run(const Experts& all, DType type, const Tensor& x) {
  const Index count = std::ssize(all.experts), E = x.cols();
  if (type != DType::kBf16 || x.dtype() != DType::kF32 || x.stride() % kStep != 0 || count == 0) return false;
  const RouterRule& rule = all.rule;
  if (count > kMostExperts || rule.active > std::min<Index>(kMostActive, count) || rule.groups > kMostGroups)
    return false;
  const Index F = all.experts[0].down->inputs();
  if (E % kStep != 0 || F % kStep != 0 || count % rule.groups != 0) return false;
  return std::ranges::all_of(all.experts, [&](const SwigluMlp& mlp) {
    const CudaLinear &up = on_card(*mlp.gate_up), &down = on_card(*mlp.down);
    return up.inputs() == E && up.outputs() == 2 * F && down.inputs() == F && down.outputs() == E &&
           up.bias_f32.empty() && down.bias_f32.empty();
  });
}

const ExpertTable& CudaExperts::table_of(const Experts& all) {
  const CudaLinear& router = on_card(*all.router);
  if (router.experts != nullptr) return *router.experts;
  std::vector<ExpertWeights> weights;
  std::vector<TensorMap> maps;
  for (const SwigluMlp& mlp : all.experts) {
    const Tensor &up = on_card(*mlp.gate_up).weights, &down = on_card(*mlp.down).weights;
    weights.push_back({address(up), address(down)});
    if (!uses_hopper(down.cols())) continue;
    maps.push_back(describe_for_copies(up, kWeightBoxRows));
    maps.push_back(describe_for_copies(down, kWeightBoxRows));
  }
  Layout layout;
  const Index at_weights = layout.add(std::ssize(weights), sizeof(ExpertWeights));
  const Index at_bias = layout.add(std::ssize(all.bias), sizeof(float));
  const Index at_maps = layout.add(std::ssize(maps), sizeof(TensorMap));
  auto made = std::make_shared<ExpertTable>();
  made->memory = allocate_for_good(layout.bytes(), queue_);
  const auto send = [&](const auto& values, Index offset) {
    const std::size_t bytes = values.size() * sizeof(values[0]);
    check_cuda(cudaMemcpyAsync(at<std::byte>(made->memory, offset), values.data(), bytes,
                               cudaMemcpyHostToDevice, queue_->start()),
               "write addresses of experts");
  };
  send(weights, at_weights);
  made->weights = at<ExpertWeights>(made->memory, at_weights);
  if (!all.bias.empty()) {
    send(all.bias, at_bias);
    made->bias = at<float>(made->memory, at_bias);
  }
  if (!maps.empty()) {
    send(maps, at_maps);
    made->maps = at<TensorMap>(made->memory, at_maps);
  }
  queue_->wait();  // what was sent goes away
  router.experts = std::move(made);
  return *router.experts;
}

void CudaExperts::run(const Experts& all, const Tensor& scores, const Tensor& normed, Routing* routing,
                      const Tensor& x) {
  const ExpertTable& table = table_of(all);
  const Index E = x.cols(), F = all.experts[0].down->inputs(), count = std::ssize(all.experts);
  const bool hopper = uses_hopper(F);
  ExpertView view{.rows = x.rows(),
                  .count = static_cast<int>(count),
                  .E = static_cast<int>(E),
                  .F = static_cast<int>(F),
                  .tile_rows = hopper ? kHopperTileRows : kMmaTileRows,
                  .rule = all.rule,
                  .scores = scores.row<float>(0),
                  .bias = table.bias,
                  .weights = table.weights,
                  .weight_maps = table.maps,
                  .normed = address(normed),
                  .x = x.row<float>(0),
                  .x_stride = x.stride()};
  const Index pairs = view.pairs();
  check(pairs <= INT32_MAX && E <= INT32_MAX && F <= INT32_MAX, "slots fit an int");
  Layout layout;
  const Index experts = layout.add(pairs, 4), chosen = layout.add(pairs, 4);
  const Index pair_expert = layout.add(pairs, 4), pair_weight = layout.add(pairs, 4);
  const Index pair_slot = layout.add(pairs, 4), slot_row = layout.add(pairs, 4);
  const Index counts = layout.add(count, 4), tile_count = layout.add(1, 4);
  const Index tiles = layout.add(view.most_tiles(), sizeof(ExpertTile));
  const std::shared_ptr<Buffer> plan = pool_.allocate(layout.bytes());
  const Tensor gated = pool_.allocate(pairs, F, DType::kBf16), out = pool_.allocate(pairs, E, DType::kBf16);
  view.experts = at<std::int32_t>(plan, experts);
  view.chosen = at<float>(plan, chosen);
  view.pair_expert = at<int>(plan, pair_expert);
  view.pair_weight = at<float>(plan, pair_weight);
  view.pair_slot = at<int>(plan, pair_slot);
  view.slot_row = at<int>(plan, slot_row);
  view.counts = at<int>(plan, counts);
  view.tile_count = at<int>(plan, tile_count);
  view.tiles = at<ExpertTile>(plan, tiles);
  view.gated = address(gated);
  view.out = address(out);
  if (hopper) {
    const TensorMap maps[] = {describe_for_copies(out, kWeightBoxRows),
                              describe_for_copies(gated, kWeightBoxRows)};
    view.gathered_map = queue_->send(std::span<const TensorMap>(maps));
    view.gated_map = view.gathered_map + 1;
  }
  queue_->add(run_experts, {view, hopper});
  if (routing != nullptr) fetch(view, *routing);
}

// Waits for it.
void CudaExperts::fetch(const ExpertView& view, Routing& routing) {
  routing.active = view.rule.active;
  routing.experts.resize(static_cast<std::size_t>(view.pairs()));
  routing.weights.resize(routing.experts.size());
  const cudaStream_t stream = queue_->start();
  check_cuda(cudaMemcpyAsync(routing.experts.data(), view.experts,
                             routing.experts.size() * sizeof(std::int32_t), cudaMemcpyDeviceToHost, stream),
             "read experts");
  check_cuda(cudaMemcpyAsync(routing.weights.data(), view.chosen, routing.weights.size() * sizeof(float),
                             cudaMemcpyDeviceToHost, stream),
             "read weights of experts");
  queue_->wait();
}

}  // namespace buoy::cuda
