#include "apps/cli/run_flags.h"

#include <algorithm>
#include <cstdio>
#include <map>

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
  verb.option(
      "--family", &families,
      "What a model is, whatever its config.json says: KEY of the one model, or MODEL=KEY; may be repeated");
  device.add_device_to(verb);
  verb_ = verb;
  if (!format.empty()) {
    verb.option("--data", &data,
                "Dataset (docs/datasets.md), FILE or NAME=FILE; may be repeated; default: bundled questions");
  }
  prompts.add_to(verb, format);
  sampler.add_to(verb);
  verb.flag("--log-samples", &log_samples,
            "Write samples.jsonl: question, prompt, passages, answer, scores, commit steps, timing");
  verb.flag("--log-ids", &log_ids, "Write samples.jsonl with the token ids of every prompt");
  verb.option(
          "--too-long", &too_long,
          "Prompts that do not fit a model: fail, listing them; skip their questions; or cut their passages")
      .choices({"fail", "skip", "cut"});
  verb.option("-o,--output", &output, "Directory for report.html, tables, figures and run.db");
  verb.flag("--new", &begin_new, "Where the directory holds another run, begin in DIRECTORY-2 and so on");
}

namespace {

// "open-dcoder" of the only model, "path=open-dcoder" of one of them.
std::map<std::string, std::string> parse_families(const std::vector<std::string>& given,
                                                  const std::vector<std::string>& models) {
  std::map<std::string, std::string> families;
  for (const std::string& text : given) {
    const std::size_t sign = text.rfind('=');
    if (sign == std::string::npos && models.size() != 1) {
      fail_usage("--family {}: there are {} models, expected MODEL={}", text, models.size(), text);
    }
    const std::string model = sign == std::string::npos ? models.front() : text.substr(0, sign);
    const std::string key = sign == std::string::npos ? text : text.substr(sign + 1);
    if (std::ranges::find(models, model) == models.end()) {
      fail_usage("--family {}: \"{}\" is not one of the models", text, model);
    }
    if (find_family_key(key) == nullptr) {
      fail_usage("--family {}: \"{}\" is unknown; known: {}", text, key, fmt::join(family_keys(), ", "));
    }
    if (!families.emplace(model, key).second) fail_usage("--family {}: {} has one already", text, model);
  }
  return families;
}

}  // namespace

RunSettings RunFlags::settings() const {
  RunSettings settings{.models = models,
                       .families = parse_families(families, models),
                       .device = device.device_settings(),
                       .places = command_places(),
                       .data = prompts.data(data),
                       .prompt = prompts.prompt(),
                       .sampler = sampler.settings(),
                       .batch_size = prompts.batch_size,
                       .output = output,
                       .log_samples = log_samples,
                       .log_ids = log_ids,
                       .too_long = parse_too_long(too_long),
                       .clash = begin_new ? Clash::kBeside : Clash::kRefuse,
                       .own = {},
                       .command = verb_ ? verb_->command_line() : ""};
  std::vector<const Family*> all;
  for (const NamedModel& m : read_models(settings)) all.push_back(m.config.family);
  sampler.check_effects(all);
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
