#include "buoy/report/study_opening.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "buoy/analysis/received.h"
#include "buoy/analysis/table_csv.h"
#include "buoy/report/number_text.h"
#include "buoy/report/page_parts.h"

namespace buoy {
namespace {

constexpr std::size_t kMostQuestions = 20;

std::string answer_text(const TracedQuestion& question, const std::string& model) {
  const auto found = std::ranges::find(question.answers, model, &TracedQuestion::Answer::model);
  if (found == question.answers.end()) return "–";
  const std::string text = found->text.empty() ? "(nothing)" : found->text;
  if (!found->correct) return text;
  return fmt::format("{}: {}", *found->correct ? "✓ right" : "✗ wrong", text);
}

// First, middle and last of n, each once.
std::vector<Index> spread(Index n) {
  std::vector<Index> places;
  for (const Index place : {Index{0}, (n - 1) / 2, n - 1}) {
    if (places.empty() || places.back() != place) places.push_back(place);
  }
  return places;
}

// A pass of an example: a step, or the finished sequence (t = -1).
Received received_at(const Trace& trace, Index t, Index l) {
  return t < 0 ? finished_received(trace, l) : step_received(trace, t, l, Rows::kRead);
}

// The anchor that stands out most from its null, or -1.
Index strongest_anchor(const Received& row, const AnchorOptions& options) {
  Index best = -1;
  const auto excess = [&](Index j) {
    return row.share[static_cast<std::size_t>(j)] - row.null[static_cast<std::size_t>(j)];
  };
  for (const Index j : row.anchors(options)) {
    if (best < 0 || excess(j) > excess(best)) best = j;
  }
  return best;
}

std::string region_text(const Trace& trace, Index position) {
  const auto p = static_cast<std::size_t>(trace.regions.of[static_cast<std::size_t>(position)]);
  const Region& region = trace.regions.regions[p];
  return region.gold ? region.name() + " (gold)" : region.name();
}

std::vector<std::string> anchor_row(const Trace& trace, Index t, Index l, const AnchorOptions& options) {
  const auto layer = static_cast<std::size_t>(l);
  const std::string step =
      t < 0 ? "finished" : fmt::to_string(trace.steps.steps[static_cast<std::size_t>(t)]);
  std::vector<std::string> row = {trace.header.model, step, fmt::to_string(trace.layers[layer])};
  const Received received = received_at(trace, t, l);
  const Index best = strongest_anchor(received, options);
  if (best < 0) {
    row.insert(row.end(), {"none", "–", "–", "–", "–"});
    return row;
  }
  const auto j = static_cast<std::size_t>(best);
  const TokenClass kind = t < 0 ? trace.classes[j] : trace.class_at(t, best);
  row.push_back(kind == TokenClass::kMask ? "[mask]" : fmt::format("“{}”", token_label(trace, best)));
  row.push_back(fmt::to_string(best));
  row.push_back(number_text(received.share[j] / received.null[j], Digits::kPercent));
  row.emplace_back(name_of(kind));
  row.push_back(region_text(trace, best));
  return row;
}

}  // namespace

Section questions_section(const StudyView& view) {
  const std::vector<TracedQuestion>& all = view.result().questions;
  const std::size_t shown = std::min(all.size(), kMostQuestions);
  TableBlock table{
      .caption = fmt::format("{} of {} questions, as they were traced; all are in questions.csv.", shown,
                             all.size()),
      .columns = {{.name = "question"}, {.name = "gold"}},
      .rows = {}};
  for (const StudiedModel& model : view.models())
    table.columns.push_back({.name = model.name, .color = view.color_of(model)});
  for (const TracedQuestion& q : std::span(all).first(shown)) {
    std::vector<std::string> row = {q.question.empty() ? q.sample : q.question,
                                    q.gold.empty() ? "–" : fmt::format("{}", fmt::join(q.gold, " / "))};
    for (const StudiedModel& model : view.models()) row.push_back(answer_text(q, model.name));
    table.rows.push_back(std::move(row));
  }
  return {.id = "questions",
          .title = "Questions and answers",
          .explanation =
              "What every model wrote while its attention was recorded. Right means equal to a gold answer "
              "after SQuAD’s normalisation (case, punctuation, articles).",
          .blocks = {std::move(table)}};
}

std::string questions_csv(const StudyResult& result) {
  std::string out = "data,sample,question,gold,model,answer,correct\n";
  for (const TracedQuestion& q : result.questions) {
    const std::string gold = fmt::format("{}", fmt::join(q.gold, " / "));
    for (const TracedQuestion::Answer& a : q.answers) {
      out += fmt::format("{},{},{},{},{},{},{}\n", csv_field(q.data), csv_field(q.sample),
                         csv_field(q.question), csv_field(gold), csv_field(a.model), csv_field(a.text),
                         a.correct ? (*a.correct ? "1" : "0") : "");
    }
  }
  return out;
}

Section anchors_section(const StudyView& view) {
  TableBlock table{.caption = "", .columns = {{.name = "model"}}, .rows = {}};
  table.columns.push_back(
      {.name = "step", .kind = ColumnKind::kNumber, .definition = "pass of the model, from 0"});
  table.columns.push_back(number_column("layer"));
  table.columns.push_back({.name = "token", .definition = "what stands there before the step"});
  table.columns.push_back(number_column("position"));
  table.columns.push_back(
      number_column("× null",
                    "attention received from the rows that are read at the step (from all rows of the "
                    "finished sequence) ÷ what uniform attention would bring it (r/r⁰), mean over heads"));
  table.columns.push_back({.name = "class"});
  table.columns.push_back({.name = "region"});
  std::string samples;
  for (const StudiedModel& model : view.models()) {
    if (model.examples.empty()) continue;
    const Trace& trace = model.examples[0];
    samples += fmt::format("{}{}: sample {}", samples.empty() ? "" : ", ", model.name, trace.header.sample);
    const std::vector<Index> steps = has_steps(trace) ? spread(trace.S()) : std::vector<Index>{-1};
    for (const Index t : steps) {
      for (const Index l : spread(trace.L()))
        table.rows.push_back(anchor_row(trace, t, l, view.result().options.analysis.anchors));
    }
  }
  table.caption = fmt::format(
      "The strongest anchor of the first, middle and last step, in a shallow, a middle and a "
      "deep layer ({}).",
      samples);
  return {.id = "anchors",
          .title = "What floats, what stays",
          .explanation =
              "An anchor is a token that receives far more attention than the others. Read down a layer: "
              "where the token stays the same from step to step the anchor is fixed, where it changes it "
              "floats.",
          .blocks = {std::move(table)}};
}

}  // namespace buoy
