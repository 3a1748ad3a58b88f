#include "buoy/analysis/null_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "buoy/base/error.h"

namespace buoy {
namespace {

void append(std::vector<float>& out, std::span<const double> values, Index copies) {
  for (Index copy = 0; copy < copies; ++copy) {
    for (const double value : values) out.push_back(static_cast<float>(value));
  }
}

// The same, each row filled up with zeros to `width`.
void append_rows(std::vector<float>& out, std::span<const double> row, Index width, Index copies) {
  std::vector<double> padded(row.begin(), row.end());
  padded.resize(width);
  append(out, padded, copies);
}

// While a model writes, everything generated counts as Answer.
std::vector<Index> regions_while_writing(const Trace& trace) {
  std::vector<Index> of = trace.regions.of;
  const Index answer = trace.regions.find(RegionKind::kAnswer);
  if (answer >= 0) std::fill(of.begin() + trace.prompt_length, of.end(), answer);
  return of;
}

StepRecord null_steps(const Trace& trace) {
  const Mask& mask = trace.header.mask;
  const Index N = trace.N(), L = trace.L();
  const StepRecord& from = trace.steps;
  StepRecord out{.steps = from.steps, .lengths = from.lengths, .tokens = from.tokens};
  const std::vector<Index> of = regions_while_writing(trace);
  for (const Index length : from.lengths) {
    const std::vector<double> all = uniform_received(mask, Rows::kAll, length);
    const std::vector<double> read = uniform_received(mask, Rows::kRead, length);
    if (!from.received.empty()) append_rows(out.received, all, N, L);
    if (!from.received_read.empty()) append_rows(out.received_read, read, N, L);
    if (!from.received_heads.empty()) append_rows(out.received_heads, all, N, L * trace.H());
    if (from.flow.empty()) continue;
    append(out.flow, uniform_flow(mask, std::span(of).first(length), trace.R()), L);
  }
  out.score_means.assign(from.score_means.size(), 0);
  out.cosine_means.assign(from.cosine_means.size(), 0);
  out.norm_means = from.norm_means;
  return out;
}

AnswerRecord null_answer(const Trace& trace) {
  AnswerRecord out{.rows = trace.answer.rows, .visible = trace.answer.visible};
  const auto fill = [&](auto& values, auto value) {
    values.insert(values.end(), trace.L() * trace.H(), value);
  };
  for (const Index visible : out.visible) {
    // What a row sees are the first keys, under any mask.
    const auto end = trace.evidence.begin() + std::min(visible, trace.N());
    const double evidence = std::accumulate(trace.evidence.begin(), end, 0.0);
    const double keys = static_cast<double>(visible);
    fill(out.argmax, std::int32_t{visible > 0 ? 0 : -1});
    fill(out.weight, static_cast<float>(visible > 0 ? 1 / keys : 0));
    fill(out.entropy, static_cast<float>(visible > 0 ? std::log(keys) : 0));
    fill(out.evidence_mass, static_cast<float>(visible > 0 ? evidence / keys : 0));
  }
  return out;
}

FinishedRecord null_finished(const Trace& trace) {
  const Mask& mask = trace.header.mask;
  const FinishedRecord& from = trace.finished;
  const Index N = trace.N(), heads = trace.L() * trace.H();
  FinishedRecord out;
  append(out.received, uniform_received(mask, Rows::kAll, N), heads);
  out.row_entropy.assign(heads, static_cast<float>(uniform_row_entropy(mask, N)));
  for (Index l = 0; l < trace.L(); ++l) {
    for (Index h = 0; h < trace.H(); ++h) {
      const Index kv = h / (trace.H() / trace.Hkv());
      out.output_norm.push_back(from.uniform_norm[static_cast<std::size_t>(l * trace.Hkv() + kv)]);
    }
  }
  out.uniform_norm = from.uniform_norm;
  out.value_norms = from.value_norms;
  out.key_norms = from.key_norms;
  out.score_means.assign(from.score_means.size(), 0);
  out.cosine_means.assign(from.cosine_means.size(), 0);
  out.norm_means = from.norm_means;
  append(out.flow, uniform_flow(mask, trace.regions.of, trace.R()), trace.L());
  return out;
}

}  // namespace

std::string_view name_of(Rows rows) {
  return rows == Rows::kAll ? "all" : "read";
}

std::vector<double> uniform_received(const Mask& mask, Rows rows, Index N) {
  const double n = static_cast<double>(N);
  std::vector<double> out(N, 1 / n);
  const bool all_see_all = mask.visible_keys(0, N) == N;
  if (all_see_all || rows == Rows::kRead) return out;
  double seeing = 0;  // Σ 1/(keys seen) over the rows from `row` on, which are those that see key j
  Index row = N;
  for (Index j = N - 1; j >= 0; --j) {
    while (row > mask.first_position_seeing(j))
      seeing += 1 / static_cast<double>(mask.visible_keys(--row, N));
    out[j] = seeing / n;
  }
  return out;
}

double uniform_row_entropy(const Mask& mask, Index N) {
  const double n = static_cast<double>(N);
  double sum = 0;
  for (Index i = 0; i < N; ++i) sum += std::log(static_cast<double>(mask.visible_keys(i, N)));
  return sum / n;
}

std::vector<double> uniform_flow(const Mask& mask, std::span<const Index> of, Index R) {
  std::vector<double> flow(R * R);
  std::vector<double> seen(R);  // keys of each region that the row may see
  std::vector<double> rows(R);
  Index visible = 0;
  for (Index i = 0; i < std::ssize(of); ++i) {
    const Index a = of[i];
    for (const Index now = mask.visible_keys(i, std::ssize(of)); visible < now; ++visible)
      ++seen[of[visible]];
    ++rows[a];
    const double keys = static_cast<double>(visible);
    for (Index b = 0; b < R; ++b) flow[a * R + b] += seen[b] / keys;
  }
  for (Index a = 0; a < R; ++a) {
    for (Index b = 0; b < R; ++b) flow[a * R + b] /= std::max(1.0, rows[a]);
  }
  return flow;
}

Trace null_trace(const Trace& trace) {
  check(trace.Hkv() > 0 && trace.H() % trace.Hkv() == 0, "query heads share key heads evenly");
  return Trace{.header = trace.header,
               .tokens = trace.tokens,
               .token_texts = trace.token_texts,
               .classes = trace.classes,
               .regions = trace.regions,
               .evidence = trace.evidence,
               .prompt_length = trace.prompt_length,
               .commit_step = trace.commit_step,
               .confidence = trace.confidence,
               .layers = trace.layers,
               .steps = null_steps(trace),
               .answer = null_answer(trace),
               .finished = null_finished(trace)};
}

}  // namespace buoy
