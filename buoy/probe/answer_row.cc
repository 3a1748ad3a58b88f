#include "buoy/probe/answer_row.h"

#include <algorithm>

#include "buoy/base/at.h"

namespace buoy {

RegionGroups::RegionGroups(Index region_count, std::span<const Index> of,
                           std::span<const std::int8_t> evidence)
    : R(region_count) {
  for (std::size_t j = 0; j < evidence.size(); ++j) {
    const bool known = std::ranges::find(evidence_regions, of[j]) != evidence_regions.end();
    if (evidence[j] != 0 && !known) evidence_regions.push_back(of[j]);
  }
}

std::vector<std::int8_t> RegionGroups::of_keys(std::span<const Index> of,
                                               std::span<const std::int8_t> evidence) const {
  std::vector<std::int8_t> groups(of.begin(), of.end());
  for (std::size_t j = 0; j < evidence.size(); ++j) {
    if (evidence[j] == 0) continue;
    const Index i = std::ranges::find(evidence_regions, of[j]) - evidence_regions.begin();
    groups[j] = static_cast<std::int8_t>(R + i);
  }
  return groups;
}

void AnswerRow::add_layer(const AttentionStats& stats, Index r, Index rows, const RegionGroups& groups) {
  const Index H = std::ssize(stats.argmax) / rows, R = groups.R;
  std::vector<double> regions(at(R), 0.0);
  for (Index h = 0; h < H; ++h) {
    const Index place = h * rows + r;
    argmax.push_back(stats.argmax[at(place)]);
    weight.push_back(stats.max_weight[at(place)]);
    entropy.push_back(stats.entropy[at(place)]);
    const float* mass = stats.key_mass.data() + place * groups.count();
    double evidence = 0;
    for (Index g = 0; g < groups.count(); ++g) {
      regions[at(g < R ? g : groups.evidence_regions[at(g - R)])] += mass[g];
      if (g >= R) evidence += mass[g];
    }
    evidence_mass.push_back(static_cast<float>(evidence));
  }
  for (const double sum : regions) region_mass.push_back(static_cast<float>(sum / static_cast<double>(H)));
}

void fill_answer(std::span<const AnswerRow> rows, Trace& trace) {
  const std::size_t G = at(trace.G()), heads = at(trace.L() * trace.H()), regions = at(trace.L() * trace.R());
  AnswerRecord& record = trace.answer;
  record.rows.assign(G, -1);
  record.visible.assign(G, 0);
  record.argmax.assign(G * heads, -1);
  record.weight.assign(G * heads, 0);
  record.entropy.assign(G * heads, 0);
  record.evidence_mass.assign(G * heads, 0);
  record.region_mass.assign(G * regions, 0);
  for (const AnswerRow& row : rows) {
    const Index g = row.position - trace.prompt_length;
    record.rows[at(g)] = row.row;
    record.visible[at(g)] = row.visible;
    const auto copy = [&](const auto& from, auto& to) {
      std::ranges::copy(from, to.begin() + g * std::ssize(from));
    };
    copy(row.argmax, record.argmax);
    copy(row.weight, record.weight);
    copy(row.entropy, record.entropy);
    copy(row.evidence_mass, record.evidence_mass);
    copy(row.region_mass, record.region_mass);
  }
}

}  // namespace buoy
