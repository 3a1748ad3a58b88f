#include "buoy/text/token_class.h"

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/base/testing.h"
#include "buoy/text/test_support.h"

namespace buoy {
namespace {

using Classes = std::vector<TokenClass>;
using C = TokenClass;

// Words of interest as single tokens.
Tokenizer words() {
  Json json = small_tokenizer(
      {"i n", "Ġ in", "s i", "d e", "si de", "Ġ t", "h e", "Ġt he", "Ġ b", "u o", "Ġb uo", "Ġbuo y"});
  json["added_tokens"] = Json::array({added_token(300, "<s>"), added_token(301, "<m>"),
                                      added_token(302, "</s>"), added_token(303, "<|im_start|>")});
  return make_tokenizer(json);
}

const RoleIds kRoles{.bos = 300, .mask = 301, .eos_and_pad = {302}};

Classes classes_of(const std::string& text, std::span<const TokenOrigin> origins = {}) {
  const Tokenizer tokenizer = words();
  return classify(tokenizer, tokenizer.encode(text, SpecialTokens::kNone), kRoles, origins);
}

TEST(TokenClass, EachClassIsFound) {
  EXPECT_EQ(
      classes_of("<s> the buoy.\n<m></s>"),
      (Classes{C::kBos, C::kFunction, C::kContent, C::kPunctuation, C::kWhitespace, C::kMask, C::kEosPad}));
}

TEST(TokenClass, OtherSpecialTokensBelongToTheTemplate) {
  EXPECT_EQ(classes_of("<|im_start|> buoy"), (Classes{C::kTemplate, C::kContent}));
}

TEST(TokenClass, FunctionWordsAreWholeWords) {
  EXPECT_EQ(classes_of(" in"), Classes{C::kFunction});
  EXPECT_EQ(classes_of(" in."), (Classes{C::kFunction, C::kPunctuation}));
  EXPECT_EQ(classes_of(" inside"), (Classes{C::kContent, C::kContent})) << "in|side";
  EXPECT_EQ(classes_of("the"), (Classes{C::kContent, C::kContent})) << "t|he: he is a word only by itself";
}

TEST(TokenClass, PiecesOfCharactersAreContent) {
  for (const TokenClass c : classes_of("😀")) EXPECT_EQ(c, C::kContent);
}

TEST(TokenClass, SymbolsOfMathsAndMoneyArePunctuation) {
  const Tokenizer tokenizer = Tokenizer::load(source_path("tests/text/goldens/mini"));
  for (const char* text : {"+", "=", "<", "$", "^", "(", "…"}) {
    for (const TokenClass c : classify(tokenizer, tokenizer.encode(text, SpecialTokens::kNone), {})) {
      EXPECT_TRUE(c == C::kPunctuation || std::string(text) == "…") << text;
    }
  }
}

TEST(TokenClass, TheTemplateRegionIsTheCallers) {
  const Tokenizer tokenizer = words();
  const std::vector<TokenId> ids = tokenizer.encode(" the buoy.", SpecialTokens::kNone);
  const std::vector<TokenOrigin> origins(ids.size(), TokenOrigin::kTemplate);
  EXPECT_EQ(classify(tokenizer, ids, kRoles, origins),
            (Classes{C::kTemplate, C::kTemplate, C::kPunctuation}));
  EXPECT_NE(error_of([&] { classify(tokenizer, ids, kRoles, std::span(origins).first(1)); }), "");
}

TEST(TokenClass, NamesAndStructure) {
  EXPECT_EQ(name_of(C::kEosPad), "eos/pad");
  EXPECT_TRUE(is_structural(C::kFunction));
  EXPECT_FALSE(is_structural(C::kContent));
  EXPECT_FALSE(is_structural(C::kMask));
  EXPECT_TRUE(is_function_word("The"));
  EXPECT_FALSE(is_function_word("buoy"));
}

}  // namespace
}  // namespace buoy
