#include "buoy/probe/recorder.h"

#include <algorithm>
#include <numeric>

#include "buoy/base/at.h"
#include "buoy/base/error.h"
#include "buoy/probe/answer_row.h"
#include "buoy/probe/expert_rows.h"
#include "buoy/probe/fold.h"
#include "buoy/probe/kept_keys.h"
#include "buoy/probe/kept_rows.h"
#include "buoy/probe/trace_arrays.h"

namespace buoy {
struct Recorder::State {
  State(const ModelConfig& model, const RecordSettings& wanted, PromptLayout prompt)
      : config(model),
        settings(wanted),
        layout(std::move(prompt)),
        layers(chosen_layers(wanted, model.L)),
        key_groups(layout.regions.count(), layout.regions.of, layout.evidence) {
    // Queries: two regions may hold read rows, the Answer and the last of the prompt (Dream reads the row
    // before a mask). Keys: the evidence of a region stands apart.
    const Index more = std::max<Index>(2, std::ssize(key_groups.evidence_regions));
    if (layout.regions.count() + more > kMaxGroups) {
      fail(
          "the prompt has {} regions, {} of them with evidence, expected at most {} to be told apart in one "
          "pass",
          layout.regions.count(), key_groups.evidence_regions.size(), kMaxGroups - more);
    }
    check(layout.regions.find(RegionKind::kAnswer) >= 0 && layout.regions.find(RegionKind::kTail) >= 0,
          "a layout names an Answer and a Tail");
    slots.assign(at(config.L), -1);
    for (std::size_t i = 0; i < layers.size(); ++i) slots[at(layers[i])] = static_cast<Index>(i);
    folds.resize(layers.size());
    standing.resize(layers.size());
    row_stats.resize(layers.size());
  }

  // Whether rows are held still from step to step: they are computed anew each time.
  bool holds_rows_still() const { return settings.received && !rows_add_up(); }
  bool follows_keys() const { return settings.keys && !rows_add_up(); }
  bool rows_add_up() const { return config.family->rows == PassRows::kAddUp; }
  Index prompt_length() const { return std::ssize(layout.regions.of); }
  Index active_experts() const { return config.experts ? config.experts->rule.active : 0; }

  // The row whose logits decide position p.
  Index row_of(Index p) const { return std::max<Index>(0, p - config.family->logit_shift); }

  void plan_columns(std::span<const Index> read_rows);
  void plan_rows();
  void plan_still_rows();
  void begin_step(Index step);
  void fold_step(Index slot, const AttentionStats& stats);
  void fold_still_rows(Index slot, const AttentionStats& stats);
  void fold_finished(Index slot, const AttentionStats& stats);
  void finish_regions(std::span<const TokenId> eos);
  void fill_steps(Trace& trace);

  const ModelConfig config;
  const RecordSettings settings;
  const PromptLayout layout;
  const std::vector<Index> layers;
  const RegionGroups key_groups;
  std::vector<Index> slots;  // [model layers] → index into layers, or -1

  // The pass at hand.
  enum class Doing { kNothing, kStep, kFinished } doing = Doing::kNothing;
  bool keep = false;    // this step goes into the record
  bool stands = false;  // the rows of this pass stand under those to come
  std::vector<TokenId> tokens;
  Index first_row = 0;
  std::vector<Index> read_rows;
  std::vector<Index> measured_rows;  // positions of request.rows
  std::vector<Index> region_of;      // [N]
  std::vector<QueryGroup> groups;
  AttentionRequest request;
  std::vector<LayerFold> folds;           // [L] of the pass and of what stands
  std::vector<LayerFold> standing;        // [L]
  std::vector<AttentionStats> row_stats;  // [L] row statistics of this pass

