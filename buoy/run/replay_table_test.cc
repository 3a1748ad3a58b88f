// Tables of a replayed stream: models that always follow what is new, what is old or what is rumoured, and
// attention that is known.
#include "buoy/run/replay_table.h"

#include <cmath>

#include <gtest/gtest.h>

#include "buoy/io/json.h"

namespace buoy {
namespace {

Event write(EventKind kind, const std::string& id, Index version) {
  Event event{.kind = kind, .id = id, .time = {}, .text = "text"};
  event.version = version;
  return event;
}

Event ask(const std::string& id, const std::string& document, const std::string& answer) {
  return {.kind = EventKind::kAsk,
          .id = id,
          .time = {},
          .question = "What of " + document + "?",
          .answers = {answer},
          .about = {document}};
}

// Twelve documents, each asked about twice, changed (every third: reworded) and asked about twice again.
std::vector<Event> stream() {
  std::vector<Event> events;
  const auto name = [](int d) { return "d" + std::to_string(d); };
  for (int d = 0; d < 12; ++d) events.push_back(write(EventKind::kAdd, name(d), 1));
  for (int round = 0; round < 4; ++round) {
    for (int d = 0; d < 12; ++d) {
      const bool changed = round >= 2 && d % 3 != 0;
      if (round == 2) events.push_back(write(EventKind::kChange, name(d), 2));
      Event question =
          ask("q" + std::to_string(round) + name(d), name(d), (changed ? "new" : "old") + std::to_string(d));
      if (changed) question.outdated = {"old" + std::to_string(d)};
      if (d % 4 == 1) question.rumoured = {"false" + std::to_string(d)};
      events.push_back(std::move(question));
    }
  }
  return events;
}

// What a model says to everything: "new", "old" or "false", whatever is right.
std::vector<ReplaySample> answers(const std::vector<Event>& events, const std::string& model,
                                  const std::string& says) {
  std::vector<ReplaySample> samples;
  for (const Event& event : events) {
    if (event.kind != EventKind::kAsk) continue;
    const std::string number = event.about[0].substr(1);
    const bool truth = says == "truth";
    samples.push_back({.model = model,
                       .question = std::ssize(samples),
                       .answer = truth ? "It is " + event.answers[0] + "." : says + number,
                       .passages = {{event.about[0], 1, "current"}, {"copy", 1, "outdated"}},
                       .control = event.answers[0]});
  }
  return samples;
}

const ReplayRow& row(const ReplayTable& table, const char* scope, const char* part, const char* quantity) {
  const ReplayRow* found = table.find("m", scope, part, quantity);
  EXPECT_NE(found, nullptr) << scope << " " << part << " " << quantity;
  static const ReplayRow none;
  return found == nullptr ? none : *found;
}

TEST(ReplayTable, FindsNothingWhereAnswersAreRight) {
  const std::vector<Event> events = stream();
  const ReplayTable table = make_replay_table(events, answers(events, "m", "truth"), {"m"});
  EXPECT_EQ(row(table, "all", "", "substring").mean, 100);
  EXPECT_EQ(row(table, "all", "", "em").mean, 0) << "\"It is …\" is not the answer itself";
  EXPECT_EQ(row(table, "all", "", "follows_outdated").mean, 0);
  EXPECT_EQ(row(table, "all", "", "follows_outdated").n, 16);
  EXPECT_EQ(row(table, "all", "", "follows_outdated").questions, 8) << "words, not askings, are resampled";
  EXPECT_EQ(row(table, "all", "", "follows_rumour").mean, 0);
  EXPECT_EQ(row(table, "step", "changed", "substring").mean, 0);
}

TEST(ReplayTable, FindsAnswersThatFollowOldVersions) {
  const std::vector<Event> events = stream();
  const ReplayTable table = make_replay_table(events, answers(events, "m", "old"), {"m"});
  EXPECT_EQ(row(table, "all", "", "follows_outdated").mean, 100);
  EXPECT_EQ(row(table, "all", "", "follows_outdated").null, 0) << "the control is right";
  EXPECT_EQ(row(table, "all", "", "outdated_passages").mean, 50);
  EXPECT_EQ(row(table, "all", "", "follows_rumour").mean, 0);
  // 48 questions; 8 of 12 documents are wrong in the last two rounds.
  EXPECT_NEAR(row(table, "all", "", "em").mean, 100 * (48 - 16) / 48.0, 1e-9);
  EXPECT_NEAR(row(table, "all", "", "stale_cost").mean, 100 * 16 / 48.0, 1e-9);
  EXPECT_EQ(row(table, "change", "changed -1", "em").mean, 100);
  EXPECT_EQ(row(table, "change", "changed 1", "em").mean, 0);
  EXPECT_EQ(row(table, "change", "changed 1", "em").n, 8);
  EXPECT_EQ(row(table, "change", "kept 1", "em").mean, 100);
  EXPECT_EQ(row(table, "change", "kept 1", "em").n, 4);
  EXPECT_EQ(row(table, "step", "changed", "em").mean, -100);
  EXPECT_EQ(row(table, "step", "kept", "em").mean, 0);
}

TEST(ReplayTable, FindsAnswersThatFollowRumours) {
  const std::vector<Event> events = stream();
  const ReplayTable table = make_replay_table(events, answers(events, "m", "false"), {"m"});
  EXPECT_EQ(row(table, "all", "", "follows_rumour").mean, 100);
  EXPECT_EQ(row(table, "all", "", "follows_rumour").n, 12);
  EXPECT_EQ(row(table, "all", "", "follows_nothing").mean, 75) << "where there is no rumour, it was made up";
  EXPECT_EQ(row(table, "all", "", "follows_nothing").null, 0);
  EXPECT_EQ(row(table, "all", "", "em").mean, 0);
}

TEST(ReplayTable, WindowsCoverTheStreamInOrder) {
  const std::vector<Event> events = stream();
  const ReplayTable table = make_replay_table(events, answers(events, "m", "old"), {"m"});
  ASSERT_EQ(table.windows.size(), 4u);
  EXPECT_EQ(table.windows[0].name, "13-24");
  EXPECT_EQ(table.windows[2].first, 38) << "a change stands before every question of the third round";
  EXPECT_EQ(row(table, "window", "13-24", "em").mean, 100);
  EXPECT_NEAR(row(table, "window", table.windows[3].name.c_str(), "em").mean, 100 / 3.0, 1e-9);
  Index n = 0;
  for (const ReplayWindow& w : table.windows) n += row(table, "window", w.name.c_str(), "em").n;
  EXPECT_EQ(n, 48);
}

TEST(ReplayTable, NullOfAScoreIsThatOfOtherAnswers) {
  std::vector<Event> events = {write(EventKind::kAdd, "d0", 1), write(EventKind::kAdd, "d1", 1),
                               write(EventKind::kAdd, "d2", 1)};
  events.push_back(ask("a", "d0", "x"));
  events.push_back(ask("b", "d1", "x"));
  events.push_back(ask("c", "d2", "y"));
  const std::vector<ReplaySample> samples = {
      {.model = "m", .question = 0, .answer = "x", .passages = {}, .control = {}}};
  const ReplayTable table = make_replay_table(events, samples, {"m"});
  EXPECT_EQ(row(table, "all", "", "em").mean, 100);
  EXPECT_EQ(row(table, "all", "", "em").null, 50) << "of the two others one has x as its answer";
}

TEST(ReplayTable, QuestionsWithoutAnswersAreNotScored) {
  std::vector<Event> events = {write(EventKind::kAdd, "d0", 1), ask("a", "d0", "x"), ask("b", "d0", "x")};
  events[2].answers.clear();
  const std::vector<ReplaySample> samples = {
      {.model = "m", .question = 0, .answer = "x", .passages = {}, .control = {}},
      {.model = "m", .question = 1, .answer = "x", .passages = {}, .control = {}}};
  const ReplayTable table = make_replay_table(events, samples, {"m"});
  EXPECT_EQ(row(table, "all", "", "em").n, 1);
  EXPECT_EQ(table.find("m", "all", "", "follows_outdated"), nullptr);
}

TEST(MeasureReplay, ChanceOfAHitIsHypergeometric) {
  const Event event = ask("a", "d0", "x");
  const ReplaySample sample{
      .model = "m",
      .answer = "x",
      .passages = {{"d1", 1, "unrelated"}, {"d2", 1, "unrelated"}, {"d3", 1, "unrelated"}},
      .control = {}};
  const Measurements measured =
      measure_replay(sample, event, {.documents = 10, .current = 2, .offsets = {}}, {});
  const auto hit = std::ranges::find(measured, "hit", &Measurement::quantity);
  ASSERT_NE(hit, measured.end());
  EXPECT_EQ(hit->value, 0);
  EXPECT_NEAR(*hit->null, 100 * (1 - (8.0 * 7 * 6) / (10.0 * 9 * 8)), 1e-9);
}

TEST(MeasureReplay, LiftsAreAttentionOverUniformByRole) {
  const Event event = ask("a", "d0", "x");
  ReplaySample sample{.model = "m",
                      .answer = "x",
                      .passages = {{"d1", 1, "outdated"}, {"d0", 2, "current"}, {"d9", 1, "outdated"}},
                      .control = {}};
  const double attention[2][3] = {{0.01, 0.04, 0.03}, {0.02, 0.06, 0.02}};
  for (Index layer = 0; layer < 2; ++layer) {
    for (int p = 0; p < 3; ++p) {
      sample.seen.push_back({.quantity = "direct_per_token",
                             .layer = layer,
                             .part = "Answer>Doc" + std::to_string(p + 1),
                             .value = attention[layer][p],
                             .null = 0.02});
    }
  }
  const Measurements measured =
      measure_replay(sample, event, {.documents = 3, .current = 1, .offsets = {}}, {});
  const auto value = [&](const char* quantity) {
    const auto found = std::ranges::find(measured, quantity, &Measurement::quantity);
    return found == measured.end() ? std::nan("") : found->value;
  };
  EXPECT_NEAR(value("lift_current"), 0.05 / 0.02, 1e-12);
  EXPECT_NEAR(value("lift_outdated"), 0.02 / 0.02, 1e-12);
  EXPECT_NEAR(value("gap_outdated"), 1.5, 1e-12);
  EXPECT_TRUE(std::isnan(value("gap_unrelated")));
  for (Measurement& m : sample.seen) m.value = 0.02;
  for (const Measurement& m : measure_replay(sample, event, {.documents = 3, .offsets = {}}, {})) {
    if (!m.quantity.starts_with("lift") && !m.quantity.starts_with("gap")) continue;
    EXPECT_NEAR(m.value, *m.null, 1e-12) << "uniform attention is its own null: " << m.quantity;
  }
}

TEST(Follows, ARightAnswerBesideAWrongOneIsRight) {
  const std::vector<std::string> wrong = {"Norwick"}, right = {"Halford"};
  EXPECT_TRUE(follows("in Norwick", wrong, right));
  EXPECT_FALSE(follows("Halford, not Norwick", wrong, right));
  EXPECT_FALSE(follows("Talmouth", wrong, right));
}

TEST(ReplayFormat, CsvAndJsonHoldEveryRow) {
  const std::vector<Event> events = stream();
  const ReplayTable table = make_replay_table(events, answers(events, "m", "old"), {"m"});
  const std::string csv = replay_csv(table);
  EXPECT_EQ(std::ranges::count(csv, '\n'), std::ssize(table.rows) + 1);
  EXPECT_NE(csv.find("m,step,changed,em,8,8,-100,"), std::string::npos) << csv;
  const Json json = parse_json(replay_json(table), "replay.json");
  EXPECT_EQ(json["rows"].size(), table.rows.size());
  EXPECT_NE(replay_text(table).find("Follows an outdated version, %"), std::string::npos);
}

}  // namespace
}  // namespace buoy
