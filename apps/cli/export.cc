// buoy export: a trace's whole attention matrices, in the form that other people's scripts read.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>

#include "apps/cli/environment.h"
#include "apps/cli/model_flags.h"
#include "apps/cli/progress.h"
#include "apps/cli/verb.h"
#include "buoy/base/error.h"
#include "buoy/io/npz_writer.h"
#include "buoy/io/pickle.h"
#include "buoy/model/capture.h"
#include "buoy/model/fingerprint.h"
#include "buoy/probe/record_settings.h"
#include "buoy/probe/trace.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

constexpr double kGib = 1024.0 * 1024 * 1024;
constexpr std::string_view kEnding = "_attentions.npz";

struct ExportFlags {
  ModelFlags model{.model = ""};  // empty: the bundled model that the trace names
  std::string trace, output;
  std::string format = "attention-floating";
  std::string layers = "all", steps = "all";
  bool no_heads = false, overwrite = false;
  double max_gib = 4;
};

enum class Heads { kAveraged, kEach };

// What of the trace is written.
struct Plan {
  std::vector<Index> layers;
  std::vector<Index> rows;  // of the trace's steps, as indices into them
  Heads heads = Heads::kEach;
};

std::span<const std::byte> bytes_of(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}

std::string layer_key(Index layer, std::string_view what) {
  return fmt::format("layer_{}_{}", layer, what);
}

std::vector<Index> choose_layers(const ExportFlags& options, const Trace& trace) {
  const std::vector<Index> wanted = parse_layers(options.layers, trace.header.model_layers);
  for (const Index layer : wanted) {
    if (!std::ranges::binary_search(trace.layers, layer))
      fail_usage("--layers {}: the trace did not record layer {}", options.layers, layer);
  }
  return wanted.empty() ? trace.layers : wanted;
}

std::vector<Index> choose_steps(const ExportFlags& options, const Trace& trace) {
  if (options.steps == "none") return {};
  const StepChoice choice = parse_steps(options.steps);
  for (const Index step : choice.list) {
    if (!std::ranges::binary_search(trace.steps.steps, step))
      fail_usage("--steps {}: the trace did not record step {}", options.steps, step);
  }
  std::vector<Index> rows;
  for (Index t = 0; t < trace.S(); ++t) {
    if (choice.contains(trace.steps.steps[static_cast<std::size_t>(t)])) rows.push_back(t);
  }
  return rows;
}

// Bytes of the matrices and states; the rest of the file is small.
double estimate_bytes(const Plan& plan, const Trace& trace, Index D) {
  const auto square = [](Index n) { return static_cast<double>(n) * static_cast<double>(n); };
  const Index N = trace.N(), H = trace.H();
  double floats = square(N) * static_cast<double>(plan.heads == Heads::kEach ? H + 1 : 1) +
                  static_cast<double>((H + trace.Hkv()) * N * D);
  for (const Index t : plan.rows) floats += square(trace.steps.lengths[static_cast<std::size_t>(t)]);
  return floats * static_cast<double>(plan.layers.size()) * sizeof(float);
}

void check_size(const ExportFlags& options, const Plan& plan, const Trace& trace, const ModelConfig& config) {
  if (!CaptureTap::fits(config, trace.N())) {
    fail("{}: {} heads × {}² exceed the limit of {} numbers a layer; trace a shorter sequence", options.trace,
         config.H, trace.N(), kMaxMatrixElements);
  }
  const double gib = estimate_bytes(plan, trace, config.D) / kGib;
  if (gib <= options.max_gib) return;
  fail(
      "{}: would take {:.2f} GiB, more than the {} GiB of --max-gib; --layers, --steps and --no-heads make "
      "it smaller",
      options.output, gib, options.max_gib);
}

fs::path find_traced_model(const ExportFlags& options, const TraceHeader& header) {
  const Places places = command_places();
  if (!options.model.model.empty()) return find_model(options.model.model, places).directory;
  if (std::ranges::count(bundled_models(places), header.model) > 0) {
    return find_model(header.model, places).directory;
  }
  fail_usage("{}: was made by \"{}\", which is not a bundled model; name its directory by --model",
             options.trace, header.model);
}

