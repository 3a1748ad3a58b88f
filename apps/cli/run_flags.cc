#include "apps/cli/run_flags.h"

#include <cstdio>

#include <fmt/ranges.h>

#include "apps/cli/environment.h"
#include "buoy/base/cancel.h"
#include "buoy/base/error.h"

namespace buoy {
namespace {

bool holds_something(const std::filesystem::path& directory) {
  std::error_code error;
  return std::filesystem::exists(directory, error) && !std::filesystem::is_empty(directory, error);
}

}  // namespace

void RunFlags::add_to(Verb& verb, const std::string& format) {
  verb.option("-m,--model", &models,
              "Checkpoint directory, bundled model or Hub name in the local cache; may be repeated");
  device.add_device_to(verb);
  verb.option("--data", &data, "Dataset (docs/datasets.md); may be repeated; default: bundled questions");
  prompts.add_to(verb, format);
  sampler.add_to(verb);
  verb.flag("--log-samples", &log_samples,
            "Write samples.jsonl: prompt, answer, scores, commit steps, timing");
  verb.option("-o,--output", &output, "Directory for report.html, tables, figures and run.db");
}

RunSettings RunFlags::settings() const {
  RunSettings settings{.models = models,
                       .device = device.device_settings(),
                       .places = command_places(),
                       .data = prompts.data(data),
                       .prompt = prompts.prompt(),
                       .sampler = sampler.settings(),
                       .batch_size = prompts.batch_size,
                       .output = output,
                       .log_samples = log_samples};
  std::vector<const Family*> families;
  for (const NamedModel& m : read_models(settings)) families.push_back(m.config.family);
  sampler.check_effects(families);
  return settings;
}

void on_ranks(const std::string& output, const std::function<void(Ranks& ranks)>& work) {
  const std::unique_ptr<Ranks> ranks = Ranks::join();
  watch_interrupts();
  try {
    work(*ranks);
  } catch (const Cancelled&) {
    if (ranks->leads()) {
      print_note(
          holds_something(output)
              ? fmt::format(
                    "stopped: what was finished is kept in {}, and the same command goes on from there",
                    output)
              : "stopped: nothing was written yet");
    }
    if (ranks->count() > 1) ranks->abort();
    throw;
  } catch (const std::exception& e) {
    if (ranks->count() == 1) throw;
    // One rank that fails ends the job, so that the others do not wait for it.
    print_note(fmt::format("rank {}: {}", ranks->rank(), e.what()));
    ranks->abort();
  }
}

std::string names_of(const RunSettings& settings) {
  std::vector<std::string> names;
  for (const NamedModel& m : read_models(settings)) names.push_back(m.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace buoy
