// A run knows its inputs: what it may grow by, what it refuses, what it retrieves once, what does not fit.
#include <gtest/gtest.h>

#include "buoy/base/testing.h"
#include "buoy/corpus/collection.h"
#include "buoy/engine/evaluation.h"
#include "buoy/engine/long_prompts.h"
#include "buoy/engine/run_place.h"
#include "buoy/io/file.h"
#include "buoy/io/json.h"
#include "buoy/io/sqlite.h"
#include "buoy/io/test_support.h"
#include "buoy/run/run_identity.h"
#include "buoy/run/run_reader.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

// Keeps what it is told.
class Listening : public RunObserver {
 public:
  void note(const std::string& line) override { notes += line + "\n"; }
  void warn(const std::string& line) override { warnings += line + "\n"; }
  void begin(const std::string&, Index total) override { total_pieces = total, done = there = 0; }
  void advance(Index by) override { done += by; }
  void already(Index count) override { there += count; }
  std::string notes, warnings;
  Index total_pieces = 0, done = 0, there = 0;  // of the last phase
};

class GrowingRun : public testing::Test {
 protected:
  GrowingRun() {
    RunSettings& run = settings_.run;
    run.models = {source_path("models/mini-mdm").string()};
    run.device = {.device = Device::kCpu, .threads = 1};
    run.data = {.files = {data_}, .format = {}, .limit = 2};
    run.sampler.gen_length = 4;
    run.sampler.steps = 2;
    run.output = directory_ / "run";
    settings_.passages = {"none"};
    write_file_atomically(data_, read_file(source_path("data/micro_test.jsonl")));
  }

  std::optional<EvaluatedRun> evaluate() { return run_evaluation(*Ranks::alone(), settings_, observer_); }
  std::string refusal() {
    try {
      evaluate();
    } catch (const Error& e) {
      return e.what();
    }
    return "nothing was refused";
  }

  TempDir directory_;
  fs::path data_ = directory_ / "micro_test.jsonl";
  EvaluationSettings settings_;
  Listening observer_;
};

TEST_F(GrowingRun, TakesMoreItemsConditionsAndModels) {
  const auto first = evaluate();
  settings_.run.data.limit = 3;
  EXPECT_EQ(evaluate()->results.size(), 3U);
  EXPECT_EQ(observer_.total_pieces, 3);
  EXPECT_EQ(observer_.there, 2);
  EXPECT_EQ(observer_.done, 1);
  settings_.passages = {"given"};
  EXPECT_EQ(evaluate()->results.size(), 6U);
  settings_.run.models = {source_path("models/mini-arm").string()};
  settings_.passages = {"none"};
  const auto grown = evaluate();
  EXPECT_EQ(grown->results.size(), 9U);
  ASSERT_EQ(grown->table.rows.size(), 3U);
  EXPECT_EQ(grown->table.rows[0].model, "mini-mdm");
  EXPECT_EQ(grown->table.rows[1].condition, "given");
  EXPECT_EQ(grown->table.rows[2].model, "mini-arm");
  // What was there before is as it was.
  for (const SampleResult& before : first->results) {
    const auto same = std::ranges::find(grown->results, before.key, &SampleResult::key);
    ASSERT_NE(same, grown->results.end());
    EXPECT_EQ(same->answer, before.answer);
    EXPECT_EQ(same->seconds, before.seconds) << "it was answered again";
  }
}

TEST_F(GrowingRun, RefusesAnItemThatChangedByItsName) {
  evaluate();
  std::string edited = read_file(data_);
  edited.replace(edited.find("\"question\":\"") + 12, 1, "w");
  write_file_atomically(data_, edited);
  EXPECT_NE(refusal().find("other data: 1 item has changed: \"micro-2026-000000\" of micro_test"),
            std::string::npos)
      << refusal();
}

TEST_F(GrowingRun, RefusesADeviceThatChangedByItsName) {
  evaluate();
  settings_.run.device = {.device = Device::kReference};
  EXPECT_NE(refusal().find("/models/mini-mdm/device was \"cpu\", now \"reference\""), std::string::npos)
      << refusal();
}

