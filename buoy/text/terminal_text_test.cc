#include "buoy/text/terminal_text.h"

#include <gtest/gtest.h>

namespace buoy {
namespace {

TEST(TerminalText, NoControlCharacterPasses) {
  EXPECT_EQ(for_terminal("a\tb\nc"), "a\tb\nc");
  EXPECT_EQ(for_terminal("\x1b[31mred\x1b]0;title\x07"), "\\x1b[31mred\\x1b]0;title\\x07");
  EXPECT_EQ(for_terminal("over\rwritten\b\x7f"), "over\\x0dwritten\\x08\\x7f");
  EXPECT_EQ(for_terminal("\xC2\x9B"
                         "31m"),
            "\\x9b31m")
      << "ESC [ as one character";
  EXPECT_EQ(for_terminal(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(TerminalText, ForeignLettersPassAndWhatTurnsThemDoesNot) {
  EXPECT_EQ(for_terminal("東京 é"), "東京 é");
  EXPECT_EQ(for_terminal("\xE2\x80\xAE"
                         "cod.exe"),
            "\xEF\xBF\xBD"
            "cod.exe");
  EXPECT_EQ(for_terminal("a\xFF"), "a\xEF\xBF\xBD");
}

TEST(TerminalText, MarksOfDirectionDoNotPass) {
  for (const char* mark : {"\u200E", "\u200F", "\u061C", "\u2066", "\u202A"})
    EXPECT_EQ(for_terminal(mark), "\uFFFD");
}

TEST(TerminalText, AMessageIsOneLineAndNotEndless) {
  EXPECT_EQ(for_message("a\nb: no such file\n"), "a\\nb: no such file\\n");
  EXPECT_EQ(for_message("a\tb\x1b"), "a\tb\\x1b");
  std::string text = "begin";
  for (int i = 0; i < 100000; ++i) text += "é";
  const std::string line = for_message(text + "end");
  EXPECT_LT(line.size(), 4100U);
  EXPECT_TRUE(line.starts_with("beginé")) << line;
  EXPECT_TRUE(line.ends_with("éend")) << line;
  EXPECT_EQ(line.find("\uFFFD"), line.npos) << "characters stay whole";
}

}  // namespace
}  // namespace buoy
