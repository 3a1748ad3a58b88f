#include "apps/cli/intervention_flags.h"

#include <algorithm>
#include <map>
#include <set>

#include "apps/cli/progress.h"
#include "buoy/analysis/analyses.h"
#include "buoy/base/error.h"
#include "buoy/io/json.h"

namespace buoy {
namespace {

constexpr Index kAnyNumber = Index{1} << 20;  // the models' own numbers are checked one by one

bool needs_ranking(const InterventionSettings& settings) {
  return settings.kind->needs_ranking;
}

// Σ values and Σ weights of a score of one head.
struct HeadScore {
  double copied = 0, copyable = 0, mass = 0, samples = 0;
};

void add_scores(const Trace& trace, std::map<HeadId, HeadScore>& scores) {
  const TraceWithNull traces(trace);
  for (const Measurement& m : measure(*find_analysis("heads"), traces, {})) {
    if (m.part != "all" || m.head < 0) continue;
    HeadScore& score = scores[{m.layer, m.head}];
    if (m.quantity == "copy") {
      score.copied += m.value;
      score.copyable += m.weight;
    } else if (m.quantity == "mass") {
      score.mass += m.value;
      score.samples += m.weight;
    }
  }
}

}  // namespace

void InterventionFlags::add_to(CLI::App& verb) {
  verb_ = &verb;
  const std::string group = "Interventions";
  verb.add_option("--at-layers", layers, "Where to intervene: all, or a list such as 0,4-7")
      ->capture_default_str()
      ->group(group);
  verb.add_option("--at-heads", heads, "Heads, likewise")->capture_default_str()->group(group);
  verb.add_option("--at-steps", steps, "all, every:4, or a list such as 0,3,7")
      ->capture_default_str()
      ->group(group);
  verb.add_flag("--per-head-anchors", per_head, "mask-anchors, mask-random: each head has its own anchors")
      ->group(group);
  verb.add_option("--anchors-from", from,
                  "mask-anchors, mask-random: anchors of the same step, or the previous")
      ->check(CLI::IsMember({"same", "previous"}))
      ->capture_default_str()
      ->group(group);
  verb.add_option("--pin-epsilon", epsilon, "pin-anchors: an anchor's excess is above this many deviations")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group(group);
  verb.add_option("--rank-data", rank_data,
                  "cut-heads: rank heads on this dataset; default: the items after those of --limit")
      ->group(group);
  verb.add_option("--rank-items", rank_items, "cut-heads: on so many items")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group(group);
}

std::vector<InterventionSettings> InterventionFlags::parse(const std::vector<std::string>& texts,
                                                           const RunFlags& run,
                                                           const std::vector<RunFlags::Named>& models) const {
  if (!texts.empty() && run.sampler.cfg_scale > 0) {
    fail_usage("--cfg-scale: interventions would reach only one half of such a pass");
  }
  const InterventionSite site{.layers = parse_layers(layers, kAnyNumber),
                              .heads = parse_layers(heads, kAnyNumber),
                              .steps = parse_steps(steps)};
  std::vector<InterventionSettings> all;
  for (const std::string& text : texts) {
    for (InterventionSettings& settings : parse_intervention(text)) {
      const auto same = [&](const InterventionSettings& other) { return other.name() == settings.name(); };
      if (std::ranges::any_of(all, same)) fail_usage("intervention {} is given twice", settings.name());
      settings.site = site;
      settings.per_head = per_head;
      settings.from = from == "previous" ? AnchorsFrom::kPreviousStep : AnchorsFrom::kSameStep;
      settings.epsilon = epsilon;
      settings.seed = run.sampler.seed;
      for (const RunFlags::Named& m : models) check_intervention(settings, m.config, m.name);
      all.push_back(std::move(settings));
    }
  }
  check_effects(all);
  return all;
}

void InterventionFlags::check_effects(const std::vector<InterventionSettings>& settings) const {
  if (verb_ == nullptr) return;
  struct Need {
    const char *flag, *what;
    bool (*by)(const Intervention& kind);
  };
  const auto any = [](const Intervention&) { return true; };
  const auto anchors = [](const Intervention& kind) { return kind.needs_unmodified; };
  const auto pins = [](const Intervention& kind) { return kind.correct != nullptr; };
  const auto ranking = [](const Intervention& kind) { return kind.needs_ranking; };
  const Need needs[] = {{"--at-layers", "an intervention", any},
                        {"--at-heads", "an intervention", any},
                        {"--at-steps", "an intervention", any},
                        {"--per-head-anchors", "mask-anchors or mask-random", anchors},
                        {"--anchors-from", "mask-anchors or mask-random", anchors},
                        {"--pin-epsilon", "pin-anchors", pins},
                        {"--rank-data", "cut-heads or cut-random", ranking},
                        {"--rank-items", "cut-heads or cut-random", ranking}};
  for (const Need& need : needs) {
    const auto meant = [&](const InterventionSettings& s) { return need.by(*s.kind); };
    if (verb_->count(need.flag) > 0 && std::ranges::none_of(settings, meant)) {
      fail_usage("{} has no effect without {}", need.flag, need.what);
    }
  }
}

Json InterventionFlags::to_json() const {
  return {{"layers", layers},       {"heads", heads},          {"steps", steps},
          {"per_head", per_head},   {"anchors_from", from},    {"pin_epsilon", epsilon},
          {"rank_data", rank_data}, {"rank_items", rank_items}};
}

std::vector<QaItem> InterventionFlags::held_out(const std::vector<NamedItems>& data,
                                                const std::vector<InterventionSettings>& settings) const {
  if (std::ranges::none_of(settings, needs_ranking)) return {};
  if (!rank_data.empty()) return read_dataset(rank_data, {.limit = rank_items}, print_warning);
  const NamedItems& set = data.front();
  const auto evaluated = std::ssize(set.items);
  std::vector<QaItem> items = read_dataset(set.path, {.limit = evaluated + rank_items}, print_warning);
  items.erase(items.begin(), items.begin() + std::min(evaluated, std::ssize(items)));
  if (items.empty()) {
    fail_usage(
        "cut-heads ranks heads on items that are not evaluated, but all {} of {} are: give --limit or "
        "--rank-data",
        evaluated, set.name);
  }
  return items;
}

void rank_heads(const TracingModel& model, const std::vector<QaItem>& held_out, Index batch_size,
                std::vector<InterventionSettings>& settings) {
  if (std::ranges::none_of(settings, needs_ranking)) return;
  std::map<HeadId, HeadScore> scores;
  ProgressBar progress(model.name() + ", ranking heads", std::ssize(held_out));
  for (std::size_t first = 0; first < held_out.size();) {
    const std::size_t count = std::min(held_out.size() - first, static_cast<std::size_t>(batch_size));
    for (const Trace& trace :
         model.trace(std::span(held_out).subspan(first, count), static_cast<Index>(first))) {
      add_scores(trace, scores);
      progress.advance();
    }
    first += count;
  }
  const auto ratio = [](double value, double weight) { return weight > 0 ? value / weight : 0; };
  for (InterventionSettings& s : settings) {
    if (!needs_ranking(s)) continue;
    s.ranking.clear();
    for (Index l = 0; l < model.config().L; ++l) {
      for (Index h = 0; h < model.config().H; ++h) {
        if (s.site.has_layer(l) && s.site.has_head(h)) s.ranking.push_back({l, h});
      }
    }
    std::ranges::stable_sort(s.ranking, std::greater<>(), [&](const HeadId& head) {
      const HeadScore& score = scores[head];
      return std::pair(ratio(score.copied, score.copyable), ratio(score.mass, score.samples));
    });
  }
}

}  // namespace buoy
