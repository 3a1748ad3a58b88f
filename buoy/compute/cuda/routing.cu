// Which experts rows go to, in the order in which the products want them, and the way back.
#include "buoy/compute/cuda/attention_device.cuh"
#include "buoy/compute/cuda/expert_params.h"

namespace buoy::cuda {
namespace {

constexpr int kWarps = 4, kThreads = 32 * kWarps, kArrangeThreads = kMostExperts, kRowThreads = 256;

// Values as numbers of the same order, which a warp compares in three instructions: ties are equal, NaN comes
// last.
using Rank = unsigned long long;
constexpr Rank kNone = 0, kLast = 1, kSign = Rank{1} << 63;

__device__ Rank rank_of(double value) {
  if (isnan(value)) return kLast;
  const auto bits = static_cast<Rank>(__double_as_longlong(value + 0.0));  // -0 is 0
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

__device__ double value_of(Rank rank) {
  return __longlong_as_double(static_cast<long long>((rank & kSign) != 0 ? rank & ~kSign : ~rank));
}

struct Candidate {
  Rank rank = kNone;
  unsigned index = ~0u;
};

// The number of the best of a warp's candidates, for every lane; ties go to the lowest.
__device__ int best_of_warp(const Candidate& mine) {
  const auto high = static_cast<unsigned>(mine.rank >> 32), low = static_cast<unsigned>(mine.rank);
  const unsigned best_high = __reduce_max_sync(~0u, high);
  const unsigned best_low = __reduce_max_sync(~0u, high == best_high ? low : 0u);
  return static_cast<int>(__reduce_min_sync(~0u, high == best_high && low == best_low ? mine.index : ~0u));
}

__device__ double sum_of_warp(double x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(~0u, x, step);
  return x;
}

// What the router's scores come to, for one row and the whole warp.
struct Probabilities {
  const float* scores;
  bool softmax;
  double largest = 0, total = 1;

  __device__ Probabilities(const ExpertView& view, Index row)
      : scores(view.scores + row * view.count), softmax(view.rule.kind == RouterKind::kSoftmax) {
    if (!softmax) return;
    const int lane = threadIdx.x % 32;
    float most = -kInfinity;
    for (int e = lane; e < view.count; e += 32) most = fmaxf(most, scores[e]);
    for (int step = 16; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
    largest = most;
    double sum = 0;
    for (int e = lane; e < view.count; e += 32) sum += exp(scores[e] - largest);
    total = sum_of_warp(sum);
  }
  __device__ double of(int e) const {
    return softmax ? exp(scores[e] - largest) / total : 1 / (1 + exp(-static_cast<double>(scores[e])));
  }
};

// Leaves only the best groups of neighbours to be chosen from; some lanes share a group.
__device__ void drop_groups(const ExpertView& view, Rank* ranks) {
  const int lane = threadIdx.x % 32, groups = static_cast<int>(view.rule.groups), size = view.count / groups;
  int sharing = 32;
  while (sharing * groups > 32) sharing /= 2;
  const int own = lane / sharing;
  Rank best = kNone, second = kNone;
  if (own < groups) {
#pragma unroll 8
    for (int e = own * size + lane % sharing; e < (own + 1) * size; e += sharing) {
      second = max(second, min(best, ranks[e]));
      best = max(best, ranks[e]);
    }
  }
  for (int step = sharing / 2; step > 0; step /= 2) {
    const Rank other = __shfl_xor_sync(~0u, best, step), next = __shfl_xor_sync(~0u, second, step);
    second = max(max(second, next), min(best, other));
    best = max(best, other);
  }
  Candidate mine;
  if (own < groups && lane % sharing == 0) {
    mine = {rank_of(size == 1 ? value_of(best) : value_of(best) + value_of(second)),
            static_cast<unsigned>(own)};
  }
  unsigned kept = 0;
  for (Index i = 0; i < view.rule.kept_groups; ++i) {
    const int group = best_of_warp(mine);
    kept |= 1u << group;
    if (own == group) mine = {};
  }
  __syncwarp();
  const Rank never = rank_of(-kInfinity);
  for (int e = lane; e < view.count; e += 32) {
    if ((kept >> e / size & 1) == 0) ranks[e] = never;
  }
}

// Lane i gets the number of the i-th best expert. A lane looks at experts lane, lane + 32, … and at no
// others.
__device__ int choose(const ExpertView& view, Rank* ranks) {
  const int lane = threadIdx.x % 32;
  int chosen = 0;
  for (int i = 0; i < view.rule.active; ++i) {
    Candidate mine;
#pragma unroll 8
    for (int e = lane; e < view.count; e += 32) {
      const Rank here = ranks[e];
      if (here > mine.rank) mine = {here, static_cast<unsigned>(e)};
    }
    const int best = best_of_warp(mine);
    if (best % 32 == lane) ranks[best] = kNone;
    if (lane == i) chosen = best;
  }
  return chosen;
}

// One warp a row; the same arithmetic as route_row().
__global__ void __launch_bounds__(kThreads) route_kernel(ExpertView view) {
  extern __shared__ Rank memory[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, active = static_cast<int>(view.rule.active);
  const Index row = static_cast<Index>(blockIdx.x) * kWarps + warp;
  if (row >= view.rows) return;
  Rank* ranks = memory + warp * view.count;
  const Probabilities p(view, row);
  const auto bias = [&](int e) { return view.bias == nullptr ? 0.0 : static_cast<double>(view.bias[e]); };
#pragma unroll 4
  for (int e = lane; e < view.count; e += 32) ranks[e] = rank_of(p.of(e) + bias(e));
  __syncwarp();
  if (view.rule.groups > 1) drop_groups(view, ranks);
  const int expert = choose(view, ranks);
  const double mine = p.of(expert) + (p.softmax ? bias(expert) : 0.0);
  double total = 0;
  int before = 0;  // chosen ones with a lower number
  for (int i = 0; i < active; ++i) {
    total += __shfl_sync(~0u, mine, i);
    before += __shfl_sync(~0u, expert, i) < expert ? 1 : 0;
  }
  if (lane >= active) return;
  const double factor = static_cast<double>(view.rule.scale) / (view.rule.normalize ? total + 1e-20 : 1.0);
  const Index best_first = row * active + lane, by_number = row * active + before;
  view.experts[best_first] = expert;
  view.chosen[best_first] = view.pair_weight[by_number] = static_cast<float>(mine * factor);
  view.pair_expert[by_number] = expert;
  // Places come in no fixed order; what is computed in a slot does not depend on which one it is.
  view.pair_slot[by_number] = atomicAdd(&view.counts[expert], 1);
}

// Sums of all that stand before, of pairs (low) and tiles (high) at once.
__device__ unsigned long long sum_before(unsigned long long mine) {
  __shared__ unsigned long long parts[32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  unsigned long long sum = mine;
  for (int step = 1; step < 32; step *= 2) {
    const unsigned long long other = __shfl_up_sync(~0u, sum, step);
    if (lane >= step) sum += other;
  }
  if (lane == 31) parts[warp] = sum;
  __syncthreads();
  for (int w = 0; w < warp; ++w) sum += parts[w];
  return sum - mine;
}

// Gives every pair its slot; the first block makes the list of tiles. A thread an expert, then a thread a
// pair.
__global__ void __launch_bounds__(kArrangeThreads) arrange_kernel(ExpertView view) {
  __shared__ int first_slot[kMostExperts];
  const int expert = threadIdx.x, own = expert < view.count ? view.counts[expert] : 0;
  const int tiles = (own + view.tile_rows - 1) / view.tile_rows;
  const unsigned long long before =
      sum_before(static_cast<unsigned long long>(tiles) << 32 | static_cast<unsigned>(own));
  const int slot = static_cast<int>(before & 0xffffffffu), tile = static_cast<int>(before >> 32);
  first_slot[expert] = slot;
  __syncthreads();
  if (blockIdx.x == 0) {
    for (int i = 0; i < tiles; ++i) {
      const int rows = min(view.tile_rows, own - i * view.tile_rows);
      view.tiles[tile + i] = {expert, slot + i * view.tile_rows, rows, tile, tiles};
    }
    if (expert == kArrangeThreads - 1) *view.tile_count = tile + tiles;
  }
  const Index pair = static_cast<Index>(blockIdx.x) * kArrangeThreads + threadIdx.x;
  if (pair >= view.rows * view.rule.active) return;
  const int to = first_slot[view.pair_expert[pair]] + view.pair_slot[pair];
  view.pair_slot[pair] = to;
  view.slot_row[to] = static_cast<int>(pair / view.rule.active);
}

// One block a row: it is read once and written for each of its experts.
__global__ void __launch_bounds__(kRowThreads) gather_kernel(ExpertView view) {
  const Index row = blockIdx.x;
  const int active = static_cast<int>(view.rule.active);
  const int* slots = view.pair_slot + row * active;
  for (int c = threadIdx.x * kVector; c < view.E; c += kRowThreads * kVector) {
    const uint4 part =
        *reinterpret_cast<const uint4*>(static_cast<const Bf16*>(view.normed) + row * view.E + c);
#pragma unroll 4
    for (int i = 0; i < active; ++i) {
      const Index slot = __ldg(slots + i);  // without waiting for the store before
      *reinterpret_cast<uint4*>(static_cast<Bf16*>(view.out) + slot * view.E + c) = part;
    }
  }
}

__global__ void __launch_bounds__(kRowThreads) combine_kernel(ExpertView view) {
  const Index row = blockIdx.x;
  const int active = static_cast<int>(view.rule.active);
  const int* slots = view.pair_slot + row * active;
  const float* weights = view.pair_weight + row * active;
  for (int c = threadIdx.x * kVector; c < view.E; c += kRowThreads * kVector) {
    float sums[kVector];
    load_vector(view.x + row * view.x_stride + c, sums);
#pragma unroll 4
    for (int i = 0; i < active; ++i) {
      float out[kVector];
      load_vector(static_cast<const Bf16*>(view.out) + static_cast<Index>(slots[i]) * view.E + c, out);
#pragma unroll
      for (int e = 0; e < kVector; ++e) sums[e] = fmaf(weights[i], out[e], sums[e]);
    }
    store_vector(sums, view.x + row * view.x_stride + c);
  }
}

}  // namespace

void route_experts(const ExpertView& view, cudaStream_t stream) {
  check_cuda(cudaMemsetAsync(view.counts, 0, static_cast<std::size_t>(view.count) * sizeof(int), stream),
             "clear counts");
  const int shared = kWarps * view.count * static_cast<int>(sizeof(Rank));
  route_kernel<<<static_cast<unsigned>(divide_up(view.rows, kWarps)), kThreads, shared, stream>>>(view);
  check_launch("route rows");
  arrange_kernel<<<static_cast<unsigned>(divide_up(view.pairs(), kArrangeThreads)), kArrangeThreads, 0,
                   stream>>>(view);
  check_launch("arrange rows");
}

void gather_experts(const ExpertView& view, cudaStream_t stream) {
  gather_kernel<<<static_cast<unsigned>(view.rows), kRowThreads, 0, stream>>>(view);
  check_launch("gather rows of experts");
}

void combine_experts(const ExpertView& view, cudaStream_t stream) {
  combine_kernel<<<static_cast<unsigned>(view.rows), kRowThreads, 0, stream>>>(view);
  check_launch("combine experts");
}

}  // namespace buoy::cuda
