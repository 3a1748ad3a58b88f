// buoy replay: questions asked while documents change, answered from the collection as it then is.
#include <cstdio>

#include "apps/cli/run_flags.h"
#include "apps/cli/verb.h"
#include "buoy/base/error.h"
#include "buoy/base/version.h"
#include "buoy/engine/replay_run.h"
#include "buoy/report/replay_page.h"
#include "buoy/text/terminal_text.h"

namespace buoy {
namespace {

struct ReplayFlags {
  RunFlags run;
  std::string events;
  Index top = 5;
  bool trace = false, no_control = false;
};

void replay_command(Ranks& ranks, const ReplaySettings& settings, const std::string& command,
                    RunObserver& observer) {
  const std::optional<ReplayedRun> made = run_replay(ranks, settings, observer);
  if (!made) return;
  const std::string& prompt = settings.run.prompt.prompt_template;
  ReplayReport report{
      .title = fmt::format("Documents that change: {}", names_of(settings.run)),
      .lead =
          "Documents come, change and go; questions are asked meanwhile, and every model answers from the "
          "collection as it then is.",
      .command = command,
      .facts = {{"Stream", describe_stream(settings.events.filename().string(), made->events)},
                {"Passages", fmt::format("the {} that fit best", settings.top)},
                {"Prompt", prompt == "auto" ? "auto (what each checkpoint says, else unified)" : prompt},
                {"Answer length", fmt::format("{} tokens", settings.run.sampler.gen_length)},
                {"Buoy", std::string(version())}}};
  report.about = made->about;
  write_replay(made->table, made->events, report, made->output);
  std::printf("%s\n%s\n", for_terminal(replay_text(made->table)).c_str(),
              (made->output / "report.html").c_str());
}

}  // namespace

void add_replay(Command& command) {
  auto options = std::make_shared<ReplayFlags>();
  options->run.prompts.batch_size = 16;
  options->run.output = "buoy-replay";
  Verb verb = command.verb("replay", "Questions asked while documents change, over time and around changes");
  verb.option("events", &options->events, "The stream: JSON lines (docs/replay.md; buoy world --events)")
      .required();
  verb.option("--top", &options->top, "How many passages a question gets").between(1, 100);
  verb.flag(
      "--trace", &options->trace,
      "Record attention on the same pass: how much goes to current, outdated, false and other passages");
  verb.flag("--no-control", &options->no_control,
            "Do not ask again, without them, what was asked with outdated or false passages");
  options->run.add_to(verb, "");
  verb.explain("--limit", "At most this many questions, with the events before the last of them; 0: all");
  verb.footer(
      "Events are taken in order. Every finished batch is on disk before the bar moves: broken off, the same "
      "command goes on where it stopped.\n"
      "A stream that has grown goes on from where it ended; one whose beginning has changed is refused. "
      "docs/replay.md says what comes out.\n\n"
      "Examples:\n"
      "  buoy world --events 400 --seed 1 -o events.jsonl\n"
      "  buoy replay events.jsonl -o replay\n"
      "  buoy replay events.jsonl --trace --limit 40 -o traced\n"
      "  buoy replay log.jsonl -m /models/LLaDA-8B-Instruct --top 10 --log-samples -o log\n");
  verb.runs([=] {
    on_ranks(options->run.ranks, [&](Ranks& ranks, RunObserver& observer) {
      ReplaySettings settings{
          .run = options->run.settings(),
          .events = options->events,
          .top = options->top,
          .control = options->no_control ? ReplayControl::kNone : ReplayControl::kWithoutStale,
          .trace = {}};
      if (options->trace) {
        settings.trace.emplace();
        settings.trace->analyses = {find_analysis("flow")};
      }
      replay_command(ranks, settings, verb.command_line(), observer);
    });
  });
}

}  // namespace buoy
