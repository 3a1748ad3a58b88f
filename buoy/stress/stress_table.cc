#include "buoy/stress/stress_table.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "buoy/base/error.h"

namespace buoy {
namespace {

constexpr std::size_t kScores = 3;
using Scores = std::array<double, kScores>;  // in percent, as kScoreNames

Scores scores_of(const SampleResult& result) {
  return {100 * result.score.em, 100 * result.score.substring, 100 * result.score.f1};
}

// Levels in the order given, those of one stressor together.
using LevelsOf = std::vector<std::vector<StressLevel>>;
LevelsOf by_stressor(const std::vector<StressLevel>& levels) {
  LevelsOf groups;
  for (const StressLevel& level : levels) {
    if (groups.empty() || groups.back().front().stressor != level.stressor) groups.emplace_back();
    groups.back().push_back(level);
  }
  return groups;
}

// Results of one sample by the name of their condition.
using Conditions = std::map<std::string, const SampleResult*>;

// The coefficients c with Σ c·score = slope of the least-squares line over `stress`; empty where there is no
// line through it.
std::vector<double> slope_weights(const std::vector<StressLevel>& levels) {
  std::vector<double> x;
  for (const StressLevel& level : levels) {
    if (!level.value || level.stressor->unit.empty()) return {};
    x.push_back(*level.stress());
  }
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
  double squares = 0;
  for (double& value : x) {
    value -= mean;
    squares += value * value;
  }
  if (squares == 0) return {};
  for (double& value : x) value /= squares;
  return x;
}

void add_scores(Measurements& row, const Scores& scores, const std::string& suffix, const std::string& part) {
  for (std::size_t s = 0; s < kScores; ++s) {
    row.push_back({.quantity = kScoreNames[s] + suffix, .part = part, .value = scores[s]});
  }
}

// Whether a stressor that works on the prompt left it as it was, whatever the level.
bool same_prompt(const std::vector<StressLevel>& levels, const Conditions& conditions) {
  const StressTarget target = levels.front().stressor->target;
  if (target != StressTarget::kItem && target != StressTarget::kPrompt) return false;
  std::set<std::string_view> prompts;
  Index found = 0;
  for (const StressLevel& level : levels) {
    const auto result = conditions.find(level.name());
    if (result == conditions.end()) continue;
    prompts.insert(result->second->prompt);
    ++found;
  }
  return found > 1 && prompts.size() == 1;
}

// Scores, losses and slopes of one sample under one stressor.
void add_stressor(Measurements& row, const std::vector<StressLevel>& levels, const Conditions& conditions) {
  if (same_prompt(levels, conditions)) {
    row.push_back(
        {.quantity = "same_prompt", .part = std::string(levels.front().stressor->name), .value = 1});
  }
  const std::vector<double> weights = slope_weights(levels);
  const auto baseline = conditions.find(levels.front().name());
  Scores slopes{};
  bool complete = !weights.empty();
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const std::string name = levels[i].name();
    const auto found = conditions.find(name);
    if (found == conditions.end()) {
      complete = false;
      continue;
    }
    const Scores scores = scores_of(*found->second);
    add_scores(row, scores, "", name);
    for (std::size_t s = 0; complete && s < kScores; ++s) slopes[s] += weights[i] * scores[s];
    if (i == 0 || baseline == conditions.end()) continue;
    Scores losses = scores_of(*baseline->second);
    for (std::size_t s = 0; s < kScores; ++s) losses[s] -= scores[s];
    add_scores(row, losses, "_loss", name);
  }
  if (complete) add_scores(row, slopes, "_slope", std::string(levels.front().stressor->name));
}

bool can_be_stale(const StressLevel& level) {
  return level.stressor->target == StressTarget::kCollection &&
         (level.text == "changed" || level.text == "deleted");
}

// The answers of each item before any change, by dataset and id.
using Answers = std::map<std::pair<std::string, std::string>, std::vector<std::string>>;
Answers answers_of(const std::vector<StressData>& data) {
  Answers answers;
  for (const StressData& set : data) {
    for (const QaItem& item : set.items) answers[{set.name, item.id}] = item.answers;
  }
  return answers;
}

// What one sample is named by, and its number, which orders results.
SampleKey sample_of(const SampleResult& result) {
  return {.model = result.key.model,
          .data = result.key.data,
          .task = result.task,
          .sample = result.key.sample,
          .question = result.question};
}

const Summary* find(const std::vector<Summary>& summaries, const std::string& quantity,
                    const std::string& part) {
  const auto found = std::ranges::find_if(
      summaries, [&](const Summary& s) { return s.quantity == quantity && s.part == part; });
  return found == summaries.end() ? nullptr : &*found;
}

// A score lies between 0 and 100 and a loss between −100 and 100, and so do their intervals; a slope may be
// anything.
Summary within_bounds(Summary s, const std::string& suffix) {
  const double low = suffix.empty() ? 0 : -100;
  if (suffix == "_slope" || !s.lo || !s.hi) return s;
  s.lo = std::clamp(*s.lo, low, 100.0);
  s.hi = std::clamp(*s.hi, low, 100.0);
  return s;
}

std::optional<ScoreSummaries> scores_in(const std::vector<Summary>& summaries, const std::string& suffix,
                                        const std::string& part) {
  ScoreSummaries made;
  for (std::size_t s = 0; s < kScores; ++s) {
    const Summary* found = find(summaries, kScoreNames[s] + suffix, part);
    if (found == nullptr) return {};
    made[s] = within_bounds(*found, suffix);
  }
  return made;
}

StressCurve make_curve(const std::vector<StressLevel>& levels, const std::vector<Summary>& summaries) {
  StressCurve curve{.stressor = levels.front().stressor};
  for (const StressLevel& level : levels) {
    const auto scores = scores_in(summaries, "", level.name());
    if (!scores) continue;
    StressPoint point{.level = level, .scores = *scores};
    point.losses = scores_in(summaries, "_loss", level.name());
    if (const Summary* stale = find(summaries, "stale", level.name())) point.stale = *stale;
    const Index place = std::ssize(curve.points);
    if (level.text == levels.front().text) {
      curve.baseline = place;
    } else if (curve.worst < 0 ||
               point.scores[0].mean < curve.points[static_cast<std::size_t>(curve.worst)].scores[0].mean) {
      curve.worst = place;
    }
    curve.points.push_back(std::move(point));
  }
  curve.slopes = scores_in(summaries, "_slope", std::string(curve.stressor->name));
  return curve;
}

}  // namespace

