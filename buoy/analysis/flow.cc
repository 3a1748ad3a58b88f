#include "buoy/analysis/flow.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "buoy/analysis/mean.h"
#include "buoy/analysis/null_model.h"
#include "buoy/base/error.h"

namespace buoy {
namespace {

// Flows that differ by less, relatively, are equal: what is recorded is float32.
constexpr double kTie = 1e-6;

// Rows of K; a row of zeros stays as it is.
void normalise_rows(std::span<double> matrix, Index K) {
  for (Index begin = 0; begin < std::ssize(matrix); begin += K) {
    const auto row = matrix.subspan(begin, K);
    const double total = std::accumulate(row.begin(), row.end(), 0.0);
    if (total <= 0) continue;
    for (double& share : row) share /= total;
  }
}

// P of each layer, between the regions that have positions.
struct LayerFlows {
  std::vector<Index> regions;  // [K]
  std::vector<double> share;   // [L, K, K]

  Index K() const { return std::ssize(regions); }
  std::span<const double> row(Index l, Index a) const {
    return std::span(share).subspan((l * K() + a) * K(), K());
  }
};

// Of flow [L, R, R] between all regions of `trace`.
template <typename Number>
LayerFlows pool(const Trace& trace, std::span<const Number> flow, Pooling pooling) {
  const std::vector<Index> lengths = trace.regions.lengths();
  LayerFlows out;
  for (Index r = 0; r < trace.R(); ++r) {
    if (lengths[r] > 0) out.regions.push_back(r);
  }
  for (Index l = 0; l < trace.L(); ++l) {
    for (const Index a : out.regions) {
      for (const Index b : out.regions) {
        const double length = pooling == Pooling::kSum ? 1 : static_cast<double>(lengths[b]);
        out.share.push_back(flow[(l * trace.R() + a) * trace.R() + b] / length);
      }
    }
  }
  normalise_rows(out.share, out.K());
  return out;
}

LayerFlows recorded_flows(const Trace& trace, Pooling pooling) {
  check(std::ssize(trace.finished.flow) == trace.L() * trace.R() * trace.R(), "finished.flow is [L, R, R]");
  return pool<float>(trace, trace.finished.flow, pooling);
}

// The same for every layer.
LayerFlows null_flows(const Trace& trace, Pooling pooling) {
  const std::vector<double> layer = uniform_flow(trace.header.mask, trace.regions.of, trace.R());
  std::vector<double> flow;
  for (Index l = 0; l < trace.L(); ++l) flow.insert(flow.end(), layer.begin(), layer.end());
  return pool<double>(trace, flow, pooling);
}

RegionFlow roll(const LayerFlows& flows) {
  return {.regions = flows.regions, .share = rollout(flows.share, flows.K())};
}

// Where Answer and the documents stand among the K regions of a flow.
struct Documents {
  Index answer = -1;
  std::vector<Index> gold, other;

