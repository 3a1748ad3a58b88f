// The page of a replayed stream from made-up answers: every section where there is something to show, and no
// other.
#include "buoy/report/replay_page.h"

#include <gtest/gtest.h>

#include "buoy/io/file.h"
#include "buoy/io/test_support.h"
#include "buoy/report/replay_figures.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

struct Played {
  std::vector<Event> events;
  std::vector<ReplaySample> samples;
};

// Four documents; each is asked about, changed and asked about again by a model that says what was first.
Played play(bool traced) {
  Played made;
  const auto write = [&](EventKind kind, const std::string& id, Index version) {
    Event event{.kind = kind, .id = id, .time = {}, .text = "text"};
    event.version = version;
    made.events.push_back(std::move(event));
  };
  const auto ask = [&](const std::string& id, const std::string& document, const std::string& answer) {
    Event event{.kind = EventKind::kAsk,
                .id = id,
                .time = {},
                .question = "What of <" + document + ">?",
                .answers = {answer},
                .about = {document}};
    if (answer == "new") event.outdated = {"old"};
    made.events.push_back(std::move(event));
    ReplaySample sample{.model = "m<1>",
                        .question = std::ssize(made.samples),
                        .answer = "old",
                        .passages = {{document, 1, "current"}, {"copy", 1, "outdated"}},
                        .control = answer};
    for (int p = 1; p <= 2 && traced; ++p) {
      sample.seen.push_back({.quantity = "direct_per_token",
                             .layer = 0,
                             .part = "Answer>Doc" + std::to_string(p),
                             .value = 0.03 / p,
                             .null = 0.01});
    }
    made.samples.push_back(std::move(sample));
  };
  for (int d = 0; d < 4; ++d) write(EventKind::kAdd, "d" + std::to_string(d), 1);
  for (int d = 0; d < 4; ++d) ask("a" + std::to_string(d), "d" + std::to_string(d), "old");
  for (int d = 0; d < 4; ++d) write(EventKind::kChange, "d" + std::to_string(d), 2);
  for (int d = 0; d < 4; ++d) ask("b" + std::to_string(d), "d" + std::to_string(d), "new");
  return made;
}

std::string written_page(const Played& played, const fs::path& directory) {
  const ReplayTable table = make_replay_table(played.events, played.samples, {"m<1>"});
  write_replay(table, played.events, {.title = "T", .lead = "L", .command = "buoy replay", .facts = {}},
               directory);
  return read_file(directory / "report.html");
}

TEST(ReplayPage, ShowsTheTimeLineTheChangesAndAttention) {
  const TempDir directory;
  const std::string page = written_page(play(true), directory.path());
  for (const char* id : {"id=\"time\"", "id=\"changes\"", "id=\"attention\""})
    EXPECT_NE(page.find(id), std::string::npos) << id;
  EXPECT_EQ(page.find("m<1>"), std::string::npos) << "names are escaped";
  EXPECT_NE(
      page.find(
          "100.0 [100.0, 100.0]&nbsp;% of the answers that could (n&nbsp;=&nbsp;4), 0.0&nbsp;% without"),
      std::string::npos);
  EXPECT_NE(page.find("−100.0 [−100.0, −100.0]"), std::string::npos) << "exact match after less before";
  for (const char* file : {"replay.csv", "replay.json", "figures/timeline.csv", "figures/changes.csv",
                           "figures/attention.csv"}) {
    EXPECT_TRUE(fs::exists(directory / file)) << file;
  }
}

TEST(ReplayPage, WithoutTracesOrChangesTheirSectionsAreNotThere) {
  const TempDir directory;
  Played played = play(false);
  std::erase_if(played.events, [](const Event& e) { return e.kind == EventKind::kChange; });
  const std::string page = written_page(played, directory.path());
  EXPECT_NE(page.find("id=\"time\""), std::string::npos);
  EXPECT_EQ(page.find("id=\"changes\""), std::string::npos);
  EXPECT_EQ(page.find("id=\"attention\""), std::string::npos);
}

TEST(ReplayFigures, EventsStandAtTheirPlaces) {
  const TempDir directory;
  const Played played = play(true);
  const ReplayTable table = make_replay_table(played.events, played.samples, {"m<1>"});
  const FigureWriter writer(directory.path(), {}, {"m<1>"});
  const StudyFigure figure = timeline_figure(table, played.events, writer);
  const CurvePanel& events = std::get<Curves>(figure.figure).panels.at(0);
  std::vector<double> added, changed;
  for (std::size_t i = 0; i < events.series.at(0).x.size(); i += 3)
    (events.series[0].y[i] > 4 ? added : changed).push_back(events.series[0].x[i]);
  EXPECT_EQ(added, (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(changed, (std::vector<double>{9, 10, 11, 12}));
}

TEST(DescribeStream, CountsEvents) {
  EXPECT_EQ(describe_stream("s.jsonl", play(false).events),
            "s.jsonl: 16 events, 8 of them questions; 4 documents added, 4 changed, 0 removed");
}

}  // namespace
}  // namespace buoy
