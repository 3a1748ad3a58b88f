// The store of a run, conditions, and the tables that are made of it.
#include "buoy/run/eval.h"

#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "buoy/base/error.h"
#include "buoy/io/count_syncs.h"
#include "buoy/io/json.h"
#include "buoy/run/eval_table.h"
#include "buoy/run/run_identity.h"
#include "buoy/run/run_reader.h"
#include "buoy/run/score_gain.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "nothing was thrown";
}

SampleResult result(const std::string& model, const std::string& task, const std::string& condition,
                    Index number, double em) {
  return {.key = {model, "set", condition, "item-" + std::to_string(number)},
          .number = number,
          .task = task,
          .question = "Question " + std::to_string(number) + "?",
          .prompt = "p",
          .answer = "ü \"a\"",
          .score = {.em = em, .substring = em, .f1 = em},
          .prompt_tokens = 7,
          .steps = 3,
          .commit_step = {2, 0, 1},
          .seconds = 0.5};
}

class Store : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(directory_); }
  void TearDown() override { fs::remove_all(directory_); }
  fs::path directory_ = fs::temp_directory_path() / ("buoy_run_" + std::to_string(::getpid()));
  fs::path path_ = directory_ / "run.db";
  RunIdentity settings_{.settings = {{"steps", 16}, {"data", {{"a", "x1"}, {"set", ""}}}}};
};

TEST_F(Store, GivesBackWhatWasAddedAfterReopening) {
  const std::vector<SampleResult> two = {result("m", "t", "none", 1, 0), result("m", "t", "none", 0, 1)};
  RunStore(path_, settings_).add(two);
  const RunStore again(path_, settings_);
  EXPECT_EQ(again.done().size(), 2u);
  EXPECT_TRUE(again.done().contains(two[0].key));
  const std::vector<SampleResult> back = again.results();
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].number, 0);  // in order of number, not of adding
  EXPECT_EQ(back[0].question, "Question 0?");
  EXPECT_EQ(back[0].answer, "ü \"a\"");
  EXPECT_EQ(back[0].commit_step, (std::vector<Index>{2, 0, 1}));
  EXPECT_EQ(back[1].score.em, 0);
}

TEST_F(Store, AddsAllOfABatchOrNothing) {
  RunStore store(path_, settings_);
  store.add(std::vector{result("m", "t", "none", 0, 1)});
  EXPECT_THROW(store.add(std::vector{result("m", "t", "none", 1, 1), result("m", "t", "none", 0, 1)}), Error);
  EXPECT_EQ(store.results().size(), 1u);
  EXPECT_EQ(store.done().size(), 1u);
}

TEST_F(Store, IsOnDiskWhenAddReturns) {
  RunStore store(path_, settings_);
  SyncedFiles::take();
  store.add(std::vector{result("m", "t", "none", 0, 1)});
  EXPECT_EQ(SyncedFiles::take(), std::vector{fs::canonical(directory_).string() + "/run.db-wal"});
}

TEST_F(Store, RefusesOtherSettingsAndSaysWhich) {
  { RunStore begun(path_, settings_); }
  RunIdentity other = settings_;
  other.settings["steps"] = 32;
  other.settings["data"]["a"] = "x2";
  other.settings["seed"] = 1;
  const std::string message = message_of([&] { RunStore(path_, other); });
  EXPECT_NE(message.find("/steps was 16, now 32; /data/a was \"x1\", now \"x2\"; /seed was absent, now 1"),
            std::string::npos)
      << message;
}

TEST_F(Store, RefusesSettingsThatLackOneItWasBegunWith) {
  { RunStore begun(path_, settings_); }
  RunIdentity other = settings_;
  other.settings.erase("data");
  const std::string message = message_of([&] { RunStore(path_, other); });
  EXPECT_NE(message.find("other settings: /data/a was \"x1\", now absent"), std::string::npos) << message;
}

TEST(SettingsDifference, NamesWhatChangedWentAndCame) {
  const Json a = {{"x", 1}, {"y", {{"z", "s"}, {"w", true}}}},
             b = {{"x", 2}, {"y", {{"z", "s"}}}, {"v", {3}}};
  EXPECT_EQ(settings_difference(a, b), "/x was 1, now 2; /y/w was true, now absent; /v/0 was absent, now 3");
  EXPECT_EQ(settings_difference(b, a), "/x was 2, now 1; /v/0 was 3, now absent; /y/w was absent, now true");
  EXPECT_EQ(settings_difference(a, a), "");
}