void check_fingerprint(const ExportFlags& options, const TraceHeader& header, const fs::path& directory) {
  const std::string found = fingerprint_model(directory, Checkpoint::open(directory));
  if (found == header.model_hash) return;
  fail("{}: was made by \"{}\" with fingerprint {}, but {} has fingerprint {}", options.trace, header.model,
       header.model_hash, directory.string(), found);
}

// [H, N, N] → [N, N], summed in order of heads.
std::vector<float> average_heads(const std::vector<float>& matrix, Index H) {
  const std::size_t size = matrix.size() / static_cast<std::size_t>(H);
  std::vector<double> sum(size, 0.0);
  for (auto head = matrix.begin(); head != matrix.end(); head += static_cast<Index>(size)) {
    std::transform(sum.begin(), sum.end(), head, sum.begin(), std::plus<>{});
  }
  std::vector<float> mean(size);
  std::ranges::transform(sum, mean.begin(),
                         [H](double x) { return static_cast<float>(x / static_cast<double>(H)); });
  return mean;
}

void run_pass(const Model& model, std::span<const TokenId> tokens, const Mask& mask, LayerTap& tap) {
  const Index first = 0;  // a pass reads at least one row
  const ForwardSequence sequence{.ids = tokens, .read_rows = {&first, 1}, .mask = mask};
  model.forward({&sequence, 1}, &tap);
}

// The pass over the finished sequence: four members a layer.
void write_finished(const Model& model, const Trace& trace, const Plan& plan, NpzWriter& writer) {
  const ModelConfig& c = model.config();
  const Index N = trace.N();
  const auto add = [&](const std::string& name, const Shape& shape, const std::vector<float>& values) {
    writer.begin(name, DType::kF32, shape);
    writer.append(bytes_of(values));
    writer.end();
  };
  AttentionRequest request;
  request.matrix = request.states = true;
  LayerTap tap(plan.layers, std::move(request), [&](Index layer, const AttentionStats& stats) {
    stop_if_interrupted();
    add(layer_key(layer, "full_attention"), {N, N}, average_heads(stats.matrix, c.H));
    if (plan.heads == Heads::kEach) {
      add(layer_key(layer, "full_attention_heads"), {c.H, N, N}, stats.matrix);
    }
    const Index state = c.layer(layer).mixer == MixerKind::kSsd ? c.ssd->n : c.D;
    add(layer_key(layer, "query_states"), {c.H, N, state}, stats.query_states);
    add(layer_key(layer, "key_states"), {c.Hkv, N, state}, stats.key_states);
  });
  run_pass(model, trace.tokens, trace.header.mask, tap);
}

// One pass over what stood there before the step. A causal model's cached rows are what this pass computes
// again.
void write_step(const Model& model, const Trace& trace, Index t, const Plan& plan, DictArrayPickle& pickle) {
  const Index n = trace.steps.lengths[static_cast<std::size_t>(t)];
  const std::span<const TokenId> tokens =
      std::span(trace.steps.tokens)
          .subspan(static_cast<std::size_t>(t * trace.N()), static_cast<std::size_t>(n));
  const std::vector<Index> ids(tokens.begin(), tokens.end());
  pickle.begin_dict();
  pickle.add("step", trace.steps.steps[static_cast<std::size_t>(t)]);
  pickle.add("sequence", {DType::kI64, {n}, std::as_bytes(std::span(ids))});
  AttentionRequest request;
  request.matrix = true;
  LayerTap tap(plan.layers, std::move(request), [&](Index layer, const AttentionStats& stats) {
    stop_if_interrupted();
    const std::vector<float> mean = average_heads(stats.matrix, model.config().H);
    pickle.add(layer_key(layer, "attention_avg"), {DType::kF32, {n, n}, bytes_of(mean)});
  });
  run_pass(model, tokens, trace.header.mask, tap);
  pickle.end_dict();
}

