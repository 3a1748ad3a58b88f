#include "buoy/engine/study.h"

#include <algorithm>
#include <functional>

#include "buoy/analysis/received.h"
#include "buoy/base/error.h"
#include "buoy/engine/shuffle.h"
#include "buoy/model/fingerprint.h"

namespace buoy {
namespace {

// What a study stresses and changes: enough for a first look. stress and intervene do more.
const std::vector<std::string> kStressors = {"irrelevant=0,0.5,0.9", "gold-position=1,5,10"};
const std::string kMaskStressor = "trailing-masks=0,32";  // for models that fill masks
const std::vector<std::string> kInterventions = {"mask-bos", "mask-anchors=5", "pin-anchors=steps",
                                                 "pin-anchors=layers"};

// The head with the strongest single anchor on the example, beside chance.
void add_qk_example(const TracingModel& model, StudiedModel& studied) {
  if (studied.examples.empty() || studied.examples[0].N() > kMaxQkPositions) return;
  const Trace& trace = studied.examples[0];
  double best = 0;
  Index layer = -1, head = 0;
  for (Index l = 0; l < trace.L(); ++l) {
    if (trace.mixer(l) != MixerKind::kAttention) continue;  // its scores decay besides
    if (layer < 0) layer = trace.layers[static_cast<std::size_t>(l)];
    for (Index h = 0; h < trace.H(); ++h) {
      const Received received = finished_received(trace, l, h);
      const Index peak = largest_excess(received.share, received.null);
      if (peak < 0) continue;
      const auto p = static_cast<std::size_t>(peak);
      const double excess = received.share[p] - received.null[p];
      if (excess <= best) continue;
      best = excess;
      layer = trace.layers[static_cast<std::size_t>(l)];
      head = h;
    }
  }
  if (layer < 0) return;
  studied.qk.push_back(record_qk(model.source().model, trace.tokens, trace.header.mask, layer, head));
}

using TraceSink = std::function<void(Trace trace, const std::string& data)>;

// Traces every question with a model, or finds the traces; `phase` is what the user sees.
void trace_questions(const TracingModel& model, const StudySettings& settings, const std::string& phase,
                     RunObserver& observer, StudyOutcome& outcome, const TraceSink& sink) {
  Index total = 0, first_sample = 0;
  for (const NamedItems& set : outcome.data) total += std::ssize(set.items);
  observer.begin(phase, total);
  for (const NamedItems& set : outcome.data) {
    for (std::size_t first = 0; first < set.items.size();) {
      const std::size_t count =
          std::min(set.items.size() - first, static_cast<std::size_t>(settings.run.batch_size));
      const auto items = std::span(set.items).subspan(first, count);
      for (Trace& trace : outcome.shelf.get(model, set.name, items, first_sample)) {
        sink(std::move(trace), set.name);
        observer.advance(1);
      }
      first += count;
      first_sample += static_cast<Index>(count);
    }
  }
}

RecordSettings record_settings(const StudySettings& settings, const ModelConfig& config) {
  RecordSettings record = settings.record;
  if (record.received && config.L * config.H <= kFewHeads) {
    record.heads = HeadDetail::kPerHead;
    record.keys = true;
  }
  return record;
}

void trace_model(const StudySettings& settings, const NamedModel& named, RunObserver& observer,
                 StudyOutcome& outcome) {
  const TracingModel model(settings.run.model(named.directory.string(), 0), settings.run.sampler,
                           record_settings(settings, named.config), settings.run.prompt, &observer);
  observer.note(fmt::format("{} on {}", model.name(), model.loaded().device()));
  trace_questions(
      model, settings, model.name() + ", tracing", observer, outcome,
      [&](Trace trace, const std::string& data) { collect(outcome.result, std::move(trace), data); });
  const auto wanted =
      std::ranges::find(outcome.result.options.analyses, std::string_view("qk"), &Analysis::name);
  if (wanted != outcome.result.options.analyses.end()) add_qk_example(model, outcome.result.models.back());
}

// Where a model's twin lies: a name that says of which weights, so that another model's is never taken for
// it.
std::filesystem::path twin_directory(const StudySettings& settings, const NamedModel& model,
                                     std::uint64_t seed) {
  const std::string hash = fingerprint_model(model.directory, Checkpoint::open(model.directory));
  return settings.run.output / "twins" /
         fmt::format("{}-shuffled-{}-{}", model.name, seed, hash.substr(0, 12));
}

void trace_twin(const StudySettings& settings, const NamedModel& named, Index number, RunObserver& observer,
                StudyOutcome& outcome) {
  const std::uint64_t seed = settings.twin_seed + static_cast<std::uint64_t>(number);
  const std::filesystem::path directory = twin_directory(settings, named, seed);
  if (!std::filesystem::exists(directory)) shuffle_model(named.directory, seed, directory);
  outcome.twins.push_back(directory);
  ModelSettings twin_settings = settings.run.model(directory.string(), 0);
  if (named.config.told_family) twin_settings.family = named.config.family->key;
  const TracingModel twin(twin_settings, settings.run.sampler, record_settings(settings, named.config),
                          settings.run.prompt, &observer);
  trace_questions(twin, settings, fmt::format("{}, shuffled twin {}", named.name, number + 1), observer,
                  outcome, [&](Trace trace, const std::string& data) {
                    trace.header.model = named.name;
                    collect_null(outcome.result, NullKind::kShuffled, trace, data, number);
                  });
}

// The run of one part of a study, in a directory of its own.
RunSettings part(const StudySettings& settings, const char* directory, std::optional<Index> limit) {
  RunSettings run = settings.run;
  run.data.limit = limit;
  run.output = settings.run.output / directory;
  return run;
}

// Tells whose phase it is.
class PartObserver : public RunObserver {
 public:
  PartObserver(RunObserver& inner, std::string part) : inner_(inner), part_(std::move(part)) {}
  void begin(const std::string& phase, Index total) override { inner_.begin(phase + ", " + part_, total); }
  void advance(Index by) override { inner_.advance(by); }
  void end() override { inner_.end(); }
  void warn(const std::string& line) override { inner_.warn(line); }  // the device was told before
  bool cancelled() const override { return inner_.cancelled(); }

