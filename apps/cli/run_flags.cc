#include "apps/cli/run_flags.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <thread>

#include <fmt/ranges.h>

#include "apps/cli/command_observer.h"
#include "apps/cli/environment.h"
#include "buoy/base/cancel.h"
#include "buoy/base/error.h"

namespace buoy {

void RankFlags::add_to(Verb& verb) {
  verb.option(
          "--rank-timeout", &timeout,
          "Under mpirun or srun: seconds without a sign of life after which a rank is given up; loading a "
          "model must take less")
      .between(1, 86400);
}

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
  verb.option("--answer-end", &answer_end,
              "What of the generated text is the answer: eos, what stands before the first EOS; none, all of "
              "it but special tokens")
      .choices({"eos", "none"});
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
  ranks.add_to(verb);
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
  settings.prompt.answer_end = parse_answer_end(answer_end);
  std::vector<const Family*> all;
  for (const NamedModel& m : read_models(settings)) all.push_back(m.config.family);
  sampler.check_effects(all);
  return settings;
}

namespace {

// The first word after Ctrl-C belongs to rank 0, which knows what is kept; all ranks get the signal.
void stop_ranks(Ranks& ranks) {
  if (!ranks.leads()) {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    print_note(fmt::format("rank {}: stopped", ranks.rank()));
  }
  ranks.end(kInterrupted);
}

}  // namespace

void on_ranks(const RankFlags& flags, const std::function<void(Ranks& ranks, RunObserver& observer)>& work) {
  const std::unique_ptr<Ranks> ranks =
      Ranks::join({.patience = flags.timeout, .stopped = interrupted, .warning = print_warning});
  watch_interrupts();
  CommandObserver observer;
  try {
    work(*ranks, observer);
  } catch (const Cancelled&) {
    observer.end();  // leaves the bar's line
    if (ranks->leads()) {
      const std::string& kept = observer.all_kept();
      print_note(kept.empty() ? "stopped: nothing was finished yet"
                              : fmt::format("stopped: kept {}; the same command goes on from there", kept));
    }
    if (ranks->count() > 1) stop_ranks(*ranks);
    throw;
  } catch (const std::exception& e) {
    if (ranks->count() == 1) throw;
    // One rank that fails ends the job, so that the others do not wait for it.
    print_note(fmt::format("rank {}: {}", ranks->rank(), e.what()));
    ranks->end(1);
  }
  if (ranks->gave_up()) {
    std::fflush(stdout);
    ranks->end(0);
  }
}

std::string names_of(const RunSettings& settings) {
  std::vector<std::string> names;
  for (const NamedModel& m : read_models(settings)) names.push_back(m.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace buoy