TEST_F(GrowingRun, BeginsBesideAnotherRunWhenAskedTo) {
  evaluate();
  settings_.run.sampler.steps = 4;
  EXPECT_NE(refusal().find("/models/mini-mdm/sampler/steps was 2, now 4"), std::string::npos) << refusal();
  settings_.run.clash = Clash::kBeside;
  EXPECT_EQ(evaluate()->output, fs::path((directory_ / "run").string() + "-2"));
  EXPECT_EQ(evaluate()->results.size(), 2U) << "the same command goes on with the same run";
  EXPECT_EQ(RunReader(directory_ / "run").results().size(), 2U);
}

TEST_F(GrowingRun, RetrievesOnceForAllModels) {
  const fs::path path = directory_ / "wiki.db";
  const auto rewrite = [&](const std::string& words) {
    std::vector<Document> documents;
    for (const QaItem& item : read_dataset(data_, {.limit = 3})) {
      documents.push_back({.id = "d-" + item.id, .title = words, .text = words + " " + item.question});
    }
    Collection(path, DatabaseAccess::kCreate).add(documents);
  };
  rewrite("old");
  settings_.passages = {};
  settings_.collection = path;
  settings_.top = 1;
  evaluate();
  rewrite("new");
  settings_.run.models.push_back(source_path("models/mini-arm").string());
  const auto both = evaluate();
  ASSERT_EQ(both->results.size(), 4U);
  const RunReader run(directory_ / "run");
  for (const SampleResult& r : both->results) {
    EXPECT_NE(r.prompt.find("old "), std::string::npos) << r.prompt;
    const SampleDetail detail = run.detail(r.key);
    ASSERT_EQ(detail.input.passages.size(), 1U);
    EXPECT_EQ(detail.input.passages[0].id, "d-" + r.key.sample);
    EXPECT_GT(detail.input.passages[0].score.value(), 0);
  }
  settings_.run.data.limit = 3;  // an item that would be looked up in the changed collection
  EXPECT_NE(refusal().find("a collection that has changed since: /fingerprint was"), std::string::npos)
      << refusal();
  rewrite("old");  // the same documents, but found by an older Buoy
  Database(directory_ / "run" / "run.db", {.access = DatabaseAccess::kWrite})
      .execute("UPDATE collections SET collection = json_set(collection, '$.ranking', 1)");
  EXPECT_NE(refusal().find("/ranking was 1, now 2"), std::string::npos) << refusal();
}

// One item more, at the begin, whose second passage alone is longer than the bundled models' context of 2048.
void make_too_long(const fs::path& data) {
  std::string passage;
  for (int i = 0; i < 6000; ++i) passage += "word ";
  const Json item = {
      {"id", "long"},
      {"question", "Who wrote it?"},
      {"answers", {"Nobody"}},
      {"passages", {{{"text", "A short one."}}, {{"text", passage}}, {{"text", "The last."}}}}};
  write_file_atomically(data, item.dump() + "\n" + read_file(source_path("data/micro_test.jsonl")));
}

TEST_F(GrowingRun, ListsPromptsThatDoNotFitBeforeAnyWork) {
  make_too_long(data_);
  settings_.passages = {"none", "given"};
  const std::string message = refusal();
  EXPECT_NE(message.find("1 prompt is too long: \"long\" of micro_test under given has"), std::string::npos)
      << message;
  EXPECT_TRUE(RunReader(directory_ / "run").results().empty()) << "something was answered before";
}

TEST_F(GrowingRun, LeavesOutQuestionsThatDoNotFit) {
  make_too_long(data_);
  settings_.passages = {"none", "given"};
  settings_.run.too_long = TooLong::kSkip;
  const auto made = evaluate();
  ASSERT_EQ(made->results.size(), 2U) << "one item is left, under two conditions";
  for (const SampleResult& r : made->results) EXPECT_NE(r.key.sample, "long");
  EXPECT_NE(observer_.warnings.find("1 questions are left out"), std::string::npos) << observer_.warnings;
}

