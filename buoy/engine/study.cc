#include "buoy/engine/study.h"

#include <algorithm>
#include <functional>

#include <fmt/ranges.h>

#include "buoy/analysis/received.h"
#include "buoy/base/error.h"
#include "buoy/engine/long_prompts.h"
#include "buoy/engine/model_kinds.h"
#include "buoy/engine/rank_observer.h"
#include "buoy/engine/shuffle.h"
#include "buoy/engine/trace_jobs.h"
#include "buoy/io/json.h"
#include "buoy/model/fingerprint.h"
#include "buoy/run/share_out.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

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

// What is the same throughout a study.
struct Studying {
  Ranks& ranks;
  const StudySettings& settings;
  const std::vector<NamedItems>& data;
  RunObserver& observer;
};

std::string traces_in(const TraceShelf& shelf, Index count) {
  return fmt::format("{} trace{} in {}", count, count == 1 ? "" : "s", shelf.directory().string());
}

// All ranks: makes the traces that are not on the shelf.
void fill_shelf(const Studying& study, const TracingModel& model, TraceShelf& shelf) {
  std::vector<TraceJob> jobs;
  std::vector<Index> open;
  for (const NamedItems& set : study.data) {
    for (const QaItem& item : set.items) {
      const Index number = std::ssize(jobs);
      jobs.push_back({model.example(item), number, shelf.place(model, set.name, item, number)});
      if (study.ranks.leads() && !shelf.holds(model, set.name, item, number)) open.push_back(number);
    }
  }
  Index there = std::ssize(jobs) - std::ssize(open);
  study.observer.already(there);
  if (study.ranks.leads()) shelf.make();
  trace_jobs(
      study.ranks, model.source(),
      {.jobs = jobs, .open = open, .batch_size = study.settings.run.batch_size, .written = [&](Index traces) {
         there += traces;
         study.observer.advance(traces);
         study.observer.kept(traces_in(shelf, shelf.count() + there));
       }});
}

