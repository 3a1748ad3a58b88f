// Replays through the engine: passages as they are at that moment, durable, growing, refused where the past
// changed.
#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "buoy/base/cancel.h"
#include "buoy/base/testing.h"
#include "buoy/engine/replay_run.h"
#include "buoy/io/file.h"
#include "buoy/io/json.h"
#include "buoy/io/test_support.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

// Two towns, one of which gets another mayor and leaves a copy behind, a rumour, and questions between.
const std::vector<std::string> kLines = {
    R"({"event":"add","id":"t","title":"Halford","text":"The mayor of Halford is Tor Banor. Halford lies in Lowfen."})",
    R"({"event":"add","id":"u","title":"Norwick","text":"The mayor of Norwick is Lin Delsa."})",
    R"({"event":"ask","id":"q1","question":"Who is the mayor of Halford?","answers":["Tor Banor"],"about":["t"]})",
    R"({"event":"add","id":"c","kind":"copy","of":"t","title":"Halford","text":"The mayor of Halford is Tor Banor. Halford lies in Lowfen."})",
    R"({"event":"change","id":"t","text":"The mayor of Halford is Mira Senlo. Halford lies in Lowfen."})",
    R"({"event":"ask","id":"q2","question":"Who is the mayor of Halford?","answers":["Mira Senlo"],"outdated":["Tor Banor"],"about":["t"]})",
    R"({"event":"add","id":"r","kind":"rumour","of":"t","title":"Halford","text":"The mayor of Halford is Zel Kaga."})",
    R"({"event":"remove","id":"c"})",
    R"({"event":"ask","id":"q3","question":"Who is the mayor of Halford?","answers":["Mira Senlo"],"outdated":["Tor Banor"],"rumoured":["Zel Kaga"],"about":["t"]})",
    R"({"event":"ask","id":"q4","question":"Who is the mayor of Norwick?"})"};

void write_stream(const fs::path& path, const std::vector<std::string>& lines) {
  std::ofstream file(path);
  for (const std::string& line : lines) file << line << "\n";
}

ReplaySettings small_replay(const TempDir& directory, const std::string& output) {
  write_stream(directory / "s.jsonl", kLines);
  ReplaySettings settings{.run = {}, .events = directory / "s.jsonl", .top = 3, .trace = {}};
  settings.run.models = {source_path("models/mini-arm").string()};
  settings.run.device = {.device = Device::kCpu, .threads = 1};
  settings.run.sampler.gen_length = 8;
  settings.run.batch_size = 1;
  settings.run.log_samples = true;
  settings.run.output = directory / output;
  return settings;
}

ReplayedRun replay(const ReplaySettings& settings) {
  const std::unique_ptr<Ranks> ranks = Ranks::alone();
  RunObserver observer;
  return run_replay(*ranks, settings, observer).value();
}

class StopAfter : public RunObserver {
 public:
  explicit StopAfter(int asked) : left_(asked) {}
  bool cancelled() const override { return left_-- <= 0; }
  void note(const std::string& line) override { notes.push_back(line); }
  std::vector<std::string> notes;

 private:
  mutable int left_;
};

// samples.jsonl without what differs between two runs.
std::vector<Json> samples_in(const fs::path& output) {
  std::vector<Json> samples;
  std::ifstream file(output / "samples.jsonl");
  for (std::string line; std::getline(file, line);) {
    samples.push_back(parse_json(line, "samples.jsonl"));
    samples.back().erase("seconds");
  }
  return samples;
}

TEST(Replay, PassagesAreTheDocumentsOfThatMoment) {
  const TempDir directory;
  replay(small_replay(directory, "run"));
  // Played again by hand: texts and versions of what is there when each question is asked.
  std::map<std::string, std::map<std::string, std::pair<std::string, int>>> moments;
  std::map<std::string, std::pair<std::string, int>> there;
  for (const std::string& line : kLines) {
    const Json event = parse_json(line, "line");
    const std::string id = event["id"];
    if (event["event"] == "ask") moments[id] = there;
    if (event["event"] == "remove") there.erase(id);
    if (event.contains("text")) there[id] = {event["text"], event["event"] == "change" ? 2 : 1};
  }
  const std::map<std::string, std::map<std::string, std::string>> roles = {
      {"q1", {{"t", "current"}, {"u", "unrelated"}}},
      {"q2", {{"t", "current"}, {"c", "outdated"}, {"u", "unrelated"}}},
      {"q3", {{"t", "current"}, {"r", "rumour"}, {"u", "unrelated"}}}};
  Index looked_at = 0;
  for (const Json& sample : samples_in(directory / "run")) {
    const std::string question = sample["id"];
    const bool control = sample["condition"] == "retrieved 3, nothing stale";
    EXPECT_LE(sample["passages"].size(), 3u);
    std::map<std::string, std::string> got;
    for (const Json& passage : sample["passages"]) {
      const std::string id = passage["id"];
      ASSERT_TRUE(moments[question].contains(id)) << question << " got " << id;
      EXPECT_EQ(passage["text"], moments[question][id].first);
      EXPECT_EQ(passage["version"], moments[question][id].second);
      got[id] = passage["role"];
      ++looked_at;
    }
    if (question == "q4") continue;
    auto expected = roles.at(question);
    if (control)
      std::erase_if(expected, [](const auto& p) { return p.second == "outdated" || p.second == "rumour"; });
    EXPECT_EQ(got, expected) << question << (control ? " control" : "");
  }
  EXPECT_EQ(looked_at, 2 + 3 + 3 + 3 + 2 + 2) << "four questions, two of them again without what is stale";
}

