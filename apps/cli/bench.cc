// buoy bench: times passes of a random-weight model of a named shape, plain and recorded.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/cli/environment.h"
#include "apps/cli/model_flags.h"
#include "apps/cli/verb.h"
#include "buoy/base/error.h"
#include "buoy/base/random.h"
#include "buoy/compute/timed_backend.h"
#include "buoy/io/json.h"
#include "buoy/model/memory.h"
#include "buoy/model/random_model.h"

namespace buoy {
namespace {

struct BenchFlags {
  ModelFlags device;
  std::string shape = "mini";
  std::vector<Index> tokens = {512};
  Index layers = 0;  // 0: all of the shape's
  Index read = 0;    // rows whose logits are read; 0: all
  int repeat = 5;
  bool kernels = false, json = false;
};

// Column sums of all rows, row statistics of the last 32, means of queries against keys.
class RecordingTap : public Tap {
 public:
  explicit RecordingTap(Index tokens) {
    request_.query_groups.assign(static_cast<std::size_t>(tokens), 0);
    request_.group_count = 1;
    for (Index r = 0; r < std::min<Index>(32, tokens); ++r) request_.rows.push_back(tokens - 1 - r);
    request_.qk_means = true;
  }
  Plan plan(Index, Index) override { return {.request = &request_}; }
  Next measured(Index, Index, const AttentionStats& stats) override {
    total += stats.column_sums[0];
    return Next::kGoOn;
  }
  bool may_ask_again() const override { return false; }
  double total = 0;

