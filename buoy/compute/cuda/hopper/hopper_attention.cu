// Pass 1 on Hopper: a block holds 128 queries of a head, 64 for each of two groups of warps, and walks the
// keys 128 at a time. While the tensor cores add one tile's values, the threads turn the next tile's scores
// into weights. A warp of its own keeps the copy engine busy; the groups meet at its barriers only, so that
// one may be multiplying while the other computes exponentials.
#include "buoy/compute/cuda/hopper/barrier.cuh"
#include "buoy/compute/cuda/hopper/wgmma.cuh"

namespace buoy::cuda {
namespace {

constexpr int kGroupThreads = 128, kGroups = 2, kThreads = (kGroups + 1) * kGroupThreads;
constexpr int kQueries = 64 * kGroups, kKeys = 128, kScores = kKeys / 2;
constexpr int kStages = 2;
static_assert(kQueries == kTileRows && kKeys == kTileRows);

// Registers are moved from the copying group, which needs few, to the others.
constexpr int kCopyRegisters = 24, kWorkRegisters = 240;

template <int D>
struct Shared {
  static constexpr int kChunks = kKeys * D / kVector;
  uint4 queries[kChunks];
  uint4 keys[kStages][kChunks];
  uint4 values[kStages][kChunks];
  // Tiles that have come, and tiles every warp is done with.
  Barrier queries_here, keys_here[kStages], values_here[kStages], keys_done[kStages], values_done[kStages];
};

// Rows lane/4 and lane/4 + 8 of a warp's 16; scores are in units of scale, that is, before scaling.
template <int D>
struct Running {
  float largest[2] = {-kInfinity, -kInfinity}, total[2] = {0, 0};
  float out[D / 2];
};

// Hides what a row may not see and adds biases, in the units of the scores.
__device__ __forceinline__ void adjust_scores(const SequenceView& s, int h, int key, const int (&seen)[2],
                                              float per_bias, float (&scores)[kScores]) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < kScores; ++i) {
    const int j = key + i / 4 * 8 + 2 * (lane % 4) + i % 2, half = i % 4 / 2;
    const bool visible = j < seen[half];
    const float bias = visible && s.key_bias != nullptr
                           ? s.key_bias[static_cast<Index>(h) * s.bias_stride + j] * per_bias
                           : 0.0f;
    scores[i] = visible ? scores[i] + bias : -kInfinity;
  }
}

// Scores become weights relative to the largest so far; returns by how much older sums must shrink.
template <int D>
__device__ __forceinline__ void take_scores(float (&scores)[kScores], float scale, Running<D>& rows,
                                            float (&shrink)[2]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float largest = rows.largest[half];
#pragma unroll
    for (int i = 2 * half; i < kScores; i += 4) largest = fmaxf(largest, fmaxf(scores[i], scores[i + 1]));
    largest = quad_max(largest);
    const float base = largest == -kInfinity ? 0.0f : largest * scale;
    shrink[half] = exp2_fast(fmaf(rows.largest[half], scale, -base));
    rows.largest[half] = largest;
    float sum = 0;
#pragma unroll
    for (int i = 2 * half; i < kScores; i += 4) {
      scores[i] = exp2_fast(fmaf(scores[i], scale, -base));
      scores[i + 1] = exp2_fast(fmaf(scores[i + 1], scale, -base));
      sum += scores[i] + scores[i + 1];
    }
    rows.total[half] = fmaf(rows.total[half], shrink[half], sum);
  }
}

__device__ __forceinline__ void pack_weights(const float (&scores)[kScores],
                                             unsigned (&weights)[kKeys / 16][4]) {
#pragma unroll
  for (int i = 0; i < kScores; i += 2) weights[i / 8][i % 8 / 2] = pack_bf16(scores[i], scores[i + 1]);
}

// scores = this group's 64 queries · 128 keys, in the background.
template <int D>
__device__ __forceinline__ void start_scores(const uint4* queries, const uint4* keys,
                                             float (&scores)[kScores]) {
  const std::uint64_t left = describe_tile(queries, 16), right = describe_tile(keys, 16);
#pragma unroll
  for (int step = 0; step < D / 16; ++step) {  // 16 columns are two chunks of a panel's row
    const int at = step / 4 * kKeys * 8 + step % 4 * 2;
    multiply_128(scores, tile_at(left, at), tile_at(right, at), step > 0 ? 1 : 0);
  }
  close_products();
}