  bool comparable() const { return answer >= 0 && !gold.empty() && !other.empty(); }
};

Documents documents_of(const Trace& trace, std::span<const Index> regions) {
  Documents out;
  for (Index k = 0; k < std::ssize(regions); ++k) {
    const Region& region = trace.regions.regions[regions[k]];
    if (region.kind == RegionKind::kAnswer) out.answer = k;
    if (region.kind == RegionKind::kDocument) (region.gold ? out.gold : out.other).push_back(k);
  }
  return out;
}

double mean_over(std::span<const double> row, std::span<const Index> which) {
  Mean mean;
  for (const Index k : which) mean.add(row[k]);
  return mean.value();
}

// Nothing when no attention reaches the other documents.
std::optional<double> gold_ratio(std::span<const double> from_answer, const Documents& documents) {
  const double others = mean_over(from_answer, documents.other);
  if (others <= 0) return std::nullopt;
  return mean_over(from_answer, documents.gold) / others;
}

double gold_top(std::span<const double> from_answer, const Documents& documents) {
  double most = 0;
  for (const Index k : documents.gold) most = std::max(most, from_answer[k]);
  for (const Index k : documents.other) most = std::max(most, from_answer[k]);
  const auto is_top = [&](Index k) { return from_answer[k] >= most * (1 - kTie); };
  const double golds = static_cast<double>(std::ranges::count_if(documents.gold, is_top));
  return golds / (golds + static_cast<double>(std::ranges::count_if(documents.other, is_top)));
}

std::span<const double> row(const RegionFlow& flow, Index a) {
  const Index K = std::ssize(flow.regions);
  return std::span(flow.share).subspan(a * K, K);
}

void emit_pairs(Measurements& out, const Trace& trace, const RegionFlow& flow, Pooling pooling) {
  const char* quantity = pooling == Pooling::kSum ? "flow_sum" : "flow_per_token";
  const Index K = std::ssize(flow.regions);
  for (Index cell = 0; cell < K * K; ++cell) {
    const Region& from = trace.regions.regions[flow.regions[cell / K]];
    const Region& into = trace.regions.regions[flow.regions[cell % K]];
    out.push_back({.quantity = quantity, .part = from.name() + ">" + into.name(), .value = flow.share[cell]});
  }
}

void emit_layers(Measurements& out, const Trace& trace) {
  const LayerFlows flows = recorded_flows(trace, Pooling::kSum);
  const Documents documents = documents_of(trace, flows.regions);
  if (!documents.comparable()) return;
  for (Index l = 0; l < trace.L(); ++l) {
    if (const auto ratio = gold_ratio(flows.row(l, documents.answer), documents)) {
      out.push_back({.quantity = "answer_to_gold", .layer = trace.layers[l], .value = *ratio});
    }
  }
}

}  // namespace

std::string_view name_of(Pooling pooling) {
  return pooling == Pooling::kSum ? "sum" : "per-token";
}

std::vector<double> rollout(std::span<const double> layers, Index K) {
  std::vector<double> out(K * K);
  for (Index a = 0; a < K; ++a) out[a * K + a] = 1;
  for (Index begin = 0; begin + K * K <= std::ssize(layers); begin += K * K) {
    std::vector<double> mixed(layers.begin() + begin, layers.begin() + begin + K * K);
    for (Index a = 0; a < K; ++a) mixed[a * K + a] += 1;
    normalise_rows(mixed, K);
    std::vector<double> next(K * K);
    for (Index a = 0; a < K; ++a) {
      for (Index c = 0; c < K; ++c) {
        for (Index b = 0; b < K; ++b) next[a * K + b] += mixed[a * K + c] * out[c * K + b];
      }
    }
    out = std::move(next);
  }
  normalise_rows(out, K);
  return out;
}

RegionFlow region_flow(const Trace& trace, Pooling pooling) {
  return roll(recorded_flows(trace, pooling));
}

Measurements flow(const Trace& trace, const AnalysisOptions&) {
  Measurements out;
  for (const Pooling pooling : {Pooling::kSum, Pooling::kPerToken}) {
    const RegionFlow found = region_flow(trace, pooling);
    emit_pairs(out, trace, found, pooling);
    const Documents documents = documents_of(trace, found.regions);
    if (!documents.comparable()) continue;
    const std::string part(name_of(pooling));
    const RegionFlow null = roll(null_flows(trace, pooling));
    const auto from_answer = row(found, documents.answer);
    const auto ratio = gold_ratio(from_answer, documents);
    const auto expected = gold_ratio(row(null, documents.answer), documents);
    if (ratio && expected && *expected > 0) {
      out.push_back({.quantity = "gold_lift", .part = part, .value = *ratio / *expected});
    }
    out.push_back({.quantity = "gold_top", .part = part, .value = gold_top(from_answer, documents)});
  }
  emit_layers(out, trace);
  return out;
}

}  // namespace buoy
