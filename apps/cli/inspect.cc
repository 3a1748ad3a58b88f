// buoy inspect: what a checkpoint is, what it needs, what is wrong with it; and what a trace, an .npz or a
// run holds.
#include <algorithm>
#include <cstdio>
#include <memory>

#include <fmt/ranges.h>

#include "apps/cli/environment.h"
#include "apps/cli/inspect_file.h"
#include "apps/cli/verb.h"
#include "buoy/base/error.h"
#include "buoy/compute/card.h"
#include "buoy/io/json.h"
#include "buoy/model/memory.h"
#include "buoy/text/terminal_text.h"

namespace buoy {
namespace {

struct InspectFlags {
  std::string path;
  std::string model = "mini-mdm", family;
  bool json = false;
};

std::string bytes(Index count) {
  const double value = static_cast<double>(count);
  if (count < (Index{1} << 20)) return fmt::format("{:.1f} KiB", value / 0x1p10);
  if (count < (Index{1} << 30)) return fmt::format("{:.1f} MiB", value / 0x1p20);
  return fmt::format("{:.1f} GiB", value / 0x1p30);
}

std::vector<std::string_view> dtype_names(const WeightReport& weights) {
  std::vector<std::string_view> names;
  for (const DType dtype : weights.dtypes) names.push_back(name_of(dtype));
  return names;
}

// Whether the weights and a pass over needs.tokens fit the card, in either type.
std::string describe_card(const Card& card, const WeightReport& weights, const MemoryNeeds& needs) {
  const auto in_type = [&](std::string_view name, DType dtype) {
    const Index need = weights.parameters * size_of(dtype) + needs.activation_bytes + needs.cache_bytes;
    return fmt::format("{} {} in {}", need <= card.free_bytes ? "fits with" : "does not fit:", bytes(need),
                       name);
  };
  return fmt::format("{}, {} of {} free; {}, {}", card.name, bytes(card.free_bytes), bytes(card.total_bytes),
                     in_type("bf16", DType::kBf16), in_type("f32", DType::kF32));
}

// The name of a directory need not be UTF-8, as JSON must be.
void print_json(const Json& json) {
  std::printf("%s\n", json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

// "blocks of 4, the first generated token beginning one".
std::string describe_mask(const ModelConfig& c) {
  if (c.mask == Mask::kFull) return "full: every row sees all";
  if (c.mask == Mask::kCausal) return "causal: a row sees itself and what is before it";
  return fmt::format(
      "{}{}: a row sees its own and those before it", name_of(c.mask),
      c.family->block_start == BlockStart::kAnswer ? " counted from the answer's first token" : "");
}

std::string describe_experts(const ExpertShape& e) {
  const auto dense = std::ranges::count(e.layers, false);
  return fmt::format(
      "{} of width {}, {} a token{}{}{}", e.count, e.F, e.rule.active,
      e.shared_F > 0 ? fmt::format(", and a shared one of {}", e.shared_F) : "",
      e.rule.groups > 1 ? fmt::format(", from {} of {} groups", e.rule.kept_groups, e.rule.groups) : "",
      dense > 0 ? fmt::format("; {} of {} layers without", dense, e.layers.size()) : "");
}

bool has_attention(const ModelConfig& c) {
  Index l = 0;
  while (l < c.L && c.layer(l).mixer != MixerKind::kAttention) ++l;
  return l < c.L;
}

// "state space in 9 layers (state 32, convolution 7, MLP 496), attention in 3, 7, 11".
std::string describe_mixers(const ModelConfig& c) {
  std::vector<Index> attention;
  for (Index l = 0; l < c.L; ++l) {
    if (c.layer(l).mixer == MixerKind::kAttention) attention.push_back(l);
  }
  return fmt::format(
      "state space in {} layers (state {}, convolution {}, MLP {}), {}", c.L - std::ssize(attention),
      c.ssd->n, c.ssd->K, c.ssd->F,
      attention.empty() ? "no attention" : fmt::format("attention in {}", fmt::join(attention, ", ")));
}

void print_table(const ModelConfig& c, const WeightReport& weights, const MemoryNeeds& needs,
                 std::size_t files) {
  const auto row = [](std::string_view name, const std::string& value) {
    std::printf("%-12s %s\n", std::string(name).c_str(), value.c_str());
  };
  row("family", fmt::format("{} ({}, {}){}", c.family->name, name_of(c.family->writing),
                            c.mask == Mask::kFull ? "both ways" : name_of(c.mask),
                            c.told_family ? ", as told by --family" : ""));
  row("mask", describe_mask(c));
  row("sampler", std::string(name_of(c.family->sampler)));
  row("layers", fmt::format("{}", c.L));
  if (c.ssd) row("mixers", describe_mixers(c));
  const bool attends = has_attention(c);
  row("width", c.F > 0 && attends ? fmt::format("{}, MLP {}", c.E, c.F) : fmt::format("{}", c.E));
  row("heads", fmt::format("{} of {}, {} for keys and values{}", c.H, c.D, c.Hkv,
                           c.qk_norm ? "; RMS norm of queries and keys" : ""));
  if (c.experts) row("experts", describe_experts(*c.experts));
  row("vocabulary", fmt::format("{}{}", c.V, c.tied ? ", head tied to the embedding" : ""));
  row("context", fmt::format("{}", c.context));
  if (attends) {
    row("rope", fmt::format("theta {}{}{}", c.rope_theta, c.rope_scaling ? ", scaled as Llama 3.1" : "",
                            c.rotated() < c.D ? fmt::format(", {} of {} dimensions", c.rotated(), c.D) : ""));
  }
  row("eos ids", fmt::format("{}", fmt::join(c.eos_ids, ", ")));
  if (c.mask_id) row("mask id", fmt::format("{}", *c.mask_id));
  row("parameters", fmt::format("{} in {} file{}{}", weights.parameters, files, files == 1 ? "" : "s",
                                c.experts ? fmt::format("; {} active", needs.active_parameters) : ""));
  row("dtype", fmt::format("{}", fmt::join(dtype_names(weights), ", ")));
  const bool once = choose_widening(needs) == Widen::kOnce;
  row("memory",
      fmt::format("{} mapped; {}", bytes(needs.mapped_bytes),
                  once ? fmt::format("widened once to float32: {} more", bytes(needs.widened_bytes))
                       : fmt::format("widened to float32 block by block at every use: nothing more, but each "
                                     "pass reads and converts all of it (a float32 copy would take {} of "
                                     "this machine's {})",
                                     bytes(needs.widened_bytes), bytes(physical_memory()))));
  row("", fmt::format(
              "{} of activations for {} tokens{}", bytes(needs.activation_bytes), needs.tokens,
              needs.cache_bytes > 0 ? fmt::format(", {} of keys and values", bytes(needs.cache_bytes)) : ""));
  if (c.experts) {
    row("", fmt::format("with the active experts alone, in bf16: {} of {}",
                        bytes(needs.active_parameters * size_of(DType::kBf16)),
                        bytes(weights.parameters * size_of(DType::kBf16))));
  }
  if (const auto card = find_card()) row("card", describe_card(*card, weights, needs));
}

Json as_json(const ModelConfig& c, const WeightReport& weights, const MemoryNeeds& needs) {
  Json json;
  json["family"] = c.family->name;
  json["model_type"] = c.family->model_type;
  json["family_key"] = c.family->key;
  json["told_family"] = c.told_family;
  json["mask"] = name_of(c.mask);
  json["block_length"] = c.block > 0 ? Json(c.block) : Json(nullptr);
  json["sampler"] = name_of(c.family->sampler);
  json["layers"] = c.L;
  json["width"] = c.E;
  json["heads"] = c.H;
  json["key_heads"] = c.Hkv;
  json["head_size"] = c.D;
  json["mlp"] = c.F;
  if (c.ssd) {
    json["ssd"] = {{"state", c.ssd->n}, {"kernel", c.ssd->K}, {"mlp", c.ssd->F}};
    for (Index l = 0; l < c.L; ++l) json["ssd"]["mixers"].push_back(name_of(c.layer(l).mixer));
  }
  json["vocabulary"] = c.V;
  json["context"] = c.context;
  json["eos_ids"] = c.eos_ids;
  json["mask_id"] = c.mask_id ? Json(*c.mask_id) : Json(nullptr);
  json["parameters"] = weights.parameters;
  json["active_parameters"] = needs.active_parameters;
  if (c.experts) {
    json["experts"] = {{"count", c.experts->count},
                       {"active", c.experts->rule.active},
                       {"mlp", c.experts->F},
                       {"shared_mlp", c.experts->shared_F}};
  }
  json["dtype"] = dtype_names(weights);
  json["memory"] = {{"mapped_bytes", needs.mapped_bytes},
                    {"widen", choose_widening(needs) == Widen::kOnce ? "once" : "as_used"},
                    {"widened_bytes", choose_widening(needs) == Widen::kOnce ? needs.widened_bytes : 0},
                    {"tokens", needs.tokens},
                    {"activation_bytes", needs.activation_bytes},
                    {"cache_bytes", needs.cache_bytes}};
  json["problems"] = weights.problems;
  json["unused"] = weights.unused;
  return json;
}

void inspect_model(const std::string& model, const std::string& family, bool json) {
  const std::filesystem::path directory = find_model(model, command_places()).directory;
  const ModelConfig config = read_model_config(directory, family);
  const Checkpoint checkpoint = Checkpoint::open(directory);
  const WeightReport weights = inspect_weights(config, checkpoint);
  const MemoryNeeds needs = estimate_memory(config, weights, std::min<Index>(config.context, 1024));
  if (json) {
    print_json(as_json(config, weights, needs));
  } else {
    print_table(config, weights, needs, checkpoint.files().size());
    for (const std::string& problem : weights.problems)
      std::printf("%-12s %s\n", "problem", for_terminal(problem).c_str());
    for (const std::string& name : weights.unused)
      std::printf("%-12s %s\n", "unused", for_terminal(name).c_str());
  }
  if (!weights.problems.empty()) fail("{}: {} problems", directory.string(), weights.problems.size());
}

void inspect_command(const InspectFlags& options) {
  const FileKind kind = kind_of_path(options.path);
  if (kind == FileKind::kOther) {
    return inspect_model(options.path.empty() ? options.model : options.path, options.family, options.json);
  }
  if (!options.family.empty()) fail_usage("--family has no effect on {}", options.path);
  if (options.json && kind == FileKind::kTraces) {
    fail_usage("--json has no effect on a directory of traces; name one of them");
  }
  const bool is_run = kind == FileKind::kRun;
  if (options.json) return print_json((is_run ? runs_json : npz_json)(options.path));
  const auto describe = is_run ? describe_runs : kind == FileKind::kNpz ? describe_npz : describe_traces;
  std::printf("%s", for_terminal(describe(options.path)).c_str());
}

}  // namespace

void add_inspect(Command& command) {
  auto options = std::make_shared<InspectFlags>();
  Verb verb = command.verb("inspect", "What a checkpoint, a trace, an .npz file or a run holds");
  verb.option("path", &options->path,
              "A trace or another .npz file, the directory of a run or its run.db, or what --model takes");
  verb.option("-m,--model", &options->model,
              "Checkpoint directory, bundled model, or Hub name (ORG/NAME) in the local Hugging Face cache")
      .excludes("path");
  verb.option("--family", &options->family, "What the model is, whatever its config.json says")
      .choices(family_keys())
      .hide_default();
  verb.flag("--json", &options->json, "The same as JSON");
  verb.footer(
      "Exit code 1 when a tensor of a checkpoint is missing or has the wrong shape or type.\n\n"
      "Examples:\n"
      "  buoy inspect\n"
      "  buoy inspect tests/goldens/llada/golden.npz\n"
      "  buoy inspect --model /models/LLaDA-8B-Instruct --json\n");
  verb.runs([options] { inspect_command(*options); });
}

}  // namespace buoy
