// Pass 2 on Hopper: a block owns 128 keys of a head, kept in registers as left operands, 64 for each of two
// groups of warps, and walks the queries group by group, 64 at a time. While the tensor cores score one block
// of queries, the threads fold the one before into their sums. Two such blocks share a multiprocessor.
#include "compute/cuda/hopper/barrier.cuh"
#include "compute/cuda/hopper/wgmma.cuh"

namespace buoy::cuda {
namespace {

constexpr int kThreads = 256, kKeys = kThreads / 2, kScores = kQueryBlock / 2;
constexpr int kStages = 4, kAhead = kStages - 2;  // blocks are asked for this many turns ahead
constexpr int kNotes = 8;  // more than stages: they are read after the queries have been let go
constexpr int kNote = kQueryBlock * static_cast<int>(sizeof(float));

// Where the blocks of queries lie. In shared memory: global memory would be read anew for every block.
struct Source {
  const float* lse;  // of this head
  const int* order;
  const GroupBlock* groups;
  const SequenceMaps* maps;
  int blocks;
  int first_seeing;  // the first query that sees one of the keys
};

template <int D>
struct Shared {
  uint4 queries[kStages][kQueryBlock * D / kVector];  // before them, for a moment, the keys
  uint4 lse[kNotes][kNote / 16];                      // floats; +inf: no query
  uint4 order[kNotes][kNote / 16];                    // ints, the queries' numbers; under a causal mask only
  int group[kNotes];
  Barrier here[kStages], done[kStages];  // a block has come; every warp has scored it
  Source source;
};

// How many blocks of queries see one of the keys; for a whole warp.
__device__ int count_blocks(const Source& source) {
  int seen = 0;
  for (int b = 0; b < source.blocks; b += 32) {
    const int mine = b + static_cast<int>(threadIdx.x % 32);
    const bool sees = mine < source.blocks && source.groups[mine].last_query >= source.first_seeing;
    seen += __popc(__ballot_sync(~0u, sees));
  }
  return __shfl_sync(~0u, seen, 0);  // for the compiler to see that all have the same
}

// Has the copy engine bring those blocks one after the other, with their notes; for one whole warp.
template <int D>
class Feeder {
 public:
  __device__ Feeder(Shared<D>& shared, int h, int causal)
      : shared_(shared), h_(h), causal_(causal), coming_(shared.source.groups[0]) {}

  // The next one, as number `turn`. There must be one.
  __device__ __forceinline__ void copy_next(int turn) {
    const Source& from = shared_.source;
    while (coming_.last_query < from.first_seeing) coming_ = from.groups[++block_];
    const GroupBlock now = coming_;
    const int at = block_ * kQueryBlock, stage = turn % kStages, note = turn % kNotes;
    const int lane = threadIdx.x % 32;
    if (block_ + 1 < from.blocks) coming_ = from.groups[++block_];  // read now, needed in a later turn
    Barrier& here = shared_.here[stage];
    uint4* queries = shared_.queries[stage];
    if (lane == 0) {
      shared_.group[note] = now.group;
      here.expect(kQueryBlock * D * static_cast<int>(sizeof(Bf16)) + (causal_ ? 2 : 1) * kNote);
      copy_bytes(from.lse + at, kNote, shared_.lse[note], here);
      if (causal_) copy_bytes(from.order + at, kNote, shared_.order[note], here);
      if (now.first_query >= 0) {
        copy_boxes<D, kQueryBlock>(from.maps->query_block, h_ * D, now.first_query, queries, here);
      }
    }
    __syncwarp();
    if (now.first_query >= 0) return;
    for (int r = lane; r < kQueryBlock; r += 32) {  // where there is no query any will do: its lse is +inf
      copy_boxes<D, 1, kQueryBlock>(from.maps->query, h_ * D, max(0, from.order[at + r]), queries + r * 8,
                                    here);
    }
  }

