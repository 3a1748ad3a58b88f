// What the attention kernels know of a sequence. All pointers are the card's; types are float32 or bf16.
#pragma once

#include <cuda_runtime_api.h>

#include "buoy/base/types.h"

namespace buoy::cuda {

// Queries of one group stand together in blocks of this many.
inline constexpr int kQueryBlock = 64;

// A block of queries whose columns are summed together: order[first, first + kQueryBlock) of one group.
struct GroupBlock {
  int group;
  int row;          // where its stretch's sums go: the group's own row, or group_count + a further one
  int last_query;   // the largest among them
  int first_query;  // where they follow one another (but for a last part of -1), the first; else -1
};

// Pass 2 on Hopper: so many keys of a head have an owner, or several that share out the queries.
inline constexpr int kOwnedKeys = 256;

// Blocks that one owner of keys walks alone, where a sequence is shared out among several.
struct Stretch {
  int first_block, blocks;
  int last_query;  // the largest among them
};

// A group whose queries several stretches hold has a row of sums of its own for every one but the first.
struct FurtherRow {
  int group;
  int last_query;  // the largest among those that are summed there
};

struct SequenceMaps;  // hopper/tensor_map.h

// One sequence. Head h of q lies at column h·D, of k and v at h / (H / Hkv)·D.
struct SequenceView {
  const void *q, *k, *v;
  void* out;
  Index q_stride, k_stride, v_stride, out_stride;  // elements
  int T, N;
  int first_position;        // of the first query among the keys; full mask: unused
  int block, offset;         // the mask (compute/mask.h); block 0: full
  const float* key_bias;     // or null
  int bias_stride;           // from head to head: N, or 0
  const float* head_gain;    // [H] or null
  const SequenceMaps* maps;  // of q, k and v for the copy engine; Hopper's kernels only

  // Pass 1, when anything is measured: log-sum-exp of every row in units of log 2, +inf for a row that sees
  // nothing; and the length of every row's output before gain.
  float* lse;           // [H, T] or null
  float* output_norms;  // [H, T] or null

  // Pass 2: queries sorted by group, every group filled up to whole blocks with -1.
  const int* order;                // [blocks · kQueryBlock]
  const int* place;                // [T], where a query stands there; -1: in no group
  const GroupBlock* group_blocks;  // [blocks]
  int block_count, group_count;
  float* ordered_lse;  // [H, blocks · kQueryBlock], lse in that order, +inf where there is no query
  int* ordered_seen;   // [blocks · kQueryBlock], how many keys each of them sees; N where there is no query
  float* column_sums;  // [H, group_count, N] or null, zeroed
  const Stretch* stretches;   // [stretch_count]; Hopper's kernel only, as what follows
  const FurtherRow* further;  // [further_count]
  int stretch_count, further_count;
  float* further_sums;  // [H, further_count, N]
  int* arrived;         // [H, tiles of keys], zeroed: how many stretches are done

  // Rows that are looked at closely.
  const int* rows;  // [R]
  int R;
  const signed char* key_groups;  // [N] or null
  int key_group_count;
  int* argmax;                  // [H, R], or null with the next three: only the matrix
  float *max_weight, *entropy;  // [H, R]
  float* key_mass;              // [H, R, key_group_count] or null
  float* matrix;                // [H, R, N] or null
  float* row_means;             // [R, N] or null; then `matrix` is there

  // Means over queries, and lengths of keys and values.
  float *score_means, *cosine_means, *norm_means;  // [H, N] or null
  float *key_norms, *value_norms;                  // [Hkv, N] or null
  float* mean_output_norm;                         // [H] or null
  float* uniform_norm;                             // [Hkv] or null
  float* means_scratch;                            // [H, chunks, 2·D + 1]
  float* uniform_scratch;                          // [Hkv, chunks, D + 1], or null under a full mask
};

// A batch of sequences of one layer. Grids cover the largest sequence; smaller ones leave early.
struct AttentionView {
  const SequenceView* sequences;  // [count], on the card
  int count;
  int H, Hkv, D;
  float factor;                // of the scores, besides 1/√D
  int some_full, some_masked;  // 0 or 1: sequences under a full mask, and under another
  DType type;                  // of q, k, v and out
  int most_queries, most_keys, most_rows, most_blocks, most_owners;  // owners: a tile of keys and a stretch
};

// Pass 1: outputs, and log-sum-exp and output norms where asked for.
void run_plain_attention(const AttentionView& view, cudaStream_t stream);
void run_mma_attention(const AttentionView& view, cudaStream_t stream);  // bf16, D 32, 64 or 128

// What pass 2 knows of the queries in its order, but for their log-sum-exp, which pass 1 puts there.
void run_order(const AttentionView& view, cudaStream_t stream);

// Pass 2: column sums, one owner per head and block of keys.
void run_plain_columns(const AttentionView& view, cudaStream_t stream);
void run_mma_columns(const AttentionView& view, cudaStream_t stream);  // bf16, D 32, 64 or 128

// Both passes with Hopper's own instructions: bf16, D 64 or 128, compute capability 9.0.
void run_hopper_attention(const AttentionView& view, cudaStream_t stream);
void run_hopper_columns(const AttentionView& view, cudaStream_t stream);

// Row statistics and whole rows, from q, k and the log-sum-exp.
void run_plain_rows(const AttentionView& view, cudaStream_t stream);
void run_mma_rows(const AttentionView& view, cudaStream_t stream);  // bf16, D 32, 64 or 128

// The mean over heads of the whole rows, which are there.
void run_row_means(const AttentionView& view, cudaStream_t stream);

// Means over queries and key norms; means_scratch() floats are needed for each sequence.
void run_means(const AttentionView& view, cudaStream_t stream);
Index means_scratch(const AttentionView& view, const SequenceView& s);

// Value norms, and what the mean output norm would be under uniform attention; uniform_scratch() floats are
// needed for each sequence.
void run_value_norms(const AttentionView& view, cudaStream_t stream);
Index uniform_scratch(const AttentionView& view, const SequenceView& s);

// The mean output norm, of the lengths that pass 1 left.
void run_output_norms(const AttentionView& view, cudaStream_t stream);

}  // namespace buoy::cuda
