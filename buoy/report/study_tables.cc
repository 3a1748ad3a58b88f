#include "buoy/report/study_tables.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "buoy/analysis/retrieval_summary.h"
#include "buoy/analysis/task_dependence.h"
#include "buoy/base/error.h"
#include "buoy/report/number_text.h"
#include "buoy/report/page_parts.h"

namespace buoy {
namespace {

// A line of a section's table.
struct Line {
  std::string_view label;
  Quantity quantity;
  enum class Of { kLayerMean, kSample } of = Of::kLayerMean;
};

constexpr auto kSample = Line::Of::kSample;

constexpr Line kDrift[] = {{"Steps", {"steps", ""}, kSample},
                           {"Steps that write the answer", {"writing_steps", ""}, kSample},
                           {"Turnover, fixed rows, steps that write", {"turnover", "fixed writing"}},
                           {"Turnover, fixed rows", {"turnover", "fixed"}},
                           {"Turnover, read rows", {"turnover", "read"}},
                           {"Turnover, all rows", {"turnover", "all"}},
                           {"Pairs of steps without anchors, read rows", {"both_empty", "read"}},
                           {"Float index across layers, read rows", {"float_index", "read"}},
                           {"Lifetime in steps, read rows", {"lifetime", "read"}},
                           {"Drift, positions per step, read rows", {"drift_per_step", "read"}},
                           {"Drift, all rows", {"drift_per_step", "all"}},
                           {"First token strongest, read rows", {"first_token_share", "read"}},
                           {"First token strongest, all rows", {"first_token_share", "all"}},
                           {"First token strongest and an anchor, all rows", {"sink_share", "all"}},
                           {"Anchors per step, read rows", {"anchor_count", "read"}}};
constexpr Line kSalience[] = {
    {"Top tenth kept, mean over heads, writing steps", {"top_kept", "mean writing"}},
    {"Top tenth kept, single heads, writing steps", {"top_kept", "head writing"}},
    {"Top tenth kept, same rows, writing steps", {"top_kept", "fixed writing"}},
    {"Top tenth kept, mean over heads, all steps", {"top_kept", "mean"}},
    {"Top tenth named by mean scores", {"proxy_recall", "lag 0"}},
    {"Top tenth named by mean scores one step before", {"proxy_recall", "lag 1"}},
    {"Prompt's top tenth named by masks alone", {"mask_query_agreement", ""}},
    {"Spread of the strongest key, read rows, writing steps", {"peak_spread", "read writing"}},
    {"Spread of the strongest key, all rows, writing steps", {"peak_spread", "all writing"}}};
constexpr Line kKeys[] = {{"Change of keys, 1 − cosine", {"key_change", ""}},
                          {"Change of the most attended tenth", {"key_change", "top"}},
                          {"Change of the rest", {"key_change", "rest"}},
                          {"Change after the commit − later", {"key_change", "settling"}}};
constexpr Line kExperts[] = {
    {"Entropy of the load, 1: even", {"expert_load_entropy", "finished"}},
    {"Entropy of a row's weights, 1: even", {"expert_weight_entropy", "finished"}},
    {"Experts in common, two rows", {"expert_agreement", "finished"}},
    {"Experts in common, two masks of a step", {"expert_agreement", "masks"}},
    {"Experts in common, two words of a step", {"expert_agreement", "words"}},
    {"Experts in common, a mask and a word", {"expert_agreement", "masks and words"}},
    {"Kept to the next step, words", {"expert_overlap", "words"}},
    {"Kept to the next step, masks", {"expert_overlap", "masks"}},
    {"Kept where a mask becomes a word", {"expert_overlap", "written"}}};
constexpr Line kAbsorption[] = {
    {"First token, %", {"absorb_bos", "finished"}},
    {"Anchors, %", {"absorb_anchors", "finished"}},
    {"Strongest token, %", {"absorb_top1", "finished"}},
    {"First token, value-weighted, %", {"absorb_bos", "value-weighted"}},
    {"Anchors, value-weighted, %", {"absorb_anchors", "value-weighted"}},
    {"Anchors while writing, %", {"absorb_anchors", "steps"}},
    {"Strongest token while writing, %", {"absorb_top1", "steps"}},
    {"Length of the anchors' values ÷ of the others' − 1", {"anchor_value_lead", ""}}};
constexpr Line kConcentration[] = {{"Entropy of received attention, nats", {"entropy", ""}},
                                   {"Effective share of keys", {"effective_share", ""}},
                                   {"Gini", {"gini", ""}},
                                   {"Anchors per head", {"anchor_count", ""}},
                                   {"Entropy of rows, nats", {"row_entropy", ""}}};
constexpr Line kQk[] = {{"Δ score", {"delta_score", ""}},
                        {"Δ cosine", {"delta_cosine", ""}},
                        {"Δ norm", {"delta_norm", ""}},
                        {"Angle share", {"angle_share", ""}},
                        {"Scale share", {"scale_share", ""}},
                        {"Share of both together", {"covariance_share", ""}},
                        {"State space layers: Δ cosine", {"delta_cosine", "ssd"}},
                        {"State space layers: Δ norm", {"delta_norm", "ssd"}},
                        {"State space layers: Δ recency", {"delta_recency", "ssd"}},
                        {"State space layers: angle share", {"angle_share", "ssd"}},
                        {"State space layers: scale share", {"scale_share", "ssd"}},
                        {"State space layers: recency share", {"recency_share", "ssd"}}};
constexpr Line kFlow[] = {
    {"Direct: gold passage ÷ others, per token", {"direct_gold_lift", ""}},
    {"Direct: gold passage ÷ others, per token, ln", {"direct_gold_log", ""}},
    {"Direct: last third of the places against the first, ln", {"near_far", ""}, kSample},
    {"Direct: trend of attention to the question", {"question_trend", ""}, kSample},
    {"Gold lift, sum", {"gold_lift", "sum"}, kSample},
    {"Gold lift, per token", {"gold_lift", "per-token"}, kSample},
    {"Gold lift, the paper's regions", {"gold_lift", "paper"}, kSample},
    {"Gold lift if all answer attention went to gold, sum", {"rollout_sensitivity", "sum"}, kSample},
    {"Gold lift if all answer attention went to gold, per token",
     {"rollout_sensitivity", "per-token"},
     kSample},
    {"Gold lift if all answer attention went to gold, the paper's regions",
     {"rollout_sensitivity", "paper"},
     kSample},
    {"Gold passage receives most, sum", {"gold_top", "sum"}, kSample},
    {"Gold passage receives most, per token", {"gold_top", "per-token"}, kSample}};
constexpr Line kTasks[] = {
    {"Further from other tasks than from its own, nats", {"task_contrast", ""}, kSample}};
constexpr Line kClasses[] = {
    {"Structure lift, finished", {"structural_lift", "finished"}},
    {"Content lift, finished", {"content_lift", "finished"}},
    {"Structure, shallow − deep", {"structural_contrast", "finished"}, kSample},
    {"Content, shallow − deep", {"content_contrast", "finished"}, kSample},
    {"Structure, shallow − deep, while writing", {"structural_contrast", "steps"}, kSample},
    {"Content, shallow − deep, while writing", {"content_contrast", "steps"}, kSample}};

// The number of a line for one model, or nullptr.
const Summary* number_of(const StudyView& view, const StudiedModel& model, const Line& line) {
  if (line.of == Line::Of::kLayerMean) return view.find_mean(model, line.quantity);
  return view.find(model,
                   {.quantity = std::string(line.quantity.name), .part = std::string(line.quantity.part)});
}

constexpr const char* kNumberCaption =
    "Means over samples with 95 % bootstrap intervals, the same under uniform attention (null), and the "
    "samples "
    "that have the number. Numbers of layers are averaged over layers first.";

TableColumn null_column(const StudyView& view) {
  if (!view.has_recency()) return number_column("null", "the same under uniform attention");
  return number_column(
      "null, recency",
      "the same under uniform attention; then under attention that falls off with distance, as sharp "
      "as each head's own rows, and knows nothing else");
}

// "0.2", or "0.2, 0.35" where the recency null was collected; – for one that there is none of.
std::string nulls_text(const StudyView& view, const StudiedModel& model, const Line& line, const Summary& s) {
  const std::string uniform = s.null ? number_text(*s.null) : "–";
  if (!view.has_recency()) return uniform;
  const ColumnKey key{.quantity = std::string(line.quantity.name), .part = std::string(line.quantity.part)};
  const std::optional<double> near = line.of == Line::Of::kLayerMean
                                         ? view.recency_mean_of(model, line.quantity)
                                         : view.recency_of(model, key);
  return fmt::format("{}, {}", uniform, near ? number_text(*near) : "–");
}
TableColumn count_column() {
  return number_column("n", "samples that have the number; of each model where they differ");
}

// "20", or "20 / 18" where models differ.
std::string counts_text(const std::vector<Index>& counts) {
  if (std::ranges::all_of(counts, [&](Index n) { return n == counts[0]; })) return fmt::to_string(counts[0]);
  std::string text;
  for (const Index n : counts) text += fmt::format("{}{}", text.empty() ? "" : " / ", n);
  return text;
}

// Lines × models: the number with its interval and its null, model beside model.
TableBlock wide_table(const StudyView& view, std::span<const Line> lines) {
  TableBlock table{.caption = kNumberCaption, .columns = {{.name = "quantity"}}, .rows = {}};
  for (const StudiedModel& model : view.models()) {
    table.columns.push_back({.name = model.name, .kind = ColumnKind::kNumber, .color = view.color_of(model)});
    table.columns.push_back(null_column(view));
  }
  table.columns.push_back(count_column());
  for (const Line& line : lines) {
    std::vector<std::string> row = {std::string(line.label)};
    std::vector<Index> counts;
    for (const StudiedModel& model : view.models()) {
      const Summary* s = number_of(view, model, line);
      row.push_back(s != nullptr ? interval_text(*s) : "–");
      row.push_back(s != nullptr ? nulls_text(view, model, line, *s) : "–");
      counts.push_back(s != nullptr ? s->n : 0);
    }
    row.push_back(counts_text(counts));
    if (std::ranges::any_of(counts, [](Index n) { return n > 0; })) table.rows.push_back(std::move(row));
  }
  return table;
}

// The same with a row for each model, where there are too many to stand side by side.
TableBlock long_table(const StudyView& view, std::span<const Line> lines) {
  TableBlock table{.caption = kNumberCaption,
                   .columns = {{.name = "quantity"},
                               {.name = "model"},
                               number_column("mean"),
                               null_column(view),
                               count_column()},
                   .rows = {}};
  for (const Line& line : lines) {
    for (const StudiedModel& model : view.models()) {
      const Summary* s = number_of(view, model, line);
      if (s == nullptr) continue;
      table.rows.push_back({std::string(line.label), model.name, interval_text(*s),
                            nulls_text(view, model, line, *s), fmt::to_string(s->n)});
    }
  }
  return table;
}

std::vector<Block> number_table(const StudyView& view, std::span<const Line> lines) {
  constexpr std::size_t kMostBeside = 3;
  TableBlock table = view.models().size() <= kMostBeside ? wide_table(view, lines) : long_table(view, lines);
  if (table.rows.empty()) return {};
  return {std::move(table)};
}

struct RetrievalLine {
  const char *quantity, *part;
};

// Shares of retrieval heads by depth.
std::vector<Block> head_table(const StudyView& view) {
  TableBlock table{
      .caption =
          "Share of heads whose mean score over samples exceeds a threshold, with 95 % bootstrap intervals. "
          "Under uniform attention copy is 0 and lift is 1.",
      .columns = {{.name = "score"}, {.name = "model"}, {.name = "heads"}},
      .rows = {}};
  for (const char* name : {"> 0.1", "> 0.5", "n"})
    table.columns.push_back({.name = name, .kind = ColumnKind::kNumber});
  constexpr RetrievalLine kRetrievalLines[] = {
      {"copy", "all"}, {"copy", "correct"}, {"copy_wu", "all"}, {"mass", "all"}};
  for (const auto& [quantity, part] : kRetrievalLines) {
    for (const StudiedModel& model : view.models()) {
      const std::vector<HeadShare> shares =
          retrieval_summary(view.result().table, {.model = model.name}, {.quantity = quantity, .part = part});
      for (const Depth depth : {Depth::kShallow, Depth::kDeep, Depth::kAll}) {
        std::vector<std::string> row = {fmt::format("{}, {} samples", quantity, part), model.name,
                                        std::string(name_of(depth))};
        Index n = 0;
        for (const HeadShare& s : shares) {
          if (s.depth != depth) continue;
          n = s.samples;
          row.push_back(fmt::format("{:.1f} % [{:.1f}, {:.1f}]", 100 * s.share, 100 * s.interval.lo,
                                    100 * s.interval.hi));
        }
        row.push_back(fmt::to_string(n));
        // A depth without heads (a model of one layer has no shallow half) has no shares.
        if (row.size() == table.columns.size()) table.rows.push_back(std::move(row));
      }
    }
  }
  if (table.rows.empty())
    return {
        NoteBlock{"No sample has marked evidence with answer tokens in it, so there is nothing to "
                  "retrieve."}};
  return {std::move(table)};
}

std::vector<Block> dormant_table(const StudyView& view) {
  TableBlock table{
      .caption =
          "Heads that are dormant on at least half of the samples. Uniform attention makes no head dormant.",
      .columns = {{.name = "model"},
                  {.name = "dormant heads", .kind = ColumnKind::kNumber},
                  {.name = "heads", .kind = ColumnKind::kNumber},
                  {.name = "n", .kind = ColumnKind::kNumber}},
      .rows = {}};
  for (const StudiedModel& model : view.models()) {
    const HeatmapPanel map = view.head_map(model, "", {"dormant", ""});
    const auto dormant = std::ranges::count_if(map.values, [](float v) { return v >= 0.5f; });
    const auto measured = std::ranges::count_if(map.values, [](float v) { return std::isfinite(v); });
    table.rows.push_back(
        {model.name, fmt::to_string(dormant), fmt::to_string(measured), fmt::to_string(model.samples)});
  }
  return {std::move(table)};
}

std::vector<Block> task_table(const StudyView& view) {
  TableBlock table{
      .caption =
          "Jensen–Shannon divergence of mean anchor profiles, and how often reshuffled samples lie at least "
          "as far apart (1000 permutations).",
      .columns = {{.name = "model"}, {.name = "tasks"}},
      .rows = {}};
  for (const char* name : {"divergence, nats", "p", "n"})
    table.columns.push_back({.name = name, .kind = ColumnKind::kNumber});
  for (const StudiedModel& model : view.models()) {
    for (const TaskDistance& d : task_dependence(task_profiles(view.result().table, {.model = model.name}))) {
      table.rows.push_back({model.name, fmt::format("{} – {}", d.a, d.b), number_text(d.divergence),
                            fmt::format("{:.3f}", d.p), fmt::format("{} + {}", d.n_a, d.n_b)});
    }
  }
  if (table.rows.empty()) return {NoteBlock{"The samples are of one task only: nothing to compare."}};
  std::vector<Block> blocks = number_table(view, kTasks);
  blocks.insert(blocks.begin(), std::move(table));
  return blocks;
}

struct TablePlan {
  std::string_view analysis;
  std::span<const Line> lines;
  std::vector<Block> (*tables)(const StudyView&);  // or nullptr: the lines
  std::string_view note;                           // what to keep in mind; empty: nothing
};
const std::array<TablePlan, 12> kTablePlans = {{
    {"drift", kDrift, nullptr,
     "Compare kinds of model with care: the read rows of a masked model are all its open masks, those of an "
     "autoregressive one a single row, which changes more; over all rows an autoregressive model hardly can "
     "change, since each step adds one row of N; and lifetimes end with the number of steps."},
    {"salience", kSalience, nullptr,
     "Uniform attention has no top, hence no null here; chance is taken out of every number. A model that "
     "appends changes "
     "little over all rows, since each step adds one row of N."},
    {"keys", kKeys, nullptr,
     "Measured where keys were recorded (--record keys) and every step computes them anew. A mask that "
     "becomes a word "
     "changes its key for that reason alone."},
    {"absorption", kAbsorption, nullptr,
     "Uniform attention has no anchors under the excess rule, so the null of their share is 0."},
    {"concentration", kConcentration, nullptr, ""},
    {"qk", kQk, nullptr,
     "Uniform attention has no anchors, hence no null here. Shares are ratios and become unstable where the "
     "total lead is near 0; the parts in the figure do not."},
    {"heads", {}, head_table, ""},
    {"dormant", {}, dormant_table, ""},
    {"flow", kFlow, nullptr,
     "Under sum pooling long passages win, which is why the per-token form stands beside it. Uniform "
     "attention takes out part of what position does, not all: where the lift rises or falls with the place "
     "of "
     "the gold passage, compare places before reading it as a preference for the evidence."},
    {"classes", kClasses, nullptr, "BOS, masks and EOS are neither structure nor content."},
    {"tasks", {}, task_table, ""},
    {"experts", kExperts, nullptr,
     "The null is routing at random. What happens from step to step is there where it was recorded (--record "
     "experts). "
     "The number of an expert means nothing beyond its layer, so that layers are not compared with each "
     "other."},
}};

}  // namespace

std::vector<Block> study_tables(const StudyView& view, std::string_view analysis) {
  const auto plan = std::ranges::find(kTablePlans, analysis, &TablePlan::analysis);
  check(plan != kTablePlans.end(), "every analysis has its tables");
  std::vector<Block> blocks = plan->tables != nullptr ? plan->tables(view) : number_table(view, plan->lines);
  if (!plan->note.empty()) blocks.push_back(NoteBlock{std::string(plan->note)});
  return blocks;
}

TableBlock model_table(const StudyView& view) {
  TableBlock table{
      .caption = "The models. Right: exact match after SQuAD's normalisation, where the answer is known.",
      .columns = {{.name = "model"},
                  {.name = "kind"},
                  {.name = "layers × heads", .kind = ColumnKind::kNumber},
                  {.name = "samples", .kind = ColumnKind::kNumber},
                  {.name = "right", .kind = ColumnKind::kNumber},
                  {.name = "weights", .kind = ColumnKind::kText, .definition = "fingerprint"}},
      .rows = {}};
  for (const StudiedModel& m : view.models()) {
    table.rows.push_back(
        {m.kind.empty() ? m.name : fmt::format("{} (of {})", m.name, m.kind), std::string(name_of(m.writing)),
         fmt::format("{} × {}", m.layers, m.heads), fmt::to_string(m.samples),
         m.answered > 0 ? fmt::format("{} of {}", m.correct, m.answered) : "–", m.hash.substr(0, 12)});
  }
  return table;
}

}  // namespace buoy
