// Streams of events: what is read, what is refused and where, what documents are to a question, and how far a
// question stands from changes.
#include "buoy/corpus/event_stream.h"

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/io/file.h"
#include "buoy/io/test_support.h"

namespace buoy {
namespace {

const std::string kAddA = R"({"event":"add","id":"a","title":"A","text":"A lies in X."})";
const std::string kAsk =
    R"({"event":"ask","id":"q1","question":"Where does A lie?","answers":["X"],"about":["a"]})";

std::vector<Event> read_stream(const std::string& text, std::optional<Index> limit = {}) {
  const TempDir directory;
  write_file_atomically(directory / "s.jsonl", text);
  return read_events(directory / "s.jsonl", limit);
}

// The message without the folder.
std::string complaint(const std::string& text) {
  try {
    read_stream(text);
  } catch (const Error& error) {
    const std::string what = error.what();
    return what.substr(what.find("s.jsonl"));
  }
  return "";
}

TEST(EventStream, ReadsWhatIsThereAndCountsVersions) {
  const std::vector<Event> events =
      read_stream(kAddA + "\n\n" + R"({"event":"change","id":"a","text":"A lies in Y."})" + "\n" +
                  R"({"event":"add","id":"c","kind":"copy","of":"a","of_version":1,"text":"A lies in X."})" +
                  "\n" + R"({"event":"remove","id":"a","time":5})" + "\n" +
                  R"({"event":"add","id":"a","text":"A lies in Z.","time":5.5})" + "\n" +
                  R"({"event":"ask","id":"q","question":"Where?"})");
  ASSERT_EQ(events.size(), 6u);
  EXPECT_EQ(events[1].line, 3);
  EXPECT_EQ(events[1].version, 2);
  EXPECT_EQ(events[1].title, "A") << "a change without a title keeps it";
  EXPECT_EQ(events[2].document, DocumentKind::kCopy);
  EXPECT_EQ(events[2].of_version, 1);
  EXPECT_EQ(events[3].version, 2);
  EXPECT_EQ(events[4].version, 3) << "versions go on when a document comes back";
  EXPECT_EQ(events[4].title, "");
  EXPECT_EQ(events[4].time, 5.5);
  EXPECT_TRUE(events[5].answers.empty());
}

TEST(EventStream, ALimitCountsQuestions) {
  const std::string second = R"({"event":"ask","id":"q2","question":"Again?"})";
  EXPECT_EQ(read_stream(kAddA + "\n" + kAsk + "\n" + second, 1).size(), 2u);
  EXPECT_EQ(read_stream(kAddA + "\n" + kAsk + "\nno event", 1).size(), 2u) << "what comes after is not read";
}

struct Refusal {
  std::string stream, message;
};

TEST(EventStream, RefusesWithLineGotAndExpected) {
  const std::string ask = "\n" + kAsk;
  const std::vector<Refusal> refusals = {
      {kAddA + ask + "\n" + R"({"event":"ask","id":"q2","quest)", "this is the last line: it may be cut off"},
      {kAddA + "\n{\"event\":\"ask\"", "s.jsonl: line 2: "},
      {R"({"event":"put","id":"a","text":"t"})" + ask,
       R"(s.jsonl: line 1: "event" is "put", expected add, change, remove, ask)"},
      {R"({"event":"add","id":"a","titel":"A","text":"t"})" + ask,
       R"(s.jsonl: line 1: "add" has the field "titel", expected event, id, title, text)"},
      {R"({"event":"add","id":"a","text":"t","answers":["x"]})" + ask, R"("add" has the field "answers")"},
      {kAddA + "\n" + kAddA + ask, R"(s.jsonl: line 2: adds "a", which is there already)"},
      {kAddA + ask + ask, R"(s.jsonl: line 3: asks "q1" again)"},
      {R"({"event":"change","id":"b","text":"t"})" + ask, R"(line 1: changes "b", which is not there)"},
      {R"({"event":"remove","id":"b"})" + ask, R"(line 1: removes "b", which is not there)"},
      {kAddA + "\n" + R"({"event":"change","id":"a","text":"t","version":1})" + ask,
       R"("version" of "a" is 1, expected 2 or more)"},
      {R"({"event":"add","id":"a","text":""})" + ask, R"("text" is empty)"},
      {R"({"event":"add","id":"a"})" + ask, R"("text" is missing)"},
      {R"({"event":"add","id":"a","id":"b","text":"t"})" + ask, "line 1"},
      {R"({"event":"add","id":"a","text":"t","kind":"rumour"})" + ask, R"(a rumour has no "of")"},
      {R"({"event":"add","id":"a","text":"t","kind":"lie","of":"b"})" + ask, R"("kind" is "lie", expected)"},
      {R"({"event":"add","id":"a","text":"t","of":"b"})" + ask, R"(a document has "of", expected none)"},
      {R"({"event":"add","id":"a","text":"t","kind":"copy","of":"b"})" + ask, R"("of" is "b", expected)"},
      {kAddA + "\n" + R"({"event":"add","id":"c","text":"t","kind":"copy","of":"a","of_version":2})" + ask,
       R"("of_version" is 2, expected 1 to 1)"},
      {kAsk, R"("about" holds "a", expected documents that came before)"},
      {kAddA + "\n" +
           R"({"event":"ask","id":"q","question":"?","answers":["The X"],"outdated":["x"],"about":["a"]})",
       R"("x" is both in "answers" and in "outdated")"},
      {kAddA + "\n" + R"({"event":"ask","id":"q","question":"?","answers":["x","x"]})", R"("x" twice)"},
      {kAddA + "\n" + R"({"event":"ask","id":"q","question":"?","answers":"x"})", "answers"},
      {R"({"event":"add","id":"a","text":"t","time":2})" + std::string("\n") +
           R"({"event":"remove","id":"a","time":1})",
       R"(line 2: "time" is 1, expected 2 or later)"},
      {kAddA, "s.jsonl: 1 events and no question"},
      {"[1]", "line 1"},
  };
  for (const Refusal& refusal : refusals)
    EXPECT_NE(complaint(refusal.stream).find(refusal.message), std::string::npos)
        << refusal.stream << "\nsays: " << complaint(refusal.stream) << "\nexpected: " << refusal.message;
}

Event document(EventKind kind, const std::string& id, Index version, DocumentKind document = {},
               const std::string& of = "", Index of_version = 0) {
  Event event{.kind = kind, .id = id, .time = {}, .text = "text"};
  event.version = version;
  event.document = document;
  event.of = of;
  event.of_version = of_version;
  return event;
}

TEST(DocumentLedger, RolesFollowVersions) {
  using enum DocumentKind;
  Event question{.kind = EventKind::kAsk, .time = {}, .question = "?", .answers = {"X"}, .about = {"a"}};
  DocumentLedger ledger;
  ledger.apply(document(EventKind::kAdd, "a", 1));
  ledger.apply(document(EventKind::kAdd, "b", 1));
  ledger.apply(document(EventKind::kAdd, "copy", 1, kCopy, "a", 1));
  ledger.apply(document(EventKind::kAdd, "rumour", 1, kRumour, "a"));
  ledger.apply(document(EventKind::kAdd, "near", 1, kNearMiss, "a"));
  ledger.apply(document(EventKind::kAdd, "copy of b", 1, kCopy, "b", 1));
  ledger.apply(document(EventKind::kAdd, "rumour of b", 1, kRumour, "b"));
  EXPECT_EQ(ledger.role_for(question, "a", ""), "current");
  EXPECT_EQ(ledger.role_for(question, "b", ""), "unrelated");
  EXPECT_EQ(ledger.role_for(question, "copy", ""), "current");
  EXPECT_EQ(ledger.role_for(question, "rumour", ""), "rumour");
  EXPECT_EQ(ledger.role_for(question, "near", ""), "near-miss");
  EXPECT_EQ(ledger.role_for(question, "copy of b", ""), "unrelated");
  EXPECT_EQ(ledger.role_for(question, "rumour of b", ""), "unrelated");
  ledger.apply(document(EventKind::kChange, "a", 2));
  EXPECT_EQ(ledger.role_for(question, "a", ""), "current");
  EXPECT_EQ(ledger.role_for(question, "copy", ""), "outdated");
  EXPECT_EQ(ledger.count(), 7);
  ledger.apply(document(EventKind::kRemove, "a", 2));
  EXPECT_EQ(ledger.role_for(question, "copy", ""), "outdated");
  EXPECT_EQ(ledger.find("a"), nullptr);
}

TEST(DocumentLedger, WithoutAboutTheWordsDecide) {
  const DocumentLedger ledger;
  const Event question{.kind = EventKind::kAsk,
                       .time = {},
                       .question = "?",
                       .answers = {"Halford"},
                       .outdated = {"Norwick"},
                       .rumoured = {"Talmouth"}};
  EXPECT_EQ(ledger.role_for(question, "d", "Born in halford, not in Norwick."), "current");
  EXPECT_EQ(ledger.role_for(question, "d", "Born in Norwick."), "outdated");
  EXPECT_EQ(ledger.role_for(question, "d", "Born in Talmouth."), "rumour");
  EXPECT_EQ(ledger.role_for(question, "d", "Born."), "unrelated");
  EXPECT_EQ(ledger.role_for({.time = {}, .question = "?"}, "d", "Born."), "");
}

// One letter per event: "A" adds a, "c" changes it to the next value, "w" rewords it, "?" asks about it, "o"
// asks something else.
std::vector<Event> sketch(const std::string& letters) {
  std::vector<Event> events;
  Index version = 0, value = 0, asked = 0;
  for (const char letter : letters) {
    if (letter == 'c') ++value;
    if (letter == '?' || letter == 'o') {
      events.push_back({.kind = EventKind::kAsk,
                        .id = "q" + std::to_string(++asked),
                        .time = {},
                        .question = letter == '?' ? "Where?" : "Else?",
                        .answers = {std::to_string(value)},
                        .about = {letter == '?' ? "a" : "b"}});
    } else {
      events.push_back(document(letter == 'A' ? EventKind::kAdd : EventKind::kChange, "a", ++version));
    }
  }
  return events;
}

// "+1c -2k": offsets of each question; c changed, k kept.
std::vector<std::string> offsets(const std::string& letters) {
  std::vector<std::string> out;
  for (const StreamQuestion& q : place_questions(sketch(letters))) {
    std::string text;
    for (const ChangeOffset& offset : q.offsets) {
      text += (text.empty() ? "" : " ") + std::to_string(offset.offset) +
              (offset.answer == ChangeOffset::Answer::kChanged ? "c" : "k");
    }
    out.push_back(text);
  }
  return out;
}

TEST(PlaceQuestions, CountsFromTheChangeInBothDirections) {
  using List = std::vector<std::string>;
  EXPECT_EQ(offsets("A???"), (List{"", "", ""})) << "nothing changed";
  EXPECT_EQ(offsets("A??c??"), (List{"-2c", "-1c", "1c", "2c"}));
  EXPECT_EQ(offsets("A?w?"), (List{"-1k", "1k"})) << "a change that keeps the answer";
  EXPECT_EQ(offsets("A?c?w??"), (List{"-1c", "1c -1k", "1k", "2k"}));
  EXPECT_EQ(offsets("A??c"), (List{"", ""})) << "never asked after it";
  EXPECT_EQ(offsets("Ac??"), (List{"", ""})) << "never asked before it";
  EXPECT_EQ(offsets("A?ccc?"), (List{"-1c", "1c"})) << "changes that nobody asked between are one";
  EXPECT_EQ(offsets("A?oco?"), (List{"-1c", "", "", "1c"})) << "other questions, other documents";
}

TEST(PlaceQuestions, CountsDocumentsThatHoldTheAnswer) {
  std::vector<Event> events = sketch("A");
  events.push_back(document(EventKind::kAdd, "k", 1, DocumentKind::kCopy, "a", 1));
  events.push_back(sketch("A?").back());
  events.push_back(document(EventKind::kChange, "a", 2));
  events.push_back(sketch("A??").back());
  const std::vector<StreamQuestion> placed = place_questions(events);
  EXPECT_EQ(placed[0].documents, 2);
  EXPECT_EQ(placed[0].current, 2);
  EXPECT_EQ(placed[1].current, 1) << "the copy is of the version before";
  EXPECT_EQ(placed[1].event, 4);
}

TEST(HashQuestions, DependsOnEverythingBeforeAndNothingAfter) {
  const std::vector<Event> events = sketch("A?c?w?");
  const std::vector<std::string> before = hash_questions(events);
  ASSERT_EQ(before.size(), 3u);
  std::vector<Event> longer = events;
  longer.push_back(document(EventKind::kRemove, "a", 3));
  EXPECT_EQ(hash_questions(longer), before);
  std::vector<Event> other = events;
  other[2].text += ".";
  EXPECT_EQ(hash_questions(other)[0], before[0]);
  EXPECT_NE(hash_questions(other)[1], before[1]);
  EXPECT_NE(hash_questions(other)[2], before[2]);
  other = events;
  other[3].outdated = {"7"};
  EXPECT_NE(hash_questions(other)[1], before[1]);
}

}  // namespace
}  // namespace buoy