TEST_F(Store, GrowsByMembersOfWhatMayGrowAndByItems) {
  const auto with = [](const Json& models, std::vector<RunItem> items) {
    return RunIdentity{
        .settings = {{"steps", 16}, {"models", models}}, .growing = {"models"}, .items = std::move(items)};
  };
  { RunStore begun(path_, with({{"b", 1}}, {{"set", "q1", "h1"}})); }
  { RunStore grown(path_, with({{"a", 2}}, {{"set", "q2", "h2"}})); }
  const RunStore again(path_, with({{"b", 1}}, {}));
  EXPECT_EQ(again.settings()["models"].dump(), R"({"b":1,"a":2})") << "in the order they came";
  const auto message = [&](const RunIdentity& identity) { return RunReader(path_).difference(identity); };
  EXPECT_EQ(message(with({{"a", 3}}, {})), "other settings: /models/a was 2, now 3");
  EXPECT_EQ(message(with({{"a", 2}}, {{"set", "q1", "other"}, {"set", "q3", "h3"}})),
            "other data: 1 item has changed: \"q1\" of set");
  EXPECT_EQ(message(with({{"c", 2}}, {{"else", "q1", "h"}})), "");
}

TEST_F(Store, KeepsWhatSamplesAreAnsweredFrom) {
  RunStore store(path_, settings_);
  RunInput input{.data = "set",
                 .condition = "given",
                 .sample = "item-0",
                 .question = "Who?",
                 .answers = {"A", "B"},
                 .passages = {{.title = "t", .text = "x", .gold = true, .evidence = {{0, 1}}, .id = "7"}}};
  input.passages[0].score = 1.5;
  store.add_inputs(std::vector{input});
  store.add_inputs(std::vector{input});
  const RunKey key{"m", "set", "given", "item-0"};
  store.add_prompt_ids(std::vector{std::pair(key, std::vector<Index>{5, 6})});
  const SampleDetail detail = RunReader(directory_).detail(key);
  EXPECT_EQ(detail.input.answers, input.answers);
  EXPECT_EQ(detail.input.passages[0].id, "7");
  EXPECT_EQ(detail.input.passages[0].score, 1.5);
  EXPECT_EQ(detail.input.passages[0].evidence.size(), 1U);
  EXPECT_EQ(detail.prompt_ids, (std::vector<Index>{5, 6}));
  input.passages[0].text = "y";
  EXPECT_NE(message_of([&] { store.add_inputs(std::vector{input}); }).find("\"item-0\" of set under given"),
            std::string::npos);
}

TEST_F(Store, IsOpenOnceAtATime) {
  const RunStore first(path_, settings_);
  EXPECT_NE(message_of([&] { RunStore(path_, settings_); }).find("another process has this run open"),
            std::string::npos);
}

TEST_F(Store, RefusesADatabaseOfAnotherKind) {
  Database(path_).execute("CREATE TABLE t (x)");
  EXPECT_NE(message_of([&] { RunStore(path_, settings_); }).find("not of a run"), std::string::npos);
}

TEST(Conditions, ChooseThePassages) {
  const QaItem item{.id = "1",
                    .question = "q",
                    .answers = {"a"},
                    .passages = {{.text = "x"}, {.text = "y"}, {.text = "z"}}};
  EXPECT_TRUE(under(parse_condition("none"), item, {}).passages.empty());
  EXPECT_EQ(under(parse_condition("given"), item, {}).passages.size(), 3u);
  EXPECT_EQ(under(parse_condition("2"), item, {}).passages.size(), 2u);
  EXPECT_EQ(under(parse_condition("9"), item, {}).passages.size(), 3u);
  const Retrieve retrieve = [](const std::string& question, Index top) {
    return std::vector<QaPassage>(static_cast<std::size_t>(top), QaPassage{.text = question});
  };
  EXPECT_EQ(under({.kind = Condition::Kind::kRetrieved, .count = 4}, item, retrieve).passages[3].text, "q");
  for (const char* bad : {"", "0", "-1", "some", "2x"}) EXPECT_THROW(parse_condition(bad), UsageError) << bad;
}

