// Text as words: where each begins and ends, and whether a sentence or a paragraph ends with it.
#pragma once

#include <string_view>
#include <vector>

#include "buoy/base/types.h"

namespace buoy {

enum class Break { kNone, kSentence, kParagraph };  // what ends with a word

struct Word {
  Index begin, end;  // bytes
  Break after = Break::kNone;
};

// What stands between white space. A sentence ends with a word that ends with a full stop or the like,
// closing quotes and brackets aside, so abbreviations end one too. `text` is valid UTF-8.
std::vector<Word> split_words(std::string_view text);

// Bytes begin .. end-1.
std::string_view slice(std::string_view text, Index begin, Index end);

}  // namespace buoy
