// The rows that wrote the answer: what is measured of them, and its place in a trace.
#pragma once

#include <span>
#include <vector>

#include "buoy/compute/attention.h"
#include "buoy/probe/trace.h"

namespace buoy {

// How keys are told apart: group g < R is region g without its evidence, R + i the evidence of
// evidence_regions[i].
struct RegionGroups {
  Index R = 0;
  std::vector<Index> evidence_regions;

  // `evidence` marks positions of the prompt; `of` holds their regions.
  RegionGroups(Index region_count, std::span<const Index> of, std::span<const std::int8_t> evidence);

  int count() const { return static_cast<int>(R + std::ssize(evidence_regions)); }

  // The group of every key: `of` goes on where `evidence` ends.
  std::vector<std::int8_t> of_keys(std::span<const Index> of, std::span<const std::int8_t> evidence) const;
};

// The row that wrote one token, layer after layer.
struct AnswerRow {
  Index position = 0, row = 0, visible = 0;
  std::vector<std::int32_t> argmax;                   // [L, H]
  std::vector<float> weight, entropy, evidence_mass;  // [L, H]
  std::vector<float> region_mass;                     // [L, R]

  // Row r of the `rows` of a layer's statistics.
  void add_layer(const AttentionStats& stats, Index r, Index rows, const RegionGroups& groups);
};

// The trace's answer record; its sizes follow from the trace's.
void fill_answer(std::span<const AnswerRow> rows, Trace& trace);

}  // namespace buoy
