// buoy audit: what approximate caches buy and cost, beside the exact run.
#include <cstdio>

#include <fmt/format.h>

#include "apps/cli/environment.h"
#include "apps/cli/output_flags.h"
#include "apps/cli/run_flags.h"
#include "apps/cli/verb.h"
#include "buoy/base/error.h"
#include "buoy/base/version.h"
#include "buoy/engine/audit_run.h"
#include "buoy/report/audit_page.h"
#include "buoy/text/terminal_text.h"

namespace buoy {
namespace {

struct AuditFlags {
  ModelFlags model;
  SamplerFlags sampler{32};
  DataFlags prompts;
  OutputFlags folder;
  std::vector<std::string> caches = {"prefix", "dual", "delayed"};
  std::vector<std::string> data;
  std::string passages = "given", too_long = "fail", output = "buoy-audit";
};

AuditSettings settings_of(const AuditFlags& flags, const std::string& command) {
  AuditSettings settings{.run = {.models = {flags.model.model},
                                 .families = {},
                                 .device = flags.model.device_settings(),
                                 .places = command_places(),
                                 .data = flags.prompts.data(flags.data),
                                 .prompt = flags.prompts.prompt(),
                                 .sampler = flags.sampler.settings(),
                                 .batch_size = 1,
                                 .output = flags.output,
                                 .too_long = parse_too_long(flags.too_long),
                                 .own = {},
                                 .command = command},
                         .caches = {},
                         .passages = flags.passages,
                         .other = flags.folder.other()};
  if (!flags.model.family.empty()) settings.run.families[flags.model.model] = flags.model.family;
  for (const std::string& cache : flags.caches) settings.caches.push_back(parse_audited_cache(cache));
  flags.sampler.check_effects(*read_models(settings.run)[0].config.family);
  return settings;
}

void audit_command(const AuditSettings& settings, const std::string& command, RunObserver& observer) {
  const AuditedRun made = run_audit(settings, observer);
  const SamplerSettings& sampler = settings.run.sampler;
  const Index length = sampler.gen_length;
  write_audit(
      made.result,
      {.title = fmt::format("Approximate caches: {}", made.result.model),
       .lead = "Every question is answered exactly and with each cache, and every pass of the exact run is "
               "computed again with what the cache would have kept.",
       .command = command,
       .facts = {{"Data", describe(made.data)},
                 {"Passages", settings.passages},
                 {"Answer", fmt::format("{} tokens in blocks of {}, {} passes", length,
                                        sampler.block_length.value_or(length),
                                        sampler.threshold ? "as many as it needs"
                                                          : fmt::to_string(sampler.steps.value_or(length)))},
                 {"Buoy", std::string(version())}}},
      made.folder.path());
  made.folder.finish();
  std::printf("%s\n%s\n", for_terminal(audit_text(made.result)).c_str(),
              (made.folder.path() / "report.html").c_str());
}

}  // namespace

void add_audit(Command& command) {
  auto options = std::make_shared<AuditFlags>();
  Verb verb = command.verb("audit", "Approximate caches beside exact generation: speed, agreement, and why");
  verb.option(
          "--cache", &options->caches,
          "prefix, dual, delayed, or none as a control; CACHE=N is refreshed every N passes; may be repeated")
      .split_at(',');
  options->model.add_to(verb);
  verb.option("--data", &options->data,
              "Dataset (docs/datasets.md), FILE or NAME=FILE; may be repeated; default: bundled questions");
  verb.option("--passages", &options->passages, "none, given, or a number: the first so many");
  options->prompts.add_to(verb);
  options->sampler.add_to(verb, CacheFlags::kElsewhere);
  verb.option("--too-long", &options->too_long,
              "Prompts that do not fit the model: fail, listing them, or skip them")
      .choices({"fail", "skip"});
  verb.option("-o,--output", &options->output,
              "Directory for report.html, audit.csv, audit_steps.csv, audit.json and figures");
  options->folder.add_to(verb);
  verb.footer(
      "For models that see both ways (LLaDA, A2D, Dream). docs/audit.md says how to read it, "
      "docs/sampling.md what "
      "each cache does.\n"
      "Every audited question is on disk before the bar moves: broken off, the same command goes on where it "
      "stopped.\n\n"
      "Examples:\n"
      "  buoy audit --limit 20 --block-length 8 -o audit\n"
      "  buoy audit --cache dual,dual=4,delayed=2,delayed=8 --limit 50 --block-length 8 -o refresh\n"
      "  buoy audit --cache dual --model /models/LLaDA-8B-Instruct --data nq.jsonl --limit 200 --gen-length "
      "128 "
      "--block-length 32 -o nq\n");
  verb.runs([options, verb] {
    on_ranks({}, [&](Ranks& ranks, RunObserver& observer) {
      if (verb.given("--batch-size")) {
        fail_usage("--batch-size has no effect: questions are timed one by one");
      }
      if (ranks.count() > 1) fail_usage("audit runs as one process, not on {} ranks", ranks.count());
      audit_command(settings_of(*options, verb.command_line()), verb.command_line(), observer);
    });
  });
}

}  // namespace buoy
