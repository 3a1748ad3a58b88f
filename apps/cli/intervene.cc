// buoy intervene: hide, pin or cut what attention goes to while a model writes, and see what breaks.
#include <cstdio>

#include "apps/cli/analysis_flags.h"
#include "apps/cli/intervention_flags.h"
#include "apps/cli/run_flags.h"
#include "apps/cli/verb.h"
#include "buoy/base/error.h"
#include "buoy/base/version.h"
#include "buoy/report/intervene_page.h"
#include "buoy/text/terminal_text.h"

namespace buoy {
namespace {

struct InterveneFlags {
  RunFlags run;
  std::vector<std::string> interventions = InterventionRunSettings().choice.interventions;
  InterventionFlags flags;
  std::string passages = "given";
};

void intervene_command(Ranks& ranks, const InterventionRunSettings& settings, const std::string& command,
                       RunObserver& observer) {
  const std::optional<IntervenedRun> made = run_interventions(ranks, settings, observer);
  if (!made) return;
  const InterventionChoice& where = settings.choice;
  write_intervene(
      made->result,
      {.title = fmt::format("Interventions: {}", names_of(settings.run)),
       .lead = "The same questions while attention is changed: keys hidden, anchors pinned, heads cut, each "
               "beside a control of the same size.",
       .command = command,
       .facts = {{"Data", describe(made->data)},
                 {"Passages", settings.passages},
                 {"Layers, heads, steps", fmt::format("{}, {}, {}", where.layers, where.heads, where.steps)},
                 {"Answer length", fmt::format("{} tokens", settings.run.sampler.gen_length)},
                 {"Buoy", std::string(version())}}},
      made->output);
  std::printf("%s\n%s\n", for_terminal(intervene_text(made->result)).c_str(),
              (made->output / "report.html").c_str());
}

void list_interventions() {
  for (const Intervention& i : interventions()) {
    const char* parameter = i.parameter == InterventionParameter::kCount    ? "=N"
                            : i.parameter == InterventionParameter::kAcross ? "=steps|layers"
                                                                            : "";
    std::printf("%-28s %s%s\n", fmt::format("{}{}", i.name, parameter).c_str(), std::string(i.about).c_str(),
                i.control.empty() ? "" : fmt::format("; control: {}", i.control).c_str());
  }
}

}  // namespace

void add_intervene(Command& command) {
  auto options = std::make_shared<InterveneFlags>();
  auto analysis = std::make_shared<AnalysisFlags>();
  auto list = std::make_shared<bool>(false);
  auto no_trace = std::make_shared<bool>(false);
  options->run.prompts.batch_size = 8;
  options->run.output = "buoy-intervene";
  Verb verb = command.verb("intervene", "Hide, pin or cut what attention goes to, and see what breaks");
  verb.option("interventions", &options->interventions,
              "mask-anchors=K, mask-bos, mask-random=K, pin-anchors=steps|layers, pin-random=…, "
              "press-anchors=…, cut-heads=N, cut-random=N; several values as K,K,K");
  verb.flag("--list", list.get(), "Print the interventions and leave");
  verb.option("--passages", &options->passages, "none, given, or a number: the first so many");
  verb.flag("--no-trace", no_trace.get(), "Answers only: record no attention, which is faster");
  options->flags.add_to(verb);
  options->run.add_to(verb);
  analysis->add_to(verb);
  verb.footer(
      "Every intervention brings its control: as many keys like those that it touches, or as many other "
      "heads. "
      "docs/interventions.md says\n"
      "what each does. A run broken off goes on with the same command.\n\n"
      "Examples:\n"
      "  buoy intervene mask-bos --model mini-arm --limit 50 -o bos\n"
      "  buoy intervene mask-anchors=1,5,10 --model mini-mdm --at-layers 0-3 --steps 16 -o shallow\n"
      "  buoy intervene cut-heads=4,8 --limit 50 --rank-items 20 -o heads\n");
  verb.runs([=] {
    if (*list && verb.given("interventions"))
      fail_usage("--list runs nothing: it has no use for interventions");
    if (*list) return list_interventions();
    if (*no_trace && !analysis->given().empty()) {
      fail_usage("{} has no effect with --no-trace", analysis->given());
    }
    on_ranks(options->run.ranks, [&](Ranks& ranks, RunObserver& observer) {
      InterventionRunSettings settings{.run = options->run.settings(),
                                       .choice = options->flags.choice(options->interventions),
                                       .passages = options->passages,
                                       .trace = {}};
      if (!verb.given("interventions")) {
        settings.choice.interventions =
            fitting_interventions(settings.choice, read_models(settings.run), observer);
      }
      if (!*no_trace) settings.trace = analysis->options();
      intervene_command(ranks, settings, verb.command_line(), observer);
    });
  });
}

}  // namespace buoy