TEST_F(GrowingRun, CutsPassagesThatDoNotFit) {
  make_too_long(data_);
  settings_.passages = {"given"};
  settings_.run.too_long = TooLong::kCut;
  const auto made = evaluate();
  ASSERT_EQ(made->results.size(), 2U);
  const auto cut = std::ranges::find(made->results, std::string("long"),
                                     [](const SampleResult& r) { return r.key.sample; });
  const Index context = read_model_config(source_path("models/mini-mdm")).context;
  EXPECT_LE(cut->prompt_tokens, context - 4);
  EXPECT_GT(cut->prompt_tokens, context - 4 - 8) << "more was cut than had to be";
  EXPECT_NE(cut->prompt.find("A short one."), std::string::npos);
  EXPECT_EQ(cut->prompt.find("The last."), std::string::npos);
}

// What a study traces.
TEST_F(GrowingRun, QuestionsThatAreTracedFitTooOrAreListedLeftOutOrCut) {
  make_too_long(data_);
  const auto fitted = [&](TooLong too_long) {
    settings_.run.too_long = too_long;
    return fit_questions(settings_.run, read_models(settings_.run),
                         read_data(settings_.run.data, settings_.run.places, {}), &observer_);
  };
  try {
    fitted(TooLong::kFail);
    FAIL() << "nothing was refused";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("1 prompt is too long: \"long\" of micro_test under given has"),
              std::string::npos)
        << e.what();
  }
  const auto skipped = fitted(TooLong::kSkip);
  ASSERT_EQ(skipped.at(0).items.size(), 1U);
  EXPECT_EQ(skipped[0].items[0].id, "micro-2026-000000");
  EXPECT_EQ(skipped[0].items[0].passages.size(), 5U) << "what fits stays as it is";
  const auto cut = fitted(TooLong::kCut);
  ASSERT_EQ(cut.at(0).items.size(), 2U);
  EXPECT_EQ(cut[0].items[0].passages.size(), 2U);
  EXPECT_EQ(cut[0].items[1].passages.size(), 5U);
  settings_.run.data.limit = 1;
  EXPECT_THROW(fitted(TooLong::kSkip), Error) << "no question is left";
}

// Where this fails and the new draws are meant, raise kSamplerCode with the tokens: runs that were begun
// before must not be completed with other draws.
TEST_F(GrowingRun, TheSamplersCodeStandsForTheseTokens) {
  settings_.run.models.push_back(source_path("models/mini-arm").string());
  settings_.run.sampler.temperature = 3;
  settings_.run.sampler.seed = 3;
  std::string tokens;
  const auto made = evaluate();
  for (const SampleResult& r : made->results) tokens += Json(r.output_ids).dump();
  EXPECT_EQ(kSamplerCode, 2);
  EXPECT_EQ(tokens, "[1939,953,2010,1346][1786,1][73,1148,903,626][1993,849,2000,1241]");
}

TEST(CutToFit, KeepsTheLongestBeginning) {
  const std::vector<QaPassage> passages = {
      {.text = "a b c"}, {.text = "d e f", .gold = true, .evidence = {{4, 5}}}, {.text = "g"}};
  const auto letters = [](Index most) {
    return [most](const std::vector<QaPassage>& kept) {
      Index count = 0;
      for (const QaPassage& p : kept) count += std::ranges::count_if(p.text, [](char c) { return c != ' '; });
      return count <= most;
    };
  };
  const auto texts = [&](Index most) {
    std::string all;
    const std::optional<std::vector<QaPassage>> kept = cut_to_fit(passages, letters(most));
    for (const QaPassage& p : *kept) all += p.text + "|";
    return all;
  };
  EXPECT_EQ(texts(9), "a b c|d e f|g|");
  EXPECT_EQ(texts(6), "a b c|d e f|");
  EXPECT_EQ(texts(5), "a b c|d e|");
  EXPECT_EQ(texts(3), "a b c|");
  EXPECT_EQ(texts(0), "");
  EXPECT_FALSE((*cut_to_fit(passages, letters(5)))[1].gold) << "its evidence was cut off";
  EXPECT_FALSE(cut_to_fit(passages, letters(-1)));
}

