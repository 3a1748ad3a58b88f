// Scores of answers, against values that Python computed.
#include "buoy/corpus/answer_score.h"

#include <fstream>

#include <gtest/gtest.h>

#include "buoy/base/testing.h"
#include "buoy/io/json.h"

namespace buoy {
namespace {

TEST(AnswerScore, NormalisesAsSquadDoes) {
  EXPECT_EQ(normalise_answer(" The  Quick, brown\tFOX. "), "quick brown fox");
  EXPECT_EQ(normalise_answer("a the an"), "");
  EXPECT_EQ(normalise_answer("Theatre anthem"), "theatre anthem");
  EXPECT_EQ(normalise_answer("U.S.A."), "usa");
  EXPECT_EQ(normalise_answer("ÉCOLE Äpfel"), "école äpfel");
  EXPECT_EQ(normalise_answer("«the» end"), "« » end");
}

TEST(AnswerScore, TakesTheBestOfTheGoldAnswers) {
  const std::vector<std::string> gold = {"New York City", "NYC"};
  EXPECT_EQ(score_answer("the nyc", gold).em, 1);
  EXPECT_EQ(score_answer("In New York City, of course", gold).em, 0);
  EXPECT_EQ(score_answer("In New York City, of course", gold).substring, 1);
  EXPECT_DOUBLE_EQ(score_answer("New York", gold).f1, 0.8);
  EXPECT_EQ(score_answer("", gold).f1, 0);
}

TEST(AnswerScore, EqualsPythonOnTrickyPairs) {
  std::ifstream file(source_path("tests/answers/pairs.jsonl"));
  int pairs = 0;
  for (std::string line; std::getline(file, line); ++pairs) {
    const Json pair = parse_json(line, "pairs.jsonl");
    const auto prediction = pair["prediction"].get<std::string>();
    const AnswerScore score = score_answer(prediction, pair["golds"].get<std::vector<std::string>>());
    EXPECT_EQ(normalise_answer(prediction), pair["normalised"].get<std::string>()) << line;
    EXPECT_EQ(score.em, pair["em"].get<double>()) << line;
    EXPECT_EQ(score.substring, pair["substring"].get<double>()) << line;
    EXPECT_EQ(score.f1, pair["f1"].get<double>()) << line;
  }
  EXPECT_EQ(pairs, 500);
}

}  // namespace
}  // namespace buoy
