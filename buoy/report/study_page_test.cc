// A study's page from made-up traces: what it says, what it may not do, how large it is.
#include "buoy/report/study_page.h"

#include <cmath>
#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "buoy/analysis/test_support.h"
#include "buoy/io/file.h"
#include "buoy/io/file_name.h"
#include "buoy/io/test_support.h"
#include "buoy/report/study_figures.h"
#include "buoy/report/study_findings.h"
#include "buoy/report/study_opening.h"
#include "buoy/report/study_tables.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

const std::string kHostileName = "<script>alert(1)</script>\"'&/..";

Index occurrences(std::string_view text, std::string_view part) {
  Index found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

Trace some_trace(Writing writing, const std::string& model, Index sample, TraceShape shape = {}) {
  if (writing == Writing::kAppends) shape.mask = Mask::kCausal;
  Trace trace = uniform_trace(shape);
  trace.header.model = model;
  trace.header.sample = fmt::to_string(sample);
  trace.header.question = "What <b>is</b> it?";
  trace.header.answers = {"this", "that"};
  trace.header.output = sample == 0 ? "this" : "<i>neither</i>";
  trace.header.correct = sample == 0;
  trace.header.task = sample % 2 == 0 ? "even" : "odd";
  spike_finished(trace, {sample % 5}, 0.3);
  for (Index row = 0; row < trace.S() * trace.L(); ++row) {
    if (writing == Writing::kFillsMasks)
      spike(trace.steps.received_read, row, trace.N(), {(row + sample) % trace.N()}, 0.3);
  }
  return trace;
}

StudyResult some_study(const std::string& mdm = "mdm", const TraceShape& shape = {}) {
  StudyResult result;
  for (const Analysis& analysis : analyses()) result.options.analyses.push_back(&analysis);
  for (Index i = 0; i < 6; ++i) {
    collect(result, some_trace(Writing::kFillsMasks, mdm, i, shape), "qa");
    collect(result, some_trace(Writing::kAppends, "arm", i, shape), "qa");
  }
  return result;
}

const StudyReport kReport{.title = "T", .lead = "", .command = "buoy study", .facts = {{"Data", "qa"}}};

std::string page_of(const StudyResult& result, const fs::path& directory, const StudyOptions& options = {}) {
  write_study(result, kReport, directory, options);
  return read_file(directory / "report.html");
}

// Under uniform attention every position of a causal model receives its null, the first as well.
TEST(DriftHeatmap, UniformCausalAttentionIsOneTimesItsNullEverywhere) {
  StudyResult result;
  result.options.analyses = {find_analysis("drift")};
  collect(result, uniform_trace({.mask = Mask::kCausal}), "qa");
  Index cells = 0;
  for (const StudyFigure& f : drift_figures(StudyView(result))) {
    if (!f.name.starts_with("drift_mean") && !f.name.starts_with("drift_layers")) continue;
    const Heatmap& map = std::get<Heatmap>(f.figure);
    EXPECT_EQ(map.color.title, "× null (r/r⁰)");
    for (const HeatmapPanel& panel : map.panels) {
      for (const float value : panel.values) {
        if (std::isnan(value)) continue;
        EXPECT_NEAR(value, 1, 1e-5) << panel.title;
        ++cells;
      }
    }
  }
  EXPECT_GT(cells, 100);
}

TEST(StudyPage, TablesAndHeadingsAndPolicyAreAsTheyShouldBe) {
  const TempDir dir;
  const std::string html = page_of(some_study(), dir / "out");
  EXPECT_EQ(occurrences(html, "<table>"),
            occurrences(html, "<div class=\"scroll\" role=\"region\" tabindex=\"0\""));
  EXPECT_GT(occurrences(html, "<table>"), 9);
  EXPECT_EQ(occurrences(html, "http-equiv=\"Content-Security-Policy\""), 1);
  EXPECT_EQ(occurrences(html, "<script"), 0);
  EXPECT_EQ(occurrences(html, "https://"), 1);
  EXPECT_EQ(occurrences(html, "<a href=\"https://arxiv.org/abs/2601.07894\">"), 1);
  int last = 0;
  for (std::size_t at = html.find("<h"); at != std::string::npos; at = html.find("<h", at + 1)) {
    const int level = html[at + 2] - '0';
    if (level < 1 || level > 6) continue;  // head, header, html
    EXPECT_LE(level, last + 1) << html.substr(at, 40);
    last = level;
  }
  EXPECT_EQ(occurrences(html, "<h1>"), 1);
  EXPECT_EQ(last, 3) << "the last section lies within a topic";
}

// Pictures of two models open the page; others, and what else the analysis draws, are folded away.
TEST(StudyPage, BeginsWithPictures) {
  const TempDir dir;
  const std::string html = page_of(some_study(), dir / "out");
  const auto place = [&](const std::string& text) { return html.find(text); };
  const std::size_t folded = place("<details class=\"topic\"");
  ASSERT_NE(folded, std::string::npos);
  for (const StudiedModel& model : some_study().models) {
    EXPECT_LT(place("figures/" + file_name_of("drift_mean_" + model.name) + ".svg"),
              place("id=\"questions\""));
    EXPECT_GT(place("figures/" + file_name_of("drift_layers_" + model.name) + ".svg"), folded);
  }
  EXPECT_LT(place("id=\"questions\""), folded);
}

TEST(StudyPage, WhatComesFromModelsAndDataIsEscaped) {
  const TempDir dir;
  const std::string html = page_of(some_study(kHostileName), dir / "out");
  EXPECT_EQ(occurrences(html, "<script"), 0);
  EXPECT_GT(occurrences(html, "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;/.."), 5);
  EXPECT_EQ(occurrences(html, "<b>is</b>"), 0);
  EXPECT_EQ(occurrences(html, "<i>neither</i>"), 0);
  EXPECT_TRUE(fs::exists(dir / ("out/figures/" + file_name_of("drift_mean_" + kHostileName) + ".svg")));
}

TEST(StudyPage, QuestionsHaveGoldAnswersAndVerdictsInWords) {
  const StudyResult result = some_study();
  const Section section = questions_section(StudyView(result));
  const auto& table = std::get<TableBlock>(section.blocks.at(0));
  EXPECT_EQ(table.rows.size(), 6U);
  EXPECT_EQ(table.rows[0], (std::vector<std::string>{"What <b>is</b> it?", "this / that", "✓ right: this",
                                                     "✓ right: this"}));
  EXPECT_EQ(table.rows[1][2], "✗ wrong: <i>neither</i>");
  EXPECT_EQ(occurrences(questions_csv(result), "\n"), 13) << "a heading, and a line for each answer";
  EXPECT_NE(questions_csv(result).find("qa,1,What <b>is</b> it?,this / that,arm,<i>neither</i>,0\n"),
            std::string::npos);
}

// Four positions of the answer are written at three of four steps by the one, at one each by the other.
TEST(StudyPage, DriftSaysHowManyStepsThereWereAndHowManyWrote) {
  const StudyResult result = some_study();
  const std::vector<Block> blocks = study_tables(StudyView(result), "drift");
  const auto& rows = std::get<TableBlock>(blocks.at(0)).rows;
  ASSERT_EQ(rows.at(0).at(0), "Steps");
  EXPECT_TRUE(rows[0][1].starts_with("4.000 ") && rows[0][3].starts_with("4.000 "))
      << rows[0][1] << rows[0][3];
  ASSERT_EQ(rows.at(1).at(0), "Steps that write the answer");
  EXPECT_TRUE(rows[1][1].starts_with("3.000 ") && rows[1][3].starts_with("4.000 "))
      << rows[1][1] << rows[1][3];
}

// The spike lies where it was put: r = 0.7/24 + 0.3 against r⁰ = 1/24.
TEST(StudyPage, AnchorsAreSaidInWords) {
  const StudyResult result = some_study();
  const Section section = anchors_section(StudyView(result));
  const auto& rows = std::get<TableBlock>(section.blocks.at(0)).rows;
  ASSERT_EQ(rows.size(), 18U) << "three steps, three layers, two models";
  EXPECT_EQ(rows[0][0], "mdm");
  EXPECT_EQ(rows[0][1], "0");
  EXPECT_EQ(rows[0][2], "0");
  EXPECT_EQ(rows[0][4], "0");
  EXPECT_EQ(rows[0][5], "7.9");
  EXPECT_EQ(rows[0][6], "bos");
  EXPECT_EQ(rows[0][7], "BOS");
  EXPECT_EQ(rows[1][4], "1") << "the next layer's anchor stands one further on";
  EXPECT_EQ(rows[17][3], "none") << "uniform attention has no anchors";
}

TEST(Findings, FollowFromTheNumbers) {
  const StudyResult result = some_study();
  const std::vector<Finding> found = findings(StudyView(result), nullptr);
  ASSERT_EQ(found.size(), 3U);
  // 0.7/24 + 0.3 on the spike; the first token has it in 2 of 6 samples.
  EXPECT_TRUE(found[0].answer.starts_with(
      "In mdm the strongest token of a layer receives 32.9 % of all attention and "
      "the first token 12.9 %, where uniform attention would give it 4.2 % (n = 6)"))
      << found[0].answer;
  EXPECT_NE(found[0].answer.find("; in arm "), std::string::npos);
  EXPECT_NE(found[1].answer.find("of mdm’s anchors change"), std::string::npos) << found[1].answer;
  EXPECT_TRUE(found[2].answer.starts_with("Not asked here: no intervention was run.")) << found[2].answer;
}

TEST(Findings, SayWhetherAnInterventionMattersByItsInterval) {
  const StudyResult result = some_study();
  InterventionRow row{.model = "mdm", .condition = "mask-anchors=5", .control = "mask-random=5", .n = 20};
  row.em_change = Summary{.n = 20, .questions = 20, .mean = -30, .lo = -40, .hi = -20};
  row.em_against_control = Summary{.n = 20, .questions = 20, .mean = -20, .lo = -30, .hi = -10};
  InterventionResult interventions{.rows = {row}};
  EXPECT_EQ(
      findings(StudyView(result), &interventions)[2].answer,
      "Yes: hiding the strongest anchors (mask-anchors=5) changes exact match of mdm by −30.0 [−40.0, −20.0] "
      "points, −20.0 [−30.0, −10.0] beyond its control mask-random=5 (n = 20).");
  interventions.rows[0].em_against_control->hi = 1;
  EXPECT_TRUE(findings(StudyView(result), &interventions)[2].answer.starts_with("It cannot be told: "));
  interventions.rows[0].em_against_control->hi = -10;
  interventions.rows[0].em_against_control->questions = 4;
  EXPECT_TRUE(findings(StudyView(result), &interventions)[2].answer.starts_with("It cannot be told: "))
      << "four questions are no ground";
}

TEST(StudyPage, AModelHasOneColorInAllFigures) {
  const StudyResult result = some_study();
  const StudyView view(result);
  for (const auto figures :
       {absorption_figures, concentration_figures, class_figures, drift_figures, flow_figures}) {
    for (const StudyFigure& f : figures(view)) {
      if (const auto* curves = std::get_if<Curves>(&f.figure)) {
        for (const CurvePanel& panel : curves->panels) {
          for (const Series& s : panel.series)
            EXPECT_EQ(s.color, s.name == "arm" || f.name == "trails_arm" ? 1 : 0) << f.name << " " << s.name;
        }
      } else if (const auto* bars = std::get_if<Bars>(&f.figure)) {
        for (const BarSeries& s : bars->series) EXPECT_EQ(s.color, s.name == "arm" ? 1 : 0) << f.name;
      } else if (const auto* map = std::get_if<Heatmap>(&f.figure)) {
        for (const HeatmapPanel& p : map->panels)
          EXPECT_EQ(p.swatch, f.name.ends_with("arm") ? 1 : 0) << f.name;
      }
    }
  }
}

// Longer and deeper than the default study of bundled models.
TEST(StudyPage, StaysBelowThreeMegabytes) {
  const TempDir dir;
  const StudyResult result =
      some_study("mdm", {.N = 480, .G = 40, .L = 12, .H = 6, .Hkv = 2, .S = 32, .documents = 10, .gold = 3});
  const std::string html = page_of(result, dir / "out", {.figures = {.formats = {FigureFormat::kSvg}}});
  EXPECT_LT(html.size(), 3'000'000U);
  EXPECT_GT(occurrences(html, "<svg class=\"fig\"") + occurrences(html, " class=\"fig\""), 20);
}

TEST(StudyPage, DrawsTheFiguresThatAreAskedFor) {
  const TempDir dir;
  const std::string html =
      page_of(some_study(), dir / "out", {.figures = {.only = {"drift"}, .formats = {FigureFormat::kPdf}}});
  EXPECT_TRUE(fs::exists(dir / "out/figures/drift_by_layer.pdf"));
  EXPECT_FALSE(fs::exists(dir / "out/figures/drift_by_layer.svg"));
  EXPECT_FALSE(fs::exists(dir / "out/figures/absorption.csv"));
  EXPECT_NE(html.find("First token, %"), std::string::npos) << "tables are there all the same";
}

// The explorer opens the runs that a figure was drawn from.
TEST(StudyPage, SaysWhichSamplesLieBehindFiguresThatAreNoMeans) {
  EXPECT_EQ(behind_csv({{"a, b", "m", "q1"}, {"", "m", "q2"}}), "panel,model,sample\n\"a, b\",m,q1\n,m,q2\n");
  const TempDir dir;
  page_of(some_study(), dir / "out");
  Index means = 0, others = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir / "out/figures")) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".csv" || name.starts_with("behind_")) continue;
    const bool of_means = read_file(entry.path()).starts_with("model,");
    EXPECT_EQ(of_means, !fs::exists(dir / ("out/figures/behind_" + name))) << name;
    ++(of_means ? means : others);
  }
  EXPECT_GT(means, 3);
  EXPECT_GT(others, 0);
}

TEST(StudyPageDeathTest, WithoutFontsTablesAndPageAreWrittenAndOneLineSaysSo) {
  GTEST_FLAG_SET(death_test_style,
                 "threadsafe");  // a new process, where fontconfig has not looked around yet
  EXPECT_EXIT(
      {
        const TempDir dir;
        write_file_atomically(dir / "fonts.conf", "<?xml version=\"1.0\"?><fontconfig></fontconfig>");
        ::setenv("FONTCONFIG_FILE", (dir / "fonts.conf").c_str(), 1);
        const std::string html = page_of(some_study(), dir / "out");
        const bool right = occurrences(html, "No font is installed") == 1 && occurrences(html, "<svg") == 0 &&
                           occurrences(html, "<table>") > 9 &&
                           fs::exists(dir / "out/figures/absorption.csv") &&
                           !fs::exists(dir / "out/figures/absorption.svg");
        fs::remove_all(dir.path());
        std::_Exit(right ? 3 : 1);
      },
      testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace buoy
