#include "buoy/text/utf8.h"

#include <gtest/gtest.h>

namespace buoy {
namespace {

std::string lossy(std::string_view bytes) {
  return repair_utf8(bytes).text;
}

TEST(Utf8, CodePointsSurviveARoundTrip) {
  for (const char32_t c :
       {U'\0', U'a', U'\x7F', U'\x80', U'\u07FF', U'\u0800', U'\uFFFF', U'\U00010000', U'\U0010FFFF'}) {
    std::string bytes;
    append_utf8(bytes, c);
    EXPECT_FALSE(find_invalid_utf8(bytes));
    EXPECT_EQ(code_point_at(bytes, 0).value, c);
    EXPECT_EQ(code_point_at(bytes, 0).length, std::ssize(bytes));
  }
}

TEST(Utf8, FindsTheFirstBadByte) {
  EXPECT_EQ(find_invalid_utf8("abcdefghij\xFFk"), 10);
  EXPECT_EQ(find_invalid_utf8("\xC3\xA9\xC3"), 2);
  EXPECT_EQ(find_invalid_utf8("\xED\xA0\x80"), 0) << "a surrogate";
  EXPECT_EQ(find_invalid_utf8("\xC0\xAF"), 0) << "too long a form";
  EXPECT_EQ(find_invalid_utf8("\xF4\x90\x80\x80"), 0) << "above U+10FFFF";
  EXPECT_FALSE(find_invalid_utf8(""));
}

// The examples of the Unicode standard, section 3.9, tables 3-8 to 3-11.
TEST(Utf8, ReplacesEachMaximalSubpart) {
  const std::string r(kReplacementCharacter);
  EXPECT_EQ(lossy("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(lossy("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"), r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(lossy("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"), r + r + r + r + r + "A" + r + r + "B");
  EXPECT_EQ(lossy("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), r + r + r + r + "A");
  EXPECT_EQ(repair_utf8("a\xE2\x82z\xFF").replaced, 2);
}

TEST(Utf8, LeavesAnUnfinishedTailForLater) {
  std::string out;
  const LossyResult result = append_lossy(out, "a\xE2\x82", Tail::kMayContinue);
  EXPECT_EQ(out, "a");
  EXPECT_EQ(result.consumed, 1);
  EXPECT_EQ(result.replaced, 0);
}

TEST(Utf8, WhiteSpaceIsThatOfUnicode) {
  for (const char32_t c : {U' ', U'\t', U'\x85', U'\xA0', U'\u2028', U'\u3000'})
    EXPECT_TRUE(is_white_space(c));
  for (const char32_t c : {U'\u180E', U'\uFEFF', U'\u200B', U'\x1C', U'a'}) EXPECT_FALSE(is_white_space(c));
}

}  // namespace
}  // namespace buoy
