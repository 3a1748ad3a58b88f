// What the command line is read as, and what is said where it cannot be.
#include "apps/cli/options.h"

#include <limits>

#include <gtest/gtest.h>

#include "buoy/base/error.h"

namespace buoy {
namespace {

using Words = std::vector<std::string>;

class Reading : public testing::Test {
 protected:
  Reading() : command_("buoy", "Watches.", [] { return std::string("1"); }) {
    Verb write = command_.verb("generate", "Write");
    write.option("-m,--model", &model, "Which");
    write.option("--gen-length,--max-new-tokens", &length, "How long").at_least(1);
    write.option("--seed", &seed, "Draws");
    write.option("--threads", &threads, "Threads").between(1, 1024);
    write.option("--device", &device, "Where").choices({"auto", "cpu", "reference"});
    write.option("--only", &only, "These").split_at(',');
    write.option("--threshold", &threshold, "Sure").above(0, 1).needs("--seed");
    write.flag("--json", &json, "JSON").excludes("--only");
    write.runs([this] { ++runs; });
    Verb index = command_.verb("index", "Collect");
    index.option("collection", &collection, "File").required();
    Verb add = index.action("add", "Add", "update");
    add.option("sources", &sources, "Files").required();
    add.option("--ids", &ids, "Ids");
    add.runs([this] { ++runs; });
  }

  // What is said of these words; empty when they are right.
  std::string said(const Words& words) {
    try {
      command_.run(words);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  }

  std::string model = "mini-mdm", device = "auto", collection;
  Index length = 128, ids = 0;
  std::uint64_t seed = 0;
  int threads = 0, runs = 0;
  std::optional<double> threshold;
  std::vector<std::string> only, sources;
  bool json = false;
  Command command_;
};

TEST_F(Reading, EverySpellingOfAnOptionIsTheSameOption) {
  for (const Words& words : {Words{"generate", "--gen-length", "7"}, Words{"generate", "--gen_length=7"},
                             Words{"generate", "--max-new-tokens", "7"}}) {
    length = 0;
    EXPECT_EQ(said(words), "");
    EXPECT_EQ(length, 7);
  }
  EXPECT_EQ(said({"generate", "-mone"}), "");
  EXPECT_EQ(model, "one");
  EXPECT_EQ(said({"generate", "-m", "two_words"}), "");
  EXPECT_EQ(model, "two_words") << "underscores of values stay";
  EXPECT_EQ(runs, 5);
}

TEST_F(Reading, AListTakesWordsUntilTheNextOptionAndSplitsAtItsComma) {
  EXPECT_EQ(said({"generate", "--only", "a,b", "c", "--seed", "1", "--only", "d"}), "");
  EXPECT_EQ(only, (Words{"a", "b", "c", "d"}));
}

TEST_F(Reading, AnActionReadsItsOwnWords) {
  EXPECT_EQ(said({"index", "c.db", "update", "x", "--ids", "3", "add"}), "");
  EXPECT_EQ(collection, "c.db");
  EXPECT_EQ(sources, (Words{"x", "add"}));
  EXPECT_EQ(ids, 3);
  EXPECT_EQ(said({"index", "c.db"}), "index needs one of add");
  EXPECT_EQ(said({"index", "c.db", "ad", "x"}), "\"ad\" is no action of index; did you mean \"add\"?");
  EXPECT_EQ(said({"index", "c.db", "add"}), "index add needs SOURCES");
}

TEST_F(Reading, WordsAfterTwoHyphensAreNoOptions) {
  EXPECT_EQ(said({"index", "c.db", "add", "--", "--ids"}), "");
  EXPECT_EQ(sources, Words{"--ids"});
}

TEST_F(Reading, ANearMissIsSuggested) {
  EXPECT_EQ(said({"genrate"}), "unknown verb \"genrate\"; did you mean \"generate\"?");
  EXPECT_EQ(said({"generate", "--gen-lenght", "7"}),
            "--gen-lenght is no option of generate; did you mean --gen-length?");
  EXPECT_EQ(said({"generate", "--bogus"}),
            "--bogus is no option of generate; \"buoy help generate\" lists them");
  EXPECT_EQ(said({"generate", "--device", "cpuu"}),
            "--device is \"cpuu\", expected auto, cpu or reference; did you mean cpu?");
}

TEST_F(Reading, NumbersOutOfRangeAreRefusedWithTheRangeInPlainDigits) {
  const struct {
    const char *name, *value, *said;
  } cases[] = {
      {"--threads", "0", "--threads is 0, expected 1 to 1024"},
      {"--threads", "99999999999", "--threads is \"99999999999\", expected a whole number, 1 to 1024"},
      {"--seed", "-1", "--seed is \"-1\", expected a whole number, 0 to 18446744073709551615"},
      {"--seed", "18446744073709551616",
       "--seed is \"18446744073709551616\", expected a whole number, 0 to 18446744073709551615"},
      {"--gen-length", "1e3", "--gen-length is \"1e3\", expected a whole number, 1 to 9223372036854775807"},
      {"--gen-length", "0", "--gen-length is 0, expected at least 1"},
      {"--threshold", "1.5", "--threshold is 1.5, expected above 0, at most 1"},
      {"--threshold", "nan", "--threshold is \"nan\", expected a number, above 0, at most 1"},
  };
  for (const auto& c : cases) EXPECT_EQ(said({"generate", c.name, c.value}), c.said);
  EXPECT_EQ(said({"generate", "--seed", "18446744073709551615"}), "");
  EXPECT_EQ(seed, std::numeric_limits<std::uint64_t>::max());
}

TEST_F(Reading, WhatIsMissingOrTooMuchIsNamed) {
  EXPECT_EQ(said({}), "no verb; \"buoy --help\" lists them");
  EXPECT_EQ(said({"generate", "--model"}), "--model lacks its value");
  EXPECT_EQ(said({"generate", "--model", "--json"}),
            "--model lacks its value: --json is an option (write --model=--json to mean it)");
  EXPECT_EQ(said({"generate", "--model", "a", "--model", "b"}), "--model is given 2 times, expected once");
  EXPECT_EQ(said({"generate", "--json=1"}), "--json takes no value, got --json=1");
  EXPECT_EQ(said({"generate", "--json", "--only", "a"}), "--json excludes --only");
  EXPECT_EQ(said({"generate", "--threshold", "0.5"}), "--threshold has no effect without --seed");
  EXPECT_NE(said({"generate", "hello"}), "");
  EXPECT_EQ(runs, 0);
}

TEST_F(Reading, ACommandLineCanBeTypedAgain) {
  Verb verb = command_.verb("say", "Say");
  std::string text;
  bool loud = false;
  verb.option("--text", &text, "What");
  verb.flag("--loud", &loud, "So");
  std::string typed;
  verb.runs([&] { typed = verb.command_line(); });
  EXPECT_EQ(said({"say", "--text", "it's $5", "--loud"}), "");
  EXPECT_EQ(typed, R"(buoy say --text 'it'\''s $5' --loud)");
}

TEST_F(Reading, CheckOnlyReadsEverythingAndRunsNothing) {
  EXPECT_EQ(said({"--check-only", "generate", "--seed", "3"}), "");
  EXPECT_EQ(seed, 3u);
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(said({"--check-only", "generate", "--threads", "0"}), "--threads is 0, expected 1 to 1024");
}

}  // namespace
}  // namespace buoy
