#include "apps/cli/engine.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "buoy/base/error.h"
#include "buoy/base/thread_pool.h"
#include "buoy/compute/card.h"
#include "buoy/model/memory.h"

namespace buoy {
namespace {

// The number of the card, when it is asked for, or when nothing else is and it is there.
std::optional<int> choose_card(const EngineOptions& options) {
  const int card = options.local_rank % std::max(1, count_cards());
  if (options.device == "cuda") {
    if (const auto problem = cuda_problem(card)) fail("--device cuda: {}", *problem);
    return card;
  }
  if (options.device != "auto" || options.threads != 0 || cuda_problem(card)) return std::nullopt;
  return card;
}

}  // namespace

std::unique_ptr<Backend> make_backend(const EngineOptions& options, Index weight_bytes, Widen widen) {
  if (const std::optional<int> card = choose_card(options)) {
    if (options.threads != 0) fail_usage("--threads has no effect on --device cuda");
    const bool bf16 = options.dtype == "bf16" || (options.dtype == "auto" && weight_bytes > kLargeModel);
    return make_cuda_backend({.dtype = bf16 ? DType::kBf16 : DType::kF32, .card = *card});
  }
  if (options.dtype == "bf16") {
    fail_usage("--dtype bf16 needs --device cuda, and the {} computes in f32",
               options.device == "auto" ? "cpu" : options.device);
  }
  if (options.device == "reference") {
    if (options.threads != 0) fail_usage("--threads has no effect on --device reference, which uses one");
    return make_reference_backend();
  }
  return make_cpu_backend(
      {.threads = options.threads == 0 ? available_threads() : options.threads, .widen = widen});
}

void add_engine_options(CLI::App& verb, EngineOptions& options) {
  verb.add_option("-m,--model", options.model, "Checkpoint directory, or the name of a bundled model")
      ->capture_default_str();
  add_device_options(verb, options);
}

void add_device_options(CLI::App& verb, EngineOptions& options) {
  verb.add_option("--device", options.device,
                  "Where to compute: auto (cuda when there is a card), cpu, cuda or reference (slow, exact)")
      ->check(CLI::IsMember({"auto", "cpu", "cuda", "reference"}))
      ->capture_default_str();
  verb.add_option("--dtype", options.dtype,
                  "Number type: f32, bf16 (cuda only), or auto: bf16 for models above 4 GiB on cuda")
      ->check(CLI::IsMember({"auto", "f32", "bf16"}))
      ->capture_default_str();
  verb.add_option("--threads", options.threads, "Threads; default all cores. Results do not depend on it")
      ->check(CLI::Range(1, 1024));
}

std::filesystem::path find_model(const std::string& model) {
  if (std::filesystem::is_directory(model)) return model;
  const std::filesystem::path bundled = std::filesystem::path(BUOY_SOURCE_DIR) / "models" / model;
  if (model.find('/') == std::string::npos && std::filesystem::is_directory(bundled)) return bundled;
  fail("{}: no such model directory, and no bundled model of that name (mini-mdm, mini-arm)", model);
}

Engine open_engine(const EngineOptions& options) {
  const std::filesystem::path directory = find_model(options.model);
  Engine engine;
  const ModelConfig config = read_model_config(directory);
  const WeightReport weights = inspect_weights(config, Checkpoint::open(directory));
  engine.backend =
      make_backend(options, weights.bytes, choose_widening(estimate_memory(config, weights, config.context)));
  engine.model = std::make_unique<Transformer>(directory, *engine.backend, print_warning);
  return engine;
}

void print_warning(const std::string& line) {
  std::fprintf(stderr, "buoy: warning: %s\n", line.c_str());
}

std::vector<TokenId> parse_ids(const std::string& text) {
  std::vector<TokenId> ids;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find_first_of(", \n\t", at), text.size());
    if (end > at) {
      TokenId id = 0;
      const auto [rest, error] = std::from_chars(text.data() + at, text.data() + end, id);
      if (error != std::errc{} || rest != text.data() + end) {
        fail_usage("--ids: \"{}\" is not a token id", text.substr(at, end - at));
      }
      ids.push_back(id);
    }
    at = end + 1;
  }
  if (ids.empty()) fail_usage("--ids is empty, expected token ids such as 1,2,3");
  return ids;
}

}  // namespace buoy
