// buoy bench: times passes of a random-weight model of a named shape, or of a checkpoint, plain and recorded.
#include <algorithm>
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "apps/cli/bench_pass.h"
#include "apps/cli/environment.h"
#include "apps/cli/model_flags.h"
#include "apps/cli/verb.h"
#include "buoy/base/error.h"
#include "buoy/compute/timed_backend.h"
#include "buoy/io/json.h"
#include "buoy/model/random_model.h"

namespace buoy {
namespace {

struct BenchFlags {
  ModelFlags model{.model = ""};  // empty: a shape
  std::string shape = "mini", record = "all";
  std::vector<Index> tokens = {512};
  Index layers = 0;  // 0: all of the shape's
  Index read = 0;    // rows whose logits are read; 0: all
  int repeat = 5;
  bool kernels = false, json = false;

  BenchRecord recorded() const {
    return record == "columns" ? BenchRecord::kColumns : BenchRecord::kEverything;
  }
};

// What is timed: a checkpoint, or random weights in a shape.
struct BenchModel {
  std::string name;
  std::unique_ptr<RandomWeights> weights;
  std::unique_ptr<LoadedModel> loaded;
  std::unique_ptr<Backend> own_backend;
  std::unique_ptr<Model> own_model;
  ModelConfig config;

  explicit BenchModel(const BenchFlags& flags) {
    if (!flags.model.model.empty()) {
      loaded = std::make_unique<LoadedModel>(flags.model.settings(), print_warning);
      name = loaded->name();
      config = loaded->config();
      return;
    }
    name = flags.shape;
    config = make_shape(flags.shape);
    if (flags.layers > 0) config.L = flags.layers;
    if (config.experts) config.experts->layers.resize(static_cast<std::size_t>(config.L), true);
    if (config.ssd) config.ssd->layers.resize(static_cast<std::size_t>(config.L), true);
  }
  // Once lengths were checked: the weights of large shapes take a while.
  void make(const BenchFlags& flags) {
    if (loaded) return;
    own_backend = make_backend(flags.model.device_settings(), 0, Widen::kOnce, print_warning);
    weights = std::make_unique<RandomWeights>(config);
    own_model = on(*own_backend, flags);
  }
  std::unique_ptr<Model> on(Backend& other, const BenchFlags& flags) const {
    if (loaded) return load_model(loaded->directory(), other, {}, flags.model.family);
    const auto find = [this](std::string_view tensor) { return weights->find(tensor); };
    return std::make_unique<Transformer>(config, find, other);
  }
  const Model& model() const { return loaded ? loaded->model() : *own_model; }
  Backend& backend() const { return model().backend(); }
};

void print_kernels(const BenchModel& subject, const BenchFlags& flags, const BenchPass& pass) {
  for (const BenchRecord record : {BenchRecord::kNothing, flags.recorded()}) {
    stop_if_interrupted();
    TimedBackend timed(subject.backend());
    const std::unique_ptr<Model> model = subject.on(timed, flags);
    pass.run(*model, record);
    const auto warm = timed.costs();
    pass.run(*model, record);
    std::printf("%s, N = %zu:\n", record == BenchRecord::kNothing ? "plain" : "recorded", pass.ids.size());
    for (const auto& [name, cost] : timed.costs()) {
      const auto before = warm.find(name);
      const double ms = 1e3 * (cost.seconds - (before == warm.end() ? 0 : before->second.seconds));
      std::printf("  %-24s %5lld × %8.3f ms = %9.3f ms\n", name.c_str(),
                  static_cast<long long>(cost.calls / 2), ms / static_cast<double>(cost.calls / 2), ms);
    }
  }
}

struct BenchRow {
  Index tokens;
  BenchTime plain, recorded;
  BenchOperations work;
  double rate;  // of one large product

