#include "buoy/text/pretokenizer.h"

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/text/test_support.h"

namespace buoy {
namespace {

using Strings = std::vector<std::string>;

Strings pieces_of(const Json& json, const std::string& text) {
  const PreTokenizer pre = PreTokenizer::parse(&json, "p");
  PreTokenizer::Scanners scanners(pre);
  const Pieces pieces = pre.split({text, {}}, scanners);
  Strings out;
  for (const ByteRange& r : pieces.ranges) {
    out.push_back(
        pieces.text.bytes.substr(static_cast<std::size_t>(r.begin), static_cast<std::size_t>(r.size())));
  }
  return out;
}

Json split_by_dash(const char* behavior, bool invert = false) {
  return {{"type", "Sequence"},
          {"pretokenizers",
           {{{"type", "Split"}, {"pattern", {{"String", "-"}}}, {"behavior", behavior}, {"invert", invert}},
            {{"type", "ByteLevel"}, {"use_regex", false}}}}};
}

// The examples in the documentation of the original for "the-final--countdown".
TEST(PreTokenizer, SplitBehaviours) {
  const std::string text = "the-final--countdown";
  EXPECT_EQ(pieces_of(split_by_dash("Removed"), text), (Strings{"the", "final", "countdown"}));
  EXPECT_EQ(pieces_of(split_by_dash("Isolated"), text),
            (Strings{"the", "-", "final", "-", "-", "countdown"}));
  EXPECT_EQ(pieces_of(split_by_dash("MergedWithPrevious"), text),
            (Strings{"the-", "final-", "-", "countdown"}));
  EXPECT_EQ(pieces_of(split_by_dash("MergedWithNext"), text), (Strings{"the", "-final", "-", "-countdown"}));
  EXPECT_EQ(pieces_of(split_by_dash("Contiguous"), text), (Strings{"the", "-", "final", "--", "countdown"}));
  EXPECT_EQ(pieces_of(split_by_dash("Removed", true), text), (Strings{"-", "-", "-"}));
}

TEST(PreTokenizer, Gpt2Pattern) {
  const Json json = {{"type", "ByteLevel"}};
  EXPECT_EQ(pieces_of(json, "I've  2 cats!?\n"), (Strings{"I", "'ve", " ", " 2", " cats", "!?", "\n"}));
}

TEST(PreTokenizer, PrefixSpaceIsAddedOnce) {
  const Json json = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"use_regex", false}};
  EXPECT_EQ(pieces_of(json, "a b"), Strings{" a b"});
  EXPECT_EQ(pieces_of(json, " a"), Strings{" a"});
}

TEST(PreTokenizer, UnknownTypesAreNamed) {
  const Json json = {{"type", "Metaspace"}};
  EXPECT_EQ(error_of([&] { PreTokenizer::parse(&json, "p"); }),
            "p: type \"Metaspace\" is not known (known: Split, ByteLevel, Sequence)");
  const Json split = {{"type", "Split"}, {"pattern", {{"String", "-"}}}, {"behavior", "Isolated"}};
  EXPECT_NE(error_of([&] { PreTokenizer::parse(&split, "p"); }).find("has no ByteLevel"), std::string::npos);
  const Json odd = split_by_dash("Sideways");
  EXPECT_NE(error_of([&] { PreTokenizer::parse(&odd, "p"); }).find("behavior \"Sideways\" is not known"),
            std::string::npos);
}

}  // namespace
}  // namespace buoy
