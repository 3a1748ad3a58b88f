// Which interventions a run goes through, and on which heads.
#include <algorithm>
#include <iterator>
#include <map>

#include "buoy/analysis/analyses.h"
#include "buoy/base/error.h"
#include "buoy/engine/intervention_run.h"
#include "buoy/io/hash.h"
#include "buoy/io/json.h"
#include "buoy/model/fingerprint.h"
#include "buoy/run/run_identity.h"

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

InterventionSite site_of(const InterventionChoice& choice) {
  return {.layers = parse_layers(choice.layers, kAnyNumber),
          .heads = parse_layers(choice.heads, kAnyNumber),
          .steps = parse_steps(choice.steps)};
}

bool unfit_for_all(const InterventionSettings& settings, std::span<const NamedModel> models) {
  return std::ranges::all_of(
      models, [&](const NamedModel& m) { return unfit_layer(settings, m.config).has_value(); });
}

}  // namespace

std::vector<std::string> fitting_interventions(const InterventionChoice& choice,
                                               std::span<const NamedModel> models, RunObserver& observer) {
  std::vector<std::string> fitting;
  for (const std::string& text : choice.interventions) {
    InterventionSettings settings = parse_intervention(text).front();
    settings.site = site_of(choice);
    if (unfit_for_all(settings, models)) {
      observer.warn(fmt::format("no {}: {} has a state space mixer in layer {}, where no key can be pressed",
                                text, models[0].name, *unfit_layer(settings, models[0].config)));
    } else {
      fitting.push_back(text);
    }
  }
  return fitting;
}

AnchorsFrom parse_anchors_from(std::string_view name) {
  if (name == "same") return AnchorsFrom::kSameStep;
  if (name == "previous") return AnchorsFrom::kPreviousStep;
  fail_usage("anchors_from is \"{}\", expected one of same, previous", name);
}

std::vector<InterventionSettings> choose_interventions(const InterventionChoice& choice,
                                                       const SamplerSettings& sampler,
                                                       std::span<const NamedModel> models, Unfit unfit) {
  if (!choice.interventions.empty() && sampler.cfg_scale > 0) {
    fail_usage("cfg_scale: interventions would reach only one half of such a pass");
  }
  const InterventionSite site = site_of(choice);
  std::vector<InterventionSettings> all;
  for (const std::string& text : choice.interventions) {
    for (InterventionSettings& settings : parse_intervention(text)) {
      const auto same = [&](const InterventionSettings& other) { return other.name() == settings.name(); };
      if (std::ranges::any_of(all, same)) fail_usage("intervention {} is given twice", settings.name());
      settings.site = site;
      settings.per_head = choice.per_head;
      settings.from = choice.from;
      settings.spare_evidence = choice.spare_evidence;
      settings.epsilon = choice.epsilon;
      settings.seed = sampler.seed;
      const bool leave_out = unfit == Unfit::kLeftOut && !unfit_for_all(settings, models);
      for (const NamedModel& m : models) {
        if (!leave_out || !unfit_layer(settings, m.config)) check_intervention(settings, m.config, m.name);
      }
      all.push_back(std::move(settings));
    }
  }
  return all;
}

void check_steps(const InterventionChoice& choice, const NamedModel& model,
                 std::span<const SamplerSettings> samplers) {
  const std::vector<Index> steps = parse_steps(choice.steps).list;
  Index most = 0;
  for (const SamplerSettings& sampler : samplers) {
    const std::optional<Index> its = most_steps(sampler, model.config);
    if (!its) return;
    most = std::max(most, *its);
  }
  // The pass over the finished sequence counts as the step after the last.
  if (steps.empty() || samplers.empty() || steps.back() <= most) return;
  fail_usage("interventions act at step {}, but {} takes at most {} steps, and one pass more", steps.back(),
             model.name, most);
}

