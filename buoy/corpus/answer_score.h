// How right an answer is: SQuAD's exact match and F1, and whether the answer holds a gold one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace buoy {

// Lower case, without ASCII punctuation, without the words a, an and the, words joined by single spaces: code
// point for code point what SQuAD's Python does (tests/answers). Broken UTF-8 counts as U+FFFD.
std::string normalise_answer(std::string_view text);

struct AnswerScore {
  double em = 0;         // normalised forms are equal
  double substring = 0;  // a normalised gold answer stands inside the normalised answer
  double f1 = 0;         // overlap of words, each as often as it occurs
};

// The best over the gold answers, each score on its own. Without gold answers everything is 0. Where nothing
// is left of both after normalising, as of "" and "The", F1 and exact match are 1, as in SQuAD 2.0; a gold
// answer of which nothing is left stands inside no answer, as in the paper's scripts.
AnswerScore score_answer(std::string_view answer, std::span<const std::string> gold);

}  // namespace buoy
