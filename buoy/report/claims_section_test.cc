// Verdicts on claims as the page shows them.
#include "buoy/report/claims_section.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "buoy/io/file.h"
#include "buoy/report/page_testing.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

using namespace testing_support;

TEST(ClaimsFigure, IsInUnitsOfDeltaWithTheClaimedDirectionToTheRight) {
  const TempDir dir;
  const std::vector<ClaimResult> results = some_results();
  const Forest forest = claims_figure(results, writer_in(dir));
  ASSERT_EQ(forest.rows.size(), results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].n == 0) {
      EXPECT_TRUE(std::isnan(forest.rows[i].value));
      EXPECT_EQ(forest.rows[i].text, "not measured: reason");
      continue;
    }
    EXPECT_NEAR(forest.rows[i].value, 2, 1e-12) << results[i].claim->id;
    EXPECT_NEAR(forest.rows[i].low, 1.5, 1e-12);
    EXPECT_NEAR(forest.rows[i].high, 2.5, 1e-12);
    EXPECT_EQ(forest.rows[i].mark, ForestMark::kDot);
    ASSERT_EQ(forest.rows[i].nulls.size(), 2U) << "one was not run";
    const bool above = results[i].claim->direction == ClaimDirection::kAbove;
    EXPECT_NEAR(forest.rows[i].nulls[0].value, (above ? -0.5 : 0.5) / results[i].delta, 1e-12);
    EXPECT_EQ(forest.rows[i].nulls[1].value, 0) << "the strictest is where 0 is";
    EXPECT_EQ(forest.rows[i].nulls[1].mark, ForestNullMark::kTriangle);
  }
}

// What the page says to the first dispute when the deciding claim has this level and verdict.
std::string said_of_heads(double level, Verdict verdict) {
  const TempDir dir;
  ClaimResult r{.claim = &*std::ranges::find(claims(), "heads-stable", &Claim::id), .model = "mdm"};
  r.nulls = {{.name = "stated",
              .n = 12,
              .questions = 12,
              .excess = level,
              .lo = level - 0.05,
              .hi = level + 0.05,
              .error = 0.02,
              .delta = 0.8}};
  r.strictest = "shuffled";
  r.null = 0.9;
  r.verdict = verdict;
  return table_in(claims_section(std::span(&r, 1), writer_in(dir))).rows.at(0).back();
}

TEST(ClaimsSection, SaysWhichSideOfADisputeIsRightAndByWhat) {
  EXPECT_EQ(said_of_heads(0.95, Verdict::kSupported),
            "mdm: they stay. top_kept is 0.950 [0.900, 1.000] against δ = 0.800");
  EXPECT_EQ(said_of_heads(0.3, Verdict::kNotSupported),
            "mdm: they change. top_kept is 0.300 [0.250, 0.350] against δ = 0.800");
  EXPECT_EQ(said_of_heads(0.95, Verdict::kNotSupported),
            "mdm: they stay. top_kept is 0.950 [0.900, 1.000] against δ = 0.800; but shuffled does as much: "
            "0.900");
  EXPECT_EQ(said_of_heads(0.8, Verdict::kCannotTell), "mdm: cannot be told");
}

TEST(ClaimsSection, HasARowForEveryResult) {
  const TempDir dir;
  const std::vector<ClaimResult> results = some_results();
  const Section section = claims_section(results, writer_in(dir));
  std::size_t rows = 0;
  for (std::size_t p = 0; p < papers().size(); ++p) {
    const TableBlock& of_paper = table_in(section, p + 1);  // the disputes come first
    EXPECT_TRUE(of_paper.caption.starts_with(paper_name(papers()[p].arxiv))) << of_paper.caption;
    rows += of_paper.rows.size();
  }
  EXPECT_EQ(rows, results.size());
  const TableBlock& table = table_in(section, 1);
  const std::vector<std::string> first = {std::string(results[0].claim->sentence),
                                          "mdm",
                                          "12",
                                          "1.200",
                                          "shuffled 1.000",
                                          "stated 0.500",
                                          "+0.200 [+0.150, +0.250]",
                                          "> 0.100",
                                          "supported"};
  EXPECT_EQ(table.rows[0], first);
  EXPECT_EQ(table.rows[1].back(), "not measured (reason)");
  const std::string all =
      fmt::format("Of {} verdicts 2 are supported, 0 not supported, 0 cannot be told and {} not measured.",
                  results.size(), results.size() - 2);
  EXPECT_NE(section.explanation.find(all), std::string::npos) << section.explanation;
  EXPECT_EQ(read_file(dir / "out/figures/claims.csv"), claims_csv(results));
  EXPECT_TRUE(fs::exists(dir / "out/figures/claims.pdf"));
}

TEST(VerdictSection, HasEveryModelsNumberBesideTheVerdict) {
  const TempDir dir;
  std::vector<ClaimResult> results = some_results();
  for (ClaimResult& r : results) r.each = {{"mdm", 12, 0.5, 0.25}, {"arm", 0, 0, 0}};
  const Section section = verdict_section(results, writer_in(dir));
  const TableBlock& table = table_in(section);
  EXPECT_EQ(table.columns[2].name, "mdm");
  EXPECT_EQ(table.columns[2].color, 0);
  EXPECT_EQ(table.columns[3].color, 1);
  EXPECT_EQ(table.rows[0], (std::vector<std::string>{std::string(results[0].claim->sentence), "✓ supported",
                                                     "0.500", "–", "shuffled 1.000"}));
  EXPECT_EQ(table.rows[1][1], "– not measured");
  const TableBlock& others = table_in(section, 1);
  ASSERT_EQ(others.rows.size(), papers().size() - 1);
  EXPECT_EQ(others.rows[0], (std::vector<std::string>{paper_name("2510.15731"), "0", "0", "0", "3"}));
}

TEST(VerdictSection, HasOneRowAClaimWhereSeveralAreJudged) {
  const TempDir dir;
  std::vector<ClaimResult> results;
  for (const ClaimResult& r : some_results()) {
    for (const char* model : {"mdm", "ssm"}) {
      results.push_back(r);
      results.back().model = model;
      results.back().each = {{"mdm", 12, 0.5, 0.25}, {"arm", 12, 0.75, 0.25}, {"ssm", 12, 0.125, 0.25}};
      if (std::string_view(model) == "ssm" && r.n > 0) results.back().verdict = Verdict::kNotSupported;
    }
  }
  results[0].over_models = OverModels{.strictest = "stated", .verdict = Verdict::kCannotTell};
  const Section section = verdict_section(results, writer_in(dir));
  const TableBlock& table = table_in(section);
  ASSERT_EQ(table.columns.size(), 4U);
  EXPECT_EQ(table.columns[3].name, "ssm");
  const std::string sentence(results[0].claim->sentence);
  EXPECT_EQ(table.rows[0], (std::vector<std::string>{sentence, "✓ 0.500 (?)", "0.750", "✗ 0.125"}));
  EXPECT_EQ(table.rows[1],
            (std::vector<std::string>{std::string(results[2].claim->sentence), "–", "0.750", "–"}));
  EXPECT_EQ(table.rows.size(), table.row_definitions.size());
}

}  // namespace
}  // namespace buoy
