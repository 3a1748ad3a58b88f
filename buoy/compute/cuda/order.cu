// What pass 2 knows of the queries, in the order in which it visits them: there it is copied block by block.
// Pass 1 puts the log-sum-exp of the queries there; this may run before it or beside.
#include "buoy/compute/cuda/attention_device.cuh"

namespace buoy::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void order_kernel(AttentionView view) {
  const SequenceView& s = view.sequences[blockIdx.z];
  const int i = blockIdx.x * kThreads + threadIdx.x, h = blockIdx.y, count = s.block_count * kQueryBlock;
  if (s.column_sums == nullptr || i >= count) return;
  const int t = s.order[i];
  if (t < 0) s.ordered_lse[static_cast<Index>(h) * count + i] = kInfinity;
  if (h == 0) s.ordered_seen[i] = t < 0 ? s.N : visible_keys(s, t);
}

}  // namespace

void run_order(const AttentionView& view, cudaStream_t stream) {
  if (view.most_blocks == 0) return;
  const dim3 grid(static_cast<unsigned>(divide_up(Index{view.most_blocks} * kQueryBlock, kThreads)),
                  static_cast<unsigned>(view.H), static_cast<unsigned>(view.count));
  order_kernel<<<grid, kThreads, 0, stream>>>(view);
  check_launch("order queries");
}

}  // namespace buoy::cuda
