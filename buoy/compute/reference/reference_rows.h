// What the plain mixers share: rows of weights, written out, to statistics.
#pragma once

#include <vector>

#include "buoy/compute/attention.h"

namespace buoy {

// One head of one sequence, with the small accessors the loops below share.
struct ReferenceHead {
  const AttentionArgs& args;
  const AttentionSequence& s;
  Index h, kv, N;
  Index P;                        // size of a value
  std::vector<double>& row_sums;  // [rows, N] over the heads so far, where row_means is asked for

  const float* query(Index i) const { return args.q.row<float>(s.first_row + i) + h * args.D; }
  const float* key(Index j) const { return s.k.row<float>(j) + kv * args.D; }
  const float* value(Index j) const { return s.v.row<float>(j) + kv * P; }
  double bias(Index j) const {
    if (s.key_bias.empty()) return 0;
    return s.key_bias[static_cast<std::size_t>(std::ssize(s.key_bias) == N ? j : h * N + j)];
  }
  Index visible(Index i) const { return visible_keys(args, s, i); }
};

double dot(const float* a, const float* b, Index n);
double norm(const float* a, Index n);

// What a head adds up while its rows pass by.
struct ReferenceSums {
  std::vector<double> columns;  // [groups, N], where asked for
  double norms = 0;             // of the outputs

  explicit ReferenceSums(const ReferenceHead& head);
};

// Folds row i of A into what was asked for. Only with a request.
void record_row(const ReferenceHead& head, Index i, const std::vector<double>& row, ReferenceSums& sums);

// Stores Σ_j row[j]·v_j times the head's gain, and adds its length before the gain to the sums.
void weigh_row(const ReferenceHead& head, Index i, const std::vector<double>& row, const Tensor& out,
               ReferenceSums& sums);

// Column sums, and the norms of outputs and values, to the answer. Only with a request.
void store_sums(const ReferenceHead& head, const ReferenceSums& sums);

// Row sums over heads to means.
void store_row_means(const AttentionSequence& s, Index H, const std::vector<double>& row_sums);

}  // namespace buoy
