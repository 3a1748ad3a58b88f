// The contract of a state space mixer (SSD, both directions) and of the attention that is implicit in it.
//
// Of each head, y = M·v with one N×N matrix M that is never formed:
//   M_ij = C_i·B_j · Δ_j · Π_{k=j+1..i} a_k   for j < i, with the forward direction's Δ and a;
//   M_ij = C_i·B_j · Δ_j · Π_{k=i..j−1} a_k   for j > i, with the backward direction's;
//   M_ii = D_i.
// Δ = softplus(z + dt_bias), a = exp(−exp(a_log)·Δ). Time and memory are linear in N.
#pragma once

#include "buoy/compute/attention.h"
#include "buoy/compute/tensor.h"

namespace buoy {

// Of every column by itself, along the sequence.
struct Convolution {
  Tensor weight;  // [K, columns] f32, K odd
  Tensor bias;    // [1, columns] f32
};

// What all rows share. Forward heads, then backward ones.
struct SsdWeights {
  Tensor dt_bias, a_log;  // [1, 2·H] f32
  Tensor skip;            // [1, H] f32, added to D
};

// Queries are C, keys B, values v: AttentionSequence has them as its k [N, H·n] and v [N, H·P] with N = T,
// first_position 0 and a full mask. A key bias is 0, or −∞: nothing of that key is read by other rows; its
// own row still passes M_ii·v_i on, and the state decays there as before. Statistics are those of attention,
// of A_ij = M_ij² ÷ Σ_j M_ij² (or |M_ij| ÷ Σ_j |M_ij|) before head gain, where
//   column_sums     O(N·n²) of the energy; O(N²·n) in strips, with O(N) memory, of |M|;
//   rows            O(N·n) a row, less where a head forgets;
//   output_norms    ‖y_i‖ as the head gives it: rows of M do not add up to 1;
//   qk_means        of the energy, exactly score = norm·cosine·recency (docs/definitions.md);
//   states          C and B.
struct SsdArgs {
  Tensor reads;  // C [ΣT, H·n]
  Tensor gates;  // [ΣT, 3·H]: z forward, z backward, D before `skip`
  const SsdWeights& weights;
  Index H = 0, n = 0, P = 0;
  std::span<const AttentionSequence> sequences;
  Delivery delivery = Delivery::kNow;

  // The same as attention is described, for what the two share. D is n.
  AttentionArgs as_attention() const;
};

// Throws InternalError when shapes or groups do not fit, Error for a bias that is neither 0 nor −∞.
void check_ssd(const SsdArgs& args, const Tensor& out);

// As prepare_stats(), with recency_means.
void prepare_ssd_stats(const SsdArgs& args, const AttentionSequence& sequence);

// One head of one sequence in double precision, as the host's backends go by it. Decay from j to i is
// exp(reach[j] − reach[i]) in both directions: forward for j < i, backward for j > i.
struct SsdDirection {
  std::vector<double> step;   // [N] Δ as it is read by others: 0 where the key is hidden
  std::vector<double> reach;  // [N + 1] forward −Σ_{k≤i} ln a_k, backward Σ_{k<i} ln a_k
};
struct SsdHead {
  SsdDirection forward, backward;
  std::vector<double> diagonal;  // [N] D
  bool finite = true;            // no gate was NaN or infinite
};

// For backends whose tensors lie in the host's memory.
SsdHead make_ssd_head(const SsdArgs& args, const AttentionSequence& sequence, Index h);

// The three factors of what column j receives from other rows, from its parts: `energy` Σ_{i≠j} M_ij²/ρ_i,
// `reached` Σ_{i≠j} q_i²·Δ²·decay² with q_i = ‖C_i‖/√ρ_i, `key` ‖B_j‖², `steps` Δ²forward + Δ²backward of j,
// `queries` Σ_i q_i².
struct SsdColumn {
  double energy, reached, key, steps, queries;
};
void fill_ssd_column(const SsdColumn& column, Index h, Index j, Index N, AttentionStats& stats);

}  // namespace buoy
