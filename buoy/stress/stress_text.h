// Text under stress: phrases found and replaced, words disturbed, with evidence that stays where it was.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/corpus/dataset.h"

namespace buoy {

// Bytes of a text and what stands there instead.
struct TextEdit {
  Index begin = 0, end = 0;
  std::string text;
};

// The passage with its text changed; `edits` in order, without overlap, on borders of code points. Evidence
// goes with its text, less the white space around it. What is left of a span without text is an empty span,
// so that the rest of the passage is not taken for evidence.
QaPassage edited(const QaPassage& passage, std::span<const TextEdit> edits);

// One edit for every place where `phrase` stands: not inside a longer word, capitals or not (of ASCII).
std::vector<TextEdit> replacements(std::string_view text, std::string_view phrase, std::string_view with);

// Whether one of the answers stands in the text as whole words, both normalised as answers are compared.
bool holds_answer(std::string_view text, std::span<const std::string> answers);

struct Replacement {
  std::string phrase, with;
};

// The passage with phrases replaced in text and title; where two overlap, the one listed first.
QaPassage replaced(const QaPassage& passage, std::span<const Replacement> list);

// All answers by another one, the longest first, since one may be a part of another.
std::vector<Replacement> answer_replacements(std::span<const std::string> answers, std::string_view another);

// What a question is about, as the passage names it: the longest run of the question's words that begin with
// a capital or a digit and stand in the passage so. Nothing where there is none.
std::optional<std::string> subject_in(std::string_view question, const QaPassage& passage);

}  // namespace buoy