template <int D>
__device__ __forceinline__ void start_values(const unsigned (&weights)[kKeys / 16][4], const uint4* values,
                                             float (&out)[D / 2]) {
  const std::uint64_t tile = describe_tile(values, kKeys * 128);
#pragma unroll
  for (int step = 0; step < kKeys / 16; ++step) {
    const std::uint64_t rows = tile_at(tile, step * 16 * 8);
    if constexpr (D == 128) {
      multiply_128_by_rows(out, weights[step], rows, 1);
    } else {
      multiply_64_by_rows(out, weights[step], rows, 1);
    }
  }
  close_products();
}

template <int D>
__device__ void store(const SequenceView& s, int h, int row, float scale, Running<D>& rows) {
  const int lane = threadIdx.x % 32;
  const float gain = s.head_gain == nullptr ? 1.0f : s.head_gain[h];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int t = row + 8 * half;
    const float total = quad_sum(rows.total[half]), inverse = total == 0 ? 0.0f : 1.0f / total;
    float squares = 0;
    Bf16* out = static_cast<Bf16*>(s.out) + t * s.out_stride + h * D + 2 * (lane % 4);
#pragma unroll
    for (int n = 0; n < D / 8; ++n) {
      const float a = rows.out[4 * n + 2 * half] * inverse, b = rows.out[4 * n + 2 * half + 1] * inverse;
      squares = fmaf(a, a, fmaf(b, b, squares));
      if (t < s.T) *reinterpret_cast<unsigned*>(out + 8 * n) = pack_bf16(a * gain, b * gain);
    }
    squares = quad_sum(squares);
    if (lane % 4 != 0 || t >= s.T) continue;
    const Index at = static_cast<Index>(h) * s.T + t;
    store_lse(s, h, t, total == 0 ? kInfinity : fmaf(rows.largest[half], scale, log2f(total)));
    if (s.output_norms != nullptr) s.output_norms[at] = sqrtf(squares);
  }
}

// What a block works on.
struct Task {
  const SequenceView& s;
  int first, h, kv, tiles;  // first query; head; key head; tiles of keys that its queries see
};

// Has the copy engine bring the tiles in the order of their use; for one thread.
template <int D>
__device__ void feed(const Task& task, Shared<D>& shared) {
  const SequenceMaps& maps = *task.s.maps;
  refresh_map(maps.q);
  refresh_map(maps.k);
  refresh_map(maps.v);
  const auto copy = [&](const TensorMap& map, int head, int row, uint4* to, Barrier& here) {
    here.expect(kTileRows * D * static_cast<int>(sizeof(Bf16)));
    copy_boxes<D, kTileRows>(map, head * D, row, to, here);
  };
  copy(maps.q, task.h, task.first, shared.queries, shared.queries_here);
  for (int tile = 0; tile < task.tiles; ++tile) {
    const int stage = tile % kStages, turn = tile / kStages;
    if (turn > 0) shared.keys_done[stage].wait(turn - 1);
    copy(maps.k, task.kv, tile * kKeys, shared.keys[stage], shared.keys_here[stage]);
    if (turn > 0) shared.values_done[stage].wait(turn - 1);
    copy(maps.v, task.kv, tile * kKeys, shared.values[stage], shared.values_here[stage]);
  }
}

