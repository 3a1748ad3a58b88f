// Levels of stress: what is read, what is refused.
#include <set>

#include <gtest/gtest.h>

#include "buoy/stress/stress_test_support.h"

namespace buoy {
namespace {

using Strings = std::vector<std::string>;

Strings level_texts(const std::string& spec, const StressOptions& options = {}) {
  Strings texts;
  for (const StressLevel& level : parse_stress(spec, options)) texts.push_back(level.text);
  return texts;
}

TEST(StressLevels, AreReadCheckedAndPutInOrderOfStress) {
  EXPECT_EQ(level_texts("irrelevant"), (Strings{"0", "0.2", "0.4", "0.6", "0.8", "0.9"}));
  EXPECT_EQ(level_texts("irrelevant=0.90,0,0.5"), (Strings{"0", "0.5", "0.9"}));
  EXPECT_EQ(level_texts("steps=4,16"), (Strings{"16", "4"}));
  EXPECT_EQ(level_texts("query-place=before,after"), (Strings{"after", "before"}));
  EXPECT_EQ(level_texts("gold-position", {.passages = 3}), (Strings{"1", "2", "3"}));
  EXPECT_EQ(level_texts("hop-distance", {.passages = 5}), (Strings{"0", "1", "2"}));
  EXPECT_EQ(level_of("irrelevant=0.4").name(), "irrelevant=0.4");
  EXPECT_DOUBLE_EQ(*level_of("irrelevant=0.4").stress(), 4);  // of 10 %
  EXPECT_DOUBLE_EQ(*level_of("passages=8").stress(), 3);
  EXPECT_DOUBLE_EQ(*level_of("steps=8").stress(), -3);
  EXPECT_FALSE(level_of("collection=changed").stress());
}

TEST(StressLevels, SayWhatIsWrongWithThem) {
  const auto error = [](const std::string& spec) {
    return message_of([&] { parse_stress(spec, {.passages = 4}); });
  };
  EXPECT_EQ(error("irrelevant=1.5"), "irrelevant: level \"1.5\" is out of range, expected from 0 to 1");
  EXPECT_EQ(
      error("near-duplicates=4"),
      "near-duplicates: level \"4\" is out of range, expected a whole number from 0 to 3 (prompts have 4 "
      "passages)");
  EXPECT_EQ(error("hop-order=up"),
            "hop-order: level \"up\" is out of range, expected one of forward, reverse");
  EXPECT_EQ(error("typos=0.1,0.10"), "typos: level 0.1 is given twice");
  for (const char* bad : {"typos=", "typos=nan", "typos=0.1x", "typos=0.1,,0.2", "steps=2.5", "steps=0"}) {
    EXPECT_NE(error(bad).find("out of range"), std::string::npos) << bad << ": " << error(bad);
  }
  EXPECT_NE(error("heat").find("\"heat\" is no stressor; there are irrelevant, near-duplicates"),
            std::string::npos);
  EXPECT_NE(message_of([] { parse_stress("hop-distance", {.passages = 1}); }).find("no level that fits"),
            std::string::npos);
}

TEST(StressLevels, EveryStressorBeginsWithItsLeastStress) {
  std::set<std::string_view> names;
  for (const Stressor& stressor : stressors()) {
    EXPECT_TRUE(names.insert(stressor.name).second) << stressor.name;
    const std::vector<StressLevel> levels = parse_stress(stressor.name, {});
    EXPECT_GT(levels.size(), 1u) << stressor.name;
    EXPECT_FALSE(stressor.title.empty() || stressor.axis.empty() || stressor.explanation.empty());
    EXPECT_EQ(stressor.unit.empty(), stressor.categorical()) << stressor.name;
    if (!stressor.levels.empty()) {
      EXPECT_EQ(levels[0].text, stressor.levels[0]) << stressor.name;
    }
  }
  EXPECT_EQ(names.size(), 18u);
}

}  // namespace
}  // namespace buoy