  std::vector<Trace> steps;  // one recorded step each, at its own length
  KeptRows first_rows;       // of the first recorded step of this length: all that may ever be read
  bool first_of_length = false;
  KeptRows last_rows;  // of the latest one: those that were read
  bool first_has_all = true;
  KeptKeys last_keys;  // of the latest recorded step
  std::vector<AnswerRow> answer_rows;
  RegionMap finished_regions;
  FinishedRecord finished;
};

// One group for each region with queries in this pass, and one more for those of its rows that are read.
void Recorder::State::plan_columns(std::span<const Index> read) {
  groups.clear();
  const Index T = std::ssize(tokens) - first_row;
  std::vector<std::int8_t> ids(at(layout.regions.count() * 2), -1);
  request.query_groups.resize(at(T));
  std::vector<bool> is_read(at(T), false);
  for (const Index row : read) is_read[at(row - first_row)] = true;
  for (Index t = 0; t < T; ++t) {
    const Index region = region_of[at(first_row + t)];
    std::int8_t& id = ids[at(region * 2 + (is_read[at(t)] ? 1 : 0))];
    if (id < 0) {
      id = static_cast<std::int8_t>(groups.size());
      groups.push_back({.region = region, .read = is_read[at(t)]});
      if (std::ssize(groups) > kMaxGroups) {
        fail("the prompt holds masks in so many of its {} regions that attention has more than {} parts",
             layout.regions.count(), kMaxGroups);
      }
    }
    request.query_groups[at(t)] = id;
  }
  request.group_count = static_cast<int>(groups.size());
}

// The read rows, and their mass by region, that of evidence apart.
void Recorder::State::plan_rows() {
  measured_rows = read_rows;
  request.key_group_count = key_groups.count();
  request.key_groups = key_groups.of_keys(region_of, layout.evidence);
}

// What has to be known of rows to hold them still from this recorded step to the next, and from the first.
void Recorder::State::plan_still_rows() {
  const Index N = std::ssize(tokens);
  request.row_means = true;
  measured_rows = read_rows;
  first_of_length = first_rows.N() != N;
  if (first_of_length) {
    // The last row of a block may write the first token of the next.
    const Index end = config.mask.block() > 0 ? N + 1 : N;
    for (Index p = prompt_length(); p < end; ++p) {
      const Index row = row_of(p);
      if (row < first_row || row >= N) continue;
      if (std::ranges::find(measured_rows, row) == measured_rows.end()) measured_rows.push_back(row);
    }
    first_rows.begin(measured_rows, N);
  }
  if (!steps.empty()) {
    StepRecord& before = steps.back().steps;
    for (std::size_t slot = 0; slot < layers.size(); ++slot)
      last_rows.append_mean(static_cast<Index>(slot), read_rows, before.received_staying);
  }
  first_has_all = first_has_all && first_rows.has(read_rows);
  last_rows.begin(read_rows, N);
}

void Recorder::State::fold_step(Index slot, const AttentionStats& stats) {
  if (settings.answer_rows) {
    AttentionStats& rows = row_stats[at(slot)];
    rows.argmax = stats.argmax;
    rows.max_weight = stats.max_weight;
    rows.entropy = stats.entropy;
    rows.key_mass = stats.key_mass;
  }
  if (request.row_means) fold_still_rows(slot, stats);
  if (request.states) {
    last_keys.append_change(slot, {.keys = stats.key_states, .heads = config.Hkv, .N = std::ssize(tokens)},
                            steps.back().steps.key_change);
  }
  if (request.query_groups.empty() && !request.qk_means) return;
  LayerFold& fold = folds[at(slot)];
  fold = standing[at(slot)];
  fold.add({.mask = config.mask,
            .H = config.H,
            .first_row = first_row,
            .T = std::ssize(tokens) - first_row,
            .region_of = region_of,
            .R = layout.regions.count(),
            .groups = groups,
            .read_rows = std::ssize(read_rows)},
           settings, stats);
  if (stands) standing[at(slot)] = fold;
  if (!keep) return;
  StepRecord& step = steps.back().steps;
  if (settings.received) {
    fold.append_received(step.received);
    fold.append_received_read(step.received_read);
    if (settings.heads == HeadDetail::kPerHead) fold.append_received_heads(step.received_heads);
  }
  if (settings.flow) fold.append_flow(step.flow);
  if (settings.qk) {
    fold.append_mean(LayerFold::Mean::kScore, step.score_means);
    fold.append_mean(LayerFold::Mean::kCosine, step.cosine_means);
    fold.append_mean(LayerFold::Mean::kNorm, step.norm_means);
  }
}

void Recorder::State::fold_still_rows(Index slot, const AttentionStats& stats) {
  if (first_of_length) first_rows.keep(measured_rows, stats.row_means);
  last_rows.keep(measured_rows, stats.row_means);
  if (first_has_all) first_rows.append_mean(slot, read_rows, steps.back().steps.received_frozen);
}

void Recorder::State::fold_finished(Index slot, const AttentionStats& stats) {
  LayerFold fold;
  RecordSettings everything;
  everything.heads = HeadDetail::kPerHead;
  fold.add({.mask = config.mask,
            .H = config.H,
            .T = std::ssize(tokens),
            .region_of = region_of,
            .R = layout.regions.count(),
            .groups = groups},
           everything, stats);
  fold.append_received_heads(finished.received);
  fold.append_flow(finished.flow);
  const Index rows = std::ssize(request.rows);
  for (Index h = 0; h < config.H; ++h) {
    const auto begin = stats.entropy.begin() + h * rows;
    finished.row_entropy.push_back(
        static_cast<float>(std::accumulate(begin, begin + rows, 0.0) / static_cast<double>(rows)));
  }
  const auto append = [](std::vector<float>& to, const std::vector<float>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  append(finished.output_norm, stats.mean_output_norm);
  append(finished.uniform_norm, stats.uniform_norm);
  append(finished.value_norms, stats.value_norms);
  append(finished.key_norms, stats.key_norms);
  append(finished.score_means, stats.score_means);
  append(finished.cosine_means, stats.cosine_means);
  append(finished.norm_means, stats.norm_means);
  if (config.ssd) {  // attention forgets nothing by distance
    const std::vector<float> ones(stats.score_means.size(), 1.0f);
    append(finished.recency_means, stats.recency_means.empty() ? ones : stats.recency_means);
  }
  check(std::ssize(finished.row_entropy) == (slot + 1) * config.H, "layers are measured once, in order");
}

void Recorder::State::finish_regions(std::span<const TokenId> eos) {
  finished_regions = layout.regions;
  const Index answer = finished_regions.find(RegionKind::kAnswer),
              tail = finished_regions.find(RegionKind::kTail);
  Index region = answer;
  for (Index p = prompt_length(); p < std::ssize(tokens); ++p) {
    finished_regions.of.push_back(region);
    if (std::ranges::find(eos, tokens[at(p)]) != eos.end()) region = tail;
  }
}

void Recorder::State::fill_steps(Trace& trace) {
  if (holds_rows_still() && !steps.empty()) {  // no step follows the last
    StepRecord& last = steps.back().steps;
    last.received_staying.assign(layers.size() * at(last.lengths.front()), 0.0f);
  }
  for (const Trace& step : steps) {
    trace.steps.steps.push_back(step.steps.steps.front());
    for (const TraceArray& array : trace_arrays()) {
      if (array.has_steps()) append_step(array, step, trace);
    }
  }
  if (!first_has_all) trace.steps.received_frozen.clear();
}

Recorder::Recorder(const ModelConfig& config, const RecordSettings& settings, PromptLayout layout)
    : state_(std::make_unique<State>(config, settings, std::move(layout))) {}
Recorder::~Recorder() = default;
Recorder::Recorder(Recorder&&) noexcept = default;
Recorder& Recorder::operator=(Recorder&&) noexcept = default;

void Recorder::begin_pass(const RecordedPass& pass) {
  State& s = *state_;
  s.doing = State::Doing::kStep;
  s.tokens.assign(pass.tokens.begin(), pass.tokens.end());
  s.first_row = pass.first_row;
  s.read_rows.assign(pass.read_rows.begin(), pass.read_rows.end());
  // A row counts once: where logits are shifted, the first decides two positions.
  s.read_rows.erase(std::unique(s.read_rows.begin(), s.read_rows.end()), s.read_rows.end());
  s.region_of = s.layout.regions.of;
  s.region_of.resize(s.tokens.size(), s.layout.regions.find(RegionKind::kAnswer));
  s.keep = pass.step && s.settings.steps.contains(*pass.step);
  s.stands = s.rows_add_up() || pass.rows == PassRows::kAddUp;
  s.request = {.implicit = s.settings.implicit};
  // Of rows that stand none may be missed.
  if (s.keep || s.stands) {
    if (s.settings.received || s.settings.flow) s.plan_columns(pass.read_rows);
    s.request.qk_means = s.settings.qk;
    s.request.states = s.keep && s.follows_keys();
  }
  s.measured_rows.clear();
  if (s.settings.answer_rows && pass.step) s.plan_rows();
  if (s.keep && s.holds_rows_still()) s.plan_still_rows();
  for (const Index row : s.measured_rows) s.request.rows.push_back(row - s.first_row);
  if (pass.first_row == 0) std::ranges::for_each(s.standing, &LayerFold::clear);
  if (s.keep) s.begin_step(*pass.step);
}

void Recorder::State::begin_step(Index step) {
  steps.emplace_back().steps = {.steps = {step}, .lengths = {std::ssize(tokens)}, .tokens = tokens};
  StepRecord& record = steps.back().steps;
  record.read.assign(tokens.size(), 0);
  for (const Index row : read_rows) record.read[at(row)] = 1;
  if (config.family->writing == Writing::kFillsMasks) {
    record.guesses.assign(tokens.size(), -1);
    record.guess_confidence.assign(tokens.size(), 0.0f);
  }
  if (settings.experts) {
    clear_experts(std::ssize(layers) * std::ssize(tokens) * active_experts(), record.experts,
                  record.expert_weights);
  }
}

void Recorder::guessed(Index position, TokenId token, double confidence) {
  if (!state_->keep) return;
  StepRecord& step = state_->steps.back().steps;
  // The last row of a block may propose the first token of the next, which is not there yet.
  if (position >= std::ssize(step.guesses)) return;
  step.guesses[at(position)] = token;
  step.guess_confidence[at(position)] = static_cast<float>(confidence);
}

void Recorder::end_pass(std::span<const Index> committed) {
  State& s = *state_;
  s.doing = State::Doing::kNothing;
  if (!s.settings.answer_rows) return;
  for (const Index position : committed) {
    if (position < s.prompt_length()) continue;  // a mask that the prompt held is no part of the answer
    const Index row = s.row_of(position);
    const Index r = std::ranges::find(s.measured_rows, row) - s.measured_rows.begin();
    check(std::ranges::find(s.read_rows, row) != s.read_rows.end(),
          "a token is written by a row that was read");
    AnswerRow answer{
        .position = position, .row = row, .visible = s.config.mask.visible_keys(row, std::ssize(s.tokens))};
    for (const AttentionStats& stats : s.row_stats)
      answer.add_layer(stats, r, std::ssize(s.measured_rows), s.key_groups);
    s.answer_rows.push_back(std::move(answer));
  }
}

void Recorder::begin_finished(std::span<const TokenId> tokens, std::span<const TokenId> eos) {
  State& s = *state_;
  s.doing = State::Doing::kFinished;
  s.tokens.assign(tokens.begin(), tokens.end());
  s.first_row = 0;
  s.read_rows.clear();
  s.finish_regions(eos);
  s.region_of = s.finished_regions.of;
  s.request = {.implicit = s.settings.implicit};
  s.plan_columns({});
  s.request.rows.resize(tokens.size());
  std::iota(s.request.rows.begin(), s.request.rows.end(), Index{0});
  s.request.output_norms = s.request.qk_means = true;
  s.finished = {};
  clear_experts(std::ssize(s.layers) * std::ssize(tokens) * s.active_experts(), s.finished.experts,
                s.finished.expert_weights);
}

const AttentionRequest* Recorder::request(Index layer) const {
  const State& s = *state_;
  const bool nothing =
      s.request.query_groups.empty() && s.request.rows.empty() && !s.request.qk_means && !s.request.states;
  if (s.doing == State::Doing::kNothing || s.slots[at(layer)] < 0 || nothing) return nullptr;
  return &s.request;
}

void Recorder::measured(Index layer, const AttentionStats& stats) {
  State& s = *state_;
  const Index slot = s.slots[at(layer)];
  s.doing == State::Doing::kFinished ? s.fold_finished(slot, stats) : s.fold_step(slot, stats);
}

bool Recorder::wants_routing() const {
  const State& s = *state_;
  return s.active_experts() > 0 && (s.doing == State::Doing::kFinished || (s.keep && s.settings.experts));
}

void Recorder::routed(Index layer, const Tap::RoutedRows& routed) {
  State& s = *state_;
  const Index slot = s.slots[at(layer)];
  if (slot < 0 || !wants_routing()) return;
  const ExpertPlace place{.layer = slot, .N = std::ssize(s.tokens), .first_row = s.first_row};
  if (s.doing == State::Doing::kFinished) {
    put_experts(routed, place, s.finished.experts, s.finished.expert_weights);
  } else {
    put_experts(routed, place, s.steps.back().steps.experts, s.steps.back().steps.expert_weights);
  }
}

const Trace* Recorder::last_step() const {
  return state_->steps.empty() ? nullptr : &state_->steps.back();
}

Trace Recorder::frame() const {
  const State& s = *state_;
  Trace trace;
  trace.header.writing = s.config.family->writing;
  trace.header.mask = s.config.mask;
  trace.header.rows = s.config.family->rows;
  trace.header.H = s.config.H;
  trace.header.Hkv = s.config.Hkv;
  trace.header.model_layers = s.config.L;
  if (s.config.experts) trace.header.experts = s.config.experts->count;
  trace.header.active_experts = s.active_experts();
  for (Index l = 0; s.config.ssd && l < s.config.L; ++l)
    trace.header.mixers.push_back(s.config.layer(l).mixer);
  trace.header.mask_id = s.config.mask_id;
  trace.prompt_length = s.prompt_length();
  trace.layers = s.layers;
  return trace;
}

Trace Recorder::take() {
  State& s = *state_;
  check(s.doing == State::Doing::kFinished, "the finished pass was recorded");
  Trace trace = frame();
  trace.tokens = std::move(s.tokens);
  trace.regions = std::move(s.finished_regions);
  trace.evidence = s.layout.evidence;
  trace.evidence.resize(trace.tokens.size(), 0);
  s.fill_steps(trace);
  if (s.settings.answer_rows) fill_answer(s.answer_rows, trace);
  trace.finished = std::move(s.finished);
  return trace;
}

}  // namespace buoy
