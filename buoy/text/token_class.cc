#include "buoy/text/token_class.h"

#include <algorithm>
#include <array>
#include <string>

#include <utf8proc.h>

#include "buoy/base/error.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

// Articles, pronouns, prepositions, conjunctions, auxiliaries, question words and a few particles. Sorted.
constexpr std::array<std::string_view, 118> kFunctionWords = {
    "a",      "about",   "above",  "after", "again",  "against", "all",     "also",  "am",     "an",
    "and",    "any",     "are",    "as",    "at",     "be",      "because", "been",  "before", "being",
    "below",  "between", "both",   "but",   "by",     "can",     "could",   "did",   "do",     "does",
    "doing",  "down",    "during", "each",  "either", "for",     "from",    "had",   "has",    "have",
    "he",     "her",     "hers",   "him",   "his",    "how",     "i",       "if",    "in",     "into",
    "is",     "it",      "its",    "may",   "me",     "might",   "mine",    "must",  "my",     "neither",
    "no",     "nor",     "not",    "of",    "off",    "on",      "once",    "or",    "our",    "ours",
    "out",    "over",    "shall",  "she",   "should", "so",      "some",    "such",  "than",   "that",
    "the",    "their",   "theirs", "them",  "then",   "there",   "these",   "they",  "this",   "those",
    "though", "through", "to",     "too",   "under",  "until",   "up",      "upon",  "us",     "very",
    "was",    "we",      "were",   "what",  "when",   "where",   "which",   "while", "who",    "whom",
    "whose",  "why",     "will",   "with",  "would",  "yes",     "you",     "your"};

static_assert(std::is_sorted(kFunctionWords.begin(), kFunctionWords.end()),
              "is_function_word() searches by halves");

utf8proc_category_t category_of(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool is_punctuation(char32_t c) {
  switch (category_of(c)) {
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
    case UTF8PROC_CATEGORY_SM:
    case UTF8PROC_CATEGORY_SC:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return false;
  }
}

// Letters, marks, numbers: what makes two tokens one word when nothing stands between them.
bool continues_word(char32_t c) {
  return !is_white_space(c) && !is_punctuation(c);
}

// A token's text with what decides its class.
struct TokenShape {
  std::string_view bytes;
  bool is_text = false;    // not special, and whole characters
  bool has_other = false;  // some character is neither white space nor punctuation
  bool has_punctuation = false;
  bool starts_in_word = false;  // its first character could continue a word
  bool ends_in_word = false;
};

TokenShape shape_of(const Tokenizer& tokenizer, TokenId id) {
  TokenShape shape;
  if (!tokenizer.contains(id)) return shape;  // a model's vocabulary may be larger than its tokenizer's
  shape.bytes = tokenizer.token_bytes(id);
  if (tokenizer.is_special(id)) return shape;
  shape.is_text = !find_invalid_utf8(shape.bytes);
  if (!shape.is_text) {
    shape.starts_in_word = shape.ends_in_word = true;
    return shape;
  }
  for (Index at = 0; at < std::ssize(shape.bytes);) {
    const CodePoint point = code_point_at(shape.bytes, at);
    const bool in_word = continues_word(point.value);
    if (at == 0) shape.starts_in_word = in_word;
    shape.ends_in_word = in_word;
    shape.has_other = shape.has_other || in_word;
    shape.has_punctuation = shape.has_punctuation || is_punctuation(point.value);
    at += point.length;
  }
  return shape;
}

std::string_view trim_spaces(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

bool is_whole_word(const std::vector<TokenShape>& shapes, std::size_t i) {
  const bool joined_left = i > 0 && shapes[i - 1].ends_in_word && shapes[i].starts_in_word;
  const bool joined_right = i + 1 < shapes.size() && shapes[i].ends_in_word && shapes[i + 1].starts_in_word;
  return !joined_left && !joined_right;
}

}  // namespace

std::string_view name_of(TokenClass token_class) {
  constexpr std::array<std::string_view, kTokenClassCount> kNames = {
      "bos", "mask", "eos/pad", "whitespace", "punctuation", "template", "function", "content"};
  return kNames[static_cast<std::size_t>(token_class)];
}

bool is_structural(TokenClass token_class) {
  return token_class == TokenClass::kWhitespace || token_class == TokenClass::kPunctuation ||
         token_class == TokenClass::kTemplate || token_class == TokenClass::kFunction;
}

bool is_function_word(std::string_view word) {
  std::string lower(word);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return std::binary_search(kFunctionWords.begin(), kFunctionWords.end(), std::string_view(lower));
}

RoleIds RoleIds::of(const Tokenizer& tokenizer) {
  RoleIds roles{.bos = tokenizer.bos_id(), .mask = tokenizer.mask_id(), .eos_and_pad = {}};
  if (tokenizer.eos_id()) roles.eos_and_pad.push_back(*tokenizer.eos_id());
  if (tokenizer.pad_id()) roles.eos_and_pad.push_back(*tokenizer.pad_id());
  return roles;
}

std::vector<TokenClass> classify(const Tokenizer& tokenizer, std::span<const TokenId> ids,
                                 const RoleIds& roles, std::span<const TokenOrigin> origins) {
  if (!origins.empty() && origins.size() != ids.size()) {
    fail("token classes: {} origins for {} tokens", origins.size(), ids.size());
  }
  std::vector<TokenShape> shapes;
  for (const TokenId id : ids) shapes.push_back(shape_of(tokenizer, id));
  const auto class_at = [&](std::size_t i) {
    const TokenId id = ids[i];
    const TokenShape& shape = shapes[i];
    if (roles.bos == id) return TokenClass::kBos;
    if (roles.mask == id) return TokenClass::kMask;
    if (std::find(roles.eos_and_pad.begin(), roles.eos_and_pad.end(), id) != roles.eos_and_pad.end()) {
      return TokenClass::kEosPad;
    }
    if (!tokenizer.contains(id)) return TokenClass::kContent;
    if (tokenizer.is_special(id)) return TokenClass::kTemplate;
    if (shape.is_text && !shape.has_other) {
      return shape.has_punctuation ? TokenClass::kPunctuation : TokenClass::kWhitespace;
    }
    if (!origins.empty() && origins[i] == TokenOrigin::kTemplate) return TokenClass::kTemplate;
    if (shape.is_text && is_function_word(trim_spaces(shape.bytes)) && is_whole_word(shapes, i)) {
      return TokenClass::kFunction;
    }
    return TokenClass::kContent;
  };
  std::vector<TokenClass> classes;
  for (std::size_t i = 0; i < ids.size(); ++i) classes.push_back(class_at(i));
  return classes;
}

}  // namespace buoy
