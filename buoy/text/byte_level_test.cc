#include "buoy/text/byte_level.h"

#include <gtest/gtest.h>

namespace buoy {
namespace {

TEST(ByteLevel, SpellsAsGpt2Does) {
  EXPECT_EQ(spell_bytes(" the\n"), "ĠtheĊ");
  EXPECT_EQ(spell_bytes("é"), "Ã©");
  EXPECT_EQ(spell_bytes(std::string(1, '\0')), "Ā");
}

TEST(ByteLevel, EveryByteHasItsOwnCharacter) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string bytes(1, static_cast<char>(byte));
    EXPECT_EQ(unspell_bytes(spell_bytes(bytes)), bytes);
  }
}

TEST(ByteLevel, OtherCharactersHaveNoByte) {
  EXPECT_FALSE(unspell_bytes("a b"));
  EXPECT_FALSE(unspell_bytes("漢"));
  EXPECT_FALSE(unspell_bytes("\xAD"));
  EXPECT_FALSE(unspell_bytes("\u00AD"));
}

}  // namespace
}  // namespace buoy
