#include "buoy/text/added_tokens.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace buoy {
namespace {

// "text" for text, "<7:text>" for token 7.
std::string show(const AddedTokenMatcher& matcher, const std::string& text) {
  std::string out;
  for (const TextSegment& segment : matcher.split(text)) {
    const std::string part = text.substr(static_cast<std::size_t>(segment.range.begin),
                                         static_cast<std::size_t>(segment.range.size()));
    if (!out.empty()) out += '|';
    out += segment.token ? fmt::format("<{}:{}>", *segment.token, part) : part;
  }
  return out;
}

AddedTokenMatcher matcher_of(const std::vector<AddedToken>& tokens) {
  AddedTokenMatcher matcher;
  for (const AddedToken& token : tokens) matcher.add(token, token.content);
  return matcher;
}

TEST(AddedTokens, LeftmostThenLongest) {
  const AddedTokenMatcher matcher =
      matcher_of({{.id = 1, .content = "ab"}, {.id = 2, .content = "abc"}, {.id = 3, .content = "bcd"}});
  EXPECT_EQ(show(matcher, "xabcdab"), "x|<2:abc>|d|<1:ab>");
  EXPECT_EQ(show(matcher, "bcdab"), "<3:bcd>|<1:ab>");
  EXPECT_EQ(show(matcher, ""), "");
  EXPECT_EQ(show(AddedTokenMatcher(), "ab"), "ab");
}

TEST(AddedTokens, StripsTakeWhiteSpace) {
  const AddedTokenMatcher left = matcher_of({{.id = 1, .content = "<m>", .lstrip = true}});
  EXPECT_EQ(show(left, "a \u3000<m> b"), "a|<1: \u3000<m>>| b");
  EXPECT_EQ(show(left, "<m> <m>"), "<1:<m>>|<1: <m>>");
  const AddedTokenMatcher right = matcher_of({{.id = 1, .content = "<m>", .rstrip = true}});
  EXPECT_EQ(show(right, "a <m>\n b"), "a |<1:<m>\n >|b");
}

TEST(AddedTokens, SingleWordsStandAlone) {
  const AddedTokenMatcher matcher = matcher_of({{.id = 1, .content = "sea", .single_word = true}});
  EXPECT_EQ(show(matcher, "sea, seal, (sea) undersea"), "<1:sea>|, seal, (|<1:sea>|) undersea");
  EXPECT_EQ(show(matcher, "ésea sea_"), "ésea sea_");
}

}  // namespace
}  // namespace buoy
