#include "buoy/run/collect.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "buoy/analysis/task_dependence.h"
#include "buoy/base/error.h"
#include "buoy/io/json.h"

namespace buoy {
namespace {

StudiedModel& model_of(StudyResult& result, const Trace& trace) {
  const TraceHeader& h = trace.header;
  const auto found = std::ranges::find(result.models, h.model, &StudiedModel::name);
  if (found == result.models.end()) {
    StudiedModel& made = result.models.emplace_back();
    made.name = h.model;
    made.hash = h.model_hash;
    made.writing = h.writing;
    made.layers = h.model_layers;
    made.heads = h.H;
    made.settings = h.settings;
    return made;
  }
  if (found->hash != h.model_hash) {
    fail("sample {}: was made by another model than the samples before, though both are called {}: {} and {}",
         h.sample, h.model, h.model_hash, found->hash);
  }
  return *found;
}

void add_answer(StudyResult& result, const TraceHeader& h, const std::string& data) {
  const auto same = [&](const TracedQuestion& q) { return q.sample == h.sample && q.data == data; };
  auto found = std::ranges::find_if(result.questions, same);
  if (found == result.questions.end()) {
    result.questions.push_back(
        {.data = data, .sample = h.sample, .question = h.question, .gold = h.answers, .answers = {}});
    found = std::prev(result.questions.end());
  }
  found->answers.push_back({.model = h.model, .text = h.output, .correct = h.correct});
}

void warn_once(StudyResult& result, const std::optional<std::string>& warning) {
  if (warning && std::ranges::find(result.warnings, *warning) == result.warnings.end()) {
    result.warnings.push_back(*warning);
  }
}

SampleKey key_of(const Trace& trace, const std::string& data) {
  const TraceHeader& h = trace.header;
  return {.model = h.model, .data = data, .task = h.task, .sample = h.sample, .question = h.question};
}

// With the place of the gold passage as data.
SampleKey gold_key_of(const Trace& trace, const std::string& data) {
  SampleKey key = key_of(trace, data);
  key.sample = data + "/" + key.sample;
  key.data = gold_label(trace.regions);
  return key;
}

bool has_states(const Trace& trace) {
  Index l = 0;
  while (l < trace.L() && trace.mixer(l) != MixerKind::kSsd) ++l;
  return l < trace.L();
}

bool is_by_gold(const Analysis& analysis, const Trace& trace) {
  return (analysis.name == "flow" || analysis.name == "direct") && !gold_label(trace.regions).empty();
}

}  // namespace

Measurements mean_over_layers(const Measurements& measurements) {
  std::map<std::pair<std::string, std::string>, std::vector<const Measurement*>> layers;
  for (const Measurement& m : measurements) {
    if (m.layer >= 0 && m.head < 0) layers[{m.quantity, m.part}].push_back(&m);
  }
  Measurements means;
  for (const auto& [key, members] : layers) {
    Measurement mean{.quantity = key.first, .part = key.second, .value = 0, .weight = 0, .null = 0.0};
    const double count = static_cast<double>(members.size());
    for (const Measurement* m : members) {
      mean.value += m->value / count;
      mean.weight += m->weight / count;
      mean.null = mean.null && m->null ? std::optional(*mean.null + *m->null / count) : std::nullopt;
    }
    if (mean.weight != 0) means.push_back(std::move(mean));
  }
  return means;
}

Json to_json(const CollectOptions& options) {
  Json json = {{"anchors", describe(options.analysis.anchors)}, {"analyses", Json::array()}};
  for (const Analysis* analysis : options.analyses) json["analyses"].push_back(analysis->name);
  return json;
}

std::string describe(const AnchorOptions& options) {
  if (options.rule == AnchorRule::kTopK) return fmt::format("topk, k = {}", options.k);
  if (options.rule == AnchorRule::kExcess) {
    return fmt::format("excess, ε = {}, lift ≥ {}", options.epsilon, options.min_lift);
  }
  return fmt::format("{}, ε = {}", name_of(options.rule), options.epsilon);
}

void collect_null(StudyResult& result, NullKind kind, const Trace& trace, const std::string& data,
                  Index number) {
  const auto same = [&](const CollectedNull& null) { return null.kind == kind && null.number == number; };
  auto found = std::ranges::find_if(result.nulls, same);
  if (found == result.nulls.end()) {
    result.nulls.push_back({.kind = kind, .number = number, .table = {}, .layer_means = {}, .by_gold = {}});
    found = std::prev(result.nulls.end());
  }
  const TraceWithNull traces(trace);
  for (const Analysis* analysis : result.options.analyses) {
    const Measurements measured = measure(*analysis, traces, result.options.analysis);
    found->table.add(key_of(trace, data), measured);
    found->layer_means.add(key_of(trace, data), mean_over_layers(measured));
    if (is_by_gold(*analysis, trace)) found->by_gold.add(gold_key_of(trace, data), measured);
  }
}

void collect(StudyResult& result, Trace trace, const std::string& data) {
  StudiedModel& model = model_of(result, trace);
  const TraceHeader& h = trace.header;
  const TraceWithNull traces(trace);
  for (const Analysis* analysis : result.options.analyses) {
    const Measurements measured = measure(*analysis, traces, result.options.analysis);
    result.table.add(key_of(trace, data), measured);
    result.layer_means.add(key_of(trace, data), mean_over_layers(measured));
    if (is_by_gold(*analysis, trace)) result.by_gold.add(gold_key_of(trace, data), measured);
  }
  if (result.options.nulls) {
    if (const auto frozen = frozen_trace(trace)) collect_null(result, NullKind::kFrozen, *frozen, data);
  }
  if (result.options.nulls || has_states(trace)) {
    if (const auto recency = recency_trace(trace)) collect_null(result, NullKind::kRecency, *recency, data);
  }
  warn_once(result, anchor_warning(result.options.analysis.anchors, trace.N()));
  add_answer(result, h, data);
  ++model.samples;
  if (h.correct) ++model.answered;
  if (h.correct == true) ++model.correct;
  if (std::ssize(model.examples) < result.options.examples) model.examples.push_back(std::move(trace));
}

void finish_collecting(StudyResult& result) {
  const bool wanted = std::ranges::find(result.options.analyses, std::string_view("tasks"),
                                        &Analysis::name) != result.options.analyses.end();
  if (!wanted) return;
  add_task_contrast(result.table);
  for (CollectedNull& null : result.nulls) add_task_contrast(null.table);
}

QkExample qk_example(std::span<const float> queries, std::span<const float> keys, Index D, const Mask& mask) {
  const Index N = std::ssize(queries) / D;
  check(N <= kMaxQkPositions && queries.size() == keys.size(), "a matrix for a figure is small");
  const auto norm_at = [&](std::span<const float> x, Index i) {
    double squares = 0;
    for (const float v : x.subspan(static_cast<std::size_t>(i * D), static_cast<std::size_t>(D)))
      squares += double{v} * v;
    return std::sqrt(squares);
  };
  QkExample made;
  for (auto* matrix : {&made.score, &made.cosine, &made.norm}) {
    matrix->assign(static_cast<std::size_t>(N * N), std::numeric_limits<float>::quiet_NaN());
  }
  std::vector<double> key_norms;
  for (Index j = 0; j < N; ++j) key_norms.push_back(norm_at(keys, j));
  for (Index i = 0; i < N; ++i) {
    const double query_norm = norm_at(queries, i);
    const Index visible = mask.visible_keys(i, N);
    for (Index j = 0; j < visible; ++j) {
      double score = 0;
      for (Index d = 0; d < D; ++d) {
        score +=
            double{queries[static_cast<std::size_t>(i * D + d)]} * keys[static_cast<std::size_t>(j * D + d)];
      }
      const double product = query_norm * key_norms[static_cast<std::size_t>(j)];
      const auto cell = static_cast<std::size_t>(i * N + j);
      made.score[cell] = static_cast<float>(score);
      made.norm[cell] = static_cast<float>(product);
      made.cosine[cell] = static_cast<float>(product > 0 ? score / product : 0);
    }
  }
  return made;
}

}  // namespace buoy
