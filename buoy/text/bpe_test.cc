#include "buoy/text/bpe.h"

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/text/byte_level.h"
#include "buoy/text/test_support.h"

namespace buoy {
namespace {

using Merges = std::vector<std::pair<std::string, std::string>>;

Bpe make_bpe(const Merges& merges, bool ignore_merges = false, const std::vector<std::string>& extra = {}) {
  BpeSettings settings;
  Index id = 0;
  for (; id < 256; ++id) settings.vocabulary.add(spell_bytes(std::string(1, static_cast<char>(id))), id, "v");
  for (const auto& [left, right] : merges) {
    if (!settings.vocabulary.find_spelling(left + right)) settings.vocabulary.add(left + right, id++, "v");
  }
  for (const std::string& token : extra) settings.vocabulary.add(token, id++, "v");
  settings.merges = merges;
  settings.ignore_merges = ignore_merges;
  return Bpe(std::move(settings), "v");
}

std::vector<std::string> tokens_of(const Bpe& bpe, std::string_view piece) {
  Bpe::Workspace workspace;
  std::vector<BpeToken> tokens;
  bpe.encode(piece, workspace, tokens);
  std::vector<BpeToken> again;
  bpe.encode(piece, workspace, again);  // from the cache
  EXPECT_EQ(tokens.size(), again.size());
  std::vector<std::string> out;
  for (const BpeToken& token : tokens) {
    EXPECT_EQ(std::ssize(bpe.vocabulary().bytes_of(token.id)), token.length);
    out.push_back(bpe.vocabulary().bytes_of(token.id));
  }
  return out;
}

// The textbook algorithm: merge the best pair of all, leftmost first, until none is left.
std::vector<std::string> plain_bpe(const Merges& merges, const std::string& piece) {
  std::vector<std::string> parts;
  for (const char c : piece) parts.emplace_back(1, c);
  while (true) {
    std::size_t best = merges.size(), at = 0;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      for (std::size_t rank = 0; rank < best; ++rank) {
        if (merges[rank].first == parts[i] && merges[rank].second == parts[i + 1]) {
          best = rank;
          at = i;
        }
      }
    }
    if (best == merges.size()) return parts;
    parts[at] += parts[at + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

TEST(Bpe, EqualsTheTextbookAlgorithm) {
  const Merges merges = {{"a", "b"},  {"b", "a"},   {"a", "a"},  {"ab", "a"},  {"b", "b"},
                         {"aa", "b"}, {"ab", "ab"}, {"ba", "b"}, {"abab", "a"}};
  const Bpe bpe = make_bpe(merges);
  std::uint32_t state = 7;
  for (int round = 0; round < 3000; ++round) {
    std::string piece;
    for (std::uint32_t i = 0; i < 1 + (state >> 20) % 40; ++i) {
      state = state * 1664525u + 1013904223u;
      piece += (state >> 16) % 2 == 0 ? 'a' : 'b';
    }
    ASSERT_EQ(tokens_of(bpe, piece), plain_bpe(merges, piece)) << piece;
  }
}

TEST(Bpe, IgnoreMergesKeepsAWholeToken) {
  const Merges merges = {{"b", "c"}};
  EXPECT_EQ(tokens_of(make_bpe(merges, false, {"abc"}), "abc"), (std::vector<std::string>{"a", "bc"}));
  EXPECT_EQ(tokens_of(make_bpe(merges, true, {"abc"}), "abc"), (std::vector<std::string>{"abc"}));
}

TEST(Bpe, AMegabyteOfOneLetterIsNoProblem) {
  const Bpe bpe = make_bpe({{"a", "a"}, {"aa", "aa"}});
  Bpe::Workspace workspace;
  std::vector<BpeToken> tokens;
  bpe.encode(std::string(1000000, 'a'), workspace, tokens);
  EXPECT_EQ(tokens.size(), 250000u);
}

TEST(Bpe, MergesMustNameTokens) {
  BpeSettings settings;
  settings.vocabulary.add("a", 0, "v");
  settings.vocabulary.add("b", 1, "v");
  settings.merges = {{"a", "b"}};
  EXPECT_EQ(error_of([&] { Bpe(std::move(settings), "v"); }),
            "v: merge 0 names \"ab\", which is not in the vocabulary");
}

TEST(Bpe, AByteWithoutATokenIsAnError) {
  BpeSettings settings;
  settings.vocabulary.add("a", 0, "v");
  const Bpe bpe(std::move(settings), "v");
  Bpe::Workspace workspace;
  std::vector<BpeToken> tokens;
  EXPECT_NE(error_of([&] { bpe.encode("ab", workspace, tokens); }).find("no token for byte 0x62"),
            std::string::npos);
}

TEST(Bpe, UnkStandsForAMissingByte) {
  BpeSettings settings;
  settings.vocabulary.add("a", 0, "v");
  settings.vocabulary.add("<unk>", 1, "v");
  settings.unk_token = "<unk>";
  const Bpe bpe(std::move(settings), "v");
  Bpe::Workspace workspace;
  std::vector<BpeToken> tokens;
  bpe.encode("xa", workspace, tokens);
  ASSERT_EQ(tokens.size(), 2u);
  EXPECT_EQ(tokens[0].id, 1);
  EXPECT_EQ(tokens[0].length, 1);
}

TEST(Vocabulary, RefusesClashes) {
  Vocabulary vocabulary;
  vocabulary.add("a", 3, "v");
  EXPECT_EQ(error_of([&] { vocabulary.add("b", 3, "v"); }), "v: tokens \"a\" and \"b\" share id 3");
  EXPECT_EQ(error_of([&] { vocabulary.add("a", 4, "v"); }), "v: token \"a\" appears twice");
  EXPECT_EQ(error_of([&] { vocabulary.add("c", -1, "v"); }),
            "v: token \"c\" has id -1, expected 0 to 1999999");
  EXPECT_FALSE(vocabulary.has(2));
  EXPECT_EQ(vocabulary.end_id(), 4);
}

}  // namespace
}  // namespace buoy
