#include "buoy/text/pattern.h"

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/text/test_support.h"

namespace buoy {
namespace {

std::vector<std::string> matches(const std::string& expression, std::string_view text) {
  const Pattern pattern(expression, PatternKind::kExpression, "p");
  PatternScanner scanner(pattern);
  scanner.start(text);
  std::vector<std::string> found;
  while (const auto range = scanner.next()) {
    found.emplace_back(
        text.substr(static_cast<std::size_t>(range->begin), static_cast<std::size_t>(range->size())));
  }
  return found;
}

using Strings = std::vector<std::string>;

TEST(Pattern, FindsUnicodeClasses) {
  EXPECT_EQ(matches(R"(\p{L}+|\p{N}{1,3}|\s+)", "Ωβ12345 \u3000x"),
            (Strings{"Ωβ", "123", "45", " \u3000", "x"}));
}

TEST(Pattern, SpaceIsWhiteSpaceOfUnicode) {
  EXPECT_EQ(matches(R"(\s)", "a\u180E\uFEFF\u0085"), Strings{"\u0085"});
  EXPECT_EQ(matches(R"([^\s]+)", "a\u180E b"), (Strings{"a\u180E", "b"}));
  EXPECT_EQ(matches(R"(\S+)", "a\u180E\u00A0b"), (Strings{"a\u180E", "b"}));
}

TEST(Pattern, EmptyMatchesMoveOn) {
  EXPECT_EQ(matches("x*", "éx"), (Strings{"", "x", ""}));
}

TEST(Pattern, LongRunsNeedNoDepth) {
  const std::string spaces(2000000, ' ');
  EXPECT_EQ(matches(R"(\s*[\r\n]+|\s+(?!\S)|\s+)", spaces).size(), 1u);
  EXPECT_EQ(matches(R"(\s*[\r\n]+|\s+(?!\S)|\s+|x)", spaces + "x").size(), 3u);
}

TEST(Pattern, GivesUpWithAnErrorNotASplit) {
  const std::string message = error_of([] { matches(R"((?:(?:a+)+)+b)", std::string(64, 'a') + "cb"); });
  EXPECT_NE(message.find("p: the pattern gives up at byte 0"), std::string::npos) << message;
}

TEST(Pattern, RefusesWhatTheLibrariesReadDifferently) {
  for (const char* expression : {R"(\w+)", R"(\h)", "a.b", "^a", "a$", "[a[b]]", "[a&&b]", "a{2}+", "(?m:a)",
                                 "(?<n>a)", "(*UTF)a", "a{,2}", R"(\1)", "[a"}) {
    const std::string message = error_of([&] { Pattern(expression, PatternKind::kExpression, "p"); });
    EXPECT_NE(message.find("p: the pattern uses"), std::string::npos) << expression << ": " << message;
  }
  EXPECT_NE(error_of([] { Pattern("(a", PatternKind::kExpression, "p"); }).find("p: bad pattern"),
            std::string::npos);
}

TEST(Pattern, LiteralsAreLiteral) {
  const Pattern pattern("a.b", PatternKind::kLiteral, "p");
  PatternScanner scanner(pattern);
  scanner.start("axb a.b");
  const auto found = scanner.next();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->begin, 4);
}

}  // namespace
}  // namespace buoy
