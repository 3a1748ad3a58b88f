// Times question answering one by one and in batches, in turn, as `buoy eval` runs it. One JSON line on
// stdout.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <limits>

#include <CLI/CLI.hpp>

#include "buoy/base/error.h"
#include "buoy/base/thread_pool.h"
#include "buoy/decode/autoregressive.h"
#include "buoy/decode/masked_diffusion.h"
#include "buoy/io/file.h"
#include "buoy/io/json.h"
#include "buoy/model/transformer.h"
#include "buoy/run/eval.h"

namespace buoy {
namespace {

struct Options {
  std::string model, data, passages = "given", output;
  Index items = 32, batch_size = 16, gen_length = 32, steps = 16;
  int rounds = 3, threads = 0;
  bool ignore_eos = false;
};

using Prompts = std::vector<std::vector<TokenId>>;

struct EvalSeconds {
  double wall = std::numeric_limits<double>::infinity(), cpu = wall;  // cpu: of all threads
};

double eval_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The least of what was seen and what the work takes now.
void take_least(EvalSeconds& least, const auto& body) {
  const auto start = std::chrono::steady_clock::now();
  const double cpu = eval_cpu_seconds();
  body();
  least.wall =
      std::min(least.wall, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  least.cpu = std::min(least.cpu, eval_cpu_seconds() - cpu);
}

// The first prompts of the dataset under the condition, similar lengths together.
Prompts make_prompts(const Options& options, const Tokenizer& tokenizer) {
  const Condition condition = parse_condition(options.passages);
  const PromptTemplate form = PromptTemplate::find("micro");
  Prompts prompts;
  for (const QaItem& item : read_dataset(options.data, {.limit = options.items})) {
    prompts.push_back(tokenize_prompt(tokenizer, form.render(under(condition, item, {})), nullptr).ids);
  }
  std::ranges::stable_sort(prompts, {}, &std::vector<TokenId>::size);
  return prompts;
}

std::vector<Generation> generate(const Model& model, std::span<const std::vector<TokenId>> prompts,
                                 const Options& options) {
  if (model.config().family->sampler == SamplerKind::kLlada) {
    return generate_llada(
        model, prompts,
        {.gen_length = options.gen_length, .steps = options.steps, .block_length = options.gen_length});
  }
  AutoregressiveOptions sampler;
  sampler.max_new_tokens = options.gen_length;
  if (!options.ignore_eos) sampler.stop_ids = model.config().eos_ids;
  return generate_autoregressive(model, prompts, sampler);
}

// What was written for each prompt, run in batches of `size`.
Prompts answer(const Model& model, const Prompts& prompts, Index size, const Options& options) {
  Prompts answers;
  for (Index first = 0; first < std::ssize(prompts); first += size) {
    const auto count = static_cast<std::size_t>(std::min(size, std::ssize(prompts) - first));
    const auto batch = std::span(prompts).subspan(static_cast<std::size_t>(first), count);
    for (const Generation& g : generate(model, batch, options))
      answers.emplace_back(g.generated().begin(), g.generated().end());
  }
  return answers;
}

double mean_length(const Prompts& lists) {
  double sum = 0;
  for (const auto& list : lists) sum += static_cast<double>(list.size());
  return sum / static_cast<double>(lists.size());
}

void run(const Options& options) {
  const auto backend =
      make_cpu_backend({.threads = options.threads == 0 ? available_threads() : options.threads});
  const Transformer model(options.model, *backend, {});
  const Prompts prompts = make_prompts(options, Tokenizer::load(options.model));
  Prompts single, batched;
  EvalSeconds single_best, batched_best;
  for (int r = 0; r < options.rounds; ++r) {
    take_least(single_best, [&] { single = answer(model, prompts, 1, options); });
    take_least(batched_best, [&] { batched = answer(model, prompts, options.batch_size, options); });
  }
  if (single != batched) fail("answers in batches differ from those one by one");
  const auto items = static_cast<double>(prompts.size());
  Json json = {{"items", prompts.size()},
               {"batch_size", options.batch_size},
               {"prompt_tokens", mean_length(prompts)},
               {"answer_tokens", mean_length(single)},
               {"one_by_one_items_per_s", items / single_best.wall},
               {"batched_items_per_s", items / batched_best.wall},
               {"one_by_one_items_per_cpu_s", items / single_best.cpu},
               {"batched_items_per_cpu_s", items / batched_best.cpu},
               {"ratio", single_best.wall / batched_best.wall}};
  std::printf("%s\n", json.dump().c_str());
  if (options.output.empty()) return;
  const Json work = {{"model", options.model},
                     {"gen_length", options.gen_length},
                     {"steps", options.steps},
                     {"ignore_eos", options.ignore_eos},
                     {"batch_size", options.batch_size},
                     {"prompts", prompts},
                     {"answers", single}};
  write_file_atomically(options.output, work.dump());
}

}  // namespace
}  // namespace buoy

int main(int argc, char** argv) {
  buoy::Options options;
  CLI::App app{"Times question answering one by one and in batches"};
  app.add_option("--model", options.model, "Checkpoint directory: LLaDA, Llama or Qwen")->required();
  app.add_option("--data", options.data, "Dataset")->required();
  app.add_option("--passages", options.passages, "none, given or a number")->capture_default_str();
  app.add_option("--items", options.items, "The first so many")->capture_default_str();
  app.add_option("--batch-size", options.batch_size)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--gen-length", options.gen_length)->capture_default_str();
  app.add_option("--steps", options.steps, "Of a masked diffusion model")->capture_default_str();
  app.add_option("--threads", options.threads, "0: all")->capture_default_str();
  app.add_option("--rounds", options.rounds, "The best counts")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--ignore-eos", options.ignore_eos, "Always write gen-length tokens (Llama, Qwen)");
  app.add_option("-o,--output", options.output, "Write prompts and answers as JSON, for torch_eval.py");
  CLI11_PARSE(app, argc, argv);
  try {
    buoy::run(options);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "eval_bench: %s\n", e.what());
    return 1;
  }
  return 0;
}
