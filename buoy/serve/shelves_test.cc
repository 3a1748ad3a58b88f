// Turns, events, documents and tables: what holds whoever comes first, is slow, or dies.
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "buoy/base/testing.h"
#include "buoy/corpus/event_stream.h"
#include "buoy/io/file.h"
#include "buoy/io/json.h"
#include "buoy/io/test_support.h"
#include "buoy/serve/document_shelf.h"
#include "buoy/serve/event_log.h"
#include "buoy/serve/page.h"
#include "buoy/serve/table_shelf.h"
#include "buoy/serve/turns.h"

namespace buoy {
namespace {

using std::chrono::milliseconds;

TEST(Turns, ComeInTheOrderOfTheLineAndWhoComesBackStandsBehind) {
  TurnLine line;
  std::vector<int> served;
  Turn mine(line);
  std::vector<std::thread> others;
  for (int i = 1; i <= 3; ++i) {
    others.emplace_back([&, i] {
      const Turn turn(line);
      served.push_back(i);
    });
    while (line.length() < static_cast<std::uint64_t>(i) + 1) std::this_thread::yield();
  }
  mine.give_back();
  mine.take();
  served.push_back(0);
  mine.give_back();
  for (std::thread& other : others) other.join();
  EXPECT_EQ(served, (std::vector<int>{1, 2, 3, 0}));
}

TEST(Events, AreReadByEveryoneFromWhereTheyAre) {
  const auto log = std::make_shared<EventLog>();
  log->add("step", Json{{"step", 0}});
  log->add("step", Json{{"step", 1}});
  const auto all = stream_events(log, ""), resumed = stream_events(log, "1");
  EXPECT_EQ(*all->next(milliseconds(0)),
            "id: 1\nevent: step\ndata: {\"step\":0}\n\nid: 2\nevent: step\ndata: {\"step\":1}\n\n");
  EXPECT_EQ(*resumed->next(milliseconds(0)), "id: 2\nevent: step\ndata: {\"step\":1}\n\n");
  EXPECT_EQ(*all->next(milliseconds(0)), "") << "nothing new";
  log->add("state", Json{{"state", "done"}});
  log->close();
  EXPECT_NE(all->next(milliseconds(0))->find("done"), std::string::npos);
  EXPECT_FALSE(all->next(milliseconds(0)).has_value());
  for (const char* number : {"99", "-5", "x"}) {
    const auto odd = stream_events(log, number);
    EXPECT_EQ(odd->next(milliseconds(0)).has_value(), std::string(number) != "99") << number;
  }
}

TEST(LiveCollections, KeepALogThatReplayReads) {
  const TempDir dir;
  LiveCollection collection(dir / "c.jsonl");
  EXPECT_EQ(collection.put("halford", "Halford", "The mayor of Halford is Tor Banor."), 1);
  EXPECT_EQ(collection.put("halford", "Halford", "The mayor of Halford is Tor Banor."), 1) << "nothing new";
  EXPECT_EQ(collection.put("mirror", "", "A copy."), 1);
  const auto first = collection.ask("Who is the mayor of Halford?", 1);
  ASSERT_EQ(first.passages.size(), 1u);
  EXPECT_EQ(first.passages[0].id, "halford");
  EXPECT_EQ(collection.put("halford", "Halford", "The mayor of Halford is Mira Senlo."), 2);
  EXPECT_TRUE(collection.remove("mirror"));
  EXPECT_FALSE(collection.remove("mirror"));
  EXPECT_EQ(collection.put("mirror", "", "Back again."), 2) << "versions go on";
  const auto second = collection.ask("Who is the mayor?", 5);
  EXPECT_EQ(second.passages.at(0).document.version, 2);
  const std::vector<Event> events = read_events(dir / "c.jsonl");
  ASSERT_EQ(events.size(), 7u);
  EXPECT_EQ(events[2].id, "ask-1");
  EXPECT_EQ(events[3].kind, EventKind::kChange);
  EXPECT_EQ(events[5].version, 2);
  EXPECT_EQ(events[6].id, "ask-2");
}

TEST(LiveCollections, SurviveALineThatWasCutOffAndAnIndexThatIsBehind) {
  const TempDir dir;
  {
    LiveCollection collection(dir / "c.jsonl");
    collection.put("a", "A", "apples and pears");
    collection.put("b", "B", "plums");
    collection.ask("plums?", 1);
  }
  const std::string whole = read_file(dir / "c.jsonl");
  // Logged, and killed before the index had it; then the beginning of a line.
  std::ofstream(dir / "c.jsonl", std::ios::app)
      << R"({"event":"add","id":"c","title":"C","text":"cherries","time":9e9})"
      << "\n"
      << R"({"event":"add","id":"d","te)";
  LiveCollection again(dir / "c.jsonl");
  EXPECT_EQ(again.all().size(), 3u);
  EXPECT_EQ(again.ask("cherries", 1).passages.at(0).id, "c");
  EXPECT_EQ(again.ask("cherries", 1).id, "ask-3");
  EXPECT_TRUE(read_file(dir / "c.jsonl").starts_with(whole)) << "nothing that was logged is lost";
  EXPECT_EQ(read_events(dir / "c.jsonl").size(), 6u);
}

TEST(LiveCollections, NamesAreNoPaths) {
  const TempDir dir;
  DocumentShelf shelf(dir.path());
  for (const char* name : {"../x", "", "A", "a.b", "a/b"}) EXPECT_THROW(shelf.make(name), HttpError) << name;
  shelf.make("notes");
  EXPECT_THROW(shelf.make("notes"), HttpError);
  EXPECT_THROW(shelf.find("other"), HttpError);
  EXPECT_EQ(DocumentShelf(dir.path()).names(), (std::vector<std::string>{"notes"})) << "it is there again";
}

TEST(Tables, AreReadAsTheyAreWritten) {
  EXPECT_EQ(parse_csv("a,b\n1,\"x, \"\"y\"\"\nz\"\n", "t"),
            (std::vector<std::vector<std::string>>{{"a", "b"}, {"1", "x, \"y\"\nz"}}));
  EXPECT_THROW(parse_csv("a,b\n1\n", "t"), Error);
  EXPECT_THROW(parse_csv("a\n\"1\n", "t"), Error);
  EXPECT_THROW(parse_csv("", "t"), Error);
  const TempDir dir;
  std::ofstream(dir / "s.csv") << "sample,value,unit\n007,1.5,nats\nq2,,nan\n";
  const TableShelf shelf({dir / "s.csv"});
  EXPECT_EQ(
      shelf.table("s").dump(),
      R"({"columns":["sample","value","unit"],"rows":[["007",1.5,"nats"],["q2",null,"nan"]],"sample_column":0})");
  EXPECT_THROW(shelf.table("t"), HttpError);
}

// Of a study's folder: its tables, its figures with their drawings, and the samples behind their points.
TEST(Tables, OfFiguresKnowTheirPictureAndTheSamplesBehindThem) {
  const TempDir dir;
  std::filesystem::create_directories(dir / "figures");
  std::ofstream(dir / "samples.csv") << "model,data,task,sample,quantity,layer,head,part,value,weight,null\n"
                                        "a,d,t1,q1,drift,0,-1,all,1.5,1,\na,d,t2,q2,drift,0,-1,all,2.5,1,\n"
                                        "b,d,t1,q1,drift,0,-1,all,9,1,\na,d,t1,q1,drift,0,-1,rest,7,1,\n"
                                        "a,d,t1,q1,other,0,-1,all,8,1,\n";
  const std::string means = "model,data,task,quantity,layer,head,part,n,mean\n";
  std::ofstream(dir / "figures/drift.csv")
      << means << "a,*,*,drift,0,-1,all,2,2\na,d,t2,drift,0,-1,all,1,2.5\n";
  std::ofstream(dir / "figures/drift.svg") << "<svg/>";
  std::ofstream(dir / "figures/map.csv") << "panel,row,column,value\nlayer 0,0,0,1\n";
  std::ofstream(dir / "figures/behind_map.csv") << "panel,model,sample\n,a,q2\n";
  const TableShelf shelf(table_files({dir.path()}));
  std::vector<std::string> lines;
  for (const Json& t : shelf.list())
    lines.push_back(fmt::format("{} {} {}", t["id"].get<std::string>(), t["picture"].get<bool>(),
                                t["samples"].get<bool>()));
  EXPECT_EQ(lines, (std::vector<std::string>{"samples false false", "drift true true", "map false true"}));
  EXPECT_EQ(shelf.samples("drift")["rows"].dump(), R"([[0,"a","q1",1.5],[0,"a","q2",2.5],[1,"a","q2",2.5]])");
  EXPECT_EQ(shelf.samples("map")["rows"].dump(), R"([["","a","q2"]])");
  EXPECT_EQ(shelf.picture("drift"), "<svg/>");
  EXPECT_THROW(shelf.samples("samples"), HttpError);
  EXPECT_THROW(shelf.picture("map"), HttpError);
}

TEST(Page, IsTheFilesThatWereBuiltIn) {
  for (const PageFile& file : page_files()) {
    const std::filesystem::path path = source_path("buoy/serve/page") / std::string(file.name);
    EXPECT_TRUE(page_text(file.name) == read_file(path)) << file.name;
  }
  std::string bytes;
  for (unsigned i = 0; i < 100000; ++i) bytes += static_cast<char>(i * i >> 3);
  EXPECT_EQ(gunzip(gzip(bytes)), bytes);
  EXPECT_THROW(gunzip("no gzip at all"), Error);
}

}  // namespace
}  // namespace buoy
