#include "buoy/report/study_page.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "buoy/analysis/table_csv.h"
#include "buoy/base/error.h"
#include "buoy/io/file.h"
#include "buoy/report/claims_section.h"
#include "buoy/report/eval_page.h"
#include "buoy/report/intervene_page.h"
#include "buoy/report/stress_page.h"
#include "buoy/report/study_figures.h"
#include "buoy/report/study_findings.h"
#include "buoy/report/study_opening.h"
#include "buoy/report/study_tables.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

constexpr const char *kGoes = "Where attention goes", *kWhy = "Why it goes there",
                     *kCarries = "What it carries";

struct AnalysisPlan {
  std::string_view analysis;
  const char* topic;
  std::vector<StudyFigure> (*figures)(const StudyView&);
  bool (*applies)(const StudyView&) = nullptr;  // null: to all models
};
// In the order of the page: neighbours share a topic.
const std::array<AnalysisPlan, 12> kAnalysisPlans = {{
    {"drift", kGoes, drift_figures},
    {"salience", kGoes, salience_figures},
    {"absorption", kGoes, absorption_figures},
    {"concentration", kGoes, concentration_figures},
    {"keys", kGoes, key_figures},
    {"qk", kWhy, qk_figures},
    {"classes", kWhy, class_figures},
    {"tasks", kWhy, task_figures},
    {"heads", kCarries, head_figures},
    {"dormant", kCarries, dormant_figures},
    {"flow", kCarries, flow_figures},
    {"experts", kCarries, expert_figures, has_experts},
}};

// The analyses that were asked for, with their figures.
struct Planned {
  const AnalysisPlan* plan;
  const Analysis* analysis;
  std::vector<StudyFigure> figures;
};

std::vector<Planned> planned_analyses(const StudyView& view, const FigureWriter& writer) {
  std::vector<Planned> planned;
  const auto& asked = view.result().options.analyses;
  for (const AnalysisPlan& plan : kAnalysisPlans) {
    const auto wanted = std::ranges::find(asked, plan.analysis, &Analysis::name);
    if (wanted == asked.end() || (plan.applies != nullptr && !plan.applies(view))) continue;
    planned.push_back({&plan, *wanted, {}});
    if (writer.wants(plan.analysis)) planned.back().figures = plan.figures(view);
  }
  return planned;
}

// Adds a section for each analysis; figures that open the page go to `opening`.
void add_analyses(Page& page, Section& opening, const StudyView& view, const FigureWriter& writer,
                  const FigureProgress& progress) {
  const std::vector<Planned> planned = planned_analyses(view, writer);
  Index total = 0;
  for (const Planned& p : planned) total += std::ssize(p.figures);
  for (const Planned& p : planned) {
    Section section{.id = std::string(p.analysis->name),
                    .title = std::string(p.analysis->title),
                    .explanation = std::string(p.analysis->explanation),
                    .topic = p.plan->topic};
    for (const StudyFigure& f : p.figures) {
      if (progress) progress(f.name, total);
      writer.add(f.opening ? opening : section, p.plan->analysis, f);
    }
    for (Block& block : study_tables(view, p.plan->analysis)) section.blocks.push_back(std::move(block));
    page.sections.push_back(std::move(section));
  }
}

void add_sections(Page& page, std::vector<Section> sections, const char* topic) {
  for (Section& section : sections) {
    section.topic = topic;
    page.sections.push_back(std::move(section));
  }
}

Section method_section(const StudyView& view) {
  Section section{
      .id = "models",
      .title = "Models and data",
      .explanation =
          "Every number comes with its number of samples, a 95 % bootstrap interval over questions and its "
          "null: "
          "what the same code finds when every row attends evenly to all it may see. A claim is about what "
          "exceeds the null.",
      .blocks = {model_table(view)}};
  for (const std::string& warning : view.result().warnings) section.blocks.push_back(NoteBlock{warning});
  return section;
}

Section repeat_study(const StudyView& view, const StudyReport& report) {
  Section section{.id = "repeat",
                  .title = "Repeat it",
                  .explanation =
                      "The same command gives the same numbers, whatever the number of threads or the batch. "
                      "All numbers: summaries.csv (means), samples.csv (each sample) and questions.csv (each "
                      "answer), beside this page.",
                  .blocks = {CodeBlock{report.command}}};
  for (const StudiedModel& m : view.models()) {
    section.blocks.push_back(NoteBlock{fmt::format("{}: {}", m.name, m.settings)});
  }
  return section;
}

std::vector<ModelKey> key_of(const StudyView& view) {
  std::vector<ModelKey> key;
  for (const StudiedKind& kind : view.kinds()) {
    const StudiedModel& m = *kind.models.front();
    const std::string trainings =
        kind.models.size() == 1 ? "" : fmt::format("{} models: ", kind.models.size());
    key.push_back({.name = kind.name,
                   .detail = fmt::format("{}{}, {} layers × {} heads", trainings, name_of(m.writing),
                                         m.layers, m.heads),
                   .color = view.color_of(kind)});
  }
  return key;
}

FigureOptions as_studied(FigureOptions options, const StudyResult& result) {
  options.models.clear();
  options.kinds.clear();
  for (const StudiedModel& m : result.models) {
    options.models.push_back(m.name);
    if (!m.kind.empty()) options.kinds[m.name] = m.kind;
  }
  options.traced.clear();
  for (const SampleKey& key : result.table.samples())
    options.traced.push_back({.panel = {}, .model = key.model, .sample = key.sample});
  return options;
}

}  // namespace

void write_study(const StudyResult& result, const StudyReport& report, const fs::path& directory,
                 const StudyOptions& options) {
  const FigureWriter writer(directory, as_studied(options.figures, result), {});
  const StudyView view(result);
  Page page{.title = report.title,
            .source = paper(),
            .lead = report.lead,
            .notes = writer.notes(),
            .models = key_of(view),
            .findings = findings(view, report.interventions ? &*report.interventions : nullptr),
            .facts = report.facts};
  if (!report.claims.empty()) page.verdicts = verdict_section(report.claims, writer);
  if (!report.claims.empty())
    add_sections(page, {claims_section(report.claims, writer)}, "The claims, number by number");
  Section anchors = anchors_section(view);
  std::vector<Block> in_words = std::exchange(anchors.blocks, {});
  add_analyses(page, anchors, view, writer, options.progress);
  std::ranges::move(in_words, std::back_inserter(anchors.blocks));
  if (!report.explored.empty()) {
    anchors.blocks.push_back(LinksBlock{
        .before = "Walk through the whole run, step by step, in the explorer:", .links = report.explored});
  }
  page.sections.insert(page.sections.begin(), {std::move(anchors), questions_section(view)});
  if (report.answers) add_sections(page, eval_sections(*report.answers, writer), "Answers and passages");
  if (report.stress) add_sections(page, stress_sections(*report.stress, writer), "Under stress");
  if (report.interventions)
    add_sections(page, intervene_sections(*report.interventions, writer), "Attention changed on purpose");
  add_sections(page, {method_section(view), repeat_study(view, report)}, "How it was done");

  if (!report.claims.empty()) write_file_atomically(directory / "claims.csv", claims_csv(report.claims));
  write_file_atomically(directory / "questions.csv", questions_csv(result));
  write_file_atomically(directory / "summaries.csv", view.whole_csv());
  write_file_atomically(directory / "samples.csv", samples_csv(result.table));
  save_page(page, directory / "report.html");
}

}  // namespace buoy
