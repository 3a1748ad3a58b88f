// Pass 2 on Hopper: a block owns 128 keys of a head, kept in registers as left operands, and walks the
// queries group by group, two blocks of 64 at a time: while the tensor cores score the second, the threads
// fold the first into their sums. Two such blocks share a multiprocessor and fill each other's pauses.
#include "compute/cuda/hopper/barrier.cuh"
#include "compute/cuda/hopper/wgmma.cuh"

namespace buoy::cuda {
namespace {

constexpr int kThreads = 256, kKeys = 128, kScores = kQueryBlock / 2;
constexpr int kPairs = 3, kStages = 2 * kPairs;  // two blocks are worked on, four arrive
constexpr int kNotes = kStages + 2;              // notes are read after the queries have been let go
constexpr int kNote = kQueryBlock * static_cast<int>(sizeof(float));

template <int D>
struct Shared {
  uint4 queries[kStages][kQueryBlock * D / kVector];  // before them, for a moment, the keys
  uint4 lse[kNotes][kNote / 16];                      // floats; +inf: no query
  uint4 order[kNotes][kNote / 16];                    // ints, the queries' numbers; under a causal mask only
  Barrier here[kStages];                              // a block has come
  Barrier done[kPairs];                               // every warp has scored a pair of blocks
};

// Has the copy engine bring blocks of queries with their notes; for one whole warp.
template <int D>
struct Feeder {
  const SequenceView& s;
  const SequenceMaps& maps;
  int h, causal;

  __device__ __forceinline__ void copy(int block, Shared<D>& shared) const {
    const int stage = block % kStages, lane = threadIdx.x % 32;
    Barrier& here = shared.here[stage];
    const int first = s.group_blocks[block].first_query;
    if (lane == 0) {
      here.expect(kQueryBlock * D * static_cast<int>(sizeof(Bf16)) + (causal ? 2 : 1) * kNote);
      const int at = block * kQueryBlock;
      copy_bytes(s.ordered_lse + static_cast<Index>(h) * s.block_count * kQueryBlock + at, kNote,
                 shared.lse[block % kNotes], here);
      if (causal) copy_bytes(s.order + at, kNote, shared.order[block % kNotes], here);
      if (first >= 0) copy_boxes<D, kQueryBlock>(maps.query_block, h * D, first, shared.queries[stage], here);
    }
    __syncwarp();
    if (first >= 0) return;
    for (int r = lane; r < kQueryBlock; r += 32) {  // where there is no query any will do: its lse is +inf
      const int t = max(0, s.order[block * kQueryBlock + r]);
      copy_boxes<D, 1, kQueryBlock>(maps.query, h * D, t, shared.queries[stage] + r * 8, here);
    }
  }
};

template <int D>
__device__ __forceinline__ void start_scores(const unsigned (&keys)[D / 16][4], const uint4* queries,
                                             float (&scores)[kScores]) {
#pragma unroll
  for (int step = 0; step < D / 16; ++step) {
    const int at = step / 4 * kQueryBlock * 8 + step % 4 * 2;
    multiply_64(scores, keys[step], describe_tile(queries + at, 16), step > 0 ? 1 : 0);
  }
  close_products();
}

// A thread's two keys.
struct Columns {
  int key[2];
  float bias[2], sum[2];
};

// `simple`: nothing is hidden or biased. `hidden`: what to add to a query's number to get the first key it
// does not see; past all keys where everything is visible.
template <int D>
__device__ __forceinline__ void fold(const Shared<D>& shared, int block, bool simple, int causal, int hidden,
                                     float scale, const float (&scores)[kScores], Columns& columns) {
  const auto* lse = reinterpret_cast<const float2*>(shared.lse[block % kNotes]);
  const auto* order = reinterpret_cast<const int2*>(shared.order[block % kNotes]);
  const int lane = threadIdx.x % 32;
  if (simple) {
#pragma unroll
    for (int n = 0; n < kScores / 4; ++n) {
      const float2 subtract = lse[4 * n + lane % 4];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        columns.sum[e / 2] +=
            exp2_fast(fmaf(scores[4 * n + e], scale, e % 2 == 0 ? -subtract.x : -subtract.y));
      }
    }
    return;
  }
#pragma unroll
  for (int n = 0; n < kScores / 4; ++n) {
    const float2 subtract = lse[4 * n + lane % 4];
    const int2 query = causal ? order[4 * n + lane % 4] : make_int2(0, 0);
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const float score = fmaf(scores[4 * n + e], scale, columns.bias[e / 2]);
      const float weight = exp2_fast(score - (e % 2 == 0 ? subtract.x : subtract.y));
      const bool visible = columns.key[e / 2] < (e % 2 == 0 ? query.x : query.y) + hidden;
      columns.sum[e / 2] += visible ? weight : 0.0f;
    }
  }
}