TEST(ScoreTable, MatchesTheClosedForms) {
  std::vector<SampleResult> results;
  // Task a: 3 of 4 right with passages, 1 of 4 without; task b: 1 of 2 and 0 of 2.
  const double with_a[] = {1, 1, 1, 0}, without_a[] = {1, 0, 0, 0};
  for (Index i = 0; i < 4; ++i) {
    results.push_back(result("m", "a", "given", i, with_a[i]));
    results.push_back(result("m", "a", "none", i, without_a[i]));
  }
  for (Index i = 4; i < 6; ++i) {
    results.push_back(result("m", "b", "given", i, i == 4 ? 1 : 0));
    results.push_back(result("m", "b", "none", i, 0));
  }
  const ScoreTable table =
      make_score_table(results, {.models = {"m"}, .data = {"set"}, .conditions = {"none", "given"}});
  EXPECT_EQ(table.columns, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(table.baseline, "none");
  ASSERT_EQ(table.rows.size(), 2u);
  const ScoreRow& given = table.rows[1];
  EXPECT_DOUBLE_EQ(given.cells[0]->mean[0], 75);
  EXPECT_NEAR(given.cells[0]->standard_error[0], 100 * std::sqrt(0.25 / 4), 1e-9);  // sd of 1,1,1,0 is 0.5
  EXPECT_DOUBLE_EQ(given.cells[1]->mean[0], 50);
  EXPECT_DOUBLE_EQ(given.cell_mean->mean[0], 62.5);
  EXPECT_NEAR(given.item_mean->mean[0], 100 * 4.0 / 6, 1e-9);
  EXPECT_DOUBLE_EQ(given.gains[0]->mean[0], 50);
  EXPECT_NEAR(given.gains[2]->mean[0], 100 * 3.0 / 6, 1e-9);
  EXPECT_LE(given.gains[2]->low[0], given.gains[2]->mean[0]);
  EXPECT_TRUE(table.rows[0].gains.empty());
  EXPECT_NE(score_text(table).find("+50.0 ["), std::string::npos);
  EXPECT_NE(score_latex(table).find("m & none & $25.0_{25.0}$ & $0.0_{0.0}$ & $12.5_{12.5}$"),
            std::string::npos)
      << score_latex(table);
  EXPECT_EQ(parse_json(score_json(table), "t")["rows"][1]["cells"]["a"]["em"]["mean"], 75.0);
  EXPECT_NE(score_csv(table).find("m,given,mean of items,em,6,66.6666667,"), std::string::npos)
      << score_csv(table);
}

// One question in every cell: the mean of columns is a plain mean of independent means.
TEST(ColumnGains, MatchTheClosedForms) {
  std::vector<ItemGain> gains;
  const auto add = [&](const char* column, const char* question, double value) {
    gains.push_back({.column = column, .question = question, .value = {value, 2 * value, 0}});
  };
  for (int i = 0; i < 40; ++i) add("a", ("a" + std::to_string(i)).c_str(), i % 4 == 0 ? 100 : 0);
  for (int i = 0; i < 10; ++i) add("b", ("b" + std::to_string(i)).c_str(), i % 2 == 0 ? 100 : 0);
  const ColumnGains made = column_gains(gains, {"a", "b", "empty"});
  EXPECT_DOUBLE_EQ(made.columns[0]->mean[0], 25);
  EXPECT_DOUBLE_EQ(made.columns[1]->mean[0], 50);
  EXPECT_FALSE(made.columns[2]);
  EXPECT_DOUBLE_EQ(made.cells->mean[0], 37.5);
  EXPECT_DOUBLE_EQ(made.cells->mean[1], 75);
  EXPECT_DOUBLE_EQ(made.items->mean[0], 30);
  EXPECT_EQ(made.cells->n, 50);
  // √(25·75/40 + 50·50/10) / 2 points is the standard error; its normal interval is 1.96 of them to either
  // side.
  const double error = std::sqrt(25.0 * 75 / 40 + 50.0 * 50 / 10) / 2;
  EXPECT_NEAR(made.cells->high[0] - made.cells->low[0], 2 * 1.96 * error, 0.35 * 2 * 1.96 * error);
  EXPECT_LT(made.cells->low[0], 37.5);
  EXPECT_GT(made.cells->high[0], 37.5);
  EXPECT_EQ(made.cells->low[2], 0) << "all alike: no width";
  EXPECT_EQ(made.cells->high[2], 0);
}

TEST(ColumnGains, ResampleAQuestionOfTwoColumnsAsOne) {
  std::vector<ItemGain> apart, together;
  for (int i = 0; i < 30; ++i) {
    const std::string question = std::to_string(i);
    const double value = i % 2 == 0 ? 100 : 0;
    for (const char* column : {"a", "b"}) {
      together.push_back({.column = column, .question = question, .value = {value, value, value}});
      apart.push_back({.column = column, .question = column + question, .value = {value, value, value}});
    }
  }
  const ScoreGain one = *column_gains(together, {"a", "b"}).cells,
                  two = *column_gains(apart, {"a", "b"}).cells;
  EXPECT_DOUBLE_EQ(one.mean[0], two.mean[0]);
  // The same values twice say no more than once: the interval is wider by about √2.
  EXPECT_NEAR((one.high[0] - one.low[0]) / (two.high[0] - two.low[0]), std::sqrt(2), 0.15);
}

TEST(AnswerTable, SaysWherePassagesChangedNoPrompt) {
  std::vector<SampleResult> results;
  for (Index i = 0; i < 2; ++i) {
    for (const char* condition : {"none", "given"}) results.push_back(result("m", "t", condition, i, 1));
  }
  results[3].prompt = "with passages";  // the second item, given
  const SampleTable plain = answer_table(results), table = passage_answer_table(results);
  EXPECT_EQ(plain.columns().size(), 6u) << "three scores under two conditions";
  ASSERT_EQ(table.columns().size(), 7u);
  const auto& marked = table.columns().at({.quantity = "same_prompt", .part = "given"});
  ASSERT_EQ(marked.samples.size(), 1u);
  const SampleKey& key = table.samples()[static_cast<std::size_t>(marked.samples[0])];
  EXPECT_EQ(key.sample, "item-0");
  EXPECT_EQ(key.question, "Question 0?");
}

}  // namespace
}  // namespace buoy
