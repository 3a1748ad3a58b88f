// buoy trace: run a model over prompts or a dataset and write down what its attention did.
#include <cstdio>

#include "apps/cli/environment.h"
#include "apps/cli/run_flags.h"
#include "apps/cli/verb.h"
#include "buoy/base/error.h"
#include "buoy/engine/trace_run.h"
#include "buoy/io/file.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

struct TraceFlags {
  ModelFlags model;
  SamplerFlags sampler{32};
  RecordFlags record;
  DataFlags data;
  std::string dataset, output;
  std::vector<std::string> prompts, prompt_files;
  bool overwrite = false;
  std::string too_long = "fail";
  RankFlags ranks;
};

std::vector<std::string> read_prompts(const TraceFlags& options) {
  std::vector<std::string> texts = options.prompts;
  for (const std::string& file : options.prompt_files) texts.push_back(read_file(file));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const RepairedText repaired = repair_utf8(texts[i]);
    if (repaired.text.empty()) fail_usage("prompt {} is empty", i + 1);
    if (repaired.replaced > 0) {
      print_warning(fmt::format("prompt {} holds {} invalid UTF-8 sequences, replaced by U+FFFD", i + 1,
                                repaired.replaced));
    }
    texts[i] = repaired.text;
  }
  return texts;
}

void trace_command(Ranks& ranks, const TraceFlags& options, RunObserver& observer) {
  const bool given_data = !options.dataset.empty(),
             given_text = !options.prompts.empty() || !options.prompt_files.empty();
  if (given_data == given_text) fail_usage("give either --data, or --prompt or --prompt-file");
  if (given_text && options.data.format != "auto") fail_usage("--data-format has no effect without --data");
  if (given_text && options.data.prompt_template != "auto")
    fail_usage("--template has no effect without --data");
  if (given_text && options.data.limit > 0) fail_usage("--limit has no effect without --data");
  const ModelSettings model = options.model.settings();
  options.sampler.check_effects(
      *read_model_config(find_model(model.model, model.places).directory, model.family).family);
  const TraceRunSettings settings{
      .model = model,
      .sampler = options.sampler.settings(),
      .record = options.record.settings(),
      .prompt = options.data.prompt(),
      .data = options.data.data(given_data ? std::vector{options.dataset} : std::vector<std::string>{}),
      .prompts = read_prompts(options),
      .batch_size = options.data.batch_size,
      .output = options.output,
      .overwrite = options.overwrite,
      .too_long = parse_too_long(options.too_long)};
  run_traces(ranks, settings, observer);
  if (ranks.leads()) std::printf("%s\n", options.output.c_str());
}

}  // namespace

void add_trace(Command& command) {
  auto options = std::make_shared<TraceFlags>();
  Verb verb = command.verb("trace", "Record what attention does while a model answers");
  options->model.add_to(verb);
  verb.option("--data", &options->dataset, "Dataset (docs/datasets.md)");
  verb.option("-p,--prompt", &options->prompts, "A prompt as text; may be repeated");
  verb.option("--prompt-file", &options->prompt_files, "A prompt as a file; may be repeated");
  options->data.add_to(verb);
  options->record.add_to(verb);
  options->sampler.add_to(verb);
  verb.option("-o,--output", &options->output, "Directory for the traces, or NAME.npz for a single one")
      .required();
  verb.option("--too-long", &options->too_long,
              "Prompts that do not fit the model: fail, listing them; skip them; or cut their passages")
      .choices({"fail", "skip", "cut"});
  verb.flag("--overwrite", &options->overwrite, "Replace traces that are there; without, they are kept");
  options->ranks.add_to(verb);
  verb.footer(
      "One .npz per example, as docs/trace.md says; numpy opens it. Traces of a run that was broken off are "
      "kept, and the\n"
      "same command goes on after them.\n\n"
      "Examples:\n"
      "  buoy trace --data data/micro_test.jsonl --limit 5 --steps 16 -o traces\n"
      "  buoy trace --model mini-arm --prompt-file data/demo_prompt.txt -o arm.npz\n"
      "  buoy trace --model /models/LLaDA-8B-Instruct --data nq.jsonl --limit 10 --record-steps every:4 "
      "--layers 0,15,31 "
      "-o traces\n");
  verb.runs([options] {
    on_ranks(options->ranks,
             [&](Ranks& ranks, RunObserver& observer) { trace_command(ranks, *options, observer); });
  });
}

}  // namespace buoy
