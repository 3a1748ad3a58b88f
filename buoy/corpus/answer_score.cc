#include "buoy/corpus/answer_score.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include <utf8proc.h>

#include "buoy/text/utf8.h"

namespace buoy {
namespace {

bool is_ascii_punctuation(char32_t c) {
  return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
}

// What \w matches in Python: letters, digits of any kind, underscore.
bool is_python_word_character(char32_t c) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return true;
    default:
      return c == '_';
  }
}

// Case_Ignorable of Unicode: what may stand between the letters of a word without ending it.
bool is_case_ignorable(char32_t c) {
  constexpr std::u32string_view kInsideWords =
      U"'.:\u00B7\u0387\u055F\u05F4\u2018\u2019\u2024\u2027\uFE13\uFE52\uFE55\uFF07\uFF0E\uFF1A";
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return kInsideWords.find(c) != kInsideWords.npos;
  }
}

bool is_cased(char32_t c) {
  const auto value = static_cast<utf8proc_int32_t>(c);
  const utf8proc_category_t category = utf8proc_category(value);
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
         category == UTF8PROC_CATEGORY_LT || utf8proc_islower(value) != 0 || utf8proc_isupper(value) != 0;
}

// Whether a capital sigma there ends a word: a cased letter before it, none after it.
bool is_final(const std::u32string& text, std::size_t at) {
  const auto cased_comes_first = [](auto begin, auto end) {
    const auto found = std::find_if_not(begin, end, is_case_ignorable);
    return found != end && is_cased(*found);
  };
  const auto sigma = text.begin() + static_cast<std::ptrdiff_t>(at);
  return cased_comes_first(std::make_reverse_iterator(sigma), text.rend()) &&
         !cased_comes_first(sigma + 1, text.end());
}

// As Python's str.lower(), which maps in full: utf8proc's mapping of one code point to one falls short of it
// for the dotted capital I, which becomes two, and the capital sigma, whose form depends on its neighbours.
std::u32string lower(const std::u32string& text) {
  std::u32string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == U'\u0130') {
      out += U"i\u0307";
    } else if (text[i] == U'\u03A3' && is_final(text, i)) {
      out += U'\u03C2';
    } else {
      out += static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(text[i])));
    }
  }
  return out;
}

// Python's str.split() also cuts at the four separators of ASCII.
bool is_separator(char32_t c) {
  return is_white_space(c) || (c >= 0x1C && c <= 0x1F);
}

// Articles become a space where they are whole words by Python's \b: between word characters and others.
std::u32string drop_articles(const std::u32string& text) {
  std::u32string out;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_python_word_character(text[i])) {
      out += text[i++];
      continue;
    }
    const std::size_t begin = i;
    while (i < text.size() && is_python_word_character(text[i])) ++i;
    const std::u32string_view word = std::u32string_view(text).substr(begin, i - begin);
    const bool article = word == U"a" || word == U"an" || word == U"the";
    article ? out += U' ' : out += word;
  }
  return out;
}

std::vector<std::string> words_of(const std::string& normalised) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < normalised.size();) {
    const std::size_t end = std::min(normalised.find(' ', at), normalised.size());
    words.push_back(normalised.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

double f1_of(const std::string& answer, const std::string& gold) {
  const std::vector<std::string> a = words_of(answer), b = words_of(gold);
  if (a.empty() || b.empty()) return a.empty() && b.empty() ? 1 : 0;  // as SQuAD 2.0 has it
  std::map<std::string, int> counts;
  for (const std::string& word : b) ++counts[word];
  double common = 0;
  for (const std::string& word : a) {
    if (counts[word]-- > 0) common += 1;
  }
  if (common == 0) return 0;
  const double precision = common / static_cast<double>(a.size()),
               recall = common / static_cast<double>(b.size());
  return 2 * precision * recall / (precision + recall);
}

}  // namespace

std::string normalise_answer(std::string_view raw) {
  const std::string text = repair_utf8(raw).text;
  std::u32string characters;
  for (Index byte = 0; byte < std::ssize(text);) {
    const CodePoint c = code_point_at(text, byte);
    byte += c.length;
    characters += c.value;
  }
  // In this order: the punctuation tells where the word of a sigma ends.
  characters = lower(characters);
  std::erase_if(characters, is_ascii_punctuation);
  std::string out;
  bool pending_space = false;
  for (const char32_t c : drop_articles(characters)) {
    if (is_separator(c)) {
      pending_space = !out.empty();
      continue;
    }
    if (std::exchange(pending_space, false)) out += ' ';
    append_utf8(out, c);
  }
  return out;
}

AnswerScore score_answer(std::string_view answer, std::span<const std::string> gold) {
  const std::string got = normalise_answer(answer);
  AnswerScore best;
  for (const std::string& g : gold) {
    const std::string want = normalise_answer(g);
    best.em = std::max(best.em, got == want ? 1.0 : 0.0);
    const bool inside = !want.empty() && got.find(want) != std::string::npos;
    best.substring = std::max(best.substring, inside ? 1.0 : 0.0);
    best.f1 = std::max(best.f1, f1_of(got, want));
  }
  return best;
}

}  // namespace buoy
