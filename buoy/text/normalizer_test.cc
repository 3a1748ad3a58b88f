#include "buoy/text/normalizer.h"

#include <cstdlib>

#include <gtest/gtest.h>
#include <utf8proc.h>

#include "buoy/io/json.h"
#include "buoy/text/test_support.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

std::string nfc(std::string_view text) {
  return normalize(Normalizer::kNfc, text);
}

std::string library_nfc(const std::string& text) {
  utf8proc_uint8_t* result = utf8proc_NFC(reinterpret_cast<const utf8proc_uint8_t*>(text.c_str()));
  std::string out(reinterpret_cast<char*>(result));
  std::free(result);
  return out;
}

TEST(Normalizer, ComposesAndReplacesSingletons) {
  EXPECT_EQ(nfc("e\u0301"), "é");
  EXPECT_EQ(nfc("\u212B"), "Å");
  EXPECT_EQ(nfc("\u1100\u1161\u11A8"), "각");
  EXPECT_EQ(nfc("가\u11A8"), "각");
  EXPECT_EQ(nfc("a\u0323\u0307"), "ạ\u0307");
  EXPECT_EQ(nfc("a\u0307\u0323"), "ạ\u0307") << "marks are put in order first";
  EXPECT_EQ(nfc("\u0958"), "\u0915\u093C") << "some characters may not be composed";
  EXPECT_EQ(normalize(Normalizer::kNone, "e\u0301"), "e\u0301");
}

// Clusters are normalised one by one; the library does the whole text at once.
TEST(Normalizer, ClustersGiveWhatTheWholeTextGives) {
  const std::vector<std::string> parts = {
      "a",          "e",          "\u0301", "\u0323", "\u0307", "\u1100", "\u1161", "\u11A8", "가",
      "\u09C7",     "\u09BE",     "\u0BC6", "\u0BD7", "\u212B", "\u0344", "漢",     "\u3099", "か",
      "\U00011131", "\U00011127", "\uF900", "=",      "\u0338", "\u1025", "\u102E"};
  std::uint32_t state = 1;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (int i = 0; i < 6; ++i) {
      state = state * 1664525u + 1013904223u;
      text += parts[(state >> 16) % parts.size()];
    }
    ASSERT_EQ(nfc(text), library_nfc(text)) << text;
  }
}

TEST(Normalizer, SpansCoverTheWholeCluster) {
  const AlignedText out = normalize(Normalizer::kNfc, "xe\u0301漢", 5, SpanMode::kTrack);
  EXPECT_EQ(out.bytes, "xé漢");
  const std::vector<TokenSpan> expected = {{5, 6}, {6, 8}, {6, 8}, {8, 9}, {8, 9}, {8, 9}};
  EXPECT_EQ(out.origin, expected);
}

TEST(Normalizer, ManyMarksTakeNoQuadraticTime) {
  std::string text = "e";
  for (int i = 0; i < 200000; ++i) text += "\u0301\u0323";
  EXPECT_EQ(count_code_points(nfc(text)), 400000);  // ẹ takes one of the marks
}

TEST(Normalizer, UnknownTypesAreNamed) {
  const Json json = {{"type", "Lowercase"}};
  EXPECT_EQ(error_of([&] { parse_normalizer(&json, "t.json: normalizer"); }),
            "t.json: normalizer: type \"Lowercase\" is not known (known: NFC, Sequence)");
}

}  // namespace
}  // namespace buoy
