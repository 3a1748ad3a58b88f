// The truth of a stream, read back from its documents' words alone.
#include "buoy/world/world_events.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/world/world_test_support.h"

namespace buoy {
namespace {

using testing::StatedFact;

std::vector<Json> stream_of(const EventSettings& settings, EventCounts* counts = nullptr) {
  std::vector<Json> events;
  const EventCounts made =
      write_events(settings, [&](const std::string& line) { events.push_back(parse_json(line, "stream")); });
  if (counts != nullptr) *counts = made;
  return events;
}

struct KeptDocument {
  std::string text, kind, of;
  std::vector<std::string> versions;           // texts, the first one first
  std::vector<std::vector<StatedFact>> facts;  // of each version
};

// The documents as a reader of the stream would keep them.
class Reader {
 public:
  void take(const Json& event) {
    const std::string kind = event["event"], id = event["id"];
    if (kind == "remove") {
      ASSERT_EQ(there.erase(id), 1u);
    } else if (kind == "change") {
      ASSERT_TRUE(there.contains(id));
      there[id].text = event["text"];
      there[id].versions.push_back(event["text"]);
      there[id].facts.push_back(testing::read_passage(there[id].text));
      EXPECT_EQ(event["version"], there[id].versions.size());
    } else if (kind == "add") {
      ASSERT_FALSE(there.contains(id));
      there[id] = {
          event["text"], event.value("kind", "document"), event.value("of", ""), {event["text"]}, {}};
      there[id].facts.push_back(testing::read_passage(there[id].text));
    }
  }
  std::map<std::string, KeptDocument> there;
};

// The one attribute that the question asks for, and of whom.
StatedFact asked_fact(const std::string& question) {
  std::vector<StatedFact> fits;
  for (int k = 0; k < kEntityKinds; ++k) {
    for (const Attribute& attribute : attributes_of(static_cast<EntityKind>(k))) {
      for (Index p = 0; p < phrasing_count(attribute.questions); ++p) {
        const std::string_view phrase = attribute.questions[static_cast<std::size_t>(p)];
        const std::size_t open = phrase.find("{n}");
        const std::string_view before = phrase.substr(0, open), after = phrase.substr(open + 3);
        if (!question.starts_with(before) || !question.ends_with(after)) continue;
        fits.push_back({static_cast<EntityKind>(k), attribute.key,
                        question.substr(open, question.size() - before.size() - after.size()), ""});
      }
    }
  }
  EXPECT_EQ(fits.size(), 1u) << question;
  return fits.at(0);
}

std::set<std::string> stated(const std::vector<StatedFact>& facts, const StatedFact& asked) {
  std::set<std::string> values;
  for (const StatedFact& fact : facts) {
    if (fact.name == asked.name && fact.key == asked.key) values.insert(fact.value);
  }
  return values;
}

std::set<std::string> texts(const Json& event, const char* field) {
  if (!event.contains(field)) return {};
  return event[field].get<std::set<std::string>>();
}

void expect_truth(const EventSettings& settings) {
  Reader reader;
  Index questions = 0, outdated = 0, rumoured = 0;
  for (const Json& event : stream_of(settings)) {
    reader.take(event);
    if (event["event"] != "ask") continue;
    ++questions;
    const StatedFact asked = asked_fact(event["question"]);
    const std::string about = event["about"].at(0);
    ASSERT_TRUE(reader.there.contains(about));
    const KeptDocument& document = reader.there.at(about);
    const std::set<std::string> now = stated(document.facts.back(), asked);
    EXPECT_EQ(texts(event, "answers"), now) << event;
    EXPECT_EQ(now.size(), 1u);
    std::set<std::string> before, rumours;
    for (const auto& facts : document.facts) before.merge(stated(facts, asked));
    before.erase(*now.begin());
    EXPECT_EQ(texts(event, "outdated"), before) << event;
    for (const auto& [id, other] : reader.there) {
      if (id == about) continue;
      const std::set<std::string> values = stated(other.facts.back(), asked);
      if (other.kind == "rumour" && other.of == about) {
        EXPECT_EQ(values.size(), 1u);
        rumours.insert(values.begin(), values.end());
      } else if (other.kind == "copy" && other.of == about) {
        EXPECT_NE(std::ranges::find(document.versions, other.text), document.versions.end());
      } else {
        EXPECT_TRUE(values.empty()) << id << " states " << *values.begin();
      }
    }
    EXPECT_EQ(texts(event, "rumoured"), rumours) << event;
    for (const std::string& value : rumours)
      EXPECT_FALSE(before.contains(value)) << value << " was true once";
    outdated += before.empty() ? 0 : 1;
    rumoured += rumours.empty() ? 0 : 1;
  }
  EXPECT_GT(questions, settings.events / 4);
  EXPECT_GT(outdated, questions / 5);
  EXPECT_GT(rumoured, questions / 10);
}

TEST(WorldEvents, AnswersAreWhatTheDocumentsSayAtThatMoment) {
  for (const std::uint64_t seed : {0, 1, 2}) expect_truth({.seed = seed, .events = 400});
  expect_truth({.seed = 3, .events = 1500, .subjects = 6});
}

TEST(WorldEvents, AKnownWorldBeginsAsItIsKnown) {
  const World known = make_known_world();
  for (const Json& event : stream_of({.seed = 4, .events = 100, .world = WorldKind::kKnown})) {
    if (event["event"] != "add" || event.contains("kind")) continue;
    const auto entity = std::ranges::find(known.entities, event["title"].get<std::string>(), &Entity::name);
    ASSERT_NE(entity, known.entities.end());
    for (const StatedFact& fact : testing::read_passage(event["text"].get<std::string>()))
      EXPECT_EQ(fact.value, entity->values[static_cast<std::size_t>(attribute_index(fact.kind, fact.key))]);
  }
  expect_truth({.seed = 4, .events = 400, .world = WorldKind::kKnown});
}

TEST(WorldEvents, SameSeedSameBytesAndAsManyLinesAsAsked) {
  const auto bytes = [](std::uint64_t seed) {
    std::string text;
    write_events({.seed = seed, .events = 137}, [&](const std::string& line) { text += line; });
    return text;
  };
  EXPECT_EQ(bytes(1), bytes(1));
  EXPECT_NE(bytes(1), bytes(2));
  const std::string text = bytes(1);
  EXPECT_EQ(std::ranges::count(text, '\n'), 137);
}

TEST(WorldEvents, CountsWhatIsThere) {
  EventCounts counts;
  const std::vector<Json> events = stream_of({.seed = 1, .events = 200}, &counts);
  const auto count = [&](const char* kind) {
    return std::ranges::count_if(events, [&](const Json& e) { return e["event"] == kind; });
  };
  EXPECT_EQ(counts.events, 200);
  EXPECT_EQ(counts.questions, count("ask"));
  EXPECT_EQ(counts.changes, count("change"));
}

TEST(WorldEvents, SharesOfNothingGiveNothing) {
  std::set<std::string> kinds;
  for (const Json& event : stream_of({.seed = 5,
                           .events = 300,
                           .near_misses = 0,
                           .rumours = 0,
                           .removals = 0,
                           .additions = 0,
                           .rewordings = 1,
                           .copies = 1})) {
    kinds.insert(event["event"].get<std::string>() + event.value("kind", ""));
    EXPECT_FALSE(event.contains("outdated")) << event;
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"add", "ask", "change"}));
}

TEST(WorldEvents, NearMissesShareAWordOrABeginningWithTheirOriginal) {
  std::map<std::string, std::string> titles;
  Index near = 0;
  for (const Json& event : stream_of({.seed = 6, .events = 120, .near_misses = 1})) {
    if (event["event"] != "add") continue;
    const std::string title = event["title"];
    if (event.value("kind", "") == "near-miss") {
      ++near;
      const std::string& of = titles.at(event["of"]);
      EXPECT_NE(title, of);
      EXPECT_EQ(title.substr(0, 2), of.substr(0, 2));
    }
    titles[event["id"]] = title;
  }
  EXPECT_GE(near, 24);
}

TEST(WorldEvents, SettingsThatContradictAreUsageErrors) {
  EXPECT_THROW(check_settings(EventSettings{.events = 48}), UsageError);
  EXPECT_NO_THROW(check_settings(EventSettings{.events = 49}));
  EXPECT_THROW(check_settings(EventSettings{.rumours = 0.9, .removals = 0.2}), UsageError);
  EXPECT_THROW(check_settings(EventSettings{.copies = 1.5}), UsageError);
  EXPECT_THROW(check_settings(EventSettings{.subjects = 0}), UsageError);
}

}  // namespace
}  // namespace buoy
