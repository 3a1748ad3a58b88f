#include "apps/cli/analysis_flags.h"

#include <algorithm>
#include <cstdio>

#include "apps/cli/progress.h"
#include "buoy/base/error.h"

namespace buoy {
namespace {

std::string shell_word(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_of(" \t\n\"'\\$`*?[]{}()<>|&;#~!") == word.npos;
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

void AnalysisFlags::add_to(CLI::App& verb) {
  verb_ = &verb;
  const std::string group = "Analyses";
  std::vector<std::string> names;
  for (const Analysis& analysis : analyses()) names.emplace_back(analysis.name);
  verb.add_option("--only", only, fmt::format("Only these: {}", CLI::detail::join(names)))
      ->delimiter(',')
      ->check(CLI::IsMember(names))
      ->group(group);
  verb.add_option("--anchors", anchor_rule, "What counts as an anchor: excess, sigma, offset or topk")
      ->check(CLI::IsMember({"excess", "sigma", "offset", "topk"}))
      ->capture_default_str()
      ->group(group);
  verb.add_option("--epsilon", epsilon, "Threshold of excess, sigma and offset")
      ->capture_default_str()
      ->group(group);
  verb.add_option("--top-anchors", k, "How many with --anchors topk")->capture_default_str()->group(group);
}

CollectOptions AnalysisFlags::options() const {
  CollectOptions made;
  for (const Analysis& analysis : analyses()) {
    if (only.empty() || std::ranges::find(only, analysis.name) != only.end())
      made.analyses.push_back(&analysis);
  }
  const bool topk = anchor_rule == "topk";
  if (topk && verb_->count("--epsilon") > 0) fail_usage("--epsilon has no effect with --anchors topk");
  if (!topk && verb_->count("--top-anchors") > 0)
    fail_usage("--top-anchors has no effect without --anchors topk");
  if (!(epsilon > 0)) fail_usage("--epsilon is {}, expected above 0", epsilon);
  if (k < 1) fail_usage("--top-anchors is {}, expected at least 1", k);
  made.analysis.anchors = {.rule = *parse_anchor_rule(anchor_rule), .epsilon = epsilon, .k = k};
  return made;
}

std::string AnalysisFlags::given() const {
  for (const char* flag : {"--only", "--anchors", "--epsilon", "--top-anchors"}) {
    if (verb_->count(flag) > 0) return flag;
  }
  return "";
}

void write_and_tell(const StudyResult& result, const StudyReport& report,
                    const std::filesystem::path& directory) {
  std::optional<ProgressBar> drawing;
  StudyOptions options;
  options.progress = [&](const std::string&, Index total) {
    if (!drawing) drawing.emplace("drawing", total);
    drawing->advance();
  };
  write_study(result, report, directory, options);
  drawing.reset();
  std::printf("%s\n", (directory / "report.html").c_str());
}

std::string command_of(const CLI::App& verb) {
  std::string line = "buoy " + verb.get_name();
  for (const CLI::Option* option : verb.get_options()) {
    if (option->count() == 0) continue;
    const bool positional = option->get_lnames().empty(), flag = option->get_expected_max() == 0;
    for (const std::string& value : option->results()) {
      if (!positional) line += " --" + option->get_lnames()[0];
      if (!flag) line += " " + shell_word(value);
    }
  }
  return line;
}

}  // namespace buoy
