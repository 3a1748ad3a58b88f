#include "buoy/corpus/words.h"

#include <algorithm>
#include <iterator>

#include "buoy/text/utf8.h"

namespace buoy {
namespace {

bool ends_sentence(std::string_view word) {
  constexpr std::string_view kEnds[] = {".", "!", "?", "…", "。", "！", "？"};
  constexpr std::string_view kClosers[] = {"\"", "'", ")", "]", "”", "’", "»"};
  const auto ends_word = [&word](std::string_view tail) { return word.ends_with(tail); };
  const std::string_view* closer = nullptr;
  while ((closer = std::ranges::find_if(kClosers, ends_word)) != std::end(kClosers)) {
    word.remove_suffix(closer->size());
  }
  return std::ranges::any_of(kEnds, ends_word);
}

}  // namespace

std::string_view slice(std::string_view text, Index begin, Index end) {
  return text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

std::vector<Word> split_words(std::string_view text) {
  std::vector<Word> words;
  bool in_word = false;
  Index line_feeds = 0;  // since the last word
  for (Index at = 0; at < std::ssize(text);) {
    const CodePoint c = code_point_at(text, at);
    if (is_white_space(c.value)) {
      if (c.value == U'\n' && ++line_feeds == 2 && !words.empty()) words.back().after = Break::kParagraph;
      in_word = false;
    } else {
      if (!in_word) words.push_back({.begin = at, .end = at});
      words.back().end = at + c.length;
      in_word = true;
      line_feeds = 0;
    }
    at += c.length;
  }
  for (Word& word : words) {
    if (word.after == Break::kNone && ends_sentence(slice(text, word.begin, word.end))) {
      word.after = Break::kSentence;
    }
  }
  return words;
}

}  // namespace buoy