TEST(OutputFolder, IsNeverWrittenOverSilently) {
  using enum OutputFolder::Other;
  const TempDir directory;
  const fs::path out = directory / "out";
  const auto make = [&](const Json& inputs, OutputFolder::Other other, const char* file) {
    OutputFolder folder(out, "analyze", inputs, other);
    folder.begin();
    write_file_atomically(folder.path() / file, "made");
    folder.finish();
    return folder.path();
  };
  make({{"traces", 1}}, kRefuse, "a.csv");
  write_file_atomically(out / "notes.txt", "mine");
  EXPECT_EQ(make({{"traces", 1}}, kRefuse, "a.csv"), out) << "the same again";
  EXPECT_THROW(make({{"traces", 2}}, kRefuse, "b.csv"), Error);
  EXPECT_FALSE(fs::exists(out / "b.csv"));
  EXPECT_EQ(make({{"traces", 2}}, kBeside, "b.csv"), directory / "out-2");
  EXPECT_EQ(make({{"traces", 3}}, kReplace, "b.csv"), out);
  EXPECT_FALSE(fs::exists(out / "a.csv")) << "of what was replaced";
  EXPECT_TRUE(fs::exists(out / "notes.txt"));
  // Work that was broken off never said what it made; its own folders go, and nothing else.
  const auto begin = [&](int traces, OutputFolder::Other other) {
    OutputFolder folder(directory / "study", "study", {{"traces", traces}}, other);
    folder.begin({"traces"});
  };
  begin(1, kRefuse);
  fs::create_directories(directory / "study" / "traces");
  write_file_atomically(directory / "study" / "traces" / "a.npz", "made");
  write_file_atomically(directory / "study" / "notes.txt", "mine");
  begin(1, kRefuse);
  EXPECT_TRUE(fs::exists(directory / "study" / "traces" / "a.npz")) << "the same goes on";
  EXPECT_THROW(begin(2, kRefuse), Error);
  begin(2, kReplace);
  EXPECT_FALSE(fs::exists(directory / "study" / "traces"));
  EXPECT_TRUE(fs::exists(directory / "study" / "notes.txt"));
  fs::create_directories(directory / "page");
  write_file_atomically(directory / "page" / "report.html", "mine");
  EXPECT_THROW(OutputFolder(directory / "page", "analyze", Json::object(), kRefuse), Error);
}

// Killed after a trace and a table, it goes on: both are its own and go when it is replaced, as if it had
// never been killed.
TEST(OutputFolder, KnowsWhatWasMadeBeforeItWasBrokenOff) {
  using enum OutputFolder::Other;
  const TempDir directory;
  const fs::path out = directory / "study";
  const auto later = [](const fs::path& file, int seconds) {
    fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(seconds));
  };
  fs::create_directories(out / "traces");
  write_file_atomically(out / "traces" / "mine.npz", "there before");
  OutputFolder(out, "study", {{"traces", 1}}, kRefuse).begin({"traces"});
  write_file_atomically(out / "traces" / "a.npz", "made");
  write_file_atomically(out / "samples.csv", "made");
  write_file_atomically(out / "notes.txt", "mine");
  for (const char* file : {"traces/a.npz", "samples.csv", "notes.txt"}) later(out / file, -60);

  OutputFolder again(out, "study", {{"traces", 1}}, kRefuse);
  again.begin({"traces"});
  write_file_atomically(out / "samples.csv", "made again");
  later(out / "samples.csv", 60);
  again.finish();
  const Json made = read_json_file(out / "made.json");
  EXPECT_EQ(made["files"], (Json{"samples.csv", "traces/a.npz"}));
  EXPECT_FALSE(made.contains("before"));

  OutputFolder(out, "study", {{"traces", 2}}, kReplace).begin({"traces"});
  EXPECT_FALSE(fs::exists(out / "traces" / "a.npz"));
  EXPECT_FALSE(fs::exists(out / "samples.csv"));
  EXPECT_TRUE(fs::exists(out / "traces" / "mine.npz"));
  EXPECT_TRUE(fs::exists(out / "notes.txt"));
}

// A run that was killed, or whose disk was full, before anything was in its store begins there.
TEST(PlaceOfRun, IsAFolderWhoseStoreHoldsNothingYet) {
  const TempDir directory;
  RunSettings settings;
  settings.output = directory.path();
  RunObserver silent;
  Database(directory / "run.db", {});
  EXPECT_EQ(place_of_run(settings, {}, silent), directory.path());
  Database(directory / "run.db", {}).execute("CREATE TABLE cats (name TEXT)");
  EXPECT_THROW(place_of_run(settings, {}, silent), Error);
}

}  // namespace
}  // namespace buoy
