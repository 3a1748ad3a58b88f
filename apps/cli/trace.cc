// buoy trace: run a model over prompts or a dataset and write down what its attention did.
#include <algorithm>
#include <cstdio>

#include "apps/cli/progress.h"
#include "apps/cli/prompt.h"
#include "apps/cli/tracing.h"
#include "apps/cli/verb.h"
#include "buoy/base/error.h"
#include "buoy/io/file.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

struct Options {
  EngineOptions engine;
  SamplerFlags sampler;
  RecordFlags record;
  DataFlags data;
  std::string dataset, output;
  std::vector<std::string> prompts, prompt_files;
  bool overwrite = false;
};

struct Job {
  TraceExample example;
  fs::path path;
};

std::vector<Job> plan_jobs(const Options& options, const TracingModel& model) {
  std::vector<Job> jobs;
  if (!options.dataset.empty()) {
    for (const QaItem& item : read_dataset(options.dataset, options.data.reading(), print_warning)) {
      jobs.push_back(
          {model.example(item), fs::path(options.output) / trace_file_name(model.name(), item.id)});
    }
    return jobs;
  }
  std::vector<std::string> texts = options.prompts;
  for (const std::string& file : options.prompt_files) texts.push_back(read_file(file));
  for (const std::string& text : texts) {
    const RepairedText repaired = repair_utf8(text);
    if (repaired.text.empty()) fail_usage("prompt {} is empty", jobs.size() + 1);
    if (repaired.replaced > 0) {
      print_warning(fmt::format("prompt {} holds {} invalid UTF-8 sequences, replaced by U+FFFD",
                                jobs.size() + 1, repaired.replaced));
    }
    TraceExample example = model.example(repaired.text);
    example.item.id = fmt::format("prompt-{}", jobs.size() + 1);
    const fs::path path = fs::path(options.output) / trace_file_name(model.name(), example.item.id);
    jobs.push_back({std::move(example), path});
  }
  return jobs;
}

// Whether the trace is there already, made by the same model with the same settings.
bool is_done(const Job& job, const TraceSource& source) {
  if (!fs::exists(job.path)) return false;
  if (is_trace_of(read_trace(job.path), source, job.example)) return true;
  fail("{}: is there already, made by another model or with other settings; --overwrite replaces it",
       job.path.string());
}

void run(const Options& options) {
  const bool given_data = !options.dataset.empty(),
             given_text = !options.prompts.empty() || !options.prompt_files.empty();
  if (given_data == given_text) fail_usage("give either --data, or --prompt or --prompt-file");
  if (given_text && options.data.format != "auto") fail_usage("--format has no effect without --data");
  options.sampler.check_effects(*read_model_config(find_model(options.engine.model)).family);
  const TracingModel model(options.engine, options.sampler, options.record, options.data);
  std::vector<Job> jobs = plan_jobs(options, model);
  const bool single = jobs.size() == 1 && fs::path(options.output).extension() == ".npz";
  if (single) {
    jobs[0].path = options.output;
  } else {
    std::error_code error;
    fs::create_directories(options.output, error);
    if (error) fail("{}: cannot be made a directory: {}", options.output, error.message());
  }

  Index there = 0;
  const Index total = std::ssize(jobs);
  ProgressBar progress(fmt::format("tracing {}", model.name()), total);
  for (Index first = 0; first < total;) {
    const Index count = std::min(options.data.batch_size, total - first);
    std::vector<TraceExample> batch;
    std::vector<fs::path> paths;
    // Each example keeps its own stream of random draws whatever was there before.
    while (std::ssize(batch) < count && first + std::ssize(batch) < total) {
      const Job& job = jobs[static_cast<std::size_t>(first + std::ssize(batch))];
      if (!options.overwrite && is_done(job, model.source())) break;
      batch.push_back(job.example);
      paths.push_back(job.path);
    }
    if (batch.empty()) {
      ++there;
      ++first;
      progress.advance();
      continue;
    }
    const std::vector<TracedSample> samples = trace_batch(model.source(), batch, first);
    for (std::size_t i = 0; i < samples.size(); ++i) write_trace(paths[i], samples[i].trace);
    first += std::ssize(batch);
    progress.advance(std::ssize(batch));
  }
  if (there > 0) print_warning(fmt::format("{} of {} traces were there already", there, total));
  std::printf("%s\n", options.output.c_str());
}

}  // namespace

void add_trace(CLI::App& root) {
  auto options = std::make_shared<Options>();
  options->sampler.gen_length = 32;
  CLI::App* verb = root.add_subcommand("trace", "Record what attention does while a model answers");
  add_engine_options(*verb, options->engine);
  verb->add_option("--data", options->dataset, "Dataset (docs/datasets.md)");
  verb->add_option("-p,--prompt", options->prompts, "A prompt as text; may be repeated");
  verb->add_option("--prompt-file", options->prompt_files, "A prompt as a file; may be repeated");
  options->data.add_to(*verb);
  options->record.add_to(*verb);
  options->sampler.add_to(*verb);
  verb->add_option("-o,--output", options->output, "Directory for the traces, or NAME.npz for a single one")
      ->required();
  verb->add_flag("--overwrite", options->overwrite, "Replace traces that are there; without, they are kept");
  verb->footer(
      "One .npz per example, as docs/trace.md says; numpy opens it. Traces of a run that was broken off are "
      "kept, and the\n"
      "same command goes on after them.\n\n"
      "Examples:\n"
      "  buoy trace --data data/micro_test.jsonl --limit 5 --steps 16 -o traces\n"
      "  buoy trace --model mini-arm --prompt-file data/demo_prompt.txt -o arm.npz\n"
      "  buoy trace --model /models/LLaDA-8B-Instruct --data nq.jsonl --limit 10 --record-steps every:4 "
      "--layers 0,15,31 "
      "-o traces\n");
  verb->callback([options] { run(*options); });
}

}  // namespace buoy
