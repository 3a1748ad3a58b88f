// For the tests of this room: a small valid trace of uniform attention, folded from matrices that are written
// out.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "buoy/analysis/measurement.h"
#include "buoy/base/random.h"

namespace buoy {

// BOS, Template, two of Query, documents that share what is left, Template, then G generated positions: an
// answer whose last token is EOS, and a tail of two. Evidence: the first two positions of the gold document.
struct TraceShape {
  Index N = 24, G = 6, L = 3, H = 4, Hkv = 2, S = 4;
  Mask mask;  // causal: of a model that appends; else masks are filled, and unless full only the last row is
              // read
  Index documents = 3, gold = 2;
};

// What uniform attention puts out, in these traces, over the mean length of a value.
inline constexpr double kUniformDrain = 0.3;

inline constexpr TokenId kTestMask = 1, kTestBos = 2, kTestEos = 3;

using Matrix = std::vector<std::vector<double>>;

// Whether a query sees a key, by the definition of the mask.
inline bool sees(const Mask& mask, Index query, Index key) {
  const Index B = mask.block(), o = mask.offset();
  return B == 0 || (key + o) / B <= (query + o) / B;
}

inline Matrix uniform_attention(const Mask& mask, Index n) {
  Matrix A(n, std::vector<double>(n, 0.0));
  for (Index i = 0; i < n; ++i) {
    double visible = 0;
    for (Index j = 0; j < n; ++j) visible += sees(mask, i, j) ? 1 : 0;
    for (Index j = 0; j < n; ++j) A[i][j] = sees(mask, i, j) ? 1 / visible : 0;
  }
  return A;
}

// Appends the mean of rows `first` … of A, filled up with zeros to `width`, `copies` times.
inline void fold_columns(std::vector<float>& out, const Matrix& A, Index first, Index width, Index copies) {
  std::vector<double> sums(width);
  for (Index i = first; i < std::ssize(A); ++i) {
    for (Index j = 0; j < std::ssize(A); ++j) sums[j] += A[i][j] / static_cast<double>(std::ssize(A) - first);
  }
  for (Index copy = 0; copy < copies; ++copy) {
    for (const double sum : sums) out.push_back(static_cast<float>(sum));
  }
}

inline void fold_flow(std::vector<float>& out, const Matrix& A, const RegionMap& regions, Index copies) {
  const Index R = regions.count();
  std::vector<double> mass(R * R), rows(R);
  for (Index i = 0; i < std::ssize(A); ++i) {
    ++rows[regions.of[i]];
    for (Index j = 0; j < std::ssize(A); ++j) mass[regions.of[i] * R + regions.of[j]] += A[i][j];
  }
  for (Index copy = 0; copy < copies; ++copy) {
    for (Index cell = 0; cell < R * R; ++cell) {
      out.push_back(rows[cell / R] > 0 ? static_cast<float>(mass[cell] / rows[cell / R]) : 0);
    }
  }
}

inline RegionMap test_regions(const TraceShape& shape) {
  const Index prompt = shape.N - shape.G, area = prompt - 5;
  std::vector<Region> regions = {{RegionKind::kBos}, {RegionKind::kTemplate}, {RegionKind::kQuery}};
  std::vector<RegionSpan> spans = {{0, 1, 0}, {1, 2, 1}, {2, 4, 2}};
  for (Index d = 0; d < shape.documents; ++d) {
    spans.push_back({4 + d * area / shape.documents, 4 + (d + 1) * area / shape.documents, 3 + d});
    regions.push_back({RegionKind::kDocument, d + 1, d + 1 == shape.gold});
  }
  spans.push_back({spans.back().end, prompt, 1});
  const Index answer = std::ssize(regions);
  regions.push_back({RegionKind::kAnswer});
  regions.push_back({RegionKind::kTail});
  spans.push_back({prompt, shape.N - 2, answer});
  spans.push_back({shape.N - 2, shape.N, answer + 1});
  return RegionMap::from_spans(regions, spans, shape.N, "test");
}

inline void write_tokens(Trace& trace) {
  for (Index j = 0; j < std::ssize(trace.regions.of); ++j) {
    const Region& region = trace.regions.regions[trace.regions.of[j]];
    TokenClass token_class = TokenClass::kContent;
    if (region.kind == RegionKind::kBos) token_class = TokenClass::kBos;
    if (region.kind == RegionKind::kTemplate) token_class = TokenClass::kTemplate;
    if (region.kind == RegionKind::kDocument && j % 3 == 0) token_class = TokenClass::kPunctuation;
    if (j >= std::ssize(trace.regions.of) - 3) token_class = TokenClass::kEosPad;
    const TokenId word = static_cast<TokenId>(100 + j);
    trace.tokens.push_back(token_class == TokenClass::kBos      ? kTestBos
                           : token_class == TokenClass::kEosPad ? kTestEos
                                                                : word);
    trace.token_texts.push_back(std::to_string(word));
    trace.classes.push_back(token_class);
    trace.evidence.push_back(0);
  }
  for (const RegionSpan& span : trace.regions.spans()) {
    if (trace.regions.regions[span.region].gold)
      trace.evidence[span.begin] = trace.evidence[span.begin + 1] = 1;
  }
}

// Rows that are read: those still to be filled, or the last one. What is held still is folded from the last
// row alone: in uniform attention the read rows are alike.
inline void hold_rows_still(Trace& trace, Index t, Index S, const Matrix& A) {
  const Index n = std::ssize(A);
  const bool causal = trace.header.writing == Writing::kAppends;
  for (Index j = 0; j < trace.N(); ++j) {
    const Index g = j - trace.prompt_length;
    const bool read = trace.header.mask == Mask::kFull ? g >= 0 && trace.commit_step[g] >= t : j == n - 1;
    trace.steps.read.push_back(read ? 1 : 0);
  }
  if (causal) return;
  fold_columns(trace.steps.received_frozen, A, n - 1, trace.N(), trace.L());
  if (t + 1 < S) {
    fold_columns(trace.steps.received_staying, A, n - 1, trace.N(), trace.L());
  } else {
    trace.steps.received_staying.insert(trace.steps.received_staying.end(), trace.L() * trace.N(), 0.0F);
  }
}

inline void fold_steps(Trace& trace, Index S) {
  const bool causal = trace.header.writing == Writing::kAppends;
  RegionMap regions = trace.regions;
  const Index answer = regions.find(RegionKind::kAnswer);
  for (Index j = trace.prompt_length; j < trace.N(); ++j) regions.of[j] = answer;
  for (Index t = 0; t < S; ++t) {
    const Index n = causal ? trace.prompt_length + t : trace.N();
    trace.steps.steps.push_back(t);
    trace.steps.lengths.push_back(n);
    for (Index j = 0; j < trace.N(); ++j) {
      const bool open =
          !causal && j >= trace.prompt_length && trace.commit_step[j - trace.prompt_length] >= t;
      trace.steps.tokens.push_back(j >= n ? -1 : open ? kTestMask : trace.tokens[j]);
    }
    const Matrix A = uniform_attention(trace.header.mask, n);
    fold_columns(trace.steps.received, A, 0, trace.N(), trace.L());
    fold_columns(trace.steps.received_read, A, trace.header.mask == Mask::kFull ? trace.prompt_length : n - 1,
                 trace.N(), trace.L());
    fold_columns(trace.steps.received_heads, A, 0, trace.N(), trace.L() * trace.H());
    fold_flow(trace.steps.flow, A, regions, trace.L());
    hold_rows_still(trace, t, S, A);
  }
}

inline void fold_answer(Trace& trace) {
  const bool causal = trace.header.writing == Writing::kAppends;
  const Matrix A = uniform_attention(trace.header.mask, trace.N());
  for (Index g = 0; g < trace.G(); ++g) {
    const Index row = trace.prompt_length + g - (causal ? 1 : 0);
    trace.answer.rows.push_back(row);
    trace.answer.visible.push_back(std::ranges::count_if(A[row], [](double a) { return a > 0; }));
    double evidence = 0, entropy = 0;
    std::vector<double> mass(trace.R());
    for (Index j = 0; j < trace.N(); ++j) {
      evidence += trace.evidence[j] * A[row][j];
      const Index answer = trace.regions.find(RegionKind::kAnswer);
      mass[j < trace.prompt_length ? trace.regions.of[j] : answer] += A[row][j];
      if (A[row][j] > 0) entropy -= A[row][j] * std::log(A[row][j]);
    }
    for (Index head = 0; head < trace.L() * trace.H(); ++head) {
      trace.answer.argmax.push_back(0);
      trace.answer.weight.push_back(static_cast<float>(A[row][0]));
      trace.answer.entropy.push_back(static_cast<float>(entropy));
      trace.answer.evidence_mass.push_back(static_cast<float>(evidence));
    }
    for (Index i = 0; i < trace.L() * trace.R(); ++i)
      trace.answer.region_mass.push_back(static_cast<float>(mass[i % trace.R()]));
  }
}

// Norms differ from key to key and from key head to key head; scores and cosines are 0.
inline void fold_finished(Trace& trace) {
  const Index N = trace.N(), heads = trace.L() * trace.H();
  const Matrix A = uniform_attention(trace.header.mask, N);
  FinishedRecord& f = trace.finished;
  fold_columns(f.received, A, 0, N, heads);
  fold_flow(f.flow, A, trace.regions, trace.L());
  double entropy = 0;
  for (const auto& row : A) {
    for (const double a : row) entropy -= a > 0 ? a * std::log(a) / static_cast<double>(N) : 0;
  }
  f.row_entropy.assign(heads, static_cast<float>(entropy));
  for (Index i = 0; i < trace.L() * trace.Hkv() * N; ++i) {
    f.value_norms.push_back(1 + static_cast<float>(i % 7));
    f.key_norms.push_back(2 + static_cast<float>(i % 5));
  }
  for (Index key_head = 0; key_head < trace.L() * trace.Hkv(); ++key_head) {
    double total = 0;
    for (Index j = 0; j < N; ++j) total += f.value_norms[key_head * N + j];
    f.uniform_norm.push_back(static_cast<float>(kUniformDrain * total / static_cast<double>(N)));
  }
  for (Index head = 0; head < heads; ++head) {
    const Index l = head / trace.H(), kv = head % trace.H() * trace.Hkv() / trace.H();
    f.output_norm.push_back(f.uniform_norm[l * trace.Hkv() + kv]);
  }
  f.score_means.assign(heads * N, 0);
  f.cosine_means.assign(heads * N, 0);
  f.norm_means.assign(heads * N, 1.5F);
}

inline Trace uniform_trace(const TraceShape& shape = {}) {
  Trace trace;
  const bool causal = shape.mask == Mask::kCausal;
  trace.header = {.model = "test",
                  .writing = causal ? Writing::kAppends : Writing::kFillsMasks,
                  .mask = shape.mask,
                  .rows = causal ? PassRows::kAddUp : PassRows::kAnew,
                  .H = shape.H,
                  .Hkv = shape.Hkv};
  trace.header.sample = "sample";
  trace.prompt_length = shape.N - shape.G;
  trace.regions = test_regions(shape);
  for (Index l = 0; l < shape.L; ++l) trace.layers.push_back(2 * l);  // every other layer was recorded
  trace.header.model_layers = 2 * shape.L;
  if (!causal) trace.header.mask_id = kTestMask;
  write_tokens(trace);
  for (Index g = 0; g < shape.G; ++g) {
    trace.commit_step.push_back(causal ? g : g * shape.S / shape.G);
    trace.confidence.push_back(0.5);
  }
  fold_steps(trace, shape.S);
  fold_answer(trace);
  fold_finished(trace);
  return trace;
}

// Row `row` of an array [.., n] becomes uniform but for `mass` more on each of `positions`.
inline void spike(std::vector<float>& array, Index row, Index n, std::vector<Index> positions, double mass) {
  const double rest = 1 - mass * static_cast<double>(positions.size());
  for (Index j = 0; j < n; ++j) array[row * n + j] = static_cast<float>(rest / static_cast<double>(n));
  for (const Index j : positions) array[row * n + j] += static_cast<float>(mass);
}

// The same position stands out for every head and layer of the finished sequence.
inline void spike_finished(Trace& trace, std::vector<Index> positions, double mass) {
  for (Index head = 0; head < trace.L() * trace.H(); ++head) {
    spike(trace.finished.received, head, trace.N(), positions, mass);
  }
}

struct Where {
  std::string_view quantity;
  Index layer = -1, head = -1;
  std::string_view part = "";
};

inline const Measurement* look_up(const Measurements& measurements, const Where& where) {
  for (const Measurement& m : measurements) {
    if (m.quantity == where.quantity && m.layer == where.layer && m.head == where.head &&
        m.part == where.part) {
      return &m;
    }
  }
  return nullptr;
}

// Value ÷ weight of one measurement; fails the test when there is none.
inline double value_of(const Measurements& measurements, const Where& where) {
  const Measurement* found = look_up(measurements, where);
  if (found) return found->value / found->weight;
  ADD_FAILURE() << "no " << where.quantity << ", layer " << where.layer << ", part " << where.part;
  return std::nan("");
}

inline double draw(std::uint32_t stream, std::uint64_t i) {
  return uniform({.seed = 7, .sample = stream}, i);
}

}  // namespace buoy