// Traces every question with a model, or finds the traces; `phase` is what the user sees. Only the rank that
// leads gets to see them.
void trace_questions(const Studying& study, const TracingModel& model, const std::string& phase,
                     TraceShelf& shelf, const TraceSink& sink) {
  Index total = 0, first_sample = 0;
  for (const NamedItems& set : study.data) total += std::ssize(set.items);
  study.observer.begin(phase, total);
  const bool alone = study.ranks.count() == 1;
  if (!alone) fill_shelf(study, model, shelf);
  if (!study.ranks.leads()) return;
  for (const NamedItems& set : study.data) {
    for (std::size_t first = 0; first < set.items.size();) {
      const std::size_t count =
          std::min(set.items.size() - first, static_cast<std::size_t>(study.settings.run.batch_size));
      const auto items = std::span(set.items).subspan(first, count);
      const Index found_before = shelf.found();
      std::vector<Trace> traces = shelf.get(model, set.name, items, first_sample);
      const bool made = shelf.found() == found_before;
      for (Trace& trace : traces) {
        sink(std::move(trace), set.name);
        if (alone && made) study.observer.advance(1);
        if (alone && !made) study.observer.already(1);
      }
      study.observer.kept(traces_in(shelf, shelf.count()));
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
    record.experts = true;
  }
  // Of what only some models have.
  if (!config.experts) record.experts = false;
  if (!config.ssd) record.implicit = Implicit::kEnergy;
  return record;
}

// Before the first model runs: the last one may be hours away.
void check_models(const StudySettings& settings, std::span<const NamedModel> models) {
  const auto experts = [](const NamedModel& m) { return m.config.experts.has_value(); };
  const auto ssd = [](const NamedModel& m) { return m.config.ssd.has_value(); };
  if (settings.record.experts && std::ranges::none_of(models, experts))
    fail_usage("record experts has no effect: no model has experts");
  if (settings.record.implicit != Implicit::kEnergy && std::ranges::none_of(models, ssd)) {
    fail_usage("implicit {} has no effect: no model has state space layers",
               name_of(settings.record.implicit));
  }
  for (const NamedModel& m : models) {
    const SamplerSettings& sampler = settings.run.sampler_of(m.given);
    check_watchable(sampler, m.config, "a study");
    check_record(record_settings(settings, m.config), sampler, m.config, m.name);
  }
}

void trace_model(const Studying& study, const NamedModel& named, TraceShelf& shelf, StudyResult& result) {
  const RunSettings& run = study.settings.run;
  const TracingModel model(run.model(named.directory.string(), study.ranks.local_rank()), run.sampler,
                           record_settings(study.settings, named.config), run.prompt, &study.observer);
  study.observer.note(fmt::format("{} on {}", model.name(), model.loaded().device()));
  trace_questions(study, model, model.name() + ", tracing", shelf,
                  [&](Trace trace, const std::string& data) { collect(result, std::move(trace), data); });
  const auto wanted = std::ranges::find(result.options.analyses, std::string_view("qk"), &Analysis::name);
  if (study.ranks.leads() && wanted != result.options.analyses.end())
    add_qk_example(model, result.models.back());
}

// Where a model's twin lies: a name that says of which weights, so that another model's is never taken for
// it.
fs::path twin_directory(const StudySettings& settings, const NamedModel& model, std::uint64_t seed) {
  const std::string hash = fingerprint_model(model.directory, Checkpoint::open(model.directory));
  return settings.run.output / "twins" /
         fmt::format("{}-shuffled-{}-{}", model.name, seed, hash.substr(0, 12));
}

// Rank 0 makes it; the others wait until it is there.
void make_twin(const Studying& study, const NamedModel& named, std::uint64_t seed,
               const fs::path& directory) {
  if (study.ranks.leads() && !fs::exists(directory)) shuffle_model(named.directory, seed, directory);
  share(study.ranks, {{"twin", directory.string()}});
  if (!fs::exists(directory)) {
    fail("{}: is not there for rank {}; the folder of a study on many ranks must lie where all can read it",
         directory.string(), study.ranks.rank());
  }
}

// The directory that it was made in.
fs::path trace_twin(const Studying& study, const NamedModel& named, Index number, TraceShelf& shelf,
                    StudyResult& result) {
  const RunSettings& run = study.settings.run;
  const std::uint64_t seed = study.settings.twin_seed + static_cast<std::uint64_t>(number);
  const fs::path directory = twin_directory(study.settings, named, seed);
  make_twin(study, named, seed, directory);
  ModelSettings twin_settings = run.model(directory.string(), study.ranks.local_rank());
  if (named.config.told_family) twin_settings.family = named.config.family->key;
  const TracingModel twin(twin_settings, run.sampler, record_settings(study.settings, named.config),
                          run.prompt, &study.observer);
  trace_questions(study, twin, fmt::format("{}, shuffled twin {}", named.name, number + 1), shelf,
                  [&](Trace trace, const std::string& data) {
                    trace.header.model = named.name;
                    collect_null(result, NullKind::kShuffled, trace, data, number);
                  });
  return directory;
}

// The run of one part of a study, in a directory of its own.
RunSettings part(const StudySettings& settings, const char* directory, std::optional<Index> limit) {
  RunSettings run = settings.run;
  run.data.limit = limit;
  run.output = settings.run.output / directory;
  run.clash = Clash::kRefuse;  // the study's own folder was chosen before
  return run;
}

// Tells whose phase it is, and what is kept of the parts before.
class PartObserver : public RunObserver {
 public:
  PartObserver(RunObserver& inner, std::string part, std::string before)
      : inner_(inner), part_(std::move(part)), before_(std::move(before)), all_(before_) {}
  void begin(const std::string& phase, Index total) override { inner_.begin(phase + ", " + part_, total); }
  void advance(Index by) override { inner_.advance(by); }
  void already(Index count) override { inner_.already(count); }
  void end() override { inner_.end(); }
  void found(const std::string& line) override { inner_.found(line); }
  void kept(const std::string& what) override {
    all_ = before_ + ", " + what;
    inner_.kept(all_);
  }
  void warn(const std::string& line) override { inner_.warn(line); }  // the device was told before
  bool cancelled() const override { return inner_.cancelled(); }

  const std::string& all_kept() const { return all_; }

 private:
  RunObserver& inner_;
  std::string part_, before_, all_;
};

// What these models or data cannot be put through is left out of a study, not a reason to end it.
void where_possible(const char* what, RunObserver& observer, const std::function<void()>& work) {
  try {
    work();
  } catch (const UsageError& e) {
    observer.warn(fmt::format("no {}: {}", what, e.what()));
  }
}

struct StudyParts {
  std::optional<EvaluatedRun> answers;
  std::optional<StressedRun> stress;
  std::optional<IntervenedRun> interventions;
};

// Answers with and without passages, stress and interventions, each a run of its own that can be resumed.
StudyParts run_parts(const Studying& study, std::span<const NamedModel> models, const std::string& kept) {
  const StudySettings& settings = study.settings;
  const std::optional<Index> limit = settings.stress_limit ? settings.stress_limit : settings.run.data.limit;
  StudyParts parts;
  PartObserver answering(study.observer, "answers", kept);
  EvaluationSettings eval;
  eval.run = part(settings, "answers", settings.run.data.limit);
  parts.answers = run_evaluation(study.ranks, eval, answering);
  PartObserver stressing(study.observer, "stress", answering.all_kept());
  where_possible("stress tests", study.observer, [&] {
    StressRunSettings stress;
    stress.run = part(settings, "stress", limit);
    stress.stressors = kStressors;
    const auto fills_masks = [](const NamedModel& m) {
      return m.config.family->writing == Writing::kFillsMasks;
    };
    if (std::ranges::any_of(models, fills_masks)) stress.stressors.push_back(kMaskStressor);
    parts.stress = run_stress(study.ranks, stress, stressing);
  });
  PartObserver intervening(study.observer, "interventions", stressing.all_kept());
  where_possible("interventions", study.observer, [&] {
    InterventionRunSettings intervene;
    intervene.run = part(settings, "interventions", limit);
    intervene.choice.interventions = kInterventions;
    intervene.choice.interventions = fitting_interventions(intervene.choice, models, study.observer);
    intervene.trace = settings.analyses;
    parts.interventions = run_interventions(study.ranks, intervene, intervening);
  });
  return parts;
}

std::vector<ClaimResult> judge_outcome(const StudyOutcome& outcome) {
  Evidence evidence;
  for (const StudiedModel& m : outcome.result.models)
    evidence.models.push_back({.name = m.name, .writing = m.writing, .kind = m.kind});
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

// What decides a study's numbers.
Json described(const StudySettings& settings, std::span<const NamedItems> data) {
  Json json = describe_run(settings.run);
  json["data"] = describe_data(data);
  json["record"] = to_json(settings.record);
  std::vector<std::string_view> names;  // as one text: of a list every place would be said to differ
  for (const Analysis* analysis : settings.analyses.analyses) names.push_back(analysis->name);
  json["analyses"] = fmt::format("{}", fmt::join(names, ", "));
  json["anchors"] = describe(settings.analyses.analysis.anchors);
  json["parts"] = settings.analyses_alone ? "analyses" : "all";
  for (const ModelKind& kind : settings.kinds)
    json["kinds"][kind.name] = fmt::format("{}", fmt::join(kind.models, ", "));
  if (settings.analyses_alone) return json;
  json["twins"] = {{"count", settings.twins}, {"seed", settings.twin_seed}};
  if (settings.stress_limit) json["stress_limit"] = *settings.stress_limit;
  return json;
}

// On rank 0: the folder, made.
OutputFolder open_folder(const StudySettings& settings, const Json& inputs, RunObserver& observer) {
  OutputFolder folder(settings.run.output, "study", inputs, settings.other);
  if (folder.path() != settings.run.output) {
    observer.note(fmt::format("this study is kept in {}", folder.path().string()));
  }
  folder.begin({"traces", "twins", "answers", "stress", "interventions"});
  return folder;
}

// All ranks. What it gathers is whole on rank 0.
StudyOutcome work_on(const Studying& study, std::span<const NamedModel> models) {
  const StudySettings& settings = study.settings;
  StudyOutcome outcome{.folder = {},
                       .data = study.data,
                       .result = {},
                       .answers = {},
                       .stress = {},
                       .interventions = {},
                       .claims = {},
                       .shelf = TraceShelf(settings.run.output / "traces"),
                       .twins = {}};
  StudyResult& result = outcome.result;
  result.options = settings.analyses;
  result.options.nulls = !settings.analyses_alone;
  for (const NamedModel& model : models) {
    trace_model(study, model, outcome.shelf, result);
    for (Index twin = 0; twin < settings.twins && !settings.analyses_alone; ++twin)
      outcome.twins.push_back(trace_twin(study, model, twin, outcome.shelf, result));
  }
  study.observer.end();
  for (StudiedModel& model : result.models) model.kind = kind_of(settings, model.name);
  if (study.ranks.leads()) finish_collecting(result);
  if (outcome.shelf.found() > 0) {
    study.observer.found(fmt::format("{} traces were there already", outcome.shelf.found()));
  }
  for (const std::string& warning : result.warnings) study.observer.warn(warning);
  if (settings.analyses_alone) return outcome;
  StudyParts parts = run_parts(study, models, traces_in(outcome.shelf, outcome.shelf.count()));
  outcome.answers = std::move(parts.answers);
  outcome.stress = std::move(parts.stress);
  outcome.interventions = std::move(parts.interventions);
  if (study.ranks.leads()) outcome.claims = judge_outcome(outcome);
  return outcome;
}

}  // namespace

std::optional<StudyOutcome> run_study(Ranks& ranks, const StudySettings& given, RunObserver& watching) {
  if (given.run.models.size() > kMostModels)
    fail_usage("model: {} models, expected at most {}", given.run.models.size(), kMostModels);
  RankObserver observer(ranks, watching);
  StudySettings settings = given;
  const std::vector<NamedModel> models = read_models(settings.run);
  settings.kinds = named_kinds(settings.kinds, models);
  check_models(settings, models);
  const auto warnings = [&](const std::string& line) { observer.warn(line); };
  const std::vector<NamedItems> data =
      fit_questions(settings.run, models,
                    read_data(settings.run.data, settings.run.places, warnings, &observer), &observer);
  const Json inputs = described(settings, data);
  agree(ranks, inputs);
  std::optional<OutputFolder> folder;
  if (ranks.leads()) folder = open_folder(settings, inputs, observer);
  const fs::path place = folder ? folder->path() : fs::path();
  settings.run.output = share(ranks, {{"output", place.string()}})["output"].get<std::string>();
  StudyOutcome outcome = work_on({ranks, settings, data, observer}, models);
  if (!ranks.leads()) return std::nullopt;
  outcome.folder = std::move(folder);
  return outcome;
}

void finish_study(const StudySettings& settings, const StudyOutcome& outcome) {
  if (!settings.keep_traces) {
    outcome.shelf.clear();
    std::error_code ignored;  // a leftover does no harm
    for (const fs::path& twin : outcome.twins) fs::remove_all(twin, ignored);
    fs::remove(outcome.folder->path() / "twins", ignored);
  }
  outcome.folder->finish();
}

}  // namespace buoy
