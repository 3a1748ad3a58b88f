#include "buoy/serve/live_run.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "buoy/base/at.h"
#include "buoy/base/cancel.h"
#include "buoy/base/version.h"
#include "buoy/io/json.h"
#include "buoy/model/fingerprint.h"
#include "buoy/probe/trace_arrays.h"
#include "buoy/serve/live_steps.h"

namespace buoy {

namespace {

// Heads one by one where that stays small: a server remembers many runs.
RecordSettings record_of(const LiveRunSettings& settings) {
  constexpr Index kMostNumbers = 2'000'000;
  const ModelConfig& config = settings.model->config();
  const Index steps = settings.sampler.steps.value_or(settings.sampler.gen_length),
              N = std::ssize(settings.example.prompt.ids) + settings.sampler.gen_length;
  RecordSettings record;
  if (steps * config.L * config.H * N <= kMostNumbers) record.heads = HeadDetail::kPerHead;
  return record;
}

}  // namespace

struct LiveRun::State : LiveSteps::Keeper {
  explicit State(LiveRunSettings given) : settings(std::move(given)), changes(settings.changes) {
    to_go = settings.steps_to_go;
    const ModelConfig& config = settings.model->config();
    const std::vector<TokenId>& prompt = settings.example.prompt.ids;
    frame.header.writing = config.family->writing;
    frame.header.mask = generation_mask(settings.sampler, config, std::ssize(prompt));
    // Whoever watches from the first step on has the sequence at its length, where that is known before.
    generation = config.mask_id && frame.header.mask == Mask::kFull
                     ? start_masked_generation(prompt, settings.sampler.gen_length, *config.mask_id)
                     : start_generation(prompt);
    frame.header.H = config.H;
    frame.header.Hkv = config.Hkv;
    frame.header.model_layers = config.L;
    for (Index l = 0; config.ssd && l < config.L; ++l) frame.header.mixers.push_back(config.layer(l).mixer);
  }

  LiveRunSettings settings;
  std::shared_ptr<EventLog> events = std::make_shared<EventLog>();
  std::thread thread;
  std::mutex join_mutex;

  mutable std::mutex mutex;  // over everything below
  std::condition_variable changed;
  RunState state = RunState::kWaiting;
  std::string error;
  bool cancel = false;
  std::optional<Index> to_go;       // steps until it stops; none: to the end
  std::optional<Index> steps_left;  // wanted, and not yet handed to the sampler
  std::vector<RunChange> changes;
  Generation generation;
  Trace frame;               // header and layers, once the model is there
  std::vector<Trace> steps;  // recorded, each at its own length
  std::vector<PassBias> pinned;
  std::vector<HeldLayer> held;
  std::shared_ptr<const RunRecord> finished;         // once it is done
  mutable std::shared_ptr<const RunRecord> current;  // what was last made of the rest; null: out of date

  void set_state(RunState to, const std::string& why = {}) {
    {
      const std::lock_guard lock(mutex);
      if (state == to) return;
      state = to;
      error = why;
      current = nullptr;
    }
    events->add("state", Json{{"state", name_of(to)}});
    if (!why.empty()) events->add("error", Json{{"error", why}});
  }

  // What the thread that computes asks and tells.

  void keep_start(const Generation& before) override {
    const std::lock_guard lock(mutex);
    generation = before;
    current = nullptr;
  }

  StepChange take_change(Index pass) override {
    const std::lock_guard lock(mutex);
    if (steps_left) {
      changes.push_back({.step = pass, .tokens = {.steps_left = std::exchange(steps_left, {})}});
      std::ranges::stable_sort(changes, {}, &RunChange::step);
      current = nullptr;
      handed = pass - 1;
    }
    StepChange all;
    if (handed >= pass) return all;
    handed = pass;
    for (const RunChange& change : changes) {
      if (change.step != pass) continue;
      all.write.insert(all.write.end(), change.tokens.write.begin(), change.tokens.write.end());
      all.remask.insert(all.remask.end(), change.tokens.remask.begin(), change.tokens.remask.end());
      if (change.tokens.steps_left) all.steps_left = change.tokens.steps_left;
    }
    return all;
  }
  Index handed = -1;  // the last pass whose changes were given out

  std::vector<RunChange> all_changes() const override {
    const std::lock_guard lock(mutex);
    return changes;
  }

  void keep_step(const Generation& after, const Trace& step, const std::vector<Proposal>& proposed) override {
    const Json event = step_event(*settings.model, after, step, proposed);
    {
      const std::lock_guard lock(mutex);
      generation = after;
      steps.push_back(step);
      current = nullptr;
    }
    events->add("step", event);
  }

  void keep_pinned(PassBias used, std::vector<HeldLayer> layers) override {
    const std::lock_guard lock(mutex);
    pinned.push_back(std::move(used));
    held = std::move(layers);
    current = nullptr;
  }

  bool cancelled() const override {
    const std::lock_guard lock(mutex);
    return cancel;
  }