 private:
  Shared<D>& shared_;
  int h_, causal_, block_ = 0;
  GroupBlock coming_;
};

template <int D>
__device__ __forceinline__ void start_scores(const unsigned (&keys)[D / 16][4], const uint4* queries,
                                             float (&scores)[kScores]) {
  const std::uint64_t tile = describe_tile(queries, 16);
#pragma unroll
  for (int step = 0; step < D / 16; ++step) {
    const int at = step / 4 * kQueryBlock * 8 + step % 4 * 2;
    multiply_64(scores, keys[step], tile_at(tile, at), step > 0 ? 1 : 0);
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
__device__ __forceinline__ void fold(const Shared<D>& shared, int turn, bool simple, int causal, int hidden,
                                     float scale, const float (&scores)[kScores], Columns& columns) {
  const auto* lse = reinterpret_cast<const float2*>(shared.lse[turn % kNotes]);
  const auto* order = reinterpret_cast<const int2*>(shared.order[turn % kNotes]);
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

// What a block works on.
struct Task {
  const SequenceView& s;
  int first, h, causal;  // first key; head
};

template <int D>
__device__ __forceinline__ void sum_columns(const AttentionView& view, const Task& task,
                                            const unsigned (&keys)[D / 16][4], Shared<D>& shared) {
  const SequenceView& s = task.s;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, causal = task.causal;
  const float scale = score_scale(view);
  const int hidden = causal ? s.first_position + 1 : s.N;
  const bool simple = !causal && s.key_bias == nullptr;
  Columns columns{};
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    columns.key[half] = task.first + 16 * warp + lane / 4 + 8 * half;
    columns.bias[half] = columns.key[half] < s.N ? bias_of(s, task.h, columns.key[half]) : -kInfinity;
  }
  const int turns = count_blocks(shared.source);
  if (turns == 0) return;
  // The first warp has the copy engine bring what comes kAhead turns later, where the turn before last was.
  Feeder<D> feeder(shared, task.h, causal);
  const auto feed = [&](int turn) {
    if (warp != 0 || turn >= turns) return;
    if (turn >= kStages) shared.done[turn % kStages].wait(turn / kStages - 1);
    feeder.copy_next(turn);
  };
  const auto await = [&](int turn) {  // past the last anything will do
    if (turn < turns) shared.here[turn % kStages].wait(turn / kStages);
  };
  const auto start = [&](int turn, float(&scores)[kScores]) {
    begin_products();
    start_scores<D>(keys, shared.queries[turn % kStages], scores);
  };
  int group = -1;
  const auto finish = [&](int turn, const float(&scores)[kScores]) {
    if (lane == 0) shared.done[turn % kStages].arrive();
    const int here = shared.group[turn % kNotes];
    if (here != group && group >= 0) flush(s, task.h, group, columns);
    group = here;
    fold(shared, turn, simple, causal, hidden, scale, scores, columns);
  };
  for (int turn = 0; turn < kAhead; ++turn) feed(turn);
  float even[kScores], odd[kScores];
  await(0);
  start(0, even);
  // A turn's scores are waited for after the wait for the next turn's queries: a loop stands between them and
  // the exponentials of the turn before, which the assembler would otherwise put behind them.
  for (int turn = 0; turn < turns; turn += 2) {
    feed(turn + kAhead);
    feed(turn + 1 + kAhead);
    await(turn + 1);
    wait_products<0>();
    settle_sums(even);
    start(turn + 1, odd);
    finish(turn, even);
    await(turn + 2);
    wait_products<0>();
    settle_sums(odd);
    start(turn + 2, even);
    if (turn + 1 < turns) finish(turn + 1, odd);
  }
  wait_products<0>();
  flush(s, task.h, group, columns);
}

template <int D>
__global__ void __launch_bounds__(kThreads, 2) columns_kernel(AttentionView view) {
  extern __shared__ uint4 memory[];
  auto& shared = aligned_shared<Shared<D>>(memory);
  const SequenceView& s = view.sequences[blockIdx.z];
  const Task task{s, static_cast<int>(blockIdx.x) * kKeys, static_cast<int>(blockIdx.y), view.causal};
  if (s.column_sums == nullptr || task.first >= s.N || s.block_count == 0) return;
  copy_rows<D, kKeys, kThreads>(shared.queries[0], head_of<Bf16>(s.k, task.h / (view.H / view.Hkv), D),
                                s.k_stride,
                                [&](int r) { return task.first + r < s.N ? task.first + r : -1; });
  close_copies();
  if (threadIdx.x == 0) {
    for (Barrier& barrier : shared.here) barrier.init(1);
    for (Barrier& barrier : shared.done) barrier.init(kThreads / 32);
    publish_barriers();
    refresh_map(s.maps->query_block);
    refresh_map(s.maps->query);
    shared.source = {s.ordered_lse + static_cast<Index>(task.h) * s.block_count * kQueryBlock,
                     s.order,
                     s.group_blocks,
                     s.maps,
                     s.block_count,
                     task.causal ? task.first - s.first_position : 0};
  }
  wait_copies<0>();
  __syncthreads();
  const int warp = threadIdx.x / 32;
  unsigned keys[D / 16][4];
#pragma unroll
  for (int step = 0; step < D / 16; ++step) load_left<D>(shared.queries[0], 16 * warp, step, keys[step]);
  publish_copies();
  __syncthreads();
  sum_columns<D>(view, task, keys, shared);
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
