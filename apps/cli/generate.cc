// buoy generate: continue a prompt, and show how it was written.
#include <cstdio>
#include <memory>

#include <fmt/ranges.h>
#include <unistd.h>

#include "apps/cli/environment.h"
#include "apps/cli/model_flags.h"
#include "apps/cli/prompt.h"
#include "apps/cli/sampler_flags.h"
#include "apps/cli/terminal_view.h"
#include "apps/cli/verb.h"
#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/run/tracer.h"

namespace buoy {
namespace {

struct GenerateFlags {
  ModelFlags model;
  PromptOptions prompt;
  SamplerFlags sampler;
  bool json = false, history = false;
};

// Keeps the sequence after every step, where that is wanted.
struct HistoryObserver : GenerationObserver {
  std::vector<std::vector<TokenId>> history;
  explicit HistoryObserver(bool wanted) : wanted_(wanted) {}
  bool cancelled() const override { return interrupted(); }
  void after_step(Index, const Generation& generation) override {
    if (wanted_) history.push_back(generation.tokens);
  }

 private:
  bool wanted_;
};

void print_json(const Generation& made, const Prompt& prompt, const ModelConfig& config,
                const SamplerSettings& sampler, const std::vector<std::vector<TokenId>>* history) {
  Json json;
  json["ids"] = made.generated();
  json["steps"] = made.steps;
  json["commit_step"] = made.commit_step;
  json["confidence"] = made.confidence;
  if (prompt.tokenizer) json["text"] = answer_text(*prompt.tokenizer, config, made.generated());
  if (history != nullptr) json["history"] = *history;
  if (config.told_family) json["family"] = config.family->key;
  if (cache_of(sampler, config) != CacheKind::kNone) {
    json["cache"] = name_of(sampler.cache);
    json["approximate"] = true;
  }
  std::printf("%s\n", json.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
}

void generate_command(const GenerateFlags& options) {
  const std::filesystem::path directory = find_model(options.model.model, command_places()).directory;
  const Prompt prompt = read_prompt(options.prompt, directory);
  const SamplerSettings sampler = options.sampler.settings();
  {  // before the weights are read
    const ModelConfig named = read_model_config(directory, options.model.family);
    options.sampler.check_effects(*named.family);
    check_settings(sampler, named);
  }
  const LoadedModel loaded = load(options.model);
  const ModelConfig& config = loaded.config();
  const bool live = !options.json && !options.history && prompt.tokenizer && can_redraw(STDOUT_FILENO);

  if (const std::string cache = describe_cache(sampler, config); !cache.empty())
    print_note("cache: " + cache);

  HistoryObserver history(options.history);
  std::unique_ptr<TerminalView> view;
  if (live) view = std::make_unique<TerminalView>(*prompt.tokenizer, config);
  GenerationObserver* observer = live ? static_cast<GenerationObserver*>(view.get()) : &history;
  const Generation made = generate(loaded.model(), {{prompt.ids}}, sampler, observer)[0];
  if (live) {
    view->finish();
    return;
  }
  if (options.json) {
    print_json(made, prompt, config, sampler, options.history ? &history.history : nullptr);
    return;
  }
  for (const auto& step : history.history)
    std::printf("%s\n", fmt::format("{}", fmt::join(step, ",")).c_str());
  if (options.history) return;
  if (prompt.tokenizer) {
    std::printf("%s\n", for_output(answer_text(*prompt.tokenizer, config, made.generated())).c_str());
  } else {
    std::printf("%s\n", fmt::format("{}", fmt::join(made.generated(), ",")).c_str());
  }
}

}  // namespace

void add_generate(Command& command) {
  auto options = std::make_shared<GenerateFlags>();
  Verb verb = command.verb("generate", "Continue a prompt with the sampler of the model's family");
  options->model.add_to(verb);
  add_prompt_options(verb, options->prompt);
  options->sampler.add_to(verb);
  verb.flag("--json", &options->json, "Print ids, steps, commit_step, confidence and text as JSON");
  verb.flag("--history", &options->history, "Print (with --json: add) the whole sequence after every step");
  verb.footer(
      "commit_step counts from 0; confidence is what the sampler ranked or drew by. Ties go to the lowest "
      "index.\n"
      "A flag that would have no effect is an error.\n\n"
      "Examples:\n"
      "  buoy generate --ids 0,17,25 --gen-length 32 --steps 16\n"
      "  buoy generate --model mini-arm --prompt $'Question: Who wrote The Delmar Letters?\\nShort Answer:'\n"
      "  buoy generate --model /models/LLaDA-8B-Instruct --chat --prompt \"What is a buoy?\" --block-length "
      "32\n"
      "  buoy generate --model /models/Dream-v0-Instruct-7B --chat --prompt \"Hello\" --alg entropy "
      "--temperature 0.2 "
      "--top-p 0.95\n");
  verb.runs([options] { stoppable("the answer is not complete", [&] { generate_command(*options); }); });
}

}  // namespace buoy
