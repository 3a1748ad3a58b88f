// Pass 2 on Hopper: a block owns 256 keys of a head, 128 for each of two groups of warps, and walks a stretch
// of the queries group by group, 64 at a time. A thread sums the weights of its two queries for each of its
// 32 keys in registers; where a group ends, the threads add up. Where several blocks share out the queries,
// the last of them to be done adds up what all have. Two blocks share a multiprocessor: while one group of
// warps computes exponentials, the tensor cores score for another.
#include "buoy/compute/cuda/hopper/barrier.cuh"
#include "buoy/compute/cuda/hopper/wgmma.cuh"

namespace buoy::cuda {
namespace {

constexpr int kGroupThreads = 128, kGroups = 2, kThreads = kGroups * kGroupThreads;
static_assert(kOwnedKeys == kGroups * kTileRows && kOwnedKeys == kThreads);
constexpr int kKeys = kTileRows, kScores = kKeys / 2, kSums = kKeys / 4;  // of a group of warps
constexpr int kStages = 2, kNotes = 4;  // notes are read after the queries have been let go
constexpr int kNote = kQueryBlock * static_cast<int>(sizeof(float));

// Where the blocks of queries lie. In shared memory: global memory would be read anew for every block.
struct Source {
  const float* lse;  // of this head
  const int *order, *seen;
  const GroupBlock* groups;
  const SequenceMaps* maps;
  int blocks;
  int first_seeing;  // the first query that sees one of the keys
};

template <int D>
struct Shared {
  uint4 keys[kGroups][kKeys * D / kVector];
  uint4 queries[kStages][kQueryBlock * D / kVector];
  uint4 lse[kNotes][kNote / 16];                    // floats; +inf: no query
  uint4 seen[kNotes][kNote / 16];                   // ints, how many keys they see; not under a full mask
  int row[kNotes];                                  // of sums
  float bias[kGroups][kKeys];                       // of the keys, in units of log 2
  float parts[kGroups][4][kKeys];                   // sums of each warp
  Barrier keys_here, here[kStages], done[kStages];  // a block has come; every warp has scored it
  Source source;
  int is_last;  // of the blocks that own these keys
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
  __device__ Feeder(Shared<D>& shared, int h, int masked)
      : shared_(shared), h_(h), masked_(masked), coming_(shared.source.groups[0]) {}

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
      shared_.row[note] = now.row;
      here.expect(kQueryBlock * D * static_cast<int>(sizeof(Bf16)) + (masked_ ? 2 : 1) * kNote);
      copy_bytes(from.lse + at, kNote, shared_.lse[note], here);
      if (masked_) copy_bytes(from.seen + at, kNote, shared_.seen[note], here);
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
  int h_, masked_, block_ = 0;
  GroupBlock coming_;
};

// scores = 64 queries · the group's keys, in the background.
template <int D>
__device__ __forceinline__ void start_scores(const uint4* queries, const uint4* keys,
                                             float (&scores)[kScores]) {
  const std::uint64_t left = describe_tile(queries, 16), right = describe_tile(keys, 16);
#pragma unroll
  for (int step = 0; step < D / 16; ++step) {
    const int chunk = step % 4 * 2;
    multiply_128(scores, tile_at(left, step / 4 * kQueryBlock * 8 + chunk),
                 tile_at(right, step / 4 * kKeys * 8 + chunk), step > 0 ? 1 : 0);
  }
  close_products();
}

// What a group of warps works on.
struct Task {
  const SequenceView& s;
  int first, end, h;   // keys [first, end); head
  int masked, biased;  // 0: a full mask; no biases
  int group;           // which of the block's
};

// Adds the weights of a thread's two queries to the sums of its keys; key number i is 8·(i/2) + 2·(lane%4) +
// i%2. Most of the work is where nothing is hidden or biased, and there it is short. Under a mask it is
// rounded as in the general case: whether a tile is whole changes no bits.
template <int D>
__device__ __forceinline__ void fold(const Shared<D>& shared, const Task& task, int turn, float scale,
                                     const float (&scores)[kScores], float (&sums)[kSums]) {
  const int lane = threadIdx.x % 32, row = threadIdx.x % kGroupThreads / 32 * 16 + lane / 4;
  const auto* lse = reinterpret_cast<const float*>(shared.lse[turn % kNotes]);
  const float subtract[2] = {lse[row], lse[row + 8]};
  if (!task.masked && !task.biased) {
#pragma unroll
    for (int i = 0; i < kScores; ++i) {
      sums[i / 4 * 2 + i % 2] += exp2_fast(fmaf(scores[i], scale, -subtract[i % 4 / 2]));
    }
    return;
  }
  const auto* notes = reinterpret_cast<const int*>(shared.seen[turn % kNotes]);
  const int seen[2] = {task.masked ? notes[row] : task.end, task.masked ? notes[row + 8] : task.end};
  if (__all_sync(~0u, !task.biased && seen[0] >= task.end && seen[1] >= task.end)) {
#pragma unroll
    for (int i = 0; i < kScores; ++i) {
      sums[i / 4 * 2 + i % 2] += exp2_fast(__fsub_rn(__fmul_rn(scores[i], scale), subtract[i % 4 / 2]));
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kScores; ++i) {
    const int key = i / 4 * 8 + 2 * (lane % 4) + i % 2, half = i % 4 / 2;
    const float weight = exp2_fast(fmaf(scores[i], scale, shared.bias[task.group][key]) - subtract[half]);
    sums[i / 4 * 2 + i % 2] += task.first + key < seen[half] ? weight : 0.0f;
  }
}

// The group's warps wait for one another.
__device__ __forceinline__ void meet(int group) {
  asm volatile("bar.sync %0, %1;" ::"r"(1 + group), "n"(kGroupThreads) : "memory");
}

// A row of sums over N keys: a group's own, or one for the queries of a further stretch.
__device__ __forceinline__ float* row_of_sums(const SequenceView& s, int h, int row) {
  if (row < s.group_count) return s.column_sums + (static_cast<Index>(h) * s.group_count + row) * s.N;
  return s.further_sums + (static_cast<Index>(h) * s.further_count + row - s.group_count) * s.N;
}

// Adds up the sums of all threads, writes them to their row and begins the next.
template <int D>
__device__ __forceinline__ void flush(const Task& task, int row, float (&sums)[kSums], Shared<D>& shared) {
  const SequenceView& s = task.s;
  const int thread = threadIdx.x % kGroupThreads, warp = thread / 32, lane = thread % 32;
  auto& parts = shared.parts[task.group];
#pragma unroll
  for (int i = 0; i < kSums; ++i) {
    float total = sums[i];
#pragma unroll
    for (int step = 4; step < 32; step *= 2) total += __shfl_xor_sync(~0u, total, step);
    if (lane < 4) parts[warp][i / 2 * 8 + 2 * lane + i % 2] = total;
    sums[i] = 0;
  }
  meet(task.group);
  const int key = task.first + thread;
  if (key < s.N) {
    row_of_sums(s, task.h, row)[key] =
        parts[0][thread] + parts[1][thread] + parts[2][thread] + parts[3][thread];
  }
  meet(task.group);
}

template <int D>
__device__ __forceinline__ void sum_columns(const AttentionView& view, const Task& task, Shared<D>& shared) {
  const int lane = threadIdx.x % 32;
  const float scale = score_scale(view);
  const int turns = count_blocks(shared.source);
  // The first warp has the copy engine bring the next block, where the one before was.
  Feeder<D> feeder(shared, task.h, task.masked);
  const auto feed = [&](int turn) {
    if (threadIdx.x >= 32 || turn >= turns) return;
    if (turn >= kStages) shared.done[turn % kStages].wait(turn / kStages - 1);
    feeder.copy_next(turn);
  };
  feed(0);
  float scores[kScores], sums[kSums] = {};
  int row = -1;
  shared.keys_here.wait(0);
  for (int turn = 0; turn < turns; ++turn) {
    shared.here[turn % kStages].wait(turn / kStages);
    begin_products();
    start_scores<D>(shared.queries[turn % kStages], shared.keys[task.group], scores);
    feed(turn + 1);
    wait_products<0>();
    settle_sums(scores);
    if (lane == 0) shared.done[turn % kStages].arrive();
    const int next = __shfl_sync(~0u, shared.row[turn % kNotes], 0);
    if (next != row && row >= 0) flush<D>(task, row, sums, shared);
    row = next;
    fold(shared, task, turn, scale, scores, sums);
  }
  flush<D>(task, row, sums, shared);
}

// A block is done. The last one that has anything for its keys adds the further rows to the groups' own: in
// the order of the queries, whichever block it is.
template <int D>
__device__ void add_further_rows(const SequenceView& s, int h, int tile, int first_seeing,
                                 Shared<D>& shared) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    int owners = 0;
    for (int i = 0; i < s.stretch_count; ++i) owners += s.stretches[i].last_query >= first_seeing ? 1 : 0;
    const int tiles = (s.N + kOwnedKeys - 1) / kOwnedKeys;
    shared.is_last = atomicAdd(s.arrived + h * tiles + tile, 1) + 1 == owners ? 1 : 0;
  }
  __syncthreads();
  const int key = tile * kOwnedKeys + static_cast<int>(threadIdx.x);
  if (shared.is_last == 0 || key >= s.N) return;
  __threadfence();
  for (int i = 0; i < s.further_count; ++i) {
    const FurtherRow further = s.further[i];
    if (further.last_query < first_seeing) continue;  // never written
    float* sum = row_of_sums(s, h, further.group) + key;
    __stcg(sum, __ldcg(sum) + __ldcg(row_of_sums(s, h, s.group_count + i) + key));
  }
}

template <int D>
__global__ void __launch_bounds__(kThreads, 2) columns_kernel(AttentionView view) {
  extern __shared__ uint4 memory[];
  auto& shared = aligned_shared<Shared<D>>(memory);
  const SequenceView& s = view.sequences[blockIdx.z];
  if (s.column_sums == nullptr || s.block_count == 0) return;
  // The last queries' owners begin first: they see most, and the first keys are seen by most.
  const BlockPlace place = place_of_block(s);
  const int tiles = (s.N + kOwnedKeys - 1) / kOwnedKeys, back = place.tile / tiles;
  if (back >= s.stretch_count) return;
  const int tile = place.tile % tiles, first = tile * kOwnedKeys, h = place.h;
  const Stretch stretch = s.stretches[s.stretch_count - 1 - back];
  const int first_seeing = s.block > 0 ? first_position_seeing(s, first) - s.first_position : 0;
  if (stretch.last_query < first_seeing) return;
  const int group = __shfl_sync(~0u, static_cast<int>(threadIdx.x / kGroupThreads), 0);
  const int own = first + group * kKeys;
  const Task task{s,    own, min(own + kKeys, s.N), h, s.block > 0 ? 1 : 0, s.key_bias != nullptr ? 1 : 0,
                  group};
  const int mine = task.first + threadIdx.x % kGroupThreads;
  shared.bias[group][threadIdx.x % kGroupThreads] = mine < s.N ? bias_of(s, h, mine) : -kInfinity;
  if (threadIdx.x == 0) {
    shared.keys_here.init(1);
    for (Barrier& barrier : shared.here) barrier.init(1);
    for (Barrier& barrier : shared.done) barrier.init(kThreads / 32);
    publish_barriers();
    refresh_map(s.maps->k);
    refresh_map(s.maps->query_block);
    refresh_map(s.maps->query);
    const int skipped = stretch.first_block * kQueryBlock;
    shared.source = {s.ordered_lse + static_cast<Index>(h) * s.block_count * kQueryBlock + skipped,
                     s.order + skipped,
                     s.ordered_seen + skipped,
                     s.group_blocks + stretch.first_block,
                     s.maps,
                     stretch.blocks,
                     first_seeing};
    shared.keys_here.expect(kGroups * kKeys * D * static_cast<int>(sizeof(Bf16)));
    for (int g = 0; g < kGroups; ++g) {
      copy_boxes<D, kKeys>(s.maps->k, h / (view.H / view.Hkv) * D, first + g * kKeys, shared.keys[g],
                           shared.keys_here);
    }
  }
  __syncthreads();
  sum_columns<D>(view, task, shared);
  if (s.further_count > 0) add_further_rows(s, h, tile, first_seeing, shared);
}

}  // namespace

void run_hopper_columns(const AttentionView& view, cudaStream_t stream) {
  if (view.most_owners == 0) return;
  const dim3 grid(static_cast<unsigned>(view.most_owners), static_cast<unsigned>(view.H),
                  static_cast<unsigned>(view.count));
  with_hopper_head_size(view.D, [&](auto size) {
    constexpr int kShared = sizeof(Shared<size()>) + kAlignmentSlack;
    allow_shared(columns_kernel<size()>, kShared);
    columns_kernel<size()><<<grid, kThreads, kShared, stream>>>(view);
  });
  check_launch("column sums");
}

}  // namespace buoy::cuda
