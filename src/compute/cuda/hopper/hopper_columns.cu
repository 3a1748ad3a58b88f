// Pass 2 on Hopper: a block owns 128 keys of a head, kept in registers as left operands, and walks the queries
// group by group, 64 at a time. While the tensor cores score one block of queries, the threads fold the one
// before into their sums.
#include "compute/cuda/hopper/wgmma.cuh"

namespace buoy::cuda {
namespace {

constexpr int kThreads = 256, kKeys = 128, kScores = kQueryBlock / 2;
constexpr int kStages = 4, kAhead = kStages - 1;
constexpr int kNotes = 8;  // a block's notes are read one step after its queries

template <int D>
struct Shared {
  uint4 queries[kStages][kQueryBlock * D / kVector];
  uint4 keys[kKeys * D / kVector];
  uint4 lse[kNotes][kQueryBlock / 4];    // floats; +inf: no query
  uint4 order[kNotes][kQueryBlock / 4];  // ints, the queries' numbers; under a causal mask only
};

// Gathers blocks of queries. A thread copies the same columns of every kStep-th row; the rows' numbers are read
// a block ahead, so that no copy waits for them.
template <int D>
struct Gatherer {
  static constexpr int kChunks = D / kVector, kStep = kThreads / kChunks, kCopies = kQueryBlock / kStep;
  static_assert(kStep % 8 == 0);
  const SequenceView& s;
  const Bf16* head;   // this thread's columns of query 0
  const float* lse;   // of this head, in the blocks' order
  int causal, row, chunk;
  int rows[kCopies];  // of the next block

  __device__ __forceinline__ Gatherer(const AttentionView& view, const SequenceView& sequence, int h)
      : s(sequence), causal(view.causal), row(threadIdx.x / kChunks), chunk(threadIdx.x % kChunks) {
    head = head_of<Bf16>(s.q, h, D) + chunk * kVector;
    lse = s.ordered_lse + static_cast<Index>(h) * s.block_count * kQueryBlock;
    read_rows(0);
  }
  __device__ __forceinline__ void read_rows(int block) {
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      rows[i] = block < s.block_count ? s.order[block * kQueryBlock + row + i * kStep] : -1;
    }
  }
  // Starts copying a block, which must be the one after the last; past the end its queries are nobody's.
  __device__ __forceinline__ void copy(int block, Shared<D>& shared) {
    const unsigned at = shared_address(shared.queries[block % kStages] + panel_chunk<kQueryBlock>(row, chunk));
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      copy_chunk_to(at + i * kStep * 128, head + max(rows[i], 0) * s.q_stride, rows[i] >= 0);
    }
    if (threadIdx.x < kQueryBlock / 4) {
      uint4* note = &shared.lse[block % kNotes][threadIdx.x];
      if (block < s.block_count) {
        copy_chunk(note, lse + block * kQueryBlock + 4 * threadIdx.x, true);
      } else {
        *note = make_uint4(0x7f800000u, 0x7f800000u, 0x7f800000u, 0x7f800000u);  // +inf
      }
      if (causal && block < s.block_count) {
        copy_chunk(&shared.order[block % kNotes][threadIdx.x], s.order + block * kQueryBlock + 4 * threadIdx.x,
                   true);
      }
    }
    read_rows(block + 1);
  }
};

template <int D>
__device__ __forceinline__ void start_scores(const unsigned (&keys)[D / 16][4], const uint4* queries, float (&scores)[kScores]) {
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

// `hidden`: what to add to a query's number to get the first key it does not see; under a causal mask only.
template <int D>
__device__ __forceinline__ void fold(const Shared<D>& shared, int block, int causal, int hidden, float scale,
                                     const float (&scores)[kScores], Columns& columns) {
  const auto* lse = reinterpret_cast<const float2*>(shared.lse[block % kNotes]);
  const auto* order = reinterpret_cast<const int2*>(shared.order[block % kNotes]);
  const int lane = threadIdx.x % 32;
  if (!causal) {
#pragma unroll
    for (int n = 0; n < kScores / 4; ++n) {
      const float2 subtract = lse[4 * n + lane % 4];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float score = fmaf(scores[4 * n + e], scale, columns.bias[e / 2]);
        columns.sum[e / 2] += exp2_fast(score - (e % 2 == 0 ? subtract.x : subtract.y));
      }
    }
    return;
  }
#pragma unroll
  for (int n = 0; n < kScores / 4; ++n) {
    const float2 subtract = lse[4 * n + lane % 4];
    const int2 query = order[4 * n + lane % 4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const float score = fmaf(scores[4 * n + e], scale, columns.bias[e / 2]);
      const float weight = exp2_fast(score - (e % 2 == 0 ? subtract.x : subtract.y));
      const bool visible = columns.key[e / 2] < (e % 2 == 0 ? query.x : query.y) + hidden;
      columns.sum[e / 2] += visible ? weight : 0.0f;
    }
  }
}

// After the last block of a group its sums are complete.
__device__ __forceinline__ void flush(const SequenceView& s, int h, int block, Columns& columns) {
  if (block >= s.block_count) return;
  const int group = s.group_blocks[block].group;
  if (block + 1 < s.block_count && s.group_blocks[block + 1].group == group) return;
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
  const int first = blockIdx.x * kKeys, h = blockIdx.y, kv = h / (view.H / view.Hkv), blocks = s.block_count;
  if (s.column_sums == nullptr || first >= s.N || blocks == 0) return;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const float scale = score_scale(view);
  const int hidden = s.first_position + 1;
  Gatherer<D> gatherer(view, s, h);
  copy_rows<D, kKeys, kThreads>(shared.keys, head_of<Bf16>(s.k, kv, D), s.k_stride,
                                [&](int r) { return first + r < s.N ? first + r : -1; });
  for (int b = 0; b < kAhead; ++b) {
    if (b <= blocks) gatherer.copy(b, shared);
    close_copies();
  }
  wait_copies<kAhead - 1>();
  __syncthreads();
  unsigned keys[D / 16][4];
#pragma unroll
  for (int step = 0; step < D / 16; ++step) load_left<D>(shared.keys, 16 * warp, step, keys[step]);
  Columns columns{};
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    columns.key[half] = first + 16 * warp + lane / 4 + 8 * half;
    columns.bias[half] = columns.key[half] < s.N ? bias_of(s, h, columns.key[half]) : -kInfinity;
  }

  const auto start = [&](int b, float (&scores)[kScores]) {
    wait_copies<kAhead - 1>();
    publish_copies();
    __syncthreads();
    if (b + kAhead <= blocks) gatherer.copy(b + kAhead, shared);
    close_copies();
    begin_products();
    start_scores<D>(keys, shared.queries[b % kStages], scores);
  };
  const auto finish = [&](int b, const float (&scores)[kScores]) {
    fold(shared, b, view.causal, hidden, scale, scores, columns);
    flush(s, h, b, columns);
  };
  // Two sets of scores change places. Steps come in pairs, so the last block may be one without queries.
  float even[kScores], odd[kScores];
  start(0, even);
  wait_products<0>();
  settle_sums(even);
  int b = 1;
  for (; b < blocks; b += 2) {
    start(b, odd);
    finish(b - 1, even);
    wait_products<0>();
    settle_sums(odd);
    start(b + 1, even);
    finish(b, odd);
    wait_products<0>();
    settle_sums(even);
  }
  finish(b - 1, even);
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