 private:
  AttentionRequest request_;
};

double seconds_of(Backend& backend, const auto& body) {
  backend.synchronize();
  const auto start = std::chrono::steady_clock::now();
  body();
  backend.synchronize();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// One sequence of random tokens with the rows that are read: the last ones.
struct Pass {
  std::vector<TokenId> ids;
  std::vector<Index> rows;

  Pass(const ModelConfig& config, Index tokens, Index read) {
    for (Index i = 0; i < tokens; ++i) {
      ids.push_back(static_cast<TokenId>(uniform({.seed = 5}, static_cast<std::uint64_t>(i)) *
                                         static_cast<double>(config.V)));
    }
    rows.resize(static_cast<std::size_t>(read == 0 ? tokens : std::min(read, tokens)));
    std::iota(rows.begin(), rows.end(), tokens - std::ssize(rows));
  }
  void run(const Model& model, Tap* tap) const {
    const ForwardSequence sequence{.ids = ids, .read_rows = rows};
    model.forward({&sequence, 1}, tap);
  }
};

struct Measured {
  double median = 0, best = 0;  // seconds
  Index peak = 0;               // bytes
};

enum class Record { kNothing, kEverything };

Measured measure(const Model& model, const Pass& pass, Record record, int repeat) {
  Backend& backend = model.backend();
  std::vector<double> times;
  for (int i = 0; i < repeat + 2; ++i) {  // two to warm up
    stop_if_interrupted();
    RecordingTap tap(std::ssize(pass.ids));
    if (i == 2) backend.take_peak_bytes();
    const double time =
        seconds_of(backend, [&] { pass.run(model, record == Record::kNothing ? nullptr : &tap); });
    if (i >= 2) times.push_back(time);
  }
  std::ranges::sort(times);
  return {times[times.size() / 2], times.front(), backend.take_peak_bytes()};
}

// Multiplications and additions of a pass, two each. Queries that do not see all keys see about half of them.
struct Operations {
  double products = 0;   // of the weights that a token goes through
  double attention = 0;  // of queries, keys and values
  double all() const { return products + attention; }
};

Operations operations(const ModelConfig& c, Index tokens, Index read) {
  const auto N = static_cast<double>(tokens),
             R = static_cast<double>(read == 0 ? tokens : std::min(read, tokens));
  const auto width = static_cast<double>(c.E), Q = static_cast<double>(c.H * c.D),
             KV = static_cast<double>(c.Hkv * c.D);
  double before = 0, attention = 0, after = 0;
  for (Index l = 0; l < c.L; ++l) {  // of the last layer only the rows that are read
    const bool ssd = c.layer(l).mixer == MixerKind::kSsd;
    const auto S = static_cast<double>(ssd ? c.H * c.ssd->n : 0);
    before += N * width * (Q + 2 * (ssd ? S : KV));
    // A state is written and read both ways, apart from what is close by.
    attention +=
        ssd ? 4 * N * S * static_cast<double>(c.D) : 2 * N * N * Q * (c.mask == Mask::kFull ? 1 : 0.5);
    double feed = 3 * width * static_cast<double>(c.mlp(l));
    if (c.layer(l).feed_forward == FeedForwardKind::kExperts) {
      const ExpertShape& e = *c.experts;
      feed = width * static_cast<double>(e.count + 3 * (e.rule.active * e.F + e.shared_F));
    }
    after += (l + 1 == c.L ? R : N) * (Q * width + feed);
  }
  return {2 * (before + after + R * width * static_cast<double>(c.V)), 2 * attention};
}

// All parameters, and those that one token goes through.
std::pair<double, double> parameters(const ModelConfig& config) {
  WeightReport report;
  for (const ExpectedTensor& tensor : expected_tensors(config))
    report.parameters += element_count(tensor.shape);
  return {static_cast<double>(report.parameters),
          static_cast<double>(estimate_memory(config, report, 0).active_parameters)};
}

// The rate of one large square product on this device: what a pass of products alone could reach.
double product_rate(Backend& backend, Index size) {
  std::vector<std::uint16_t> noise(static_cast<std::size_t>(size * size));
  for (std::size_t i = 0; i < noise.size(); ++i) {
    noise[i] = static_cast<std::uint16_t>(0x3d00 + 0x8000 * (i * 2654435761u >> 31 & 1) + i % 251);
  }
  const TensorView view{DType::kBf16, {size, size}, std::as_bytes(std::span(noise))};
  const auto linear = backend.make_linear({{view}}, {});
  const Tensor x = backend.allocate_activations(size, size), y = backend.allocate_activations(size, size);
  std::vector<float> values(noise.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(static_cast<std::int32_t>(i * 2246822519u)) * 0x1p-31f;
  }
  backend.upload(values, x);
  backend.linear(x, *linear, Store::kOverwrite, y);
  double best = 0;
  for (int i = 0; i < 8; ++i) {
    const double time = seconds_of(backend, [&] { backend.linear(x, *linear, Store::kOverwrite, y); });
    best = std::max(best, 2.0 * static_cast<double>(size * size * size) / time);
  }
  return best;
}

void print_kernels(const ModelConfig& config, const RandomWeights& weights, Backend& backend,
                   const Pass& pass) {
  for (const Record record : {Record::kNothing, Record::kEverything}) {
    stop_if_interrupted();
    TimedBackend timed(backend);
    const Transformer model(
        config, [&](std::string_view name) { return weights.find(name); }, timed);
    RecordingTap tap(std::ssize(pass.ids));
    Tap* watching = record == Record::kNothing ? nullptr : &tap;
    pass.run(model, watching);
    const auto warm = timed.costs();
    pass.run(model, watching);
    std::printf("%s, N = %zu:\n", record == Record::kNothing ? "plain" : "recorded", pass.ids.size());
    for (const auto& [name, cost] : timed.costs()) {
      const auto before = warm.find(name);
      const double ms = 1e3 * (cost.seconds - (before == warm.end() ? 0 : before->second.seconds));
      std::printf("  %-24s %5lld × %8.3f ms = %9.3f ms\n", name.c_str(),
                  static_cast<long long>(cost.calls / 2), ms / static_cast<double>(cost.calls / 2), ms);
    }
  }
}

Json as_json(Index tokens, const Measured& plain, const Measured& recorded, const Operations& work,
             double peak) {
  return {{"tokens", tokens},
          {"plain_ms", 1e3 * plain.median},
          {"recorded_ms", 1e3 * recorded.median},
          {"plain_best_ms", 1e3 * plain.best},
          {"recorded_best_ms", 1e3 * recorded.best},
          {"tflops", work.all() / plain.median / 1e12},
          {"share_of_peak", work.all() / plain.median / peak},
          {"products_ms", 1e3 * work.products / peak},
          {"plain_bytes", plain.peak},
          {"recorded_bytes", recorded.peak}};
}

void print_row(Index tokens, const Measured& plain, const Measured& recorded, const Operations& work,
               double peak) {
  const auto mib = [](Index bytes) { return static_cast<double>(bytes) / 0x1p20; };
  std::printf("%7lld %11.2f %11.2f %6.1f %% %9.2f %6.1f %% %10.2f %10.0f %9.1f\n",
              static_cast<long long>(tokens), 1e3 * plain.median, 1e3 * recorded.median,
              100 * (recorded.median / plain.median - 1), work.all() / plain.median / 1e12,
              100 * work.all() / plain.median / peak, plain.median * peak / work.products, mib(plain.peak),
              mib(recorded.peak - plain.peak));
  std::fflush(stdout);
}

void bench_command(const BenchFlags& options) {
  ModelConfig config = make_shape(options.shape);
  if (options.layers > 0) config.L = options.layers;
  if (config.experts) config.experts->layers.resize(static_cast<std::size_t>(config.L), true);
  if (config.ssd) config.ssd->layers.resize(static_cast<std::size_t>(config.L), true);
  const auto too_long = std::ranges::max(options.tokens);
  if (too_long > config.context)
    fail_usage("--tokens {}: the shape's context is {}", too_long, config.context);
  const std::unique_ptr<Backend> backend =
      make_backend(options.device.device_settings(), 0, Widen::kOnce, print_warning);
  const RandomWeights weights(config);
  const double peak = product_rate(*backend, backend->name().starts_with("cuda") ? 8192 : 1024);
  const Transformer model(
      config, [&](std::string_view name) { return weights.find(name); }, *backend);
  if (options.json) print_note(fmt::format("{} on {}", options.shape, backend->name()));
  if (!options.json) {
    std::printf("%s on %s, %lld layers, logits of %s; one large product runs at %.1f TFLOP/s\n",
                options.shape.c_str(), std::string(backend->name()).c_str(), static_cast<long long>(config.L),
                options.read == 0 ? "all rows" : fmt::format("{} rows", options.read).c_str(), peak / 1e12);
    const auto [all, active] = parameters(config);
    std::printf("%.1f million parameters, %.1f million active\n", all / 1e6, active / 1e6);
    std::printf("%7s %11s %11s %8s %9s %8s %10s %10s %9s\n", "tokens", "plain ms", "recorded ms", "adds",
                "TFLOP/s", "of peak", "÷ products", "MiB", "more MiB");
  }
  Json rows = Json::array();
  for (const Index tokens : options.tokens) {
    const Pass pass(config, tokens, options.read);
    const Measured plain = measure(model, pass, Record::kNothing, options.repeat);
    const Measured recorded = measure(model, pass, Record::kEverything, options.repeat);
    const Operations work = operations(config, tokens, options.read);
    if (options.json) {
      rows.push_back(as_json(tokens, plain, recorded, work, peak));
    } else {
      print_row(tokens, plain, recorded, work, peak);
    }
  }
  if (options.json) std::printf("%s\n", rows.dump(2).c_str());
  if (!options.kernels) return;
  for (const Index tokens : options.tokens) {
    print_kernels(config, weights, *backend, Pass(config, tokens, options.read));
  }
}

}  // namespace

void add_bench(Command& command) {
  auto options = std::make_shared<BenchFlags>();
  Verb verb = command.verb("bench", "Time a random-weight model of a named shape, plain and recorded");
  options->device.add_device_to(verb);
  verb.option("--shape", &options->shape, "Whose sizes").choices(shape_names());
  verb.option("--tokens", &options->tokens, "Lengths of the sequence, separated by commas")
      .split_at(',')
      .at_least(1);
  verb.option("--layers", &options->layers, "Layers; default those of the shape").at_least(1).hide_default();
  verb.option("--read-rows", &options->read, "Rows whose logits are read; default all")
      .at_least(1)
      .hide_default();
  verb.option("--repeat", &options->repeat, "Timed passes; the median counts").between(1, 100000);
  verb.flag("--kernels", &options->kernels, "Add the cost of every operation, run one at a time");
  verb.flag("--json", &options->json, "The table as JSON");
  verb.footer(
      "Recorded: column sums per head and layer, row statistics of 32 rows, means of queries against keys.\n"
      "\"÷ products\": times what the products of the active parameters would take at the rate of one large\n"
      "product. Memory is above the weights; \"more\" is what recording adds.\n\n"
      "Examples:\n"
      "  buoy bench\n"
      "  buoy bench --shape llada-8b --device cuda --dtype bf16 --tokens 1024,2048,4096 --kernels\n"
      "  buoy bench --shape llada2-mini --device cuda --dtype bf16 --tokens 2048\n");
  verb.runs([options] {
    if (options->json && options->kernels) fail_usage("--kernels has no effect with --json");
    stoppable("the table is not complete", [&] { bench_command(*options); });
  });
}

}  // namespace buoy
