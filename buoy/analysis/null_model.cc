#include "buoy/analysis/null_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "buoy/base/error.h"
#include "buoy/probe/trace_arrays.h"

namespace buoy {
namespace {

// Appends `copies` of a row, each filled up with zeros to `width`.
template <typename T>
void append_rows(std::vector<T>& out, std::span<const double> row, Index width, Index copies) {
  for (Index copy = 0; copy < copies; ++copy) {
    for (const double value : row) out.push_back(static_cast<T>(value));
    out.insert(out.end(), width - std::ssize(row), T{0});
  }
}

// While a model writes, everything generated counts as Answer.
std::vector<Index> regions_while_writing(const Trace& trace) {
  std::vector<Index> of = trace.regions.of;
  const Index answer = trace.regions.find(RegionKind::kAnswer);
  if (answer >= 0) std::fill(of.begin() + trace.prompt_length, of.end(), answer);
  return of;
}

// What a trace's arrays are under uniform attention. Views the trace.
class UniformFill {
 public:
  explicit UniformFill(const Trace& trace) : trace_(trace), writing_(regions_while_writing(trace)) {}

  // Fills `out`, which is empty, with as many values as the trace has.
  template <typename T>
  void fill(const TraceArray& array, std::vector<T>& out) const {
    const Index count = element_count(array.shape_in(trace_));
    switch (array.under_uniform) {
      case UnderUniform::kSame:
      case UnderUniform::kGone:
        check(false, "what stays the same is not filled");
        return;
      case UnderUniform::kZero:
        out.assign(count, T{0});
        return;
      case UnderUniform::kReceived:
        return by_length(array, out, trace_.N(),
                         [&](Index n) { return uniform_received(mask(), Rows::kAll, n); });
      case UnderUniform::kReceivedRead:
        return by_length(array, out, trace_.N(),
                         [&](Index n) { return uniform_received(mask(), Rows::kRead, n); });
      case UnderUniform::kReceivedStaying:
        by_length(array, out, trace_.N(), [&](Index n) { return uniform_received(mask(), Rows::kRead, n); });
        return clear_rows_without_any(out);
      case UnderUniform::kFlow: {
        const std::span<const Index> of = array.has_steps() ? writing_ : trace_.regions.of;
        return by_length(array, out, trace_.R() * trace_.R(),
                         [&](Index n) { return uniform_flow(mask(), of.first(n), trace_.R()); });
      }
      case UnderUniform::kRowEntropy:
        out.assign(count, static_cast<T>(uniform_row_entropy(mask(), trace_.N())));
        return;
      case UnderUniform::kOutputNorm:
        for (Index head = 0; head < count; ++head) {
          const Index l = head / trace_.H(), kv = head % trace_.H() / (trace_.H() / trace_.Hkv());
          out.push_back(static_cast<T>(trace_.finished.uniform_norm[l * trace_.Hkv() + kv]));
        }
        return;
      case UnderUniform::kRowArgmax:
        return by_row(out, -1, [](Index) { return 0.0; });
      case UnderUniform::kRowWeight:
        return by_row(out, 0, [](Index keys) { return 1 / static_cast<double>(keys); });
      case UnderUniform::kRowLogKeys:
        return by_row(out, 0, [](Index keys) { return std::log(static_cast<double>(keys)); });
      case UnderUniform::kRowEvidence:
        return by_row(out, 0, [&](Index keys) {
          const auto end = trace_.evidence.begin() + std::min(keys, trace_.N());
          return std::accumulate(trace_.evidence.begin(), end, 0.0) / static_cast<double>(keys);
        });
      case UnderUniform::kRowRegions:
        return by_region(out);
    }
  }

 private:
  const Mask& mask() const { return trace_.header.mask; }

  // row(n) for the length of each recorded step, or for that of the finished sequence; the same for all
  // layers and heads.
  template <typename T, class Row>
  void by_length(const TraceArray& array, std::vector<T>& out, Index width, const Row& row) const {
    const std::vector<Index> finished = {trace_.N()};
    const std::vector<Index>& lengths = array.has_steps() ? trace_.steps.lengths : finished;
    const Index each = element_count(array.shape_in(trace_)) / std::ssize(lengths);
    for (const Index n : lengths) append_rows(out, row(n), width, each / width);
  }

  // value(keys) for each row that wrote a token, over the keys it could see, which are the first ones under
  // any mask; the same for all layers and heads. `none` where no row wrote.
  template <typename T, class Value>
  void by_row(std::vector<T>& out, double none, const Value& value) const {
    for (const Index keys : trace_.answer.visible) {
      out.insert(out.end(), trace_.L() * trace_.H(), static_cast<T>(keys > 0 ? value(keys) : none));
    }
  }

  // The share of each region among the keys that each writing row could see.
  template <typename T>
  void by_region(std::vector<T>& out) const {
    for (const Index keys : trace_.answer.visible) {
      std::vector<double> share(trace_.R(), 0.0);
      for (Index j = 0; j < std::min(keys, trace_.N()); ++j)
        share[writing_[j]] += 1 / static_cast<double>(keys);
      append_rows(out, share, trace_.R(), trace_.L());
    }
  }

  // Steps after which no row stays have a row of zeros, with any attention.
  template <typename T>
  void clear_rows_without_any(std::vector<T>& out) const {
    const auto& measured = trace_.steps.received_staying;
    for (Index row = 0; row < trace_.S() * trace_.L(); ++row) {
      const auto begin = measured.begin() + row * trace_.N();
      const bool none = std::all_of(begin, begin + trace_.N(), [](float x) { return x == 0; });
      if (none) std::fill_n(out.begin() + row * trace_.N(), trace_.N(), T{0});
    }
  }

  const Trace& trace_;
  const std::vector<Index> writing_;  // [N]
};

}  // namespace

std::string_view name_of(NullKind kind) {
  constexpr std::array<std::string_view, 4> kNames = {"uniform", "frozen", "recency", "shuffled"};
  return kNames[static_cast<std::size_t>(kind)];
}

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
  const UniformFill uniform(trace);
  Trace null = trace;
  drop_routing(null);
  for (const TraceArray& array : trace_arrays()) {
    if (array.under_uniform == UnderUniform::kSame) continue;
    array.visit(null, [&](auto& values) {
      if (values.empty()) return;
      const std::size_t count = values.size();
      values.clear();
      uniform.fill(array, values);
      check(values.size() == count, "a null has the size of what it stands beside");
    });
  }
  return null;
}

}  // namespace buoy
