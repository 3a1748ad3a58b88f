// Texts for people: help, completion, manual, progress, suggestions. All of the real command where it
// matters.
#include <cstdlib>

#include <gtest/gtest.h>

#include "apps/cli/completion.h"
#include "apps/cli/help_text.h"
#include "apps/cli/manual.h"
#include "apps/cli/progress.h"
#include "apps/cli/suggestion.h"
#include "apps/cli/verb.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  return lines;
}

class WholeCommand : public testing::Test {
 protected:
  WholeCommand() : command("buoy", "Watches.", [] { return std::string("1"); }) { add_verbs(command); }
  Command command;
};

TEST_F(WholeCommand, HelpFitsTheWindow) {
  std::vector<std::vector<std::string>> paths = {{}};
  for (const VerbInfo& verb : command.verbs()) {
    paths.push_back({verb.name});
    for (const VerbInfo& action : verb.actions) paths.push_back({verb.name, action.name});
  }
  EXPECT_GT(paths.size(), 20u);
  for (const int columns : {60, 80, 100}) {
    for (const auto& path : paths) {
      for (const std::string& line : lines_of(command.help(path, columns))) {
        // A word, or a quoted one, cannot be broken.
        const bool breakable = line.find(' ', line.find_first_not_of(' ')) != line.npos;
        const bool quoted = line.find_first_of("'\"") != line.npos;
        if (breakable && !quoted) {
          EXPECT_LE(count_code_points(line), columns) << line;
        }
      }
    }
  }
}

TEST_F(WholeCommand, EveryOptionStandsInHelpManualAndCompletions) {
  const std::string manual = manual_page(command.info(), "1");
  const std::string bash = completion_script(command.info(), "bash");
  const std::string zsh = completion_script(command.info(), "zsh");
  const std::string fish = completion_script(command.info(), "fish");
  for (const VerbInfo& verb : command.verbs()) {
    const std::string help = command.help({{verb.name}}, 80);
    EXPECT_NE(bash.find("'" + verb.name + "') options="), bash.npos) << verb.name;
    EXPECT_NE(zsh.find("'" + verb.name + ":"), zsh.npos) << verb.name;
    EXPECT_NE(fish.find("-a " + verb.name + " "), fish.npos) << verb.name;
    for (const OptionInfo& option : verb.options) {
      if (option.is_positional()) continue;
      std::string in_roff;
      for (const char c : option.name) in_roff += c == '-' ? std::string("\\-") : std::string(1, c);
      EXPECT_NE(help.find(option.name), help.npos) << verb.name << option.name;
      EXPECT_NE(manual.find(in_roff), manual.npos) << option.name;
      EXPECT_NE(bash.find(option.name), bash.npos) << option.name;
      EXPECT_NE(zsh.find(option.name), zsh.npos) << option.name;
      EXPECT_NE(fish.find("-l " + option.name.substr(2) + " "), fish.npos) << option.name;
    }
  }
}

TEST(Wrap, BreaksAtSpacesAndIndentsEveryLine) {
  EXPECT_EQ(wrap("one two three", 2, 9), "  one two\n  three");
  EXPECT_EQ(wrap("one two", 0, 7), "one two");
  EXPECT_EQ(wrap("unbreakable a", 0, 4), "unbreakable\na");
  EXPECT_EQ(wrap("é é", 0, 3), "é é") << "columns, not bytes";
}

TEST(WrapShell, StaysOneCommandAndLeavesQuotesWhole) {
  EXPECT_EQ(wrap_shell("buoy x --text 'a b c' -o out", 20), "  buoy x --text \\\n      'a b c' -o out");
  EXPECT_EQ(wrap_shell("buoy x --text 'a b c' -o out", 19),
            "  buoy x --text \\\n      'a b c' -o \\\n      out");
  EXPECT_EQ(wrap_shell("buoy x", 20), "  buoy x");
}

TEST(EditDistance, CountsLettersAddedLeftOutReplacedAndSwapped) {
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("lenght", "length"), 1);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("same", "same"), 0);
}

TEST(Nearest, IsSilentWhereNothingIsNear) {
  const std::vector<std::string> flags = {"--steps", "--seed", "--record-steps", "--temperature"};
  EXPECT_EQ(nearest("--step", flags), "--steps");
  EXPECT_EQ(nearest("--temp", flags), "--temperature") << "the only one that begins so";
  EXPECT_EQ(nearest("--bogus", flags), std::nullopt);
  EXPECT_EQ(nearest("x", flags), std::nullopt);
}

TEST(ProgressLine, FitsTheWindow) {
  EXPECT_EQ(progress_line("mini", {.done = 5, .total = 10, .seconds = 10}, 80),
            "mini  ████████████░░░░░░░░░░░░  5/10  0.5/s  0:10 left");
  for (int columns = 20; columns < 90; ++columns) {
    EXPECT_LT(count_code_points(progress_line("a model with a long name",
                                              {.done = 5, .total = 10, .seconds = 10}, columns)),
              std::max(columns, 26));
  }
  EXPECT_EQ(progress_line("x", {.total = 4}, 80), "x  ░░░░░░░░░░░░░░░░░░░░░░░░  0/4");
}

TEST(ProgressLine, CountsWhatWasThereButDoesNotTakeItForPace) {
  const auto line = [](const Progress& progress) { return progress_line("x", progress, 40); };
  EXPECT_EQ(line({.done = 15, .total = 20, .already = 10, .seconds = 10}),
            "x  ████████░░░  15/20  0.5/s  0:10 left");
  EXPECT_EQ(line({.done = 20, .total = 20, .already = 20, .seconds = 1}),
            "x  ████████████████████████  20/20");
}

}  // namespace
}  // namespace buoy