std::string intervened_name(const std::string& model, const std::string& intervention) {
  return model + " + " + intervention;
}

SampleTable stress_samples(const std::vector<SampleResult>& results, const StressOrder& order) {
  std::map<SampleKey, Conditions> samples;
  for (const SampleResult& r : results) samples[sample_of(r)].emplace(r.key.condition, &r);
  const LevelsOf groups = by_stressor(order.levels);
  const Answers answers = answers_of(order.data);
  SampleTable table;
  for (const auto& [key, conditions] : samples) {
    Measurements row;
    for (const std::vector<StressLevel>& levels : groups) add_stressor(row, levels, conditions);
    for (const StressLevel& level : order.levels) {
      const auto found = conditions.find(level.name());
      if (found == conditions.end() || !can_be_stale(level)) continue;
      const auto before = answers.find({key.data, key.sample});
      if (before == answers.end()) fail("{}: has no item {}, which has a result", key.data, key.sample);
      const double em = score_answer(found->second->answer, before->second).em;
      row.push_back({.quantity = "stale", .part = level.name(), .value = 100 * em});
    }
    if (!row.empty()) table.add(key, row);
  }
  return table;
}

namespace {

std::vector<IntervenedStress> compare_intervened(const SampleTable& samples, const StressOrder& order) {
  std::vector<IntervenedStress> all;
  for (const StressData& data : order.data) {
    for (const StressIntervention& i : order.interventions) {
      const std::string under = intervened_name(i.model, i.intervention);
      const auto add = [&](const std::string& against, const std::string& other) {
        std::vector<Summary> found = paired_differences(samples, {.a = under, .b = other, .data = data.name});
        if (!found.empty()) all.push_back({i.model, i.intervention, against, data.name, std::move(found)});
      };
      add("", i.model);
      if (!i.control.empty()) add(i.control, intervened_name(i.model, i.control));
    }
  }
  return all;
}

}  // namespace

StressResult make_stress_result(const std::vector<SampleResult>& results, const StressOrder& order) {
  StressResult made{.samples = stress_samples(results, order)};
  const LevelsOf groups = by_stressor(order.levels);
  std::map<std::pair<std::string, std::string>, std::vector<Summary>> summaries;  // by data and model
  for (const StressData& data : order.data) {
    for (const std::string& model : order.models) {
      summaries[{data.name, model}] = made.samples.summaries({.model = model, .data = data.name});
    }
  }
  for (const std::vector<StressLevel>& levels : groups) {
    for (const StressData& data : order.data) {
      for (const std::string& model : order.models) {
        StressCurve curve = make_curve(levels, summaries.at({data.name, model}));
        if (curve.points.empty()) continue;
        curve.model = model;
        curve.data = data.name;
        made.curves.push_back(std::move(curve));
      }
    }
  }
  for (const StressData& data : order.data) {
    for (std::size_t m = 1; m < order.models.size(); ++m) {
      StressDifference difference{.a = order.models[0], .b = order.models[m], .data = data.name};
      difference.summaries =
          paired_differences(made.samples, {.a = difference.a, .b = difference.b, .data = data.name});
      if (!difference.summaries.empty()) made.differences.push_back(std::move(difference));
    }
  }
  made.intervened = compare_intervened(made.samples, order);
  return made;
}

}  // namespace buoy
