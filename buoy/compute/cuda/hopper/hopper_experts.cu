// Products of experts on Hopper: a block multiplies up to 128 slots of an expert, 64 for each of two groups
// of warps, by 128 of its outputs. A thread of its own has the copy engine bring rows and weights, 64 columns
// at a time; for that the rows are first copied to their slots, because the engine brings 64 neighbours two
// to three times as fast as 64 single rows. The weights of all experts pass by once, so memory sets the pace:
// two blocks share a multiprocessor, and one loads while the other ends.
#include "buoy/compute/cuda/experts.cuh"
#include "buoy/compute/cuda/hopper/barrier.cuh"
#include "buoy/compute/cuda/hopper/wgmma.cuh"

namespace buoy::cuda {
namespace {

constexpr int kGroupThreads = 128, kGroups = 2, kThreads = kGroups * kGroupThreads + 32;
constexpr int kGroupRows = 64, kRows = kGroups * kGroupRows, kColumns = 128, kHalf = kColumns / 2;
constexpr int kDepth = kBoxColumns, kChunks = kDepth / kVector, kStages = 3;
constexpr int kRowBytes = kDepth * static_cast<int>(sizeof(Bf16));
static_assert(kRows == kHopperTileRows && kHalf == kWeightBoxRows && kGroupRows == kWeightBoxRows);

struct Shared {
  uint4 rows[kStages][kRows * kChunks];
  uint4 weights[kStages][kColumns * kChunks];
  Barrier here[kStages], done[kStages];  // tiles have come; every warp has multiplied them
};

// As in mma_experts.cu: gates and the factors beside them, or neighbours.
enum class Way { kUp, kDown };

template <Way way>
struct Task {
  const ExpertView& view;
  const ExpertTile& tile;
  const TensorMap& weights;
  int first, steps, groups;  // output; turns of kDepth columns; groups of warps that have rows
};

// Has the copy engine bring the tiles in the order of their use; for one thread.
template <Way way>
__device__ void feed(const Task<way>& task, Shared& shared) {
  const TensorMap& rows = way == Way::kUp ? *task.view.gathered_map : *task.view.gated_map;
  refresh_map(rows);
  refresh_map(task.weights);
  const int second = way == Way::kUp ? task.view.F + task.first : task.first + kHalf;
  for (int step = 0; step < task.steps; ++step) {
    const int stage = step % kStages, turn = step / kStages, column = step * kDepth;
    if (turn > 0) shared.done[stage].wait(turn - 1);
    Barrier& here = shared.here[stage];
    here.expect((task.groups * kGroupRows + kColumns) * kRowBytes);
    uint4* weights = shared.weights[stage];
    copy_boxes<kDepth, kHalf>(task.weights, column, task.first, weights, here);
    copy_boxes<kDepth, kHalf>(task.weights, column, second, weights + kHalf * kChunks, here);
    for (int g = 0; g < task.groups; ++g) {
      copy_boxes<kDepth, kGroupRows>(rows, column, task.tile.first + g * kGroupRows,
                                     shared.rows[stage] + g * kGroupRows * kChunks, here);
    }
  }
}

template <Way way>
__device__ void store(const Task<way>& task, int group, const float (&sums)[kColumns / 2]) {
  const int lane = threadIdx.x % 32, outputs = way == Way::kUp ? task.view.F : task.view.E;
  auto* to = static_cast<Bf16*>(way == Way::kUp ? task.view.gated : task.view.out);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int r = group * kGroupRows + threadIdx.x % kGroupThreads / 32 * 16 + 8 * half + lane / 4;
    if (r >= task.tile.rows) continue;
    Bf16* row = to + static_cast<Index>(task.tile.first + r) * outputs;
#pragma unroll
    for (int n = 0; n < (way == Way::kUp ? kHalf : kColumns) / 8; ++n) {
      const int column = task.first + 8 * n + 2 * (lane % 4), i = 4 * n + 2 * half;
      if (column >= outputs) continue;
      float a = sums[i], b = sums[i + 1];
      if constexpr (way == Way::kUp) {
        a = gated(a, sums[i + kHalf / 2]);
        b = gated(b, sums[i + 1 + kHalf / 2]);
      }
      *reinterpret_cast<unsigned*>(row + column) = pack_bf16(a, b);
    }
  }
}

// A group's rows · the weights, step by step.
template <Way way>
__device__ __forceinline__ void multiply(const Task<way>& task, int group, Shared& shared) {
  const int lane = threadIdx.x % 32;
  float sums[kColumns / 2];
  for (int step = 0; step < task.steps; ++step) {
    const int stage = step % kStages;
    shared.here[stage].wait(step / kStages);
    const std::uint64_t left = describe_tile(shared.rows[stage] + group * kGroupRows * kChunks, 16);
    const std::uint64_t right = describe_tile(shared.weights[stage], 16);
    begin_products();
#pragma unroll
    for (int i = 0; i < kDepth / 16; ++i) {
      multiply_128(sums, tile_at(left, 2 * i), tile_at(right, 2 * i), step > 0 || i > 0 ? 1 : 0);
    }
    close_products();
    wait_products<0>();
    settle_sums(sums);
    if (lane == 0) shared.done[stage].arrive();
  }
  store<way>(task, group, sums);
}

template <Way way>
__global__ void __launch_bounds__(kThreads, 2) experts_kernel(ExpertView view, int stretches) {
  extern __shared__ uint4 memory[];
  auto& shared = aligned_shared<Shared>(memory);
  ExpertTask found;
  if (!find_task(view, stretches, found)) return;
  const ExpertTile& tile = found.tile;
  constexpr bool kUp = way == Way::kUp;
  const Task<way> task{view,
                       tile,
                       view.weight_maps[2 * tile.expert + (kUp ? 0 : 1)],
                       found.stretch * (kUp ? kHalf : kColumns),
                       ((kUp ? view.E : view.F) + kDepth - 1) / kDepth,
                       (tile.rows + kGroupRows - 1) / kGroupRows};
  if (threadIdx.x == 0) {
    for (Barrier& barrier : shared.here) barrier.init(1);
    for (Barrier& barrier : shared.done) barrier.init(task.groups * kGroupThreads / 32);
    publish_barriers();
  }
  __syncthreads();
  const int group = __shfl_sync(~0u, static_cast<int>(threadIdx.x / kGroupThreads), 0);
  if (group == kGroups) {
    if (threadIdx.x == kGroups * kGroupThreads) feed<way>(task, shared);
  } else if (group < task.groups) {
    multiply<way>(task, group, shared);
  }
}

template <Way way>
void run(const ExpertView& view, int outputs, int columns, cudaStream_t stream) {
  const Index stretches = divide_up(outputs, columns);
  constexpr int kShared = sizeof(Shared) + kAlignmentSlack;
  allow_shared(experts_kernel<way>, kShared);
  experts_kernel<way><<<static_cast<unsigned>(view.most_tiles() * stretches), kThreads, kShared, stream>>>(
      view, static_cast<int>(stretches));
  check_launch("experts");
}

}  // namespace

void run_hopper_experts(const ExpertView& view, cudaStream_t stream) {
  gather_experts(view, stream);
  run<Way::kUp>(view, view.F, kHalf, stream);
  run<Way::kDown>(view, view.E, kColumns, stream);
}

}  // namespace buoy::cuda
