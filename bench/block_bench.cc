// What the exact cache of block families saves: a step at several lengths, cached, uncached and under full
// attention, and a whole generation. One JSON line each on stdout. Times are the process's own seconds on the
// processor, one thread, so that a shared machine tells the truth.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <numeric>

#include <CLI/CLI.hpp>

#include "buoy/decode/block_diffusion.h"
#include "buoy/io/json.h"
#include "buoy/model/random_model.h"
#include "buoy/run/recording_observer.h"

namespace buoy {
namespace {

struct BlockBench {
  std::vector<Index> tokens = {512, 2048, 8192};
  Index block = 32, steps = 8, gen_length = 512;
  int repeat = 3;
};

double cpu_seconds(const auto& body) {
  const std::clock_t start = std::clock();
  body();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

double best_of(int repeat, const auto& body) {
  double best = cpu_seconds(body);
  for (int r = 1; r < repeat; ++r) best = std::min(best, cpu_seconds(body));
  return best;
}

// SDAR's layers in the size of a pair of 6 million parameters.
ModelConfig small_sdar(const BlockBench& bench) {
  ModelConfig c = make_shape("sdar-4b");
  c.L = 8, c.E = 256, c.H = 8, c.Hkv = 8, c.D = 32, c.F = 704, c.V = 2048;
  c.context = std::ranges::max(bench.tokens);
  c.block = bench.block;
  c.mask = Mask::blocks(bench.block);
  c.mask_id = static_cast<TokenId>(c.V - 1);
  return c;
}

std::vector<TokenId> some_tokens(Index n) {
  std::vector<TokenId> ids(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) ids[static_cast<std::size_t>(i)] = static_cast<TokenId>(i * 37 % 2000);
  return ids;
}

// One step on the last of N tokens' blocks.
void time_step(const Transformer& model, const BlockBench& bench, Index N) {
  const std::vector<TokenId> ids = some_tokens(N);
  std::vector<Index> last(static_cast<std::size_t>(bench.block)), own(last.size());
  std::iota(last.begin(), last.end(), N - bench.block);
  std::iota(own.begin(), own.end(), 0);
  const auto past = static_cast<std::size_t>(N - bench.block);
  const Mask blocks = Mask::blocks(bench.block);
  KvCache cache = model.make_cache(N);
  const ForwardSequence before{
      .ids = std::span(ids).first(past), .read_rows = {own.data(), 1}, .cache = &cache, .mask = blocks};
  model.forward({&before, 1});
  const auto step = [&](KvCache* kept, const Mask& mask) {
    const ForwardSequence sequence{.ids = std::span(ids).subspan(kept != nullptr ? past : 0),
                                   .read_rows = kept != nullptr ? own : last,
                                   .cache = kept,
                                   .mask = mask};
    model.forward({&sequence, 1});
    cache.length = N - bench.block;
  };
  const double cached = best_of(bench.repeat, [&] { step(&cache, blocks); });
  const double uncached = best_of(bench.repeat, [&] { step(nullptr, blocks); });
  const double full = best_of(bench.repeat, [&] { step(nullptr, Mask::kFull); });
  const Json json = {{"step_at", N},
                     {"cached_ms", 1e3 * cached},
                     {"uncached_ms", 1e3 * uncached},
                     {"full_attention_ms", 1e3 * full}};
  std::printf("%s\n", json.dump().c_str());
}

// Counts rows of passes as a model sees them.
class CountingModel : public Model {
 public:
  explicit CountingModel(const Model& model) : model_(model) {}
  const ModelConfig& config() const override { return model_.config(); }
  Backend& backend() const override { return model_.backend(); }
  KvCache make_cache(Index capacity) const override { return model_.make_cache(capacity); }
  Tensor forward(std::span<const ForwardSequence> sequences, Tap* tap) const override {
    for (const ForwardSequence& s : sequences) rows += std::ssize(s.ids);
    return model_.forward(sequences, tap);
  }
  mutable Index rows = 0;

 private:
  const Model& model_;
};

// A whole generation after a prompt of one block.
void time_generation(const Transformer& model, const BlockBench& bench) {
  const std::vector<std::vector<TokenId>> prompt = {some_tokens(bench.block)};
  BlockOptions options{
      .gen_length = bench.gen_length, .block_length = bench.block, .block_steps = bench.steps};
  for (const char* what : {"cached", "uncached", "recorded"}) {
    const bool recorded = what == std::string_view("recorded");
    options.cache = what == std::string_view("uncached") ? BlockCache::kNone : BlockCache::kKept;
    const CountingModel counting(model);
    PromptLayout layout;
    layout.regions.regions = {
        {.kind = RegionKind::kQuery}, {.kind = RegionKind::kAnswer}, {.kind = RegionKind::kTail}};
    layout.regions.of.assign(prompt[0].size(), 0);
    layout.evidence.assign(prompt[0].size(), 0);
    std::vector<Recorder> recorders;
    ModelConfig config = model.config();
    recorders.emplace_back(config, RecordSettings{}, layout);
    RecordingObserver observer(recorders, {});
    Index steps = 0;
    const double seconds = cpu_seconds(
        [&] { steps = generate_blocks(counting, prompt, options, recorded ? &observer : nullptr)[0].steps; });
    const Index given = bench.block;  // the prompt's rows, once
    const Json json = {{"generation", what},
                       {"seconds", seconds},
                       {"steps", steps},
                       {"rows", counting.rows},
                       {"new_rows_a_step", static_cast<double>(counting.rows - given) /
                                               static_cast<double>(steps * bench.block)}};
    std::printf("%s\n", json.dump().c_str());
  }
}

void run(const BlockBench& bench) {
  const auto backend = make_cpu_backend({.threads = 1});
  const ModelConfig config = small_sdar(bench);
  const RandomWeights weights(config);
  const Transformer model(
      config, [&](std::string_view name) { return weights.find(name); }, *backend);
  time_generation(model, bench);
  for (const Index N : bench.tokens) time_step(model, bench, N);
}

}  // namespace
}  // namespace buoy

int main(int argc, char** argv) {
  buoy::BlockBench bench;
  CLI::App app{"Times block families with and without their exact cache"};
  app.add_option("--tokens", bench.tokens, "Lengths of the sequence for single steps");
  app.add_option("--block-length", bench.block);
  app.add_option("--steps", bench.steps, "Passes a block");
  app.add_option("--gen-length", bench.gen_length);
  app.add_option("--repeat", bench.repeat);
  CLI11_PARSE(app, argc, argv);
  buoy::run(bench);
}
