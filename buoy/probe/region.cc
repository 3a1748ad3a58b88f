#include "buoy/probe/region.h"

#include <algorithm>
#include <charconv>

#include "buoy/base/error.h"

namespace buoy {

std::string_view name_of(RegionKind kind) {
  constexpr std::string_view kNames[kRegionKindCount] = {"bos",      "template", "query",
                                                         "document", "answer",   "tail"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string Region::name() const {
  switch (kind) {
    case RegionKind::kBos:
      return "BOS";
    case RegionKind::kTemplate:
      return "Template";
    case RegionKind::kQuery:
      return "Query";
    case RegionKind::kDocument:
      return fmt::format("Doc{}", document);
    case RegionKind::kAnswer:
      return "Answer";
    case RegionKind::kTail:
      break;
  }
  return "Tail";
}

Index RegionMap::find(RegionKind kind) const {
  const auto found = std::ranges::find(regions, kind, &Region::kind);
  return found == regions.end() ? -1 : found - regions.begin();
}

std::vector<Index> RegionMap::lengths() const {
  std::vector<Index> lengths(regions.size(), 0);
  for (const Index region : of) ++lengths[static_cast<std::size_t>(region)];
  return lengths;
}

std::vector<RegionSpan> RegionMap::spans() const {
  std::vector<RegionSpan> spans;
  for (Index p = 0; p < std::ssize(of); ++p) {
    const Index region = of[static_cast<std::size_t>(p)];
    if (spans.empty() || spans.back().region != region) spans.push_back({p, p, region});
    spans.back().end = p + 1;
  }
  return spans;
}

RegionMap RegionMap::from_spans(std::vector<Region> regions, std::span<const RegionSpan> spans, Index N,
                                std::string_view place) {
  RegionMap map{.regions = std::move(regions), .of = {}};
  for (const RegionSpan& span : spans) {
    const Index at = std::ssize(map.of);
    if (span.begin != at || span.end <= span.begin || span.end > N) {
      fail(
          "{}: a region spans positions {} to {}, expected it to begin at {} and to end by {}: regions cover "
          "every "
          "position once",
          place, span.begin, span.end, at, N);
    }
    if (span.region < 0 || span.region >= map.count()) {
      fail("{}: positions {} to {} are of region {}, expected one of 0 to {}", place, span.begin, span.end,
           span.region, map.count() - 1);
    }
    map.of.insert(map.of.end(), static_cast<std::size_t>(span.end - span.begin), span.region);
  }
  if (std::ssize(map.of) != N) {
    fail("{}: regions cover {} of {} positions, expected all", place, map.of.size(), N);
  }
  return map;
}

namespace {

constexpr std::string_view kGoldAt = "gold at ";

}  // namespace

std::string gold_label(const RegionMap& regions) {
  std::string label;
  bool others = false;
  for (const Region& region : regions.regions) {
    if (region.kind != RegionKind::kDocument) continue;
    others = others || !region.gold;
    if (region.gold) label += fmt::format("{}{}", label.empty() ? kGoldAt : "+", region.document);
  }
  return others ? label : "";
}

std::vector<Index> gold_places(std::string_view label) {
  std::vector<Index> places;
  if (!label.starts_with(kGoldAt)) return places;
  for (label.remove_prefix(kGoldAt.size()); !label.empty();) {
    Index place = 0;
    const auto [end, error] = std::from_chars(label.data(), label.data() + label.size(), place);
    if (error != std::errc()) return {};
    places.push_back(place);
    label.remove_prefix(static_cast<std::size_t>(end - label.data()));
    if (label.starts_with('+')) label.remove_prefix(1);
  }
  return places;
}

}  // namespace buoy
