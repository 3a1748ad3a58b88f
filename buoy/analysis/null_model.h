// The null model: what every statistic would be if each row attended evenly to all it may see.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "buoy/probe/trace.h"

namespace buoy {

// What a number is compared with: attention that is even, that of the first step kept to the end, one that
// falls off with distance alone, that of a model whose weights were shuffled.
enum class NullKind { kUniform, kFrozen, kRecency, kShuffled };

// "uniform", "frozen", "recency", "shuffled".
std::string_view name_of(NullKind kind);

// The rows that received attention is averaged over: all of them, or those whose logits were read.
enum class Rows { kAll, kRead };

// "all", "read".
std::string_view name_of(Rows rows);

// Received attention of each of N keys under uniform attention; adds up to 1. Over all N rows: (1/N) Σ
// 1/(keys that row i sees) over the rows that see the key, which is 1/N under a full mask and (1/N)
// Σ_{i=j+1..N} 1/i under a causal one. Rows that are read see all there is (they stand in the last block):
// 1/N. O(N).
std::vector<double> uniform_received(const Mask& mask, Rows rows, Index N);

// Mean entropy of N rows under uniform attention, in nats.
double uniform_row_entropy(const Mask& mask, Index N);

// Region flow under uniform attention, [R, R]: the share of their attention that the rows of region a send
// into region b. Position j belongs to region of[j]. Rows of regions without positions are 0. O(N·R).
std::vector<double> uniform_flow(const Mask& mask, std::span<const Index> of, Index R);

// The same example under uniform attention. Received attention, flow, row entropies and answer rows are
// exact; scores and cosines are 0; norms stay as they were measured; output_norm is the uniform_norm that was
// measured beside it. Arrays that are empty stay empty.
Trace null_trace(const Trace& trace);

// The same example with the attention of its first recorded step at every step, over the rows that were
// really read: all rows, heads, flow and scores are the first step's, read rows `received_frozen`, staying
// rows of a step those of the next. What is of no step (answer rows, the finished pass) stays as measured.
// Nothing for a model whose rows add up, which have no other attention to be replaced, and for a trace
// without the arrays.
std::optional<Trace> frozen_trace(const Trace& trace);

// The same example under attention that looks at what is near: A_ij ∝ exp(−λ|i−j|) among the keys that row i
// may see, λ for each layer and head such that the mean row entropy over the finished sequence is the
// measured one (recency.h). Received attention, flow, row entropies and answer rows are exact; scores and
// cosines are 0; norms and outputs stay as measured. Nothing for a trace that does not say which rows were
// read. O(N) for each head and recorded step, times regions where flow is recorded.
std::optional<Trace> recency_trace(const Trace& trace);

// A trace beside its null, which is made once for all analyses. Views the trace, which has to outlive it.
struct TraceWithNull {
  explicit TraceWithNull(const Trace& t) : trace(&t), null(null_trace(t)) {}
  explicit TraceWithNull(Trace&&) = delete;

  const Trace* trace;
  Trace null;
};

}  // namespace buoy