TEST(Replay, StoppedAnywhereItEndsTheSame) {
  const TempDir directory;
  const ReplaySettings whole = small_replay(directory, "whole");
  const std::string expected = replay_csv(replay(whole).table);
  ReplaySettings broken = small_replay(directory, "broken");
  const std::unique_ptr<Ranks> ranks = Ranks::alone();
  // Searching asks once a question, answering once a token.
  for (const int asked : {2, 7, 11, 11}) {
    StopAfter observer(asked);
    EXPECT_THROW(run_replay(*ranks, broken, observer), Cancelled) << asked;
    EXPECT_FALSE(fs::exists(directory / "broken/replay-collection.db"));
  }
  std::ofstream(directory / "broken/replay-collection.db") << "of a run that was killed when it had searched";
  StopAfter observer(1'000'000);
  const auto made = run_replay(*ranks, broken, observer);
  EXPECT_FALSE(fs::exists(directory / "broken/replay-collection.db"));
  EXPECT_EQ(replay_csv(made->table), expected);
  EXPECT_EQ(samples_in(directory / "broken"), samples_in(directory / "whole"));
  ASSERT_FALSE(observer.notes.empty());
  EXPECT_NE(observer.notes[0].find("samples were there already"), std::string::npos) << observer.notes[0];
}

TEST(Replay, AStreamMayGrowButItsPastMayNotChange) {
  const TempDir directory;
  ReplaySettings settings = small_replay(directory, "run");
  settings.run.data.limit = 2;
  EXPECT_EQ(replay(settings).samples.size(), 2u);
  const std::vector<Json> before = samples_in(directory / "run");
  settings.run.data.limit = {};
  EXPECT_EQ(replay(settings).samples.size(), 4u);
  const std::vector<Json> after = samples_in(directory / "run");
  for (const Json& sample : before) EXPECT_NE(std::ranges::find(after, sample), after.end());
  const TempDir fresh;
  replay(small_replay(fresh, "run"));
  EXPECT_EQ(after, samples_in(fresh / "run")) << "grown or at once, the same";

  std::vector<std::string> other = kLines;
  other[4] = R"({"event":"change","id":"t","text":"The mayor of Halford is Mira Senlo."})";
  write_stream(directory / "s.jsonl", other);
  const std::string message = error_of([&] { replay(settings); });
  EXPECT_NE(message.find("other data: 3 items have changed: \"q2\" of s, \"q3\" of s, \"q4\" of s"),
            std::string::npos)
      << message;
}

TEST(Replay, ARunWithControlMayGoOnWithoutAndBack) {
  const TempDir directory;
  ReplaySettings settings = small_replay(directory, "run");
  settings.run.data.limit = 2;
  replay(settings);
  settings.run.data.limit = {};
  settings.control = ReplayControl::kNone;
  const ReplayedRun without = replay(settings);
  for (const ReplaySample& sample : without.samples) EXPECT_FALSE(sample.control);
  settings.control = ReplayControl::kWithoutStale;
  for (const ReplaySample& sample : replay(settings).samples) EXPECT_TRUE(sample.control);
}

TEST(Replay, AttentionIsRecordedOnTheSamePass) {
  const TempDir directory;
  ReplaySettings settings = small_replay(directory, "run");
  const ReplayedRun plain = replay(settings);
  settings.run.output = directory / "traced";
  settings.trace.emplace();
  settings.trace->analyses = {find_analysis("flow")};
  const ReplayedRun traced = replay(settings);
  ASSERT_EQ(plain.samples.size(), traced.samples.size());
  for (std::size_t i = 0; i < plain.samples.size(); ++i)
    EXPECT_EQ(plain.samples[i].answer, traced.samples[i].answer);
  const ReplayRow* lift = traced.table.find("mini-arm", "all", "", "lift_current");
  ASSERT_NE(lift, nullptr);
  EXPECT_EQ(lift->n, 3);
  EXPECT_EQ(lift->null, 1);
  EXPECT_EQ(plain.table.find("mini-arm", "all", "", "lift_current"), nullptr);
}

}  // namespace
}  // namespace buoy