 private:
  RunObserver& inner_;
  std::string part_;
};

// What these models or data cannot be put through is left out of a study, not a reason to end it.
void where_possible(const char* what, RunObserver& observer, const std::function<void()>& work) {
  try {
    work();
  } catch (const UsageError& e) {
    observer.warn(fmt::format("no {}: {}", what, e.what()));
  }
}

// Those that every model can be put through.
std::vector<std::string> study_interventions(const RunSettings& run, RunObserver& observer) {
  std::vector<std::string> wanted = kInterventions;
  for (const NamedModel& model : read_models(run)) {
    if (!model.config.ssd) continue;
    const auto pins = [](const std::string& name) { return name.starts_with("pin-anchors"); };
    if (std::erase_if(wanted, pins) > 0) {
      observer.warn(fmt::format("no pin-anchors: {} has state space layers, in which no key can be pressed",
                                model.name));
    }
  }
  return wanted;
}

// Answers with and without passages, stress and interventions, each a run of its own that can be resumed.
void run_parts(const StudySettings& settings, RunObserver& observer, StudyOutcome& outcome) {
  const std::unique_ptr<Ranks> alone = Ranks::alone();
  const std::optional<Index> limit = settings.stress_limit ? settings.stress_limit : settings.run.data.limit;
  PartObserver answering(observer, "answers"), stressing(observer, "stress"),
      intervening(observer, "interventions");
  EvaluationSettings eval;
  eval.run = part(settings, "answers", settings.run.data.limit);
  outcome.answers = run_evaluation(*alone, eval, answering);
  where_possible("stress tests", observer, [&] {
    StressRunSettings stress;
    stress.run = part(settings, "stress", limit);
    stress.stressors = kStressors;
    const auto fills_masks = [](const StudiedModel& m) { return m.writing == Writing::kFillsMasks; };
    if (std::ranges::any_of(outcome.result.models, fills_masks)) stress.stressors.push_back(kMaskStressor);
    outcome.stress = run_stress(*alone, stress, stressing);
  });
  where_possible("interventions", observer, [&] {
    InterventionRunSettings intervene;
    intervene.run = part(settings, "interventions", limit);
    intervene.choice.interventions = study_interventions(intervene.run, observer);
    intervene.trace = settings.analyses;
    outcome.interventions = run_interventions(*alone, intervene, intervening);
  });
}

std::vector<ClaimResult> judge_outcome(const StudyOutcome& outcome) {
  Evidence evidence;
  for (const StudiedModel& m : outcome.result.models) evidence.models.push_back({m.name, m.writing});
  evidence.analyses = &outcome.result.table;
  evidence.by_gold = &outcome.result.by_gold;
  for (const CollectedNull& null : outcome.result.nulls)
    evidence.nulls.push_back({.kind = null.kind, .analyses = &null.table, .by_gold = &null.by_gold});
  const SampleTable answers = passage_answer_table(outcome.answers->results);
  evidence.answers = &answers;
  if (outcome.stress) evidence.stress = &outcome.stress->result.samples;
  if (outcome.interventions) evidence.interventions = &outcome.interventions->result.samples;
  return judge(evidence);
}

}  // namespace

StudyOutcome run_study(const StudySettings& settings, RunObserver& observer) {
  if (settings.run.models.size() > kMostModels)
    fail_usage("model: {} models, expected at most {}", settings.run.models.size(), kMostModels);
  const std::vector<NamedModel> models = read_models(settings.run);
  const auto warnings = [&](const std::string& line) { observer.warn(line); };
  StudyOutcome outcome{.data = read_data(settings.run.data, settings.run.places, warnings),
                       .result = {},
                       .answers = {},
                       .stress = {},
                       .interventions = {},
                       .claims = {},
                       .shelf = TraceShelf(settings.run.output / "traces"),
                       .twins = {}};
  outcome.result.options = settings.analyses;
  outcome.result.options.nulls = !settings.analyses_alone;
  for (const NamedModel& model : models) {
    trace_model(settings, model, observer, outcome);
    for (Index twin = 0; twin < settings.twins && !settings.analyses_alone; ++twin)
      trace_twin(settings, model, twin, observer, outcome);
  }
  finish_collecting(outcome.result);
  observer.end();
  if (outcome.shelf.found() > 0) {
    observer.note(fmt::format("{} traces were there already", outcome.shelf.found()));
  }
  for (const std::string& warning : outcome.result.warnings) observer.warn(warning);
  if (!settings.analyses_alone) {
    run_parts(settings, observer, outcome);
    outcome.claims = judge_outcome(outcome);
  }
  return outcome;
}

void finish_study(const StudySettings& settings, const StudyOutcome& outcome) {
  if (settings.keep_traces) return;
  outcome.shelf.clear();
  std::error_code ignored;  // a leftover does no harm
  for (const std::filesystem::path& twin : outcome.twins) std::filesystem::remove_all(twin, ignored);
  std::filesystem::remove(settings.run.output / "twins", ignored);
}

}  // namespace buoy