// Writes the sums of a group and begins the next.
__device__ __forceinline__ void flush(const SequenceView& s, int h, int group, Columns& columns) {
  float* to = s.column_sums + (static_cast<Index>(h) * s.group_count + group) * s.N;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float total = quad_sum(columns.sum[half]);
    if (threadIdx.x % 4 == 0 && columns.key[half] < s.N) to[columns.key[half]] = total;
    columns.sum[half] = 0;
  }
}

template <int D>
__global__ void __launch_bounds__(kThreads, 2) columns_kernel(AttentionView view) {
  extern __shared__ uint4 memory[];
  auto& shared = aligned_shared<Shared<D>>(memory);
  const SequenceView& s = view.sequences[blockIdx.z];
  const int first = blockIdx.x * kKeys, h = blockIdx.y, kv = h / (view.H / view.Hkv);
  const int blocks = __shfl_sync(~0u, s.block_count, 0);
  if (s.column_sums == nullptr || first >= s.N || blocks == 0) return;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const float scale = score_scale(view);
  const int causal = view.causal, hidden = causal ? s.first_position + 1 : s.N;
  const bool simple = !causal && s.key_bias == nullptr;
  const GroupBlock* groups = s.group_blocks;
  const Feeder<D> feeder{s, *s.maps, h, causal};
  copy_rows<D, kKeys, kThreads>(shared.queries[0], head_of<Bf16>(s.k, kv, D), s.k_stride,
                                [&](int r) { return first + r < s.N ? first + r : -1; });
  close_copies();
  if (threadIdx.x == 0) {
    for (Barrier& barrier : shared.here) barrier.init(1);
    for (Barrier& barrier : shared.done) barrier.init(kThreads / 32);
    publish_barriers();
    refresh_map(s.maps->query_block);
    refresh_map(s.maps->query);
  }
  wait_copies<0>();
  __syncthreads();
  unsigned keys[D / 16][4];
#pragma unroll
  for (int step = 0; step < D / 16; ++step) load_left<D>(shared.queries[0], 16 * warp, step, keys[step]);
  publish_copies();
  __syncthreads();
  if (warp == 0) {
    for (int b = 0; b < min(kStages, blocks); ++b) feeder.copy(b, shared);
  }
  Columns columns{};
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    columns.key[half] = first + 16 * warp + lane / 4 + 8 * half;
    columns.bias[half] = columns.key[half] < s.N ? bias_of(s, h, columns.key[half]) : -kInfinity;
  }

  int group = groups[0].group, next_group = blocks > 1 ? groups[1].group : -1;
  const auto finish = [&](int b, const float(&scores)[kScores]) {
    const int after = b + 2 < blocks ? groups[b + 2].group : -1;  // read now, needed in the next step
    fold(shared, b, simple, causal, hidden, scale, scores, columns);
    if (group != next_group && group >= 0) flush(s, h, group, columns);
    group = next_group;
    next_group = after;
  };
  for (int b = 0; b < blocks; b += 2) {
    const int pair = b / 2, turn = b / kStages;
    // Where the pair before this one was, the one kPairs after it goes.
    if (warp == 0 && pair > 0 && b - 2 + kStages < blocks) {
      shared.done[(pair - 1) % kPairs].wait((pair - 1) / kPairs);
      feeder.copy(b - 2 + kStages, shared);
      feeder.copy(b - 1 + kStages, shared);
    }
    float even[kScores], odd[kScores];
    shared.here[b % kStages].wait(turn);
    begin_products();
    start_scores<D>(keys, shared.queries[b % kStages], even);
    shared.here[(b + 1) % kStages].wait(turn);
    start_scores<D>(keys, shared.queries[(b + 1) % kStages], odd);
    wait_products<1>();
    settle_sums(even);
    finish(b, even);
    wait_products<0>();
    settle_sums(odd);
    if (lane == 0) shared.done[pair % kPairs].arrive();
    finish(b + 1, odd);
  }
}

}  // namespace

void run_hopper_columns(const AttentionView& view, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(divide_up(view.most_keys, kKeys)), static_cast<unsigned>(view.H),
                  static_cast<unsigned>(view.count));
  with_hopper_head_size(view.D, [&](auto size) {
    constexpr int kShared = sizeof(Shared<size()>) + kAlignmentSlack;
    allow_shared(columns_kernel<size()>, kShared);
    columns_kernel<size()><<<grid, kThreads, kShared, stream>>>(view);
  });
  check_launch("column sums");
}

}  // namespace buoy::cuda