template <int D>
__device__ __forceinline__ void attend(const AttentionView& view, const Task& task, int group,
                                       Shared<D>& shared) {
  const SequenceView& s = task.s;
  const int lane = threadIdx.x % 32, h = task.h, tiles = task.tiles;
  const int group_row = task.first + 64 * group;
  const int row = group_row + threadIdx.x % kGroupThreads / 32 * 16 + lane / 4;
  const float scale = score_scale(view), per_bias = kLog2E / scale;
  const int all_see = visible_keys(s, group_row);  // keys every row of the group sees
  const int seen[2] = {visible_keys(s, row), visible_keys(s, row + 8)};
  const bool biased = s.key_bias != nullptr;
  const auto adjust = [&](int tile, float(&scores)[kScores]) {
    if (biased || (tile + 1) * kKeys > all_see) {
      adjust_scores(s, h, tile * kKeys, seen, per_bias, scores);
    }
  };
  const auto release = [&](Barrier& barrier) {
    if (lane == 0) barrier.arrive();
  };
  const uint4* queries = shared.queries + group * 64 * 8;  // 64 rows further down in every panel
  Running<D> rows;
  float scores[kScores], shrink[2];
  unsigned weights[kKeys / 16][4];
  shared.queries_here.wait(0);
  shared.keys_here[0].wait(0);
  begin_products();
  start_scores<D>(queries, shared.keys[0], scores);
  wait_products<0>();
  settle_sums(scores);
  release(shared.keys_done[0]);
  adjust(0, scores);
  take_scores(scores, scale, rows, shrink);
#pragma unroll
  for (int i = 0; i < D / 2; ++i) rows.out[i] = 0;
  // The values of the tile before are waited for at the top of a turn, not at the end of the one that started
  // them: there the assembler would put the wait in front of the exponentials.
  const auto end_turn = [&](int tile) {
    wait_products<0>();
    settle_sums(rows.out);
    if (tile > 0) release(shared.values_done[(tile - 1) % kStages]);
#pragma unroll
    for (int i = 0; i < D / 2; ++i) rows.out[i] *= shrink[i % 4 / 2];
    pack_weights(scores, weights);
  };
  for (int tile = 0; tile + 1 < tiles; ++tile) {
    const int stage = tile % kStages, next = (tile + 1) % kStages;
    end_turn(tile);
    shared.keys_here[next].wait((tile + 1) / kStages);
    begin_products();
    start_scores<D>(queries, shared.keys[next], scores);
    shared.values_here[stage].wait(tile / kStages);
    begin_products();
    start_values<D>(weights, shared.values[stage], rows.out);
    wait_products<1>();
    settle_sums(scores);
    release(shared.keys_done[next]);
    adjust(tile + 1, scores);
    take_scores(scores, scale, rows, shrink);
  }
  const int last = tiles - 1;
  end_turn(last);
  shared.values_here[last % kStages].wait(last / kStages);
  begin_products();
  start_values<D>(weights, shared.values[last % kStages], rows.out);
  wait_products<0>();
  settle_sums(rows.out);
  store<D>(s, h, row, scale, rows);
}

template <int D>
__global__ void __launch_bounds__(kThreads, 1) attention_kernel(AttentionView view) {
  extern __shared__ uint4 memory[];
  auto& shared = aligned_shared<Shared<D>>(memory);
  const SequenceView& s = view.sequences[blockIdx.z];
  const BlockPlace place = place_of_block(s);
  const int tiles = static_cast<int>(gridDim.x), h = place.h;
  const int first = (s.block > 0 ? tiles - 1 - place.tile : place.tile) * kQueries;
  if (first >= s.T) return;
  const int end = visible_keys(s, min(first + kQueries, s.T) - 1);
  const Task task{s, first, h, h / (view.H / view.Hkv), (end + kKeys - 1) / kKeys};
  if (threadIdx.x == 0) {
    shared.queries_here.init(1);
    for (int i = 0; i < kStages; ++i) {
      shared.keys_here[i].init(1);
      shared.values_here[i].init(1);
      shared.keys_done[i].init(kGroups * kGroupThreads / 32);
      shared.values_done[i].init(kGroups * kGroupThreads / 32);
    }
    publish_barriers();
  }
  __syncthreads();
  const int group = __shfl_sync(~0u, static_cast<int>(threadIdx.x / kGroupThreads), 0);
  if (group == kGroups) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCopyRegisters));
    if (threadIdx.x == kGroups * kGroupThreads) feed<D>(task, shared);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kWorkRegisters));
    attend<D>(view, task, group, shared);
  }
}

}  // namespace

void run_hopper_attention(const AttentionView& view, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(divide_up(view.most_queries, kQueries)),
                  static_cast<unsigned>(view.H), static_cast<unsigned>(view.count));
  with_hopper_head_size(view.D, [&](auto size) {
    constexpr int kShared = sizeof(Shared<size()>) + kAlignmentSlack;
    allow_shared(attention_kernel<size()>, kShared);
    attention_kernel<size()><<<grid, kThreads, kShared, stream>>>(view);
  });
  check_launch("attention");
}

}  // namespace buoy::cuda
