// Sections and pages of stress and interventions, and what figures say lies behind them, from made-up
// results: every number in its place.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "buoy/io/file.h"
#include "buoy/io/file_name.h"
#include "buoy/io/test_support.h"
#include "buoy/report/claims_section.h"
#include "buoy/report/eval_page.h"
#include "buoy/report/intervene_page.h"
#include "buoy/report/number_text.h"
#include "buoy/report/page_testing.h"
#include "buoy/report/stress_page.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

using namespace testing_support;

TEST(NumberText, SignsAndDigits) {
  EXPECT_EQ(interval_text(summary(0.125, 0.025)), "0.125 [0.100, 0.150]");
  EXPECT_EQ(change_text(summary(1.5, 2)), "+1.500 [−0.500, +3.500]");
  EXPECT_EQ(change_text(summary(-12, 12), Digits::kPercent), "−12.0 [−24.0, 0.0]");
  EXPECT_EQ(interval_text({.mean = 3}), "3.000") << "no interval was asked for";
  EXPECT_EQ(interval_text(summary(-0.25, 0.125)), "−0.250 [−0.375, −0.125]");
  EXPECT_EQ(number_text(-12345.6789), "−12345.679") << "as many digits after the point as its neighbours";
  EXPECT_EQ(number_text(-0.0001), "0.000") << "what rounds to 0 has no sign";
}

// Two levels of a numeric stressor and two of a categorical one, for one model.
StressResult some_stress() {
  StressResult result;
  for (const char* name : {"irrelevant", "collection"}) {
    StressCurve curve;
    curve.stressor = find_stressor(name);
    curve.model = "mdm";
    curve.data = "qa";
    for (const StressLevel& level : parse_stress(name, {})) {
      if (curve.points.size() == 3) break;
      StressPoint point;
      point.level = level;
      const double lost = 10 * static_cast<double>(curve.points.size());
      for (Summary& s : point.scores) s = summary(80 - lost, 4);
      if (lost > 0) {
        ScoreSummaries losses;
        for (Summary& s : losses) s = summary(lost, 3);
        point.losses = losses;
      }
      if (level.text == "changed") point.stale = summary(25, 5);
      curve.points.push_back(point);
    }
    curve.baseline = 0;
    curve.worst = 2;
    if (!curve.stressor->categorical()) {
      ScoreSummaries slopes;
      for (Summary& s : slopes) s = summary(-5, 1);
      curve.slopes = slopes;
    }
    result.curves.push_back(curve);
  }
  Summary slope = summary(1.5, 1);
  slope.quantity = "em_slope";
  slope.part = "irrelevant";
  result.differences.push_back({.a = "mdm", .b = "arm", .data = "qa", .summaries = {slope}});
  return result;
}

TEST(FigureWriter, DrawsWhatIsAskedForAndNamesWhatThereIs) {
  const TempDir dir;
  FigureOptions options{.only = {"stress"}, .formats = {FigureFormat::kPdf}};
  EXPECT_EQ(figures_in(claims_section(some_results(), writer_in(dir, options))), 0);
  const Section noise = stress_sections(some_stress(), writer_in(dir, options))[1];
  ASSERT_EQ(figures_in(noise), 1);
  EXPECT_EQ(std::get<FigureBlock>(noise.blocks[0]).extensions, (std::vector<std::string>{"pdf", "csv"}));
  EXPECT_TRUE(fs::exists(dir / "out/figures/stress_noise_curves.pdf"));
  EXPECT_FALSE(fs::exists(dir / "out/figures/stress_noise_curves.png"));
  EXPECT_FALSE(fs::exists(dir / "out/figures/claims.pdf"));
  options.only = {"drifts"};
  EXPECT_NE(
      error_of([&] { writer_in(dir, options); }).find("figures of \"drifts\", expected some of drift, "),
      std::string::npos);
}

TEST(StressPage, ShowsCurvesBarsLossesSlopesAndStaleAnswers) {
  const TempDir dir;
  const std::vector<Section> sections = stress_sections(some_stress(), writer_in(dir));
  ASSERT_EQ(sections.size(), 3U);
  EXPECT_EQ(sections[0].id, "stress");
  EXPECT_EQ(table_in(sections[0]).rows[0], (std::vector<std::string>{"Irrelevant passages", "qa", "mdm − arm",
                                                                     "20", "+1.500 [+0.500, +2.500]"}));
  EXPECT_EQ(sections[1].id, "stress-noise");
  EXPECT_EQ(figures_in(sections[1]), 1);
  EXPECT_EQ(table_in(sections[1]).rows[0],
            (std::vector<std::string>{"Irrelevant passages", "mdm", "20", "80.0 [76.0, 84.0]",
                                      "60.0 [56.0, 64.0] at 0.4", "+20.0 [+17.0, +23.0]",
                                      "+20.0 [+17.0, +23.0]", "−5.0 [−6.0, −4.0]"}));
  EXPECT_EQ(sections[2].id, "stress-collection");
  EXPECT_EQ(figures_in(sections[2]), 2) << "exact match and stale answers";
  EXPECT_EQ(table_in(sections[2]).rows[0].back(), "–") << "categories have no slope";
  EXPECT_EQ(table_in(sections[2], 1).rows,
            (std::vector<std::vector<std::string>>{{"changed", "qa", "mdm", "20", "25.0 [20.0, 30.0]"}}));
}

