// Attention to what is near: A_ij ∝ exp(−λ|i−j|) among the keys that row i may see, without writing it out.
#pragma once

#include <span>
#include <vector>

#include "buoy/compute/mask.h"

namespace buoy {

// N rows of such attention for one λ ≥ 0. Everything is O(N) but for flow.
class Recency {
 public:
  Recency(const Mask& mask, double lambda, Index N);

  double row_entropy(Index i) const;  // nats
  double mean_row_entropy() const;
  // A_ij of row i over its first `visible` keys. [visible]
  std::vector<double> row(Index i, Index visible) const;

  // Mean over the rows i with chosen[i] != 0, of which there is one at least; adds up to 1. [N]
  std::vector<double> received(std::span<const std::int8_t> chosen) const;
  std::vector<double> received() const;  // over all rows

  // Share of their attention that the rows of region a send into region b, [R, R]; 0 for a region without
  // rows. O(N·R).
  std::vector<double> flow(std::span<const Index> of, Index R) const;

 private:
  Index ahead(Index i) const { return mask_.visible_keys(i, N_) - 1 - i; }  // keys after i that it sees

  Mask mask_;
  double lambda_;
  Index N_;
  std::vector<double> powers_;     // [N] q^d, q = exp(−λ)
  std::vector<double> sums_;       // [N] Σ_{e ≤ d} q^e
  std::vector<double> distances_;  // [N] Σ_{e ≤ d} e·q^e
  std::vector<double> totals_;     // [N] of row i: Σ_j exp(−λ|i−j|)
};

// The λ whose mean row entropy over N rows is `entropy`: it falls as λ grows. 0 where `entropy` is at or
// above that of uniform attention, kSteepest where it is at or below that of kSteepest.
inline constexpr double kSteepest = 64;
double fit_recency(const Mask& mask, Index N, double entropy);

}  // namespace buoy
