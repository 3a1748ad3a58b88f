#include "buoy/serve/live_steps.h"

#include <algorithm>
#include <chrono>

#include "buoy/base/at.h"
#include "buoy/io/json.h"

namespace buoy {
namespace {

ModelConfig config_of(const TraceSource& source, const TraceExample& example) {
  ModelConfig config = source.model.config();
  config.mask = generation_mask(source.sampler, config, std::ssize(example.prompt.ids));
  return config;
}

}  // namespace

LiveSteps::LiveSteps(const TraceSource& source, const LiveRunSettings& settings, Turn& turn, Keeper& keeper)
    : source_(source),
      settings_(settings),
      turn_(turn),
      keeper_(keeper),
      config_(config_of(source, settings.example)),
      recorder_(config_, source.record, settings.example.prompt.layout),
      pinning_(source.model, source.tokenizer, settings.example.prompt, settings.changes),
      only_watches_(std::ranges::none_of(settings.changes, &RunChange::changes_attention)) {}

Trace LiveSteps::run() {
  const std::vector<std::vector<TokenId>> prompts = {settings_.example.prompt.ids};
  const std::vector<Generation> made = generate(source_.model, prompts, source_.sampler, this);
  const Generation& generation = made.front();
  recorder_.begin_finished(generation.tokens, config_.eos_ids);
  recorder_tap_.recorders = {&recorder_};
  const Index first = 0;  // a pass reads at least one row
  const ForwardSequence sequence{.ids = generation.tokens, .read_rows = {&first, 1}, .mask = generation.mask};
  source_.model.forward({&sequence, 1}, changed(generation.steps, std::ssize(generation.tokens),
                                                pinning_.before_finished(generation, &recorder_tap_)));
  tell_pinned();
  Trace trace = recorder_.take();
  describe_trace(source_, settings_.example, generation, trace);
  return trace;
}

StepChange LiveSteps::before_step(Index, const Generation& generation) {
  if (generation.steps == 0) keeper_.keep_start(generation);
  return keeper_.take_change(generation.steps);
}

Tap* LiveSteps::before_pass(std::span<const Pass> passes) {
  compare_with_parent(passes[0]);
  return begin(passes[0], passes[0].generation->steps);
}

Tap* LiveSteps::before_standing(std::span<const Pass> passes) {
  return begin(passes[0], std::nullopt);
}

Tap* LiveSteps::begin(const Pass& pass, std::optional<Index> step) {
  recorder_.begin_pass({.step = step,
                        .tokens = pass.tokens,
                        .first_row = pass.first_row,
                        .read_rows = pass.read_positions,
                        .rows = pass.rows});
  recorder_tap_.recorders = {&recorder_};
  proposed_.clear();
  return changed(pass.generation->steps, std::ssize(pass.tokens), pinning_.before_pass(pass, &recorder_tap_));
}

// A tap under what is in force at a pass over N tokens.
Tap* LiveSteps::changed(Index pass, Index N, Tap* inner) {
  change_tap_.reset();
  if (only_watches_) return inner;
  change_tap_.emplace(config_, in_force(keeper_.all_changes(), pass), N, inner);
  return &*change_tap_;
}

void LiveSteps::tell_pinned() {
  if (std::optional<PassBias> used = pinning_.used()) keeper_.keep_pinned(std::move(*used), pinning_.held());
}

void LiveSteps::proposed(Index, std::span<const Proposal> proposals) {
  proposed_.assign(proposals.begin(), proposals.end());
  for (const Proposal& p : proposals) recorder_.guessed(p.position, p.token, p.confidence);
}

void LiveSteps::after_step(Index, const Generation& generation) {
  recorder_.end_pass(generation.just_committed);
  tell_pinned();
  keeper_.keep_step(generation, *recorder_.last_step(), proposed_);
  proposed_.clear();
  keeper_.rest(turn_);
}

void LiveSteps::compare_with_parent(const Pass& pass) const {
  const Index number = pass.generation->steps;
  if (!settings_.parent || number >= settings_.fork_step.value_or(0)) return;
  const std::vector<Index>& recorded = settings_.parent->trace.steps.steps;
  const auto found = std::ranges::find(recorded, number);
  if (found == recorded.end()) return;
  if (!std::ranges::equal(settings_.parent->tokens(found - recorded.begin()), pass.tokens)) {
    fail(
        "step {} is not what it was in {}: it was made by other code, on another device or from another "
        "stream",
        number, settings_.parent->id);
  }
}

Json step_event(const ShelvedModel& model, const Generation& after, const Trace& step,
                const std::vector<Proposal>& proposed) {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  const std::vector<TokenId>& before = step.steps.tokens;
  Json event = {
      {"step", step.steps.steps.front()},
      {"computed", Milliseconds(std::chrono::system_clock::now().time_since_epoch()).count()},
      {"length", after.tokens.size()},
      {"tokens", Json::array()},
      {"ids", Json::array()},
      {"guesses", {{"positions", Json::array()}, {"ids", Json::array()}, {"confidence", Json::array()}}},
      {"pieces", Json::object()}};
  const auto name = [&](TokenId id) { event["pieces"][std::to_string(id)] = model.piece(id); };
  for (std::size_t p = 0; p < after.tokens.size(); ++p) {
    const bool appended = p >= before.size();
    if (appended ? after.tokens[p] == model.config().mask_id : before[p] == after.tokens[p]) continue;
    event["tokens"].push_back(p);
    event["ids"].push_back(after.tokens[p]);
    name(after.tokens[p]);
  }
  for (const Proposal& p : proposed) {
    event["guesses"]["positions"].push_back(p.position);
    event["guesses"]["ids"].push_back(p.token);
    event["guesses"]["confidence"].push_back(p.confidence);
    name(p.token);
  }
  return event;
}

void describe_so_far(const ShelvedModel& model, const LiveRunSettings& settings, const Generation& generation,
                     Trace& trace) {
  const TraceExample& example = settings.example;
  trace.header.model = model.name();
  trace.header.sample = example.item.id;
  trace.header.task = example.item.task;
  trace.header.question = example.item.question;
  trace.header.answers = example.item.answers;
  trace.header.mask_id = model.config().mask_id;
  trace.tokens = generation.tokens;
  trace.prompt_length = generation.prompt_length;
  trace.commit_step = generation.commit_step;
  trace.confidence = generation.confidence;
  trace.regions = example.prompt.layout.regions;
  trace.regions.of.resize(trace.tokens.size(), trace.regions.find(RegionKind::kAnswer));
  trace.evidence = example.prompt.layout.evidence;
  trace.evidence.resize(trace.tokens.size(), 0);
  for (const TokenId id : trace.tokens) trace.token_texts.push_back(model.piece(id));
  std::vector<TokenOrigin> origins = example.prompt.origins;
  origins.resize(trace.tokens.size(), TokenOrigin::kText);
  const auto known = [&](TokenId id) { return model.tokenizer().contains(id); };
  if (std::ranges::all_of(trace.tokens, known)) {
    trace.classes =
        classify(model.tokenizer(), trace.tokens, role_ids(model.tokenizer(), model.config()), origins);
  } else {
    trace.classes.assign(trace.tokens.size(), TokenClass::kContent);
  }
  std::vector<TokenId> written;
  for (const TokenId id : generation.generated()) {
    if (id != model.config().mask_id) written.push_back(id);
  }
  trace.header.output = answer_text(model.tokenizer(), model.config(), written);
}

}  // namespace buoy