  // Between two steps: the others' turn, and a rest where the visitor wants one.
  void rest(Turn& turn) override {
    turn.give_back();
    bool stops = false;
    {
      const std::lock_guard lock(mutex);
      if (to_go && *to_go > 0) --*to_go;
      stops = to_go == Index{0} && !cancel;
    }
    if (stops) {
      set_state(RunState::kStopped);
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return cancel || to_go != Index{0}; });
      }
      set_state(RunState::kRunning);
    }
    turn.take();
  }

  void run();
  std::shared_ptr<const RunRecord> make_record() const;
  RunRecord describe() const;
  std::string settings_json() const;
};

std::string LiveRun::State::settings_json() const {
  const Json json = {{"sampler", to_json(settings.sampler, settings.model->config())},
                     {"template", settings.prompt_template},
                     {"record", to_json(record_of(settings))}};
  return json.dump();
}

void LiveRun::State::run() {
  try {
    ShelvedModel& model = *settings.model;
    Turn turn(model.turns());
    if (cancelled()) throw Cancelled();
    const LoadedModel& loaded = model.loaded();
    const TraceSource source{.model = loaded.model(),
                             .tokenizer = model.tokenizer(),
                             .sampler = settings.sampler,
                             .record = record_of(settings),
                             .name = model.name(),
                             .model_hash = model.hash(),
                             .tokenizer_hash = fingerprint_tokenizer(model.directory()),
                             .buoy_version = std::string(version()),
                             .settings = settings_json()};
    set_state(RunState::kRunning);
    LiveSteps writing(source, settings, turn, *this);
    {
      const std::lock_guard lock(mutex);
      frame = writing.frame();
      frame.header.model_hash = source.model_hash;
      frame.header.tokenizer_hash = source.tokenizer_hash;
      current = nullptr;
    }
    const Trace trace = writing.run();
    turn.give_back();
    {
      const std::lock_guard lock(mutex);
      RunRecord record = describe();
      record.state = RunState::kDone;
      record.trace = trace;
      finished = std::make_shared<const RunRecord>(std::move(record));
    }
    set_state(RunState::kDone);
  } catch (const Cancelled&) {
    set_state(RunState::kFailed, "the run was ended");
  } catch (const std::exception& failure) {
    set_state(RunState::kFailed, failure.what());
  }
  events->close();
}

// What is known without any pass.
RunRecord LiveRun::State::describe() const {
  RunRecord record{.id = settings.id,
                   .title = title_of(settings.example.item.question),
                   .family = std::string(settings.model->config().family->name),
                   .state = state,
                   .error = error,
                   .trace = frame,
                   .changes = changes,
                   .pinned = pinned,
                   .held = held,
                   .parent = {},
                   .fork_step = settings.fork_step,
                   .ask = settings.ask};
  if (settings.parent) record.parent = settings.parent->id;
  return record;
}

std::shared_ptr<const RunRecord> LiveRun::State::make_record() const {
  const std::lock_guard lock(mutex);
  if (state == RunState::kDone && finished) return finished;
  if (current) return current;
  RunRecord record = describe();
  describe_so_far(*settings.model, settings, generation, record.trace);
  record.trace.header.settings = settings_json();
  record.trace.header.buoy_version = std::string(version());
  for (const Trace& step : steps) {
    record.trace.steps.steps.push_back(step.steps.steps.front());
    for (const TraceArray& array : trace_arrays()) {
      if (array.has_steps()) append_step(array, step, record.trace);
    }
  }
  return current = std::make_shared<const RunRecord>(std::move(record));
}

LiveRun::LiveRun(LiveRunSettings settings) : state_(std::make_shared<State>(std::move(settings))) {
  state_->thread = std::thread([state = state_.get()] { state->run(); });
}

LiveRun::~LiveRun() {
  end();
}

std::shared_ptr<const RunRecord> LiveRun::record() const {
  return state_->make_record();
}

std::shared_ptr<const EventLog> LiveRun::events() const {
  return state_->events;
}

const LiveRunSettings& LiveRun::settings() const {
  return state_->settings;
}

bool LiveRun::is_over() const {
  const std::lock_guard lock(state_->mutex);
  return state_->state == RunState::kDone || state_->state == RunState::kFailed;
}

namespace {

void check_going(const LiveRun& run) {
  if (run.is_over()) fail_http(409, "run {} is over", run.settings().id);
}

}  // namespace

void LiveRun::stop() {
  check_going(*this);
  const std::lock_guard lock(state_->mutex);
  state_->to_go = 0;
}

void LiveRun::go(std::optional<Index> steps) {
  check_going(*this);
  {
    const std::lock_guard lock(state_->mutex);
    state_->to_go = steps;
  }
  state_->changed.notify_all();
}

void LiveRun::set_steps_left(Index steps) {
  check_going(*this);
  if (steps < 1) fail_http(400, "steps_left is {}, expected at least 1", steps);
  const std::lock_guard lock(state_->mutex);
  state_->steps_left = steps;
}

void LiveRun::end() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->cancel = true;
  }
  state_->changed.notify_all();
  const std::lock_guard lock(state_->join_mutex);
  if (state_->thread.joinable()) state_->thread.join();
}

}  // namespace buoy