  double done() const { return work.all() / plain.median; }  // operations a second
};

Json as_json(const BenchRow& row) {
  const auto bytes = [](const std::optional<Index>& peak) { return peak ? Json(*peak) : Json(); };
  return {{"tokens", row.tokens},
          {"plain_ms", 1e3 * row.plain.median},
          {"recorded_ms", 1e3 * row.recorded.median},
          {"plain_best_ms", 1e3 * row.plain.best},
          {"recorded_best_ms", 1e3 * row.recorded.best},
          {"tflops", row.done() / 1e12},
          {"share_of_peak", row.done() / row.rate},
          {"products_ms", 1e3 * row.work.products / row.rate},
          {"plain_bytes", bytes(row.plain.peak)},
          {"recorded_bytes", bytes(row.recorded.peak)}};
}

// Cards are counted in thousands of what processors are.
struct RateUnit {
  const char* name;
  double size;
};

RateUnit unit_of(const Backend& backend) {
  return backend.name().starts_with("cuda") ? RateUnit{"TFLOP/s", 1e12} : RateUnit{"GFLOP/s", 1e9};
}

void print_row(const BenchRow& row, const RateUnit& unit) {
  const auto mib = [](double bytes) { return fmt::format("{:.1f}", bytes / 0x1p20); };
  const auto& plain = row.plain.peak;
  const auto& recorded = row.recorded.peak;
  const std::string held = plain ? mib(static_cast<double>(*plain)) : "-",
                    more = plain && recorded ? mib(static_cast<double>(*recorded - *plain)) : "-";
  std::printf("%7lld %11.2f %11.2f %6.1f %% %9.2f %6.1f %% %10.2f %10s %9s\n",
              static_cast<long long>(row.tokens), 1e3 * row.plain.median, 1e3 * row.recorded.median,
              100 * (row.recorded.median / row.plain.median - 1), row.done() / unit.size,
              100 * row.done() / row.rate, row.plain.median * row.rate / row.work.products, held.c_str(),
              more.c_str());
  std::fflush(stdout);
}

void print_heading(const BenchModel& subject, const BenchFlags& flags, double rate) {
  const RateUnit unit = unit_of(subject.backend());
  std::printf("%s on %s, %lld layers, logits of %s; one large product runs at %.1f %s\n",
              for_output(subject.name).c_str(), std::string(subject.backend().name()).c_str(),
              static_cast<long long>(subject.config.L),
              flags.read == 0 ? "all rows" : fmt::format("{} rows", flags.read).c_str(), rate / unit.size,
              unit.name);
  const auto [all, active] = count_parameters(subject.config);
  std::printf("%.1f million parameters, %.1f million active\n", all / 1e6, active / 1e6);
  std::printf("%7s %11s %11s %8s %9s %8s %10s %10s %9s\n", "tokens", "plain ms", "recorded ms", "adds",
              unit.name, "of peak", "÷ products", "MiB", "more MiB");
}

void bench_command(const BenchFlags& options) {
  BenchModel subject(options);
  const auto too_long = std::ranges::max(options.tokens);
  if (too_long > subject.config.context)
    fail_usage("--tokens {}: the context of {} is {}", too_long, for_output(subject.name),
               subject.config.context);
  subject.make(options);
  const double rate = product_rate(subject.backend());
  if (options.json) print_note(fmt::format("{} on {}", subject.name, subject.backend().name()));
  if (!options.json) print_heading(subject, options, rate);
  BenchMemory memory(subject.model());
  Json rows = Json::array();
  for (const Index tokens : options.tokens) {
    const BenchPass pass(subject.config, tokens, options.read);
    const BenchRow row{
        .tokens = tokens,
        .plain = time_passes(subject.model(), pass, BenchRecord::kNothing, options.repeat, memory),
        .recorded = time_passes(subject.model(), pass, options.recorded(), options.repeat, memory),
        .work = count_operations(subject.config, tokens, options.read),
        .rate = rate};
    if (options.json) {
      rows.push_back(as_json(row));
    } else {
      print_row(row, unit_of(subject.backend()));
    }
  }
  if (options.json) std::printf("%s\n", rows.dump(2).c_str());
  if (!options.kernels) return;
  for (const Index tokens : options.tokens) {
    print_kernels(subject, options, BenchPass(subject.config, tokens, options.read));
  }
}

}  // namespace

void add_bench(Command& command) {
  auto options = std::make_shared<BenchFlags>();
  Verb verb = command.verb("bench", "Time a random-weight model of a named shape, or a checkpoint");
  options->model.add_to(verb);
  verb.explain("--model", "Checkpoint directory, bundled model or Hub name to time instead of a shape");
  verb.option("--shape", &options->shape, "Whose sizes; mini is that of the bundled models")
      .choices(shape_names())
      .excludes("--model");
  verb.option("--tokens", &options->tokens, "Lengths of the sequence, separated by commas")
      .split_at(',')
      .at_least(1);
  verb.option("--layers", &options->layers, "Layers; default those of the shape")
      .at_least(1)
      .hide_default()
      .excludes("--model");
  verb.option("--read-rows", &options->read, "Rows whose logits are read; default all")
      .at_least(1)
      .hide_default();
  verb.option("--record", &options->record,
              "What the recorded passes record: columns (column sums per head and layer), or all")
      .choices({"columns", "all"});
  verb.option("--repeat", &options->repeat, "Timed passes; the median counts").between(1, 100000);
  verb.flag("--kernels", &options->kernels, "Add the cost of every operation, run one at a time");
  verb.flag("--json", &options->json, "The table as JSON");
  verb.footer(
      "Recorded: column sums per head and layer; with --record all also row statistics of 32 rows and means\n"
      "of queries against keys. \"÷ products\": times what the products of the active parameters would take "
      "at\n"
      "the rate of one large product. MiB is the most that a pass holds above the weights, on the cpu as "
      "the\n"
      "system counts it for the process, to one or two; \"more\" is what recording adds. Give lengths from\n"
      "short to long: what a pass keeps for the next one counts there too.\n\n"
      "Examples:\n"
      "  buoy bench\n"
      "  buoy bench --model mini-mdm --record columns --tokens 256,512,1024\n"
      "  buoy bench --shape llada-8b --device cuda --dtype bf16 --tokens 1024,2048,4096 --kernels\n"
      "  buoy bench --shape llada2-mini --device cuda --dtype bf16 --tokens 2048\n");
  verb.runs([options, verb]() mutable {
    if (options->json && options->kernels) fail_usage("--kernels has no effect with --json");
    if (verb.given("--family") && !verb.given("--model"))
      fail_usage("--family has no effect without --model");
    stoppable("the table is not complete", [&] { bench_command(*options); });
  });
}

}  // namespace buoy
