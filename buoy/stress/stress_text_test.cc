// Phrases found and replaced, and evidence that goes with its text.
#include "buoy/stress/stress_text.h"

#include <gtest/gtest.h>

#include "buoy/stress/stress_test_support.h"

namespace buoy {
namespace {

using Strings = std::vector<std::string>;

QaPassage gold(const std::string& text, const std::string& evidence) {
  QaPassage passage{.title = "T", .text = text, .gold = true};
  const Index begin = count_code_points(text.substr(0, text.find(evidence)));
  passage.evidence = {{begin, begin + count_code_points(evidence)}};
  return passage;
}

std::string evidence_after(const QaPassage& passage, const std::vector<TextEdit>& edits) {
  const QaPassage now = edited(passage, edits);
  return text_of(now, now.evidence.at(0));
}

TEST(StressText, EvidenceGoesWithItsText) {
  const QaPassage passage = gold("Où? It was in 1909. End.", "in 1909");
  ASSERT_EQ(passage.text.substr(12), "in 1909. End.");  // bytes: ù has two
  EXPECT_EQ(evidence_after(passage, {{0, 4, "Where is it"}}), "in 1909");
  EXPECT_EQ(evidence_after(passage, {{15, 19, "1910"}}), "in 1910");
  EXPECT_EQ(evidence_after(passage, {{15, 20, "19099."}}), "in 19099.");   // the edit reaches past its end
  EXPECT_EQ(evidence_after(passage, {{9, 14, "was at"}}), "was at 1909");  // … and before its beginning
  EXPECT_EQ(evidence_after(passage, {{21, 25, "Fin."}}), "in 1909");
  EXPECT_EQ(evidence_after(passage, {{15, 20, ""}}), "in");  // no white space at the end
  EXPECT_EQ(evidence_after(passage, {{12, 21, ""}}), "");
  EXPECT_EQ(edited(passage, std::vector<TextEdit>{{0, 4, ""}, {21, 25, "Fin."}}).text,
            " It was in 1909. Fin.");
}

TEST(StressText, PhrasesStandAlone) {
  const auto count = [](std::string_view text, std::string_view phrase) {
    return replacements(text, phrase, "x").size();
  };
  EXPECT_EQ(count("Lot of lots, a lot.", "lot"), 2u);
  EXPECT_EQ(count("1909 and 19091 and (1909)", "1909"), 2u);
  EXPECT_EQ(count("caféteria café", "caf"), 0u);
  EXPECT_EQ(count("東京都は東京", "東京"), 2u);  // no spaces, no borders
  EXPECT_EQ(count("anything", ""), 0u);
}

TEST(StressText, TheFirstOfTwoThatOverlapWins) {
  const QaPassage passage{.title = "New York City", .text = "In New York City, not in York."};
  const std::vector<Replacement> list =
      answer_replacements(std::vector<std::string>{"York", "New York City"}, "Rome");
  EXPECT_EQ(replaced(passage, list).text, "In Rome, not in Rome.");
  EXPECT_EQ(replaced(passage, list).title, "Rome");
}

TEST(StressText, AnswersAreFoundAsTheyAreCompared) {
  EXPECT_TRUE(holds_answer("It was THE Gasen, Letters!", Strings{"gasen letters"}));
  EXPECT_FALSE(holds_answer("It was in 19091.", Strings{"1909"}));
  EXPECT_FALSE(holds_answer("Anything", Strings{"the"}));  // nothing is left of it
}

TEST(StressText, TheSubjectIsWhatTheQuestionNames) {
  const auto subject = [](std::string_view question, const std::string& text) {
    return subject_in(question, {.title = "T", .text = text}).value_or("");
  };
  EXPECT_EQ(subject("When was The Gasen Letters published?", "The Gasen Letters is a book."),
            "The Gasen Letters");
  EXPECT_EQ(subject("Was Élan Vital born in 1909?", "It was 1909 when Élan Vital came."), "Élan Vital");
  EXPECT_EQ(subject("In which region was Isva born?", "In Kalt it rains."),
            "");  // "In" only begins the question
  EXPECT_EQ(subject("Harton [SEP] river", "The mayor of Harton. Harton stands."), "Harton");
  EXPECT_EQ(subject("who is it", "Who is it?"), "");
}

}  // namespace
}  // namespace buoy