TEST(StressPage, CurvesStandAtUnitsOfStressWithTheirBaseline) {
  const TempDir dir;
  stress_sections(some_stress(), writer_in(dir));
  EXPECT_EQ(read_file(dir / "out/figures/stress_noise_curves.csv"),
            "panel,series,x,y,lo,hi,null\n"
            "Irrelevant passages,mdm,0,80,76,84,80\n"
            "Irrelevant passages,mdm,2,70,66,74,80\n"
            "Irrelevant passages,mdm,4,60,56,64,80\n");
}

TEST(StressPage, SeveralDataSetsAreToldApart) {
  const TempDir dir;
  StressResult result = some_stress();
  result.curves.push_back(result.curves[0]);
  result.curves.back().data = "other data";
  const std::vector<Section> sections = stress_sections(result, writer_in(dir));
  EXPECT_EQ(figures_in(sections[1]), 2);
  EXPECT_EQ(table_in(sections[1]).rows[1][2], "other data");
  EXPECT_TRUE(fs::exists(dir / ("out/figures/" + file_name_of("stress_noise_curves_other data") + ".csv")));
}

TEST(StressPage, IsWrittenWhole) {
  const TempDir dir;
  write_stress(some_stress(), {.title = "S", .lead = "", .command = "buoy x", .facts = {}}, dir / "out");
  EXPECT_NE(read_file(dir / "out/report.html").find("buoy x"), std::string::npos);
  EXPECT_EQ(read_file(dir / "out/stress.csv"), stress_csv(some_stress()));
  EXPECT_TRUE(fs::exists(dir / "out/robustness.csv"));
  write_stress({}, {.title = "S", .lead = "", .command = "buoy x", .facts = {}}, dir / "empty");
  EXPECT_TRUE(fs::exists(dir / "empty/report.html"));
}

InterventionResult some_interventions() {
  InterventionResult result;
  for (const char* condition : {"none", "mask-anchors=5", "mask-random=5"}) {
    InterventionRow row;
    row.model = "mdm";
    row.condition = condition;
    row.n = 20;
    row.em = row.f1 = summary(70, 5);
    if (row.condition != "none") {
      const double change = row.condition == "mask-anchors=5" ? -30 : -10;
      row.em_change = row.f1_change = summary(change, 5);
      Summary turnover = summary(change / 100, 0.01, 8);
      turnover.quantity = "turnover";
      turnover.part = "read";
      row.seen = {turnover};
      row.seen_change = {turnover};
    }
    if (row.condition == "mask-anchors=5") {
      row.control = "mask-random=5";
      row.em_against_control = row.f1_against_control = summary(-20, 6);
    }
    result.rows.push_back(row);
  }
  return result;
}

// A report's other figures are made of the samples that were traced, or of some of them.
TEST(FigureWriter, SaysWhichTracedSamplesLieBehindClaimsAnswersStressAndInterventions) {
  const TempDir dir;
  const FigureOptions options{.formats = {FigureFormat::kSvg},
                              .traced = {{"", "mdm", "q1"}, {"", "arm", "q1"}, {"", "mdm", "q2"}}};
  const auto behind = [&](const std::string& name) {
    return read_file(dir / "out/figures" / ("behind_" + name + ".csv"));
  };
  StressResult stress = some_stress();
  InterventionResult interventions = some_interventions();
  for (SampleTable* samples : {&stress.samples, &interventions.samples}) {
    samples->add({.model = "mdm", .data = "qa", .task = "t", .sample = "q2"}, {});
    samples->add({.model = "mdm + mask-bos", .data = "qa", .task = "t", .sample = "q1"}, {});
  }
  claims_section(some_results(), writer_in(dir, options));
  eval_sections({}, writer_in(dir, options));
  stress_sections(stress, writer_in(dir, options));
  intervene_sections(interventions, writer_in(dir, options));
  for (const char* name : {"claims", "scores"})
    EXPECT_EQ(behind(name), "panel,model,sample\n,mdm,q1\n,arm,q1\n,mdm,q2\n") << name;
  for (const char* name : {"stress", "stress_noise_curves", "stress_collection", "interventions"})
    EXPECT_EQ(behind(name), "panel,model,sample\n,mdm,q2\n") << name;
  const TempDir alone;
  stress_sections(stress, writer_in(alone));
  EXPECT_FALSE(fs::exists(alone / "out/figures/behind_stress.csv"))
      << "without a study there is no run to open";
}

