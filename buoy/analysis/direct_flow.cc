#include "buoy/analysis/direct_flow.h"

#include <algorithm>
#include <cmath>

#include "buoy/analysis/least_squares.h"
#include "buoy/analysis/mean.h"
#include "buoy/base/error.h"

namespace buoy {
namespace {

// Generated positions that hold a token of the answer which a known row wrote.
std::vector<Index> written_positions(const Trace& trace) {
  std::vector<Index> out;
  for (Index g = 0; g < std::ssize(trace.answer.rows); ++g) {
    const Index position = trace.prompt_length + g;
    const RegionKind kind = trace.regions.regions[trace.regions.of[position]].kind;
    const bool is_answer = kind == RegionKind::kAnswer && trace.classes[position] != TokenClass::kEosPad;
    if (is_answer && trace.answer.rows[g] >= 0) out.push_back(g);
  }
  return out;
}

struct Passage {
  Index region = 0, tokens = 0, third = 0;
  bool gold = false;
};

std::vector<Passage> passages_of(const Trace& trace) {
  const std::vector<Index> lengths = trace.regions.lengths();
  std::vector<Passage> out;
  Index places = 0;
  for (const Region& region : trace.regions.regions) places = std::max(places, region.document);
  for (Index r = 0; r < trace.R(); ++r) {
    const Region& region = trace.regions.regions[r];
    if (region.kind != RegionKind::kDocument || lengths[r] == 0) continue;
    out.push_back({.region = r,
                   .tokens = lengths[r],
                   .third = 3 * (region.document - 1) / places,
                   .gold = region.gold});
  }
  return out;
}

// The mass of the rows that wrote, as it was recorded. Views the trace.
struct WrittenRows {
  const Trace& trace;
  std::vector<Index> positions;

  double mass(Index g, Index l, Index region) const {
    return trace.answer.region_mass[(g * trace.L() + l) * trace.R() + region];
  }
  // Mean over the rows.
  double mean(Index l, Index region) const {
    Mean mean;
    for (const Index g : positions) mean.add(mass(g, l, region));
    return mean.value();
  }
};

void emit_passages(Measurements& out, const WrittenRows& rows, std::span<const Passage> passages) {
  const Trace& trace = rows.trace;
  for (Index l = 0; l < trace.L(); ++l) {
    const Index layer = trace.layers[l];
    Mean gold, other;
    for (const Passage& passage : passages) {
      const double each = rows.mean(l, passage.region) / static_cast<double>(passage.tokens);
      (passage.gold ? gold : other).add(each);
      out.push_back({.quantity = "direct_per_token",
                     .layer = layer,
                     .part = "Answer>" + trace.regions.regions[passage.region].name(),
                     .value = each});
    }
    emit(out, {.quantity = "direct_passages", .layer = layer, .part = "gold"}, gold);
    emit(out, {.quantity = "direct_passages", .layer = layer, .part = "other"}, other);
    if (gold.empty() || other.empty() || other.value() <= 0) continue;
    const double lift = gold.value() / other.value();
    out.push_back({.quantity = "direct_gold_lift", .layer = layer, .value = lift});
    if (lift > 0) out.push_back({.quantity = "direct_gold_log", .layer = layer, .value = std::log(lift)});
  }
}

void emit_question_trend(Measurements& out, const WrittenRows& rows) {
  const Trace& trace = rows.trace;
  const Index query = trace.regions.find(RegionKind::kQuery);
  if (query < 0) return;
  std::vector<Point> points;
  std::vector<Index> steps;
  for (const Index g : rows.positions) steps.push_back(trace.commit_step[g]);
  const auto [first, last] = std::ranges::minmax(steps);
  for (const Index g : rows.positions) {
    Mean mass;
    for (Index l = 0; l < trace.L(); ++l) mass.add(rows.mass(g, l, query));
    points.push_back({.x = static_cast<double>(trace.commit_step[g] - first) /
                           static_cast<double>(std::max<Index>(1, last - first)),
                      .y = mass.value()});
  }
  std::ranges::sort(steps);
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  if (steps.size() < 3) return;
  out.push_back({.quantity = "question_trend", .value = *slope(points)});
}

void emit_near_far(Measurements& out, const WrittenRows& rows, std::span<const Passage> passages) {
  Mean logs;
  for (Index l = 0; l < rows.trace.L(); ++l) {
    double mass[3] = {}, tokens[3] = {};
    for (const Passage& passage : passages) {
      if (passage.gold) continue;
      mass[passage.third] += rows.mean(l, passage.region);
      tokens[passage.third] += static_cast<double>(passage.tokens);
    }
    if (mass[0] > 0 && mass[2] > 0) logs.add(std::log(mass[2] / tokens[2] / (mass[0] / tokens[0])));
  }
  emit(out, {.quantity = "near_far"}, logs);
}

}  // namespace

Measurements direct_flow(const Trace& trace) {
  Measurements out;
  const WrittenRows rows{.trace = trace, .positions = written_positions(trace)};
  if (trace.answer.region_mass.empty() || rows.positions.empty()) return out;
  check(std::ssize(trace.answer.region_mass) == trace.G() * trace.L() * trace.R(),
        "answer_mass is [G, L, R]");
  const std::vector<Passage> passages = passages_of(trace);
  emit_passages(out, rows, passages);
  emit_question_trend(out, rows);
  emit_near_far(out, rows, passages);
  return out;
}

}  // namespace buoy
