#include "buoy/claims/claim_number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "buoy/analysis/mean.h"
#include "buoy/probe/region.h"

namespace buoy {
namespace {

// Depth asks for two layers at least, as the depth contrast of classes does.
std::set<Index> chosen_layers(LayerChoice choice, const std::set<Index>& layers) {
  const Index L = std::ssize(layers), third = std::max<Index>(1, L / 3);
  if (choice == LayerChoice::kAll) return layers;
  if (L < 2) return {};
  if (choice == LayerChoice::kShallowThird) return {layers.begin(), std::next(layers.begin(), third)};
  const Index first = choice == LayerChoice::kDeepThird ? L - third : L / 2;
  return {std::next(layers.begin(), first), layers.end()};
}

std::optional<ClaimNumber> mean_over_layers(const ClaimSide& side, const SampleRows& sample,
                                            const std::set<Index>& layers) {
  const std::set<Index> chosen = chosen_layers(side.layers, layers);
  Mean values, weights, nulls;
  for (const SampleRow& row : sample.rows) {
    const bool here = row.column->layer < 0 || chosen.contains(row.column->layer);
    if (row.column->part != side.part || row.column->head >= 0 || !here) continue;
    values.add(row.value);
    weights.add(row.weight);
    if (row.null) nulls.add(*row.null);
  }
  if (values.empty() || weights.sum == 0) return std::nullopt;
  ClaimNumber number{.value = values.value(), .weight = weights.value()};
  if (nulls.n == values.n) number.null = nulls.value();
  return number;
}

std::optional<ClaimNumber> share_of_heads(const ClaimSide& side, const SampleRows& sample,
                                          const std::set<Index>& layers) {
  const std::set<Index> chosen = chosen_layers(side.layers, layers);
  Mean there, all;
  for (const SampleRow& row : sample.rows) {
    if (row.column->part != side.part || row.column->head < 0) continue;
    all.add(row.value / row.weight);
    if (chosen.contains(row.column->layer)) there.add(row.value / row.weight);
  }
  if (chosen.empty() || all.sum <= 0) return std::nullopt;
  return ClaimNumber{.value = there.sum,
                     .weight = all.sum,
                     .null = static_cast<double>(there.n) / static_cast<double>(all.n)};
}

std::optional<double> value_of(const SampleRows& sample, std::string_view part) {
  const auto found = std::ranges::find_if(sample.rows, [&](const SampleRow& r) {
    return r.column->part == part && r.column->layer < 0 && r.column->head < 0;
  });
  if (found == sample.rows.end()) return std::nullopt;
  return found->value / found->weight;
}

std::optional<ClaimNumber> difference_of_parts(const ClaimSide& side, const SampleRows& sample) {
  const auto with = value_of(sample, side.part), without = value_of(sample, side.less);
  if (!with || !without) return std::nullopt;
  return ClaimNumber{.value = *with - *without, .null = 0.0};
}

std::optional<ClaimNumber> range_of_parts(const ClaimSide& side, const SampleRows& sample) {
  std::vector<double> values;
  for (const SampleRow& row : sample.rows) {
    if (row.column->part.starts_with(side.part)) values.push_back(row.value / row.weight);
  }
  if (values.size() < 2) return std::nullopt;
  const auto [least, most] = std::ranges::minmax_element(values);
  return ClaimNumber{.value = *most - *least, .null = 0.0};
}

struct Flow {
  double measured = 0, uniform = 0;
};

// What the answer sends into each passage, by its place: sums over the chosen layers, the same for all
// places.
std::map<Index, Flow> flow_by_place(const SampleRows& sample, const std::set<Index>& chosen) {
  constexpr std::string_view kInto = "Answer>Doc";
  std::map<Index, Flow> flows;
  for (const SampleRow& row : sample.rows) {
    const std::string& part = row.column->part;
    const bool here = row.column->layer < 0 || chosen.contains(row.column->layer);
    if (!here || !part.starts_with(kInto) || !row.null) continue;
    Index place = 0;
    std::from_chars(part.data() + kInto.size(), part.data() + part.size(), place);
    flows[place].measured += row.value / row.weight;
    flows[place].uniform += *row.null;
  }
  return flows;
}

// Of places 1 … last, as PlaceChoice has it.
Index third_of(Index place, const std::map<Index, Flow>& flows) {
  return 3 * (place - 1) / flows.rbegin()->first;
}

// The logarithm of how many times as much the passage at `place` draws as those in other thirds that are not
// gold, beyond uniform attention: of attention that falls off with distance the ratio itself has no mean to
// speak of. Gold or not, it is compared with the same places, so that what a place draws by itself
// drops out of the difference.
std::optional<double> draw_of(const std::map<Index, Flow>& flows, Index place, std::span<const Index> golds) {
  Mean measured, uniform;
  for (const auto& [other, flow] : flows) {
    if (third_of(other, flows) == third_of(place, flows) || std::ranges::find(golds, other) != golds.end())
      continue;
    measured.add(flow.measured);
    uniform.add(flow.uniform);
  }
  const Flow& own = flows.at(place);
  if (own.measured <= 0 || measured.sum <= 0 || uniform.sum <= 0 || own.uniform <= 0) return std::nullopt;
  return std::log(own.measured / measured.value() / (own.uniform / uniform.value()));
}

enum class Passages { kGold, kOther };

std::optional<ClaimNumber> draw_of_places(const ClaimSide& side, const SampleRows& sample,
                                          const std::set<Index>& layers, Passages which) {
  const std::map<Index, Flow> flows = flow_by_place(sample, chosen_layers(side.layers, layers));
  const std::vector<Index> golds = gold_places(sample.key.data);
  Mean draws;
  for (const auto& [place, flow] : flows) {
    const bool is_gold = std::ranges::find(golds, place) != golds.end();
    if (third_of(place, flows) != static_cast<Index>(side.places) || is_gold != (which == Passages::kGold))
      continue;
    if (const auto draw = draw_of(flows, place, golds)) draws.add(*draw);
  }
  if (draws.empty()) return std::nullopt;
  return ClaimNumber{.value = draws.value(), .null = 0.0};
}

}  // namespace

std::vector<SampleRows> rows_of(const SampleTable& table, const std::string& model,
                                std::string_view quantity) {
  std::map<Index, SampleRows> samples;
  const auto& columns = table.columns();  // ordered by quantity first
  for (auto at = columns.lower_bound({.quantity = std::string(quantity)}); at != columns.end(); ++at) {
    const auto& [key, column] = *at;
    if (key.quantity != quantity) break;
    for (std::size_t i = 0; i < column.samples.size(); ++i) {
      const SampleKey& sample = table.samples()[static_cast<std::size_t>(column.samples[i])];
      if (sample.model != model) continue;
      SampleRow row{.column = &key, .value = column.values[i]};
      if (!column.weights.empty()) row.weight = column.weights[i];
      if (!column.nulls.empty() && std::isfinite(column.nulls[i])) row.null = column.nulls[i];
      samples[column.samples[i]].key = sample;
      samples[column.samples[i]].rows.push_back(row);
    }
  }
  std::vector<SampleRows> out;
  for (auto& [number, rows] : samples) out.push_back(std::move(rows));
  return out;
}

std::set<Index> recorded_layers(const SampleTable& table, const std::string& model) {
  std::set<Index> layers;
  for (const auto& [key, column] : table.columns()) {
    if (key.layer < 0 || layers.contains(key.layer)) continue;
    const auto is_of_model = [&](std::int32_t s) {
      return table.samples()[static_cast<std::size_t>(s)].model == model;
    };
    if (std::ranges::any_of(column.samples, is_of_model)) layers.insert(key.layer);
  }
  return layers;
}

std::optional<ClaimNumber> number_of(const ClaimSide& side, const SampleRows& sample,
                                     const std::set<Index>& layers) {
  switch (side.number) {
    case SampleNumber::kLayers:
      return mean_over_layers(side, sample, layers);
    case SampleNumber::kHeadShare:
      return share_of_heads(side, sample, layers);
    case SampleNumber::kGoldDraws:
      return draw_of_places(side, sample, layers, Passages::kGold);
    case SampleNumber::kOtherDraws:
      return draw_of_places(side, sample, layers, Passages::kOther);
    case SampleNumber::kDifference:
      return difference_of_parts(side, sample);
    case SampleNumber::kRange:
      return range_of_parts(side, sample);
  }
  return std::nullopt;
}

}  // namespace buoy
