#include "buoy/run/replay_table.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "buoy/base/error.h"

namespace buoy {
namespace {

constexpr std::size_t kOtherQuestions = 20;  // questions whose right answers make the null of a score

std::string name_of_side(ChangeOffset::Answer answer) {
  return answer == ChangeOffset::Answer::kChanged ? "changed" : "kept";
}

std::string offset_part(const ChangeOffset& offset) {
  return fmt::format("{} {}", name_of_side(offset.answer), offset.offset);
}

// The questions of a stream as the table asks for them.
struct Asked {
  std::vector<const Event*> events;
  std::vector<StreamQuestion> placed;
  std::vector<std::size_t> window;  // of each

  explicit Asked(std::span<const Event> stream) : placed(place_questions(stream)) {
    for (const StreamQuestion& q : placed) events.push_back(&stream[static_cast<std::size_t>(q.event)]);
  }

  // Right answers of the scored questions that come next, around the end, in other words.
  std::vector<const std::vector<std::string>*> others(std::size_t question) const {
    std::vector<const std::vector<std::string>*> made;
    for (std::size_t i = 1; i < events.size() && made.size() < kOtherQuestions; ++i) {
      const Event& other = *events[(question + i) % events.size()];
      if (other.answers.empty() || other.question == events[question]->question) continue;
      made.push_back(&other.answers);
    }
    return made;
  }
};

std::vector<ReplayWindow> cut_windows(Asked& asked) {
  const Index n = std::ssize(asked.events);
  const Index count = std::clamp<Index>(n / kWindowQuestions, 1, kMostWindows);
  std::vector<ReplayWindow> windows(static_cast<std::size_t>(count));
  std::vector<double> sizes(windows.size(), 0);
  for (Index i = 0; i < n; ++i) {
    const auto w = static_cast<std::size_t>(i * count / n);
    const Index place = asked.placed[static_cast<std::size_t>(i)].event + 1;
    asked.window.push_back(w);
    if (windows[w].first == 0) windows[w].first = place;
    windows[w].last = place;
    windows[w].middle += static_cast<double>(place);
    sizes[w] += 1;
  }
  for (std::size_t w = 0; w < windows.size(); ++w) {
    windows[w].middle /= sizes[w];
    windows[w].name = fmt::format("{}-{}", windows[w].first, windows[w].last);
  }
  return windows;
}

bool is_share(std::string_view quantity) {
  return !quantity.starts_with("lift") && !quantity.starts_with("gap") && quantity != "stale_cost";
}

// No share is below 0 or above 100 %, and none changes by more than 100 points, whatever an interval says.
void keep_in_range(ReplayRow& row) {
  const bool is_cost = row.quantity == "stale_cost";
  if (!is_share(row.quantity) && !is_cost) return;
  const double least = row.scope == "step" || is_cost ? -100 : 0;
  if (row.lo) row.lo = std::max(least, *row.lo);
  if (row.hi) row.hi = std::min(100.0, *row.hi);
}

void add_rows(const SampleTable& samples, const Group& group, const std::string& scope, ReplayTable& table) {
  const std::vector<Summary> summaries = samples.summaries(group);
  for (const ReplayQuantity& quantity : replay_quantities()) {
    for (const Summary& s : summaries) {
      if (s.quantity != quantity.name) continue;
      table.rows.push_back({.model = *group.model,
                            .scope = scope,
                            .part = group.data ? *group.data : s.part,
                            .quantity = s.quantity,
                            .n = s.n,
                            .questions = s.questions,
                            .mean = s.mean,
                            .lo = s.lo,
                            .hi = s.hi,
                            .null = s.null});
      keep_in_range(table.rows.back());
    }
  }
}

void add_change_steps(const SampleTable& samples, const std::string& model, ReplayTable& table) {
  const Group group{.model = model, .data = {}, .task = {}};
  for (const ReplayQuantity& quantity : replay_quantities()) {
    for (const auto side : {ChangeOffset::Answer::kChanged, ChangeOffset::Answer::kKept}) {
      const std::string name(quantity.name);
      const ColumnKey after{name, offset_part({side, 1})}, before{name, offset_part({side, -1})};
      if (!samples.columns().contains(after) || !samples.columns().contains(before)) continue;
      const std::optional<Estimate> step = difference_estimate(samples, group, after, before);
      if (!step) continue;
      const Interval interval = step->bootstrap.interval();
      table.rows.push_back({.model = model,
                            .scope = "step",
                            .part = name_of_side(side),
                            .quantity = name,
                            .n = step->n,
                            .questions = step->questions,
                            .mean = step->mean,
                            .lo = interval.lo,
                            .hi = interval.hi,
                            .null = 0});
      keep_in_range(table.rows.back());
    }
  }
}

}  // namespace

const ReplayRow* ReplayTable::find(std::string_view model, std::string_view scope, std::string_view part,
                                   std::string_view quantity) const {
  const auto found = std::ranges::find_if(rows, [&](const ReplayRow& row) {
    return row.model == model && row.scope == scope && row.part == part && row.quantity == quantity;
  });
  return found == rows.end() ? nullptr : &*found;
}

ReplayTable make_replay_table(std::span<const Event> events, std::span<const ReplaySample> samples,
                              const std::vector<std::string>& models) {
  Asked asked(events);
  ReplayTable table{.models = models, .windows = cut_windows(asked), .rows = {}};
  SampleTable whole, around;
  for (const ReplaySample& sample : samples) {
    const auto q = static_cast<std::size_t>(sample.question);
    check(q < asked.events.size(), "a sample belongs to a question of the stream");
    const Event& event = *asked.events[q];
    SampleKey key{.model = sample.model,
                  .data = table.windows[asked.window[q]].name,
                  .task = "replay",
                  .sample = event.id,
                  .question = event.question};
    const Measurements measured = measure_replay(sample, event, asked.placed[q], asked.others(q));
    whole.add(key, measured);
    for (const ChangeOffset& offset : asked.placed[q].offsets) {
      if (std::abs(offset.offset) > kMostOffset) continue;
      Measurements moved = measured;
      for (Measurement& m : moved) m.part = offset_part(offset);
      around.add(key, moved);
    }
  }
  for (const std::string& model : models) {
    add_rows(whole, {.model = model, .data = {}, .task = {}}, "all", table);
    for (const ReplayWindow& window : table.windows)
      add_rows(whole, {.model = model, .data = window.name, .task = {}}, "window", table);
    add_rows(around, {.model = model, .data = {}, .task = {}}, "change", table);
    add_change_steps(around, model, table);
  }
  return table;
}

}  // namespace buoy
