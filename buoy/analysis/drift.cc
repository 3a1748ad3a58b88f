#include "buoy/analysis/drift.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "buoy/analysis/least_squares.h"
#include "buoy/analysis/mean.h"
#include "buoy/analysis/received.h"

namespace buoy {
namespace {

Index shared(const AnchorSet& a, const AnchorSet& b) {
  std::vector<Index> both;
  std::ranges::set_intersection(a.positions, b.positions, std::back_inserter(both));
  return std::ssize(both);
}

// Adds 1 − Jaccard of the two sets to `distance`. Two empty sets have none: `both_empty` counts them.
void compare(const AnchorSet& a, const AnchorSet& b, Mean& distance, Mean& both_empty) {
  const Index both = shared(a, b);
  const Index either = std::ssize(a.positions) + std::ssize(b.positions) - both;
  both_empty.add(either == 0 ? 1 : 0);
  if (either > 0) distance.add(1 - static_cast<double>(both) / static_cast<double>(either));
}

// The sets of one layer through the steps, and those of the recorded layer above it (or nothing).
struct Course {
  std::vector<const AnchorSet*> here, above;
};

Course course_of(std::span<const AnchorSet> sets, Index l, Index L) {
  Course course;
  for (Index i = l; i < std::ssize(sets); i += L) {
    course.here.push_back(&sets[i]);
    if (l + 1 < L) course.above.push_back(&sets[i + 1]);
  }
  return course;
}

struct LayerDrift {
  Mean turnover, both_empty, float_index, float_both_empty, lifetime, first_token, sink, count;
  std::vector<Point> centres;
};

// Over the steps that are `counted`. What changes from a step to the next counts as of the first of the two,
// whose tokens changed it.
LayerDrift follow(const Course& course, std::span<const Index> steps, const std::vector<bool>& counted) {
  LayerDrift out;
  Index members = 0, runs = 0;  // (step, anchor) pairs, and those of them that begin a run
  for (Index t = 0; t < std::ssize(steps); ++t) {
    const AnchorSet& now = *course.here[t];
    if (t > 0 && counted[t - 1]) {
      const AnchorSet& before = *course.here[t - 1];
      compare(before, now, out.turnover, out.both_empty);
      if (counted[t]) runs -= shared(before, now);
    }
    if (!counted[t]) continue;
    out.count.add(static_cast<double>(now.positions.size()));
    out.first_token.add(now.peak == 0 ? 1 : 0);
    out.sink.add(now.peak == 0 && !now.positions.empty() && now.positions.front() == 0 ? 1 : 0);
    if (now.centre) out.centres.push_back({static_cast<double>(steps[t]), *now.centre});
    if (!course.above.empty()) compare(now, *course.above[t], out.float_index, out.float_both_empty);
    members += std::ssize(now.positions);
    runs += std::ssize(now.positions);
  }
  if (out.count.n > 1 && runs > 0) out.lifetime = {.sum = static_cast<double>(members), .n = runs};
  return out;
}

// Turnover and both_empty of a layer over the rows that two steps have in common.
LayerDrift follow_still(const Trace& trace, Index l, const AnchorOptions& options,
                        const std::vector<bool>& counted) {
  LayerDrift out;
  for (Index t = 0; t + 1 < trace.S(); ++t) {
    if (!counted[t]) continue;
    const std::optional<StillRows> rows = still_received(trace, t, l);
    if (!rows) continue;
    compare({.positions = rows->before.anchors(options)}, {.positions = rows->after.anchors(options)},
            out.turnover, out.both_empty);
  }
  return out;
}

void emit_drift(Measurements& out, const Trace& trace, Index l, const std::string& part,
                const LayerDrift& found) {
  const auto add = [&](const char* quantity, const Mean& mean) {
    emit(out, {.quantity = quantity, .layer = trace.layers[l], .part = part}, mean);
  };
  add("turnover", found.turnover);
  add("both_empty", found.both_empty);
  add("float_index", found.float_index);
  add("float_both_empty", found.float_both_empty);
  add("lifetime", found.lifetime);
  add("first_token_share", found.first_token);
  add("sink_share", found.sink);
  add("anchor_count", found.count);
  if (const auto per_step = slope(found.centres)) {
    add("drift_per_step", {.sum = *per_step, .n = 1});
    add("drift_relative", {.sum = *per_step / static_cast<double>(trace.N()), .n = 1});
  }
}

}  // namespace

std::vector<AnchorSet> anchor_sets(const Trace& trace, const AnchorOptions& options, Rows rows) {
  std::vector<AnchorSet> sets;
  if (!has_steps(trace)) return sets;
  for (Index t = 0; t < trace.S(); ++t) {
    for (Index l = 0; l < trace.L(); ++l) {
      const Received received = step_received(trace, t, l, rows);
      AnchorSet& set = sets.emplace_back();
      set.positions = received.anchors(options);
      set.centre = anchor_centre(received.share, received.null, set.positions);
      set.peak = largest_excess(received.share, received.null);
    }
  }
  return sets;
}

Measurements drift(const Trace& trace, const AnalysisOptions& options) {
  Measurements out;
  if (!has_steps(trace)) return out;
  std::vector<bool> all(trace.S(), true), writing;
  for (Index t = 0; t < trace.S(); ++t) writing.push_back(is_writing(trace, t));
  for (const auto& [counted, suffix] : {std::pair{&all, ""}, std::pair{&writing, " writing"}}) {
    for (const Rows rows : {Rows::kRead, Rows::kAll}) {
      const std::vector<AnchorSet> sets = anchor_sets(trace, options.anchors, rows);
      for (Index l = 0; l < trace.L(); ++l) {
        const LayerDrift found = follow(course_of(sets, l, trace.L()), trace.steps.steps, *counted);
        emit_drift(out, trace, l, std::string(name_of(rows)) + suffix, found);
      }
    }
    for (Index l = 0; l < trace.L(); ++l)
      emit_drift(out, trace, l, std::string("fixed") + suffix,
                 follow_still(trace, l, options.anchors, *counted));
  }
  out.push_back({.quantity = "steps", .value = static_cast<double>(trace.S())});
  out.push_back({.quantity = "writing_steps", .value = static_cast<double>(writing_steps(trace))});
  return out;
}

}  // namespace buoy