void write_export(const Model& model, const Trace& trace, const Plan& plan, const fs::path& path) {
  ProgressBar progress("exporting", std::ssize(plan.rows) + 1);
  const auto integer = [](Index value) { return NpyArray::of(std::vector<Index>{value}, {}); };
  NpzWriter writer(path);
  writer.add("input_length", integer(trace.prompt_length));
  writer.add("num_generated_tokens", integer(trace.G()));
  writer.add("question", NpyArray::of_text({trace.header.question}, {}));
  write_finished(model, trace, plan, writer);
  progress.advance();
  const Index S = std::ssize(plan.rows);
  writer.begin_objects("step_attention_data", {S});
  DictArrayPickle pickle(S, [&](std::span<const std::byte> bytes) { writer.append(bytes); });
  for (const Index t : plan.rows) {
    write_step(model, trace, t, plan, pickle);
    progress.advance();
  }
  pickle.finish();
  writer.end();
  writer.commit();
}

void export_command(ExportFlags options) {
  if (!options.overwrite && fs::is_regular_file(options.output)) {
    fail("{}: is there already; --overwrite replaces it", options.output);
  }
  const Trace trace = read_trace(options.trace);
  const fs::path directory = find_traced_model(options, trace.header);
  const Plan plan{.layers = choose_layers(options, trace),
                  .rows = choose_steps(options, trace),
                  .heads = options.no_heads ? Heads::kAveraged : Heads::kEach};
  check_fingerprint(options, trace.header, directory);
  check_size(options, plan, trace, read_model_config(directory, options.model.family));
  if (!options.output.ends_with(kEnding)) {
    print_warning(fmt::format("{}: the scripts look for names that end with {}", options.output, kEnding));
  }
  options.model.model = directory.string();
  const LoadedModel loaded = load(options.model);
  write_export(loaded.model(), trace, plan, options.output);
  std::printf("%s\n", options.output.c_str());
}

}  // namespace

void add_export(Command& command) {
  auto options = std::make_shared<ExportFlags>();
  Verb verb = command.verb("export", "Whole attention matrices of a trace, for other scripts");
  verb.option("trace", &options->trace, "The trace, as buoy trace wrote it").required();
  verb.option("--format", &options->format, "Whose form: attention-floating (docs/export.md)")
      .choices({"attention-floating"});
  options->model.add_to(verb);
  verb.explain(
      "--model",
      "The model that was traced: its directory, or the name of a bundled one; default: the bundled one that "
      "the trace names");
  verb.option("--layers", &options->layers, "all that were traced, or some of them: 0,4-7");
  verb.option("--steps", &options->steps, "all that were traced, or some of them: every:4, 0,3,7 or none");
  verb.flag("--no-heads", &options->no_heads, "Leave out the matrices of single heads");
  verb.option("--max-gib", &options->max_gib, "Refuse to write a larger file").above(0);
  verb.option("-o,--output", &options->output, "The file to write: NAME_attentions.npz").required();
  verb.flag("--overwrite", &options->overwrite, "Replace a file that is there");
  verb.footer(
      "Runs the model again over the traced sequences; it must be the one that was traced. The file holds "
      "N×N\n"
      "matrices for every layer, head and step and is opened by numpy.load(…, allow_pickle=True).\n\n"
      "Examples:\n"
      "  buoy trace --model mini-arm --prompt-file data/demo_prompt.txt -o arm.npz\n"
      "  buoy export arm.npz -o arm_attentions.npz\n"
      "  buoy export --format attention-floating --steps every:4 --no-heads arm.npz -o few_attentions.npz\n"
      "  buoy export --model /models/LLaDA-8B-Instruct --layers 0,15,31 --steps none llada.npz -o "
      "llada_attentions.npz\n");
  verb.runs([options] { stoppable("nothing was written", [&] { export_command(*options); }); });
}

}  // namespace buoy
