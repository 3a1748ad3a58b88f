// Several models of one kind on a study's page: one line, one colour, the range over models; and state space
// layers apart.
#include <algorithm>

#include <gtest/gtest.h>

#include "buoy/analysis/test_support.h"
#include "buoy/report/claims_section.h"
#include "buoy/report/study_figures.h"
#include "buoy/report/study_tables.h"

namespace buoy {
namespace {

// Three models, the first and the last of one kind, whose single numbers are known.
StudyResult three_models() {
  StudyResult result;
  const std::pair<const char*, double> kModels[] = {{"a1", 1}, {"b", 7}, {"a2", 4}};
  for (const auto& model : kModels) {
    for (Index sample = 0; sample < 4; ++sample) {
      result.table.add(
          {.model = model.first, .data = "d", .task = "t", .sample = std::to_string(sample)},
          Measurements{{.quantity = "x", .layer = 2, .value = model.second, .null = model.second / 2}});
    }
    StudiedModel studied;
    studied.name = model.first;
    studied.kind = model.first[0] == 'a' ? "A" : "";
    result.models.push_back(studied);
  }
  return result;
}

TEST(StudyKinds, AreOneLineEachFromTheLowestToTheHighestModel) {
  const StudyResult result = three_models();
  const StudyView view(result);
  const CurvePanel panel = view.panel("x", {"x", ""});
  ASSERT_EQ(panel.series.size(), 2U);
  EXPECT_EQ(panel.series[0].name, "A");
  EXPECT_EQ(panel.series[0].x, std::vector<double>{2});
  EXPECT_DOUBLE_EQ(panel.series[0].y[0], 2.5);
  EXPECT_EQ(panel.series[0].low[0], 1);
  EXPECT_EQ(panel.series[0].high[0], 4);
  EXPECT_DOUBLE_EQ(panel.series[0].null[0], 1.25);
  EXPECT_EQ(panel.series[1].name, "b");
  EXPECT_EQ(panel.series[1].y[0], 7);
}

TEST(StudyKinds, AreNamedUnderFiguresWithTheirModelsAndSamples) {
  StudyResult result = three_models();
  for (StudiedModel& model : result.models) model.samples = 4;
  EXPECT_EQ(StudyView(result).sample_note(), "A: 2 models, n = 4 · b: n = 4.");
  result.models[2].samples = 9;
  EXPECT_EQ(StudyView(result).sample_note(), "A: 2 models, n = 4 to 9 · b: n = 4.");
}

TEST(StudyKinds, HaveOneColor) {
  const StudyResult result = three_models();
  const StudyView view(result);
  EXPECT_EQ(view.color_of("a1"), 0);
  EXPECT_EQ(view.color_of("a2"), 0);
  EXPECT_EQ(view.color_of("b"), 1);
  ASSERT_EQ(view.shown().size(), 2U);
  EXPECT_EQ(view.shown()[0].get().name, "a1");
  EXPECT_NE(view.interval_note("Bands").find("from the lowest to the highest model"), std::string::npos);
}

TEST(StudyKinds, ShowMeanAndRangeBesideTheVerdict) {
  ClaimResult result;
  result.each = {{.model = "a1", .n = 3, .value = 1, .kind = "A"},
                 {.model = "b", .n = 3, .value = 7},
                 {.model = "a2", .n = 3, .value = 2, .kind = "A"},
                 {.model = "c"}};
  const std::vector<KindText> kinds = each_kind(result);
  ASSERT_EQ(kinds.size(), 3U);
  EXPECT_EQ(kinds[0].text, "1.500 (1.000 to 2.000)");
  EXPECT_EQ(kinds[1].text, "7.000");
  EXPECT_EQ(kinds[2].text, "–");
}

// A hybrid's layers stand in the figure of their own mixer, and only state space layers have recency.
TEST(QkFigures, OfAHybridKeepStateSpaceLayersApart) {
  Trace trace = uniform_trace({.L = 2});
  trace.header.mixers.assign(4, MixerKind::kAttention);
  trace.header.mixers[static_cast<std::size_t>(trace.layers[0])] = MixerKind::kSsd;
  trace.finished.recency_means.assign(trace.finished.score_means.size(), 0.5f);
  StudyResult result;
  result.options.analyses = {find_analysis("qk")};
  const std::string model = trace.header.model;
  collect(result, std::move(trace), "qa");
  const std::vector<StudyFigure> figures = qk_figures(StudyView(result));
  const auto panels_of = [&](const std::string& name) -> std::vector<HeatmapPanel> {
    const auto found = std::ranges::find(figures, name, &StudyFigure::name);
    return found == figures.end() ? std::vector<HeatmapPanel>{} : std::get<Heatmap>(found->figure).panels;
  };
  const auto attention = panels_of("qk_columns_" + model), states = panels_of("qk_ssd_columns_" + model);
  ASSERT_EQ(attention.size(), 3U);
  ASSERT_EQ(states.size(), 4U);
  EXPECT_EQ(attention[0].rows, 1);
  EXPECT_EQ(states[0].rows, 1);
  EXPECT_EQ(states[3].title, "recency");
  EXPECT_TRUE(std::ranges::all_of(states[3].values, [](float v) { return v == 0.5f; }));
}

TEST(StudyTables, HaveTheRecencyNullBesideTheUniformOne) {
  StudyResult result;
  result.options.analyses = {find_analysis("concentration")};
  for (Index sample = 0; sample < 3; ++sample) {
    Trace trace = uniform_trace({});
    trace.header.sample = std::to_string(sample);
    spike_finished(trace, {3}, 0.5);
    collect(result, std::move(trace), "qa");
  }
  const auto column = [&] {
    const std::vector<Block> blocks = study_tables(StudyView(result), "concentration");
    return std::get<TableBlock>(blocks.at(0)).columns.at(2).name;
  };
  EXPECT_EQ(column(), "null");
  StudyResult with = result;
  CollectedNull null{.kind = NullKind::kRecency, .number = 0, .table = {}, .layer_means = {}, .by_gold = {}};
  for (const SampleKey& key : result.table.samples())
    null.layer_means.add(key, Measurements{{.quantity = "gini", .value = 0.25}});
  with.nulls.push_back(std::move(null));
  const StudyView view(with);
  EXPECT_EQ(view.recency_mean_of(with.models[0], {"gini", ""}), 0.25);
  EXPECT_FALSE(view.recency_mean_of(with.models[0], {"entropy", ""}));
  const std::vector<Block> blocks = study_tables(view, "concentration");
  const TableBlock& table = std::get<TableBlock>(blocks.at(0));
  EXPECT_EQ(table.columns.at(2).name, "null, recency");
  const auto ends = [&](std::string_view end) {
    return std::ranges::any_of(table.rows, [&](const auto& row) { return row.at(2).ends_with(end); });
  };
  EXPECT_TRUE(ends(", 0.250"));
  EXPECT_TRUE(ends(", –"));
}

}  // namespace
}  // namespace buoy
