// What kind of token stands at a position: the classes of docs/definitions.md, "Structure and content".
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "buoy/base/types.h"
#include "buoy/text/tokenizer.h"

namespace buoy {

// In order of precedence: a token is of the first class that fits.
enum class TokenClass { kBos, kMask, kEosPad, kWhitespace, kPunctuation, kTemplate, kFunction, kContent };
inline constexpr Index kTokenClassCount = 8;

// "bos", "mask", "eos/pad", "whitespace", "punctuation", "template", "function", "content".
std::string_view name_of(TokenClass token_class);

// Whitespace, punctuation, template and function words. bos, mask and eos/pad are neither structural nor
// content.
bool is_structural(TokenClass token_class);

// Whose words stand at a position. What belongs to the prompt's template is known only to whoever made the
// prompt.
enum class TokenOrigin { kText, kTemplate };

// The ids that have a role in the model at hand.
struct RoleIds {
  std::optional<TokenId> bos;
  std::optional<TokenId> mask;
  std::vector<TokenId> eos_and_pad;

  // Those that tokenizer_config.json names. A model's config may name more (LLaDA's mask, several EOS ids):
  // add them.
  static RoleIds of(const Tokenizer& tokenizer);
};

// The class of each token of a sequence. `origins` is empty (all kText) or as long as `ids`.
// - Other special tokens (<|im_start|> …) are template words wherever they stand.
// - Punctuation: every character that is not white space is of the Unicode categories P, Sm, Sc or Sk.
// - A function word must be a whole word: "in" of "in|side" is content, so neighbours are looked at.
// - Pieces of a character (a byte of an emoji) are content.
// Throws Error for an id outside the vocabulary, and when the lengths differ.
std::vector<TokenClass> classify(const Tokenizer& tokenizer, std::span<const TokenId> ids,
                                 const RoleIds& roles, std::span<const TokenOrigin> origins = {});

// Whether `word`, in any case, is in the list of English function words.
bool is_function_word(std::string_view word);

}  // namespace buoy
