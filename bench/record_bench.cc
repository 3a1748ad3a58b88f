// Times generation with and without recording a whole trace, in turn, and reports the peak memory. One JSON
// line on stdout.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include <CLI/CLI.hpp>
#include <sys/resource.h>

#include "buoy/base/thread_pool.h"
#include "buoy/decode/masked_diffusion.h"
#include "buoy/io/json.h"
#include "buoy/model/transformer.h"
#include "buoy/run/tracer.h"

namespace buoy {
namespace {

struct Options {
  std::string model;
  Index tokens = 400, gen_length = 32, steps = 32;
  int repeat = 5;
  std::string only;  // "", "plain" or "recorded"
};

double seconds_of(const auto& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A prompt of `length` tokens in six regions, the shape of five passages and a question.
TraceExample example_of(const Tokenizer& tokenizer, Index length) {
  QaItem item{.id = "bench", .question = "Who is the mayor?"};
  for (int i = 0; i < 5; ++i) item.passages.push_back({.text = "x", .gold = i == 2});
  TraceExample example{
      .prompt = tokenize_prompt(tokenizer, PromptTemplate::find("micro").render(item), nullptr),
      .item = item};
  TokenizedPrompt& prompt = example.prompt;
  while (std::ssize(prompt.ids) < length) {  // words of the third passage, as evidence
    prompt.ids.insert(prompt.ids.begin() + 5, static_cast<TokenId>(300 + std::ssize(prompt.ids) % 500));
    prompt.origins.insert(prompt.origins.begin() + 5, TokenOrigin::kText);
    prompt.layout.regions.of.insert(prompt.layout.regions.of.begin() + 5, 5);
    prompt.layout.evidence.insert(prompt.layout.evidence.begin() + 5, std::ssize(prompt.ids) < 60 ? 1 : 0);
  }
  return example;
}

void run(const Options& options) {
  const auto backend = make_cpu_backend({.threads = available_threads()});
  const Transformer model(options.model, *backend, {});
  const Tokenizer tokenizer = Tokenizer::load(options.model);
  const LladaOptions sampler{
      .gen_length = options.gen_length, .steps = options.steps, .block_length = options.gen_length};
  SamplerSettings settings{.gen_length = options.gen_length};
  settings.steps = options.steps;
  const TraceSource source{
      .model = model, .tokenizer = tokenizer, .sampler = settings, .record = {}, .name = "bench"};
  const TraceExample example = example_of(tokenizer, options.tokens - options.gen_length);
  const std::vector<std::vector<TokenId>> prompts = {example.prompt.ids};
  std::vector<double> plain, recorded, finished;
  for (int r = 0; r < options.repeat + 1; ++r) {  // the first one warms up
    if (options.only != "recorded") {
      Generation made;
      plain.push_back(seconds_of([&] { made = generate_llada(model, prompts, sampler)[0]; }));
      // A trace also holds a pass over the finished sequence, which generation alone does not need.
      const Index row = 0;
      const ForwardSequence sequence{.ids = made.tokens, .read_rows = {&row, 1}};
      finished.push_back(seconds_of([&] { model.forward({&sequence, 1}); }));
    }
    if (options.only != "plain")
      recorded.push_back(seconds_of([&] { trace_batch(source, {&example, 1}, 0); }));
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  Json json = {{"tokens", options.tokens}, {"steps", options.steps}, {"peak_mib", usage.ru_maxrss / 1024}};
  const auto report = [&](const char* name, std::vector<double> times) {
    if (times.empty()) return;
    times.erase(times.begin());
    std::ranges::sort(times);
    json[std::string(name) + "_best_ms"] = 1e3 * times.front();
    json[std::string(name) + "_median_ms"] = 1e3 * times[times.size() / 2];
  };
  report("plain", plain);
  report("finished_pass", finished);
  report("recorded", recorded);
  std::printf("%s\n", json.dump().c_str());
}

}  // namespace
}  // namespace buoy

int main(int argc, char** argv) {
  buoy::Options options;
  CLI::App app{"Times generation with and without recording everything"};
  app.add_option("--model", options.model)->required();
  app.add_option("--tokens", options.tokens, "Prompt and answer together");
  app.add_option("--gen-length", options.gen_length);
  app.add_option("--steps", options.steps);
  app.add_option("--repeat", options.repeat);
  app.add_option("--only", options.only, "plain or recorded: for peak memory");
  CLI11_PARSE(app, argc, argv);
  buoy::run(options);
}
