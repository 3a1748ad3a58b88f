// buoy stress: the same questions under growing stress, model beside model.
#include <cstdio>

#include <fmt/ranges.h>

#include "apps/cli/analysis_flags.h"
#include "apps/cli/intervention_flags.h"
#include "apps/cli/run_flags.h"
#include "apps/cli/verb.h"
#include "buoy/base/version.h"
#include "buoy/engine/stress_run.h"
#include "buoy/report/stress_page.h"
#include "buoy/text/terminal_text.h"

namespace buoy {
namespace {

struct StressFlags {
  RunFlags run;
  std::vector<std::string> stressors = {"irrelevant", "gold-position"};
  StressOptions stress;
  std::vector<std::string> intervene;
  InterventionFlags flags;
};

void stress_command(Ranks& ranks, const StressRunSettings& settings, const std::string& command,
                    RunObserver& observer) {
  const std::optional<StressedRun> made = run_stress(ranks, settings, observer);
  if (!made) return;
  write_stress(
      made->result,
      {.title = fmt::format("Under stress: {}", names_of(settings.run)),
       .lead = "The same questions under growing stress, every item at every level, model beside model.",
       .command = command,
       .facts = {{"Data", describe(made->data)},
                 {"Passages", fmt::format("{}", settings.stress.passages)},
                 {"Answer length", fmt::format("{} tokens", settings.run.sampler.gen_length)},
                 {"Buoy", std::string(version())}}},
      made->output);
  std::printf("%s\n%s\n", for_terminal(stress_text(made->result)).c_str(),
              (made->output / "report.html").c_str());
}

void list_stressors() {
  for (const Stressor& s : stressors()) {
    std::printf("%-16s %-11s %s\n%-28s levels: %s\n", std::string(s.name).c_str(),
                std::string(name_of(s.group)).c_str(), std::string(s.explanation).c_str(), "",
                fmt::format("{}", fmt::join(s.levels, ", ")).c_str());
  }
}

}  // namespace

void add_stress(Command& command) {
  auto options = std::make_shared<StressFlags>();
  auto list = std::make_shared<bool>(false);
  options->run.prompts.batch_size = 16;
  options->run.output = "buoy-stress";
  Verb verb = command.verb("stress", "The same questions under growing stress, model beside model");
  verb.option("stressors", &options->stressors, "STRESSOR or STRESSOR=LEVEL,LEVEL…; --list prints them");
  verb.flag("--list", list.get(), "Print the stressors with their levels and leave");
  verb.option("--k", &options->stress.passages, "Passages of a prompt").between(1, 30);
  verb.option("--stress-seed", &options->stress.seed, "Of the draws that stress an item");
  verb.option("--intervene", &options->intervene,
              "Every level once more under this intervention and its control (buoy intervene --list); may be "
              "repeated");
  options->flags.add_to(verb);
  options->run.add_to(verb);
  verb.footer(
      "Needs a dataset whose gold passages are marked. Every finished batch is on disk; broken off, the same "
      "command goes on where it\n"
      "stopped. docs/stress.md says what every stressor does.\n\n"
      "Examples:\n"
      "  buoy stress --limit 50 --steps 16 -o stress\n"
      "  buoy stress gold-position=1,5,10 --data data/micro_gold_at_1.jsonl -o position\n"
      "  buoy stress irrelevant=0,0.5,0.9 --intervene pin-anchors=steps --model mini-mdm -o pinned\n"
      "  buoy stress steps block-length trailing-masks --model mini-mdm -o generation\n");
  verb.runs([=] {
    if (*list && verb.given("stressors")) fail_usage("--list runs nothing: it has no use for stressors");
    if (*list) return list_stressors();
    on_ranks(options->run.ranks, [&](Ranks& ranks, RunObserver& observer) {
      const StressRunSettings settings{.run = options->run.settings(),
                                       .stressors = options->stressors,
                                       .stress = options->stress,
                                       .choice = options->flags.choice(options->intervene)};
      stress_command(ranks, settings, verb.command_line(), observer);
    });
  });
}

}  // namespace buoy
