// Tables of runs put together, and other programs' answers.
#include "buoy/engine/run_tables.h"

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/base/testing.h"
#include "buoy/io/file.h"
#include "buoy/io/json.h"
#include "buoy/io/test_support.h"
#include "buoy/run/run_identity.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

std::string message_of_table(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

SampleResult answered(const std::string& model, const std::string& condition, const std::string& sample,
                      double em) {
  SampleResult made;
  made.key = {model, "set", condition, sample};
  made.question = "Question " + sample;
  made.answer = em > 0 ? "right" : "wrong";
  made.score = {.em = em, .substring = em, .f1 = em};
  return made;
}

void write_run(const fs::path& folder, const std::string& model, const std::string& writes,
               const std::vector<SampleResult>& results) {
  fs::create_directories(folder);
  const Json settings = {{"models", {{model, {{"writes", writes}}}}},
                         {"verb", "eval"},
                         {"data", {{"set", "by item"}}},
                         {"passages", {{"none", ""}, {"given", ""}}}};
  RunStore(folder / "run.db", {.settings = settings}).add(results);
}

TEST(MergeRuns, PutsModelsOfSeveralRunsIntoOneTable) {
  const TempDir directory;
  write_run(directory / "a", "mdm", "masked",
            {answered("mdm", "none", "1", 0), answered("mdm", "given", "1", 1),
             answered("mdm", "none", "2", 0), answered("mdm", "given", "2", 1)});
  write_run(directory / "b", "arm", "autoregressive",
            {answered("arm", "none", "1", 0), answered("arm", "given", "1", 1),
             answered("arm", "none", "2", 0), answered("arm", "given", "2", 0)});
  const std::vector<fs::path> paths = {directory / "a", directory / "b", directory / "a"};
  const MergedRuns merged = merge_runs(paths);
  EXPECT_EQ(merged.results.size(), 8U) << "what two runs hold counts once";
  const ScoreTable table = make_score_table(merged.results, merged.order);
  ASSERT_EQ(table.rows.size(), 4U);
  EXPECT_EQ(table.rows[1].model, "mdm");
  EXPECT_DOUBLE_EQ(table.rows[1].cell_gain->mean[0], 100);
  EXPECT_DOUBLE_EQ(table.rows[3].cell_gain->mean[0], 50);
  ASSERT_EQ(table.contrasts.size(), 1U);
  EXPECT_DOUBLE_EQ(table.contrasts[0].cell_gain->mean[0], 50);
  EXPECT_EQ(table.contrasts[0].item_gain->n, 2);
  const Json json = parse_json(score_json(table, merged.about), "table");
  EXPECT_EQ(json["runs"].size(), 2U);
  EXPECT_EQ(json["masked_minus_autoregressive"][0]["gain"]["set"]["em"]["mean"], 50.0);
}

TEST(MergeRuns, NamesWhatTwoRunsDisagreeAbout) {
  const TempDir directory;
  write_run(directory / "a", "mdm", "masked", {answered("mdm", "none", "1", 0)});
  write_run(directory / "b", "mdm", "masked", {answered("mdm", "none", "1", 1)});
  const std::vector<fs::path> paths = {directory / "a", directory / "b"};
  EXPECT_NE(message_of_table([&] { merge_runs(paths); }).find("what mdm answered to \"1\" of set under none"),
            std::string::npos);
}

TEST(ScorePredictions, ReadsWhatOtherProgramsWrite) {
  const TempDir directory;
  const NamedItems data{.name = "set",
                        .path = {},
                        .items = {{.id = "1", .question = "q", .answers = {"Paris"}},
                                  {.id = "2", .question = "r", .answers = {""}},
                                  {.id = "3", .question = "s", .answers = {"x"}}}};
  std::string warning;
  const auto keep = [&](const std::string& line) { warning += line + "\n"; };
  const auto scores = [&](const std::string& contents) {
    warning.clear();
    write_file_atomically(directory / "p.json", contents);
    std::string all;
    for (const SampleResult& r : score_predictions(directory / "p.json", data, keep))
      all += r.score.em > 0 ? "1" : "0";
    return all;
  };
  EXPECT_EQ(scores(R"({"1": "the paris", "2": "", "3": "y"})"), "110");
  EXPECT_EQ(warning, "");
  EXPECT_EQ(scores("{\"id\": \"3\", \"prediction\": \"x\"}\n{\"id\": 1, \"answer\": \"Rome\"}\n"), "001");
  EXPECT_NE(warning.find("1 of 3 items of set are not answered and count as wrong"), std::string::npos)
      << warning;
  EXPECT_EQ(scores("Paris\n\nx\n"), "111") << "an empty line is an answer";
  EXPECT_EQ(scores(R"({"1": "Paris", "9": "z"})"), "100");
  EXPECT_NE(warning.find("items that set does not have, such as \"9\""), std::string::npos) << warning;
  EXPECT_NE(message_of_table([&] { scores(R"({"9": "z"})"); }).find("answers none of the 3 items"),
            std::string::npos);
  EXPECT_NE(message_of_table([&] { scores("one\ntwo\n"); }).find("has 2 lines, expected one answer for each"),
            std::string::npos);
}

}  // namespace
}  // namespace buoy
