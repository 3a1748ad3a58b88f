// What a run's answers depend on, and who works on it, as JSON.
#include <algorithm>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "buoy/base/thread_pool.h"
#include "buoy/base/version.h"
#include "buoy/engine/run_settings.h"
#include "buoy/io/json.h"
#include "buoy/model/family.h"
#include "buoy/model/fingerprint.h"
#include "buoy/model/memory.h"
#include "buoy/model/weights.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

// The words of a chat template: its own file, or what tokenizer_config.json holds.
std::string hash_of_chat_template(const fs::path& directory) {
  const fs::path own = directory / "chat_template.jinja", config = directory / "tokenizer_config.json";
  if (fs::exists(own)) return fingerprint_file(own);
  const Json json = read_json_file(config);
  return hash_of(json.contains("chat_template") ? json["chat_template"] : Json());
}

Json describe_model(const RunSettings& settings, const NamedModel& m, const QuestionPrompt& prompt) {
  const PromptSettings& asked = settings.prompt_of(m.given);
  const Checkpoint checkpoint = Checkpoint::open(m.directory);
  const DeviceClass device = device_class(settings.device, inspect_weights(m.config, checkpoint).bytes);
  Json json = {{"weights", fingerprint_model(m.directory, checkpoint)},
               {"tokenizer", fingerprint_tokenizer(m.directory)},
               {"template", hash_of(prompt.words.source())},
               {"chat_template", prompt.chat ? hash_of_chat_template(m.directory) : "none"},
               {"answer_end", name_of(asked.answer_end)},
               {"device", device.device},
               {"dtype", device.dtype},
               {"writes", m.config.family->writing == Writing::kFillsMasks ? "masked" : "autoregressive"},
               {"sampler", to_json(settings.sampler_of(m.given), m.config)}};
  if (prompt.chat && prompt.chat->asks_for_date()) json["date"] = prompt.chat->date();
  if (m.config.told_family) json["family"] = m.config.family->key;
  return json;
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.find(':') + 2, line.size()));
  }
  return "unknown";
}

}  // namespace

Json describe_run(const RunSettings& settings) {
  Json json = {{"code", {{"prompt", kPromptCode}, {"sampler", kSamplerCode}}}};
  const std::vector<NamedModel> models = read_models(settings);
  std::vector<QuestionPrompt> prompts;
  std::vector<std::optional<ChatTemplate>> chats;
  for (const NamedModel& m : models) {
    prompts.push_back(choose_prompt(settings.prompt_of(m.given), m.directory));
    chats.push_back(prompts.back().chat);
  }
  check_date(settings.prompt, chats);
  for (std::size_t i = 0; i < models.size(); ++i)
    json["models"][models[i].name] = describe_model(settings, models[i], prompts[i]);
  return json;
}

Json describe_session(const RunSettings& settings, Index ranks) {
  Json json = {{"buoy", version()},
               {"commit", commit()},
               {"compiler", compiler()},
               {"command", repair_utf8(settings.command).text},
               {"processor", processor()},
               {"threads", settings.device.threads == 0 ? available_threads() : settings.device.threads},
               {"memory_gib", physical_memory() >> 30},
               {"ranks", ranks},
               {"batch_size", settings.batch_size},
               {"too_long", name_of(settings.too_long)}};
  for (const NamedModel& m : read_models(settings)) {
    const PromptTemplate words = choose_prompt(settings.prompt_of(m.given), m.directory).words;
    json["templates"][m.name] = {{"name", words.name()}, {"text", words.source()}};
  }
  return json;
}

}  // namespace buoy
