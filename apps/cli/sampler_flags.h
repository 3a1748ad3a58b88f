// The samplers' flags: one table says which flag means something to which sampler; the rest are errors.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "buoy/decode/autoregressive.h"
#include "buoy/decode/masked_diffusion.h"

namespace buoy {

// The flags as given. Unset lengths and steps get their defaults from each other.
struct SamplerFlags {
  Index gen_length = 128, top_k = 0;
  std::optional<Index> steps, block_length;
  double temperature = 0, cfg_scale = 0, threshold = 0.9, alg_temp = 0, eps = 1e-3, top_p = 1;
  std::string remasking = "low_confidence", alg = "origin", stop_ids;
  bool logits_eos_inf = false, confidence_eos_eot_inf = false, ignore_eos = false;
  std::uint64_t seed = 0;

  // Adds all flags to a verb.
  void add_to(CLI::App& verb);

  // Throws UsageError naming the first flag that was given and would have no effect on this family.
  void check_effects(const Family& family) const;

  // The same for several models at once: a flag must mean something to one of them.
  void check_effects(std::span<const Family* const> families) const;

  // The settings that count for a model, for records.
  Json to_json(const ModelConfig& config) const;

  LladaOptions llada() const;
  DreamOptions dream() const;
  AutoregressiveOptions autoregressive(const ModelConfig& config) const;

 private:
  bool given(const std::string& flag) const;
  std::map<std::string, std::string> useless_flags(const Family& family) const;  // flag → why

  CLI::App* verb_ = nullptr;
};

// Generates for a batch of prompts with the sampler of the model's family.
std::vector<Generation> generate(const Model& model, std::span<const std::vector<TokenId>> prompts,
                                 const SamplerFlags& flags, GenerationObserver* observer,
                                 SampleStreams streams = {});

}  // namespace buoy
