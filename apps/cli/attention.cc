// buoy attention: one head at one step, whole, in words, as tables and as a picture.
#include <cstdio>
#include <memory>

#include "apps/cli/command_observer.h"
#include "apps/cli/environment.h"
#include "apps/cli/model_flags.h"
#include "apps/cli/prompt.h"
#include "apps/cli/sampler_flags.h"
#include "apps/cli/verb.h"
#include "buoy/base/error.h"
#include "buoy/draw/figure.h"
#include "buoy/engine/attention_view.h"
#include "buoy/io/file.h"
#include "buoy/probe/record_settings.h"
#include "buoy/report/attention_figure.h"
#include "buoy/text/terminal_text.h"

namespace buoy {
namespace {

struct AttentionFlags {
  ModelFlags model;
  PromptOptions prompt;
  SamplerFlags sampler{32};
  Index layer = 0, top = 10;
  std::optional<Index> head, step;
  std::string output, implicit = "energy";
};

void write(const AttentionView& view, const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) fail("{}: cannot be made a directory: {}", directory.string(), error.message());
  write_file_atomically(directory / "keys.csv", keys_csv(view));
  write_file_atomically(directory / "rows.csv", rows_csv(view));
  save_figure(attention_heatmap(view), directory / "attention", matrix_csv(view));
}

void attention_command(const AttentionFlags& options) {
  const std::filesystem::path directory = find_model(options.model.model, command_places()).directory;
  const Prompt prompt = read_prompt(options.prompt, directory);
  options.sampler.check_effects(*read_model_config(directory, options.model.family).family);
  const LoadedModel model = load(options.model);
  CommandObserver observer;
  const AttentionView view = view_attention(model, prompt.ids, options.sampler.settings(),
                                            {.layer = options.layer,
                                             .head = options.head,
                                             .step = options.step,
                                             .implicit = parse_implicit(options.implicit)},
                                            &observer);
  std::printf("%s", for_terminal(describe(view, options.top)).c_str());
  if (options.output.empty()) return;
  write(view, options.output);
  std::printf("\n%s\n", (std::filesystem::path(options.output) / "attention.svg").c_str());
}

}  // namespace

void add_attention(Command& command) {
  auto options = std::make_shared<AttentionFlags>();
  Verb verb = command.verb("attention", "Look at one head at one step: strongest keys, rows, the matrix");
  options->model.add_to(verb);
  add_prompt_options(verb, options->prompt);
  verb.option("--layer", &options->layer, "Layer, from 0").at_least(0);
  verb.option("--head", &options->head, "Head, from 0; default: the mean over heads").at_least(0);
  verb.option("--step", &options->step, "Before this step, from 0; default: the finished sequence")
      .at_least(0);
  verb.option("--implicit", &options->implicit,
              "What stands for attention in a state space layer (docs/ssd.md)")
      .choices({"energy", "magnitude"});
  verb.option("--top", &options->top, "How many keys to list").between(1, 1000);
  options->sampler.add_to(verb);
  verb.option("-o,--output", &options->output,
              "Directory for attention.svg, .png, .pdf and .csv (the matrix), keys.csv and rows.csv");
  verb.footer(
      "Sequences of up to 2048 tokens. Received attention is a key's share of all attention; \"×\" compares "
      "it "
      "with uniform\n"
      "attention under the same mask (docs/definitions.md).\n\n"
      "Examples:\n"
      "  buoy attention --prompt-file data/demo_prompt.txt --layer 5 --head 3 --step 7 --steps 16\n"
      "  buoy attention --model mini-arm --prompt 'Question: Who?' --layer 11 -o look\n");
  verb.runs([options] { stoppable("nothing was written", [&] { attention_command(*options); }); });
}

}  // namespace buoy
