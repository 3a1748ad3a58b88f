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

}  // namespace
}  // namespace buoy