TEST(IntervenePage, PutsTheControlBesideTheIntervention) {
  const TempDir dir;
  const std::vector<Section> sections = intervene_sections(some_interventions(), writer_in(dir));
  ASSERT_EQ(sections.size(), 2U);
  EXPECT_EQ(table_in(sections[0]).rows[1],
            (std::vector<std::string>{"mdm", "mask-anchors=5", "20", "70.0", "−30.0 [−35.0, −25.0]",
                                      "mask-random=5", "−10.0 [−15.0, −5.0]", "−20.0 [−26.0, −14.0]"}));
  EXPECT_EQ(read_file(dir / "out/figures/interventions.csv"),
            "series,group,value,lo,hi,null\n"
            "mdm,mask-anchors=5,-30,-35,-25,\n"
            "\"mdm, control\",mask-anchors=5,-10,-15,-5,\n");
  EXPECT_EQ(table_in(sections[1]).rows[0],
            (std::vector<std::string>{"Turnover", "mdm", "mask-anchors=5", "8", "−0.300 [−0.310, −0.290]",
                                      "−0.300 [−0.310, −0.290]"}));
}

TEST(IntervenePage, ShowsLevelsAndDosesBesideThoseOfTheControl) {
  const TempDir dir;
  InterventionResult result = some_interventions();
  DoseCurve curve{.model = "mdm",
                  .intervention = "mask-anchors",
                  .control = "mask-random",
                  .points = {{.level = 1, .change = summary(-5, 2), .control_change = summary(-1, 2)},
                             {.level = 5, .change = summary(-30, 5), .control_change = summary(-10, 5)}},
                  .slope = summary(-6, 1)};
  curve.control_slope = summary(-2, 1);
  curve.slope_beyond = summary(-4, 1);
  result.curves = {curve};
  for (const std::size_t i : {1, 2}) {
    Summary dose = summary(i == 1 ? 0.2 : 0.1, 0.01, 8);
    dose.quantity = "dose_mass";
    result.rows[i].seen.push_back(dose);
  }
  const std::vector<Section> sections = intervene_sections(result, writer_in(dir));
  EXPECT_EQ(figures_in(sections[0]), 2);
  std::vector<std::vector<std::string>> rows;
  for (const Block& block : sections[0].blocks) {
    if (const auto* table = std::get_if<TableBlock>(&block)) {
      rows.insert(rows.end(), table->rows.begin(), table->rows.end());
    }
  }
  const std::vector<std::string> slopes = {"mdm",
                                           "mask-anchors",
                                           "0, 1, 5",
                                           "20",
                                           "−6.000 [−7.000, −5.000]",
                                           "mask-random",
                                           "−2.000 [−3.000, −1.000]",
                                           "−4.000 [−5.000, −3.000]"};
  EXPECT_NE(std::ranges::find(rows, slopes), rows.end());
  const std::vector<std::string> doses = {
      "mdm",           "mask-anchors=5",        "attention moved, %", "20.000 [19.000, 21.000]",
      "mask-random=5", "10.000 [9.000, 11.000]"};
  EXPECT_NE(std::ranges::find(rows, doses), rows.end());
  EXPECT_EQ(read_file(dir / "out/figures/interventions_levels.csv").substr(0, 6), "panel,");
}

TEST(IntervenePage, DrawsTheFirstOfManyModelsAndHasAllInItsTable) {
  const TempDir dir;
  InterventionResult result = some_interventions();
  for (const char* model : {"mdm", "b", "c", "d"}) {
    result.curves.push_back(
        {.model = model,
         .intervention = "mask-anchors",
         .control = "mask-random",
         .points = {{.level = 1, .change = summary(-5, 2), .control_change = summary(-1, 2)}},
         .slope = summary(-6, 1)});
  }
  const auto section = intervene_sections(result, writer_in(dir)).front();
  EXPECT_EQ(figures_in(section), 2);
  const std::string csv = read_file(dir / "out/figures/interventions_levels.csv");
  EXPECT_NE(csv.find("c, control"), std::string::npos);
  EXPECT_EQ(csv.find("d, control"), std::string::npos);
  const bool has_all = std::ranges::any_of(section.blocks, [](const Block& block) {
    const auto* table = std::get_if<TableBlock>(&block);
    return table != nullptr &&
           std::ranges::count(table->rows, "mask-anchors", [](const auto& row) { return row[1]; }) >= 4;
  });
  EXPECT_TRUE(has_all);
}

TEST(IntervenePage, WithoutTracesThereIsNoSecondSection) {
  const TempDir dir;
  InterventionResult result = some_interventions();
  for (InterventionRow& row : result.rows) row.seen.clear();
  EXPECT_EQ(intervene_sections(result, writer_in(dir)).size(), 1U);
  write_intervene(result, {.title = "I", .lead = "", .command = "buoy y", .facts = {}}, dir / "page");
  EXPECT_NE(read_file(dir / "page/report.html").find("buoy y"), std::string::npos);
  EXPECT_EQ(read_file(dir / "page/interventions.csv"), intervene_csv(result));
}

TEST(IntervenePage, ManyModelsTakeSeveralFigures) {
  const TempDir dir;
  InterventionResult result;
  for (const char* model : {"a", "b", "c", "d"}) {
    for (InterventionRow row : some_interventions().rows) {
      row.model = model;
      result.rows.push_back(row);
    }
  }
  EXPECT_EQ(figures_in(intervene_sections(result, writer_in(dir))[0]), 2);
  EXPECT_TRUE(fs::exists(dir / "out/figures/interventions_2.png"));
}

}  // namespace
}  // namespace buoy
