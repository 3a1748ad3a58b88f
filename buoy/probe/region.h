// The parts of a sequence that attention is pooled by: every position belongs to exactly one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/base/types.h"

namespace buoy {

// Answer holds the generated positions up to and including the first EOS; Tail what follows. Template is the
// prompt's own words.
enum class RegionKind { kBos, kTemplate, kQuery, kDocument, kAnswer, kTail };
inline constexpr Index kRegionKindCount = 6;

// "bos", "template", "query", "document", "answer", "tail".
std::string_view name_of(RegionKind kind);

struct Region {
  RegionKind kind = RegionKind::kTemplate;
  Index document = 0;  // from 1, in prompt order; 0 for what is no document
  bool gold = false;   // a document that holds evidence
  // "BOS", "Template", "Query", "Doc1" …, "Answer", "Tail".
  std::string name() const;
  friend bool operator==(const Region&, const Region&) = default;
};

struct RegionSpan {
  Index begin = 0, end = 0;  // positions, end exclusive
  Index region = 0;
  friend bool operator==(const RegionSpan&, const RegionSpan&) = default;
};

// Which region each position belongs to. A region may have several spans (the template does) or none.
struct RegionMap {
  std::vector<Region> regions;  // [R]
  std::vector<Index> of;        // [N]

  Index count() const { return std::ssize(regions); }
  Index find(RegionKind kind) const;      // the first of that kind, or -1
  std::vector<Index> lengths() const;     // [R] positions in each
  std::vector<RegionSpan> spans() const;  // in order of position, as long as possible

  // Throws Error at `place` unless the spans cover 0 … N-1 once, in order, with regions that exist.
  static RegionMap from_spans(std::vector<Region> regions, std::span<const RegionSpan> spans, Index N,
                              std::string_view place);
};

// "gold at 3" or "gold at 2+5"; empty where no document is gold, or all are.
std::string gold_label(const RegionMap& regions);

// {2, 5} of "gold at 2+5"; empty where the text is no such label.
std::vector<Index> gold_places(std::string_view label);

}  // namespace buoy
