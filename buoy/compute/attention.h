// The attention contract: what goes in, what may be asked for, what comes back.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "buoy/compute/mask.h"
#include "buoy/compute/tensor.h"

namespace buoy {

inline constexpr int kMaxGroups = 32;

// What the attention of a mixer without softmax is read from (ssd.h): M_ij² ÷ its row's sum, or |M_ij| ÷ its
// row's sum. Attention itself has only one reading.
enum class Implicit { kEnergy, kMagnitude };

// What to measure of one sequence's attention in one layer. Everything is off by default. A is the attention
// that was used: after mask and key bias, before head gain.
struct AttentionRequest {
  // Column sums: query_groups[t] is the group of query t, or -1 to leave it out. Empty: no column sums.
  std::vector<std::int8_t> query_groups;  // [T]
  int group_count = 0;                    // at most kMaxGroups

  // Row statistics for these queries (indices into T), and their mass by key group (-1: in no group).
  std::vector<Index> rows;
  std::vector<std::int8_t> key_groups;  // [N], or empty: no mass
  int key_group_count = 0;
  bool row_means = false;  // those rows themselves, averaged over heads

  bool output_norms = false;  // mean over queries of ‖Σ_j A_ij v_j‖, the same for uniform A, and ‖v_j‖
  bool qk_means = false;      // column means of score, cosine and norm, and ‖k_j‖, O(N·D)
  bool matrix = false;        // the whole A; only under kMaxMatrixElements
  bool states = false;        // the queries and keys themselves, after rotation
  Implicit implicit = Implicit::kEnergy;
};

// H·T·N of a full matrix may not pass this (1 GiB of float32).
inline constexpr Index kMaxMatrixElements = Index{1} << 28;

// The answer. Arrays that were not asked for stay empty. A row with no visible key counts 0 everywhere and
// has argmax -1. Ties go to the lowest index. A row with a score that is NaN or +inf is NaN in the output, in
// the column sums of its group and in its max_weight: see first_nonfinite().
struct AttentionStats {
  std::vector<float> column_sums;       // [H, group_count, N]  Σ_{i in group} A_ij
  std::vector<std::int32_t> argmax;     // [H, rows]
  std::vector<float> max_weight;        // [H, rows]
  std::vector<float> entropy;           // [H, rows]  nats
  std::vector<float> key_mass;          // [H, rows, key_group_count]
  std::vector<float> row_means;         // [rows, N]  (1/H) Σ_h A_ij
  std::vector<float> mean_output_norm;  // [H]
  std::vector<float> uniform_norm;      // [Hkv]  mean over queries of ‖mean of the values it may see‖
  std::vector<float> value_norms;       // [Hkv, N]
  std::vector<float> score_means;       // [H, N]  mean over the queries that may see j of q_i·k_j
  std::vector<float> cosine_means;      // [H, N]
  std::vector<float> norm_means;        // [H, N]
  std::vector<float> key_norms;         // [Hkv, N]
  std::vector<float> recency_means;     // [H, N]  of state space mixers, with qk_means; empty of attention
  std::vector<float> matrix;            // [H, T, N]
  std::vector<float> query_states;      // [H, T, D]
  std::vector<float> key_states;        // [Hkv, N, D]
};

// One sequence of a batch. Query t stands at key position first_position + t, by which the mask decides what
// it sees.
struct AttentionSequence {
  Index first_row = 0;  // its first row in q and in the output
  Index T = 0;          // queries
  Tensor k, v;          // [N, Hkv·D]
  Index first_position = 0;
  std::optional<Mask> mask;          // instead of that of AttentionArgs
  std::span<const float> key_bias;   // [N] or [H·N], added before the softmax; -inf hides a key. Empty: none
  std::span<const float> head_gain;  // [H], scales each head's output. Empty: none
  const AttentionRequest* request = nullptr;  // nullptr: measure nothing
  AttentionStats* stats = nullptr;            // filled when request is set
};

// When the statistics are there: as attention() returns, or only after Backend::settle(), so that a device
// can go on computing while they travel. With kLater, requests and stats must stay in place until then, and
// no other attention may run before.
enum class Delivery { kNow, kLater };

// softmax(q·kᵀ·factor/√D + bias)·v for every head and sequence. Query head h reads key head h / (H / Hkv).
struct AttentionArgs {
  Tensor q;  // [ΣT, H·D]
  Index H = 0, Hkv = 0, D = 0;
  Mask mask = Mask::kFull;
  std::span<const AttentionSequence> sequences;
  Delivery delivery = Delivery::kNow;
  float factor = 1;  // above 0. What qk_means measures knows nothing of it, nor of √D
};

// Throws InternalError when shapes, groups or limits do not fit; every backend calls it first.
void check_attention(const AttentionArgs& args, const Tensor& out);

// Sizes and zeroes the arrays of the answer that were asked for, and empties the others; argmax starts at -1.
void prepare_stats(const AttentionArgs& args, const AttentionSequence& sequence);

// The name of the first array that holds a NaN or an infinity; empty: none does.
std::string_view first_nonfinite(const AttentionStats& stats);

// Fills query_states and key_states. For backends whose tensors lie in the host's memory.
void copy_states(const AttentionArgs& args, const AttentionSequence& sequence);

// The mask that goes for a sequence.
Mask mask_of(const AttentionArgs& args, const AttentionSequence& sequence);

// How many keys query t sees: the first ones.
Index visible_keys(const AttentionArgs& args, const AttentionSequence& sequence, Index t);

// The first query that may see key j: the means of qk_means run from there to the last query. At or past T
// when none does.
Index first_query_seeing(const AttentionArgs& args, const AttentionSequence& sequence, Index j);

}  // namespace buoy