InterventionPlan with_controls(std::span<const InterventionSettings> wanted) {
  InterventionPlan all;
  all.named.push_back({.name = kNoIntervention});
  const auto add = [&](const InterventionSettings& settings, const std::string& control) {
    const auto found = std::ranges::find(all.named, settings.name(), &InterventionCondition::name);
    if (found != all.named.end()) return;
    all.settings.push_back(settings);
    const bool counts = settings.kind->parameter == InterventionParameter::kCount;
    all.named.push_back({.name = settings.name(),
                         .control = control,
                         .kind = std::string(settings.kind->name),
                         .level = counts ? std::optional(settings.count) : std::nullopt});
  };
  for (const InterventionSettings& settings : wanted) {
    const std::optional<InterventionSettings> control = control_of(settings);
    add(settings, control ? control->name() : "");
    if (control) add(*control, "");
  }
  return all;
}

Json to_json(const InterventionChoice& choice) {
  return {{"layers", choice.layers},
          {"heads", choice.heads},
          {"steps", choice.steps},
          {"per_head", choice.per_head},
          {"anchors_from", choice.from == AnchorsFrom::kPreviousStep ? "previous" : "same"},
          {"spare_evidence", choice.spare_evidence},
          {"pin_epsilon", choice.epsilon},
          {"rank_data", choice.rank_data.empty() ? "" : fingerprint_file(choice.rank_data)},
          {"rank_items", choice.rank_items}};
}

std::vector<QaItem> held_out_items(const InterventionChoice& choice, std::span<const NamedItems> data,
                                   std::span<const InterventionSettings> settings,
                                   const WarningSink& warnings) {
  if (std::ranges::none_of(settings, needs_ranking)) return {};
  if (!choice.rank_data.empty())
    return read_dataset(choice.rank_data, {.limit = choice.rank_items}, warnings);
  const NamedItems& set = data.front();
  const auto evaluated = std::ssize(set.items);
  std::vector<QaItem> items = read_dataset(set.path, {.limit = evaluated + choice.rank_items}, warnings);
  items.erase(items.begin(), items.begin() + std::min(evaluated, std::ssize(items)));
  if (items.empty()) {
    fail_usage(
        "cut-heads ranks heads on items that are not evaluated, but all {} of {} are: give a limit or data "
        "to "
        "rank on",
        evaluated, set.name);
  }
  return items;
}

Json describe_interventions(const InterventionPlan& plan, std::span<const QaItem> held_out) {
  Hasher hasher;
  for (std::size_t i = 0; i < held_out.size(); ++i)
    hasher.add(hash_of_item(held_out[i], static_cast<Index>(i)));
  Json under = Json::object();
  for (const InterventionSettings& s : plan.settings) under[s.name()] = needs_ranking(s) ? hasher.hex() : "";
  return under;
}

InterventionPlan with_earlier(const InterventionPlan& plan, const InterventionChoice& choice,
                              const SamplerSettings& sampler, const Json& under) {
  std::vector<InterventionSettings> all = plan.settings;
  InterventionChoice earlier = choice;
  earlier.interventions.clear();
  for (const auto& entry : under.items()) {
    const std::string& name = entry.key();
    const auto same = [&](const InterventionSettings& s) { return s.name() == name; };
    if (std::ranges::none_of(all, same)) earlier.interventions.push_back(name);
  }
  std::ranges::copy(choose_interventions(earlier, sampler, {}), std::back_inserter(all));
  return with_controls(all);
}

void rank_heads(const TracingModel& model, std::span<const QaItem> held_out, Index batch_size,
                std::span<InterventionSettings> settings, RunObserver& observer) {
  if (std::ranges::none_of(settings, needs_ranking)) return;
  std::map<HeadId, HeadScore> scores;
  observer.begin(model.name() + ", ranking heads", std::ssize(held_out));
  for (std::size_t first = 0; first < held_out.size();) {
    const std::size_t count = std::min(held_out.size() - first, static_cast<std::size_t>(batch_size));
    for (const Trace& trace : model.trace(held_out.subspan(first, count), static_cast<Index>(first))) {
      add_scores(trace, scores);
      observer.advance(1);
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
