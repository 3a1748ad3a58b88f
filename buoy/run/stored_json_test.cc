// A run's file may be a stranger's: what it holds is a value or one line of error, never anything else.
#include "buoy/run/stored_json.h"

#include <filesystem>
#include <functional>

#include <gtest/gtest.h>
#include <unistd.h>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/run/run_identity.h"
#include "buoy/run/run_reader.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(StoredJson, MeasurementsComeBackAndNothingElseDoes) {
  const Measurements made = {
      {.quantity = "q", .layer = 3, .head = -1, .part = "p", .value = 0.5, .weight = 2},
      {.quantity = "r", .part = "", .value = 1, .weight = 1, .null = 0.25}};
  const Measurements back = measurements_from_json(measurements_to_json(made), "place");
  ASSERT_EQ(back.size(), 2U);
  EXPECT_EQ(back[0].layer, 3);
  EXPECT_EQ(back[1].null, 0.25);
  for (const char* text :
       {"5", "{}", "null", "[5]", "[[]]", R"([["a", 1, 2, "p", 0.5]])", R"([[1, 2, 3, "p", 5, 6, 7]])",
        R"([["a", 1.5, 2, "p", 5, 6, null]])", R"([["a", 1, 99999999, "p", 5, 6, null]])",
        R"([["a", 1, 2, "p", "x", 6, null]])", R"([["a", 1, 2, "p", 5, 6, "x"]])"}) {
    EXPECT_TRUE(error_of([&] { measurements_from_json(text, "place"); }).starts_with("place: ")) << text;
  }
}

TEST(StoredJson, PassagesListsAndTextsAreWhatTheySay) {
  for (const char* text :
       {"5", "{}", "[1]", "[{}]", R"([{"id": 1, "title": "t", "text": "x", "gold": true}])",
        R"([{"id": "a", "title": "t", "text": "x", "gold": 1}])",
        R"([{"id": "a", "title": "t", "text": "x", "gold": true, "evidence": [1]}])",
        R"([{"id": "a", "title": "t", "text": "x", "gold": true, "evidence": [[-5, 2]]}])"}) {
    EXPECT_TRUE(error_of([&] { passages_from_json(parse_json(text, "t"), "place"); }).starts_with("place: "))
        << text;
  }
  EXPECT_EQ(stored_integers("[1,-2]", "place", "ids"), (std::vector<Index>{1, -2}));
  for (const char* text : {"5", "[1.5]", "[true]", "[18446744073709551615]", "[[]]", "{}"})
    EXPECT_TRUE(error_of([&] { stored_integers(text, "place", "ids"); }).starts_with("place: ids is "))
        << text;
  EXPECT_TRUE(error_of([&] { stored_texts("[1]", "place", "answers"); }).starts_with("place: answers is "));
}

class HostileStore : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(directory_);
    RunStore store(path_, {.settings = {{"verb", "eval"}, {"models", {{"m", 1}}}, {"data", {{"d", 1}}}}});
    SampleResult one;
    one.key = {"m", "d", "none", "q1"};
    store.add(std::vector{one});
  }
  void TearDown() override { fs::remove_all(directory_); }
  std::string reading(const std::string& sql) {
    Database(path_).execute(sql);
    return error_of([&] { RunReader(path_).results(); });
  }
  fs::path directory_ = fs::temp_directory_path() / ("buoy_hostile_" + std::to_string(::getpid()));
  fs::path path_ = directory_ / "run.db";
};

TEST_F(HostileStore, NumbersAreWithinTheirBounds) {
  EXPECT_NE(reading("UPDATE samples SET em = 9e999").find("em of \"q1\" is inf, expected 0 to 1"),
            std::string::npos);
  EXPECT_NE(reading("UPDATE samples SET em = 1, steps = -1").find("steps of \"q1\" is -1"),
            std::string::npos);
}

TEST_F(HostileStore, TextIsUtf8AndSamplesAreOfTheRun) {
  EXPECT_NE(reading("UPDATE samples SET answer = CAST(x'ff' AS TEXT)").find("not UTF-8 at byte 0"),
            std::string::npos);
  EXPECT_NE(reading("UPDATE samples SET answer = '', data = 'other'")
                .find("\"other\", which is not among the data"),
            std::string::npos);
  EXPECT_EQ(reading("UPDATE samples SET data = 'd', model = 'm + mask-bos'"), "nothing was thrown");
}

TEST_F(HostileStore, HasNoTableIndexOrColumnOfItsOwn) {
  EXPECT_NE(reading("CREATE INDEX more ON samples(hex(zeroblob(100)))")
                .find("holds \"more\", which is no part of a run"),
            std::string::npos);
}

TEST_F(HostileStore, ColumnsThatComputeThemselvesAreRefused) {
  EXPECT_NE(reading("ALTER TABLE samples ADD COLUMN x AS (hex(zeroblob(100)))").find("holds \"samples\""),
            std::string::npos);
}

TEST_F(HostileStore, SettingsAreSettings) {
  for (const char* text : {"5", "[]", "{\"verb\": 5}", "{\"models\": 5}", "{\"data\": []}", "null"}) {
    EXPECT_NE(reading(std::string("UPDATE run SET settings = '") + text + "'").find("the settings"),
              std::string::npos)
        << text;
  }
}

}  // namespace
}  // namespace buoy
