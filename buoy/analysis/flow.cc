#include "buoy/analysis/flow.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>

#include "buoy/analysis/direct_flow.h"
#include "buoy/analysis/mean.h"
#include "buoy/analysis/null_model.h"
#include "buoy/base/error.h"

namespace buoy {
namespace {

// Flows that differ by less, relatively, are equal: what is recorded is float32.
constexpr double kTie = 1e-6;

struct PoolingNames {
  std::string_view name;
  const char* quantity;
};
constexpr PoolingNames kPoolings[] = {
    {"sum", "flow_sum"}, {"per-token", "flow_per_token"}, {"paper", "flow_paper"}};

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

// The region that region r counts as, or -1: none.
Index counts_as(const Trace& trace, Index r, Pooling pooling) {
  if (pooling != Pooling::kPaper) return r;
  const RegionKind kind = trace.regions.regions[r].kind;
  if (kind == RegionKind::kTemplate) return -1;
  return kind == RegionKind::kTail ? trace.regions.find(RegionKind::kAnswer) : r;
}

// [R] where each region of the trace stands among the K, or -1.
std::vector<Index> slots_of(const Trace& trace, std::span<const Index> regions, Pooling pooling) {
  std::vector<Index> slots(trace.R(), -1);
  for (Index r = 0; r < trace.R(); ++r) {
    const auto at = std::ranges::find(regions, counts_as(trace, r, pooling));
    if (at != regions.end()) slots[r] = at - regions.begin();
  }
  return slots;
}

// Of flow [L, R, R] between all regions of `trace`.
template <typename Number>
LayerFlows pool(const Trace& trace, std::span<const Number> flow, Pooling pooling) {
  const std::vector<Index> lengths = trace.regions.lengths();
  const Index R = trace.R();
  LayerFlows out;
  for (Index r = 0; r < R; ++r) {
    if (lengths[r] > 0 && counts_as(trace, r, pooling) == r) out.regions.push_back(r);
  }
  const Index K = out.K();
  const std::vector<Index> slots = slots_of(trace, out.regions, pooling);
  out.share.resize(trace.L() * K * K);
  for (Index row = 0; row < trace.L() * R; ++row) {
    const Index from = slots[row % R];
    for (Index b = 0; b < R; ++b) {
      if (from < 0 || slots[b] < 0 || lengths[b] == 0) continue;
      const double length = pooling == Pooling::kPerToken ? static_cast<double>(lengths[b]) : 1;
      // The recorded flow is a mean over rows: regions that are merged count by their rows.
      out.share[(row / R * K + from) * K + slots[b]] +=
          flow[row * R + b] * static_cast<double>(lengths[row % R]) / length;
    }
  }
  normalise_rows(out.share, K);
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

// With Answer's rows all on gold, evenly over its tokens, in recorded layers first … last − 1.
LayerFlows forced_onto_gold(const Trace& trace, LayerFlows flows, Pooling pooling, Index first, Index last) {
  const Documents documents = documents_of(trace, flows.regions);
  const std::vector<Index> lengths = trace.regions.lengths();
  const Index K = flows.K();
  for (Index l = first; l < last; ++l) {
    const auto row = std::span(flows.share).subspan((l * K + documents.answer) * K, K);
    std::ranges::fill(row, 0.0);
    for (const Index k : documents.gold) {
      row[k] = pooling == Pooling::kPerToken ? 1 : static_cast<double>(lengths[flows.regions[k]]);
    }
  }
  normalise_rows(flows.share, K);
  return flows;
}

// What the rolled-out flows of all poolings say of gold; the documents are comparable.
void emit_gold(Measurements& out, const Trace& trace, const LayerFlows& flows, Pooling pooling) {
  const Documents documents = documents_of(trace, flows.regions);
  const std::string part(name_of(pooling));
  const auto ratio_in = [&](const RegionFlow& rolled) {
    return gold_ratio(row(rolled, documents.answer), documents);
  };
  const RegionFlow found = roll(flows);
  const auto expected = ratio_in(roll(null_flows(trace, pooling)));
  const auto add = [&](const char* quantity, Index layer, std::optional<double> ratio) {
    if (!ratio || !expected || *expected <= 0) return;
    out.push_back({.quantity = quantity, .layer = layer, .part = part, .value = *ratio / *expected});
  };
  const auto forced = [&](Index first, Index last) {
    return ratio_in(roll(forced_onto_gold(trace, flows, pooling, first, last)));
  };
  add("gold_lift", -1, ratio_in(found));
  add("rollout_sensitivity", -1, forced(0, trace.L()));
  for (Index l = 0; l < trace.L(); ++l) add("layer_sensitivity", trace.layers[l], forced(l, l + 1));
  out.push_back(
      {.quantity = "gold_top", .part = part, .value = gold_top(row(found, documents.answer), documents)});
}

void emit_pairs(Measurements& out, const Trace& trace, const RegionFlow& flow, Pooling pooling) {
  const char* quantity = kPoolings[static_cast<std::size_t>(pooling)].quantity;
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
  return kPoolings[static_cast<std::size_t>(pooling)].name;
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
  for (const Pooling pooling : {Pooling::kSum, Pooling::kPerToken, Pooling::kPaper}) {
    const LayerFlows flows = recorded_flows(trace, pooling);
    emit_pairs(out, trace, roll(flows), pooling);
    if (documents_of(trace, flows.regions).comparable()) emit_gold(out, trace, flows, pooling);
  }
  emit_layers(out, trace);
  std::ranges::move(direct_flow(trace), std::back_inserter(out));
  return out;
}

}  // namespace buoy
