#include "buoy/analysis/experts.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "buoy/analysis/mean.h"

namespace buoy {
namespace {

using Row = std::span<const std::int32_t>;

// Where the rows of one layer and pass went. Views the trace.
struct LayerRouting {
  std::span<const std::int32_t> experts;  // [N, k]
  Index k = 0;

  // The experts of position j; none where it did not go through any.
  Row of(Index j) const {
    const Row row = experts.subspan(j * k, k);
    return row.front() < 0 ? Row{} : row;
  }
};

LayerRouting finished_routing(const Trace& trace, Index l) {
  const Index each = trace.N() * trace.X();
  return {std::span(trace.finished.experts).subspan(l * each, each), trace.X()};
}

LayerRouting step_routing(const Trace& trace, Index t, Index l) {
  const Index each = trace.N() * trace.X();
  return {std::span(trace.steps.experts).subspan((t * trace.L() + l) * each, each), trace.X()};
}

// How many rows went to each expert.
struct Load {
  explicit Load(Index count) : counts(count) {}

  void add(Row row) {
    if (row.empty()) return;
    ++rows;
    for (const std::int32_t e : row) ++counts[e];
  }

  Index rows = 0;
  std::vector<Index> counts;  // [E]
};

double chance_corrected(const Trace& trace, double share) {
  const double chance = static_cast<double>(trace.X()) / static_cast<double>(trace.header.experts);
  return (share - chance) / (1 - chance);
}

// Mean share of experts in common of two different rows of a load. Exact and without bias: pairs are counted
// expert by expert.
void add_pairs(const Trace& trace, const Load& load, Mean& mean) {
  if (load.rows < 2) return;
  double common = 0;
  for (const Index c : load.counts) common += static_cast<double>(c) * static_cast<double>(c - 1);
  const double pairs = static_cast<double>(load.rows) * static_cast<double>(load.rows - 1);
  mean.add(chance_corrected(trace, common / (pairs * static_cast<double>(trace.X()))));
}

// The same of one row of each.
void add_pairs(const Trace& trace, const Load& a, const Load& b, Mean& mean) {
  if (a.rows == 0 || b.rows == 0) return;
  double common = 0;
  for (std::size_t e = 0; e < a.counts.size(); ++e)
    common += static_cast<double>(a.counts[e]) * static_cast<double>(b.counts[e]);
  const double pairs = static_cast<double>(a.rows) * static_cast<double>(b.rows);
  mean.add(chance_corrected(trace, common / (pairs * static_cast<double>(trace.X()))));
}

// Entropy of what is not negative and does not add up to 0, ÷ ln of their number.
std::optional<double> relative_entropy(std::span<const double> parts) {
  double total = 0;
  for (const double part : parts) {
    if (part < 0) return std::nullopt;
    total += part;
  }
  if (total <= 0 || parts.size() < 2) return std::nullopt;
  double entropy = 0;
  for (const double part : parts) {
    if (part > 0) entropy -= part / total * std::log(part / total);
  }
  return entropy / std::log(static_cast<double>(parts.size()));
}

void measure_finished(const Trace& trace, Index l, Measurements& out) {
  const Index E = trace.header.experts, k = trace.X(), layer = trace.layers[l];
  if (trace.finished.experts.empty()) return;
  const LayerRouting routing = finished_routing(trace, l);
  Load load(E);
  Mean weights;
  for (Index j = 0; j < trace.N(); ++j) {
    load.add(routing.of(j));
    if (routing.of(j).empty() || trace.finished.expert_weights.empty()) continue;
    const auto first = trace.finished.expert_weights.begin() + (l * trace.N() + j) * k;
    if (const auto entropy = relative_entropy(std::vector<double>(first, first + k))) weights.add(*entropy);
  }
  if (load.rows < 2) return;  // of the last layer only what is read was computed
  const double even = static_cast<double>(load.rows * k) / static_cast<double>(E);
  for (Index e = 0; e < E; ++e) {
    out.push_back({.quantity = "expert_load",
                   .layer = layer,
                   .head = e,
                   .part = "finished",
                   .value = static_cast<double>(load.counts[e]) / even,
                   .null = 1});
  }
  const std::vector<double> counts(load.counts.begin(), load.counts.end());
  if (const auto entropy = relative_entropy(counts)) {
    out.push_back({.quantity = "expert_load_entropy",
                   .layer = layer,
                   .part = "finished",
                   .value = *entropy,
                   .null = uniform_load_entropy(load.rows, k, E)});
  }
  emit(out, {.quantity = "expert_weight_entropy", .layer = layer, .part = "finished", .null = 1}, weights);
  Mean pairs;
  if (k < E) add_pairs(trace, load, pairs);
  emit(out, {.quantity = "expert_agreement", .layer = layer, .part = "finished", .null = 0}, pairs);
}

bool is_mask(const Trace& trace, Index t, Index j) {
  return trace.header.mask_id && trace.steps.tokens[t * trace.N() + j] == *trace.header.mask_id;
}

void measure_agreement(const Trace& trace, Index l, Measurements& out) {
  Mean masks, words, both;
  for (Index t = 0; t < trace.S(); ++t) {
    const LayerRouting routing = step_routing(trace, t, l);
    Load of_masks(trace.header.experts), of_words(trace.header.experts);
    for (Index j = 0; j < trace.steps.lengths[t]; ++j)
      (is_mask(trace, t, j) ? of_masks : of_words).add(routing.of(j));
    add_pairs(trace, of_masks, masks);
    add_pairs(trace, of_words, words);
    add_pairs(trace, of_masks, of_words, both);
  }
  const auto add = [&](const char* part, const Mean& mean) {
    emit(out, {.quantity = "expert_agreement", .layer = trace.layers[l], .part = part, .null = 0}, mean);
  };
  add("masks", masks);
  add("words", words);
  add("masks and words", both);
}

double share_in_common(Row a, Row b) {
  const auto found = [&](std::int32_t e) { return std::ranges::find(b, e) != b.end(); };
  return static_cast<double>(std::ranges::count_if(a, found)) / static_cast<double>(a.size());
}

void measure_overlap(const Trace& trace, Index l, Measurements& out) {
  Mean masks, words, written;
  for (Index t = 0; t + 1 < trace.S(); ++t) {
    if (trace.steps.steps[t + 1] != trace.steps.steps[t] + 1) continue;
    const LayerRouting now = step_routing(trace, t, l), then = step_routing(trace, t + 1, l);
    for (Index j = 0; j < std::min(trace.steps.lengths[t], trace.steps.lengths[t + 1]); ++j) {
      const Row a = now.of(j), b = then.of(j);
      if (a.empty() || b.empty()) continue;
      const TokenId before = trace.steps.tokens[t * trace.N() + j];
      const TokenId after = trace.steps.tokens[(t + 1) * trace.N() + j];
      const bool was_mask = is_mask(trace, t, j);
      if (before != after && !was_mask) continue;  // a token that was taken back
      Mean& mean = before != after ? written : was_mask ? masks : words;
      mean.add(chance_corrected(trace, share_in_common(a, b)));
    }
  }
  const auto add = [&](const char* part, const Mean& mean) {
    emit(out, {.quantity = "expert_overlap", .layer = trace.layers[l], .part = part, .null = 0}, mean);
  };
  add("masks", masks);
  add("words", words);
  add("written", written);
}

}  // namespace

double uniform_load_entropy(Index rows, Index active, Index count) {
  const double n = static_cast<double>(rows), k = static_cast<double>(active), E = static_cast<double>(count);
  if (active == count) return 1;
  // An expert has c of the rows with the binomial probability of c; entropy is a sum over experts.
  const double odds = std::log(k / E) - std::log1p(-k / E);
  double log_probability = n * std::log1p(-k / E), entropy = 0;
  for (Index c = 1; c <= rows; ++c) {
    log_probability += std::log(static_cast<double>(rows - c + 1) / static_cast<double>(c)) + odds;
    const double share = static_cast<double>(c) / (n * k);
    entropy -= std::exp(log_probability) * share * std::log(share);
  }
  return E * entropy / std::log(E);
}

Measurements experts(const Trace& trace, const AnalysisOptions&) {
  Measurements out;
  if (trace.X() == 0) return out;
  for (Index l = 0; l < trace.L(); ++l) {
    measure_finished(trace, l, out);
    if (trace.steps.experts.empty() || trace.X() == trace.header.experts) continue;
    measure_agreement(trace, l, out);
    measure_overlap(trace, l, out);
  }
  return out;
}

}  // namespace buoy
