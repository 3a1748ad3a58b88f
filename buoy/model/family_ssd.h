// The family whose layers have a state space mixer or attention, as config.json says (docs/ssd.md).
#pragma once

#include "buoy/model/family.h"

namespace buoy {

inline constexpr std::string_view kSsdMdmNames[] = {"BuoySsdMdmForMaskedLM"};

inline constexpr SsdKeys kSsdKeys{.state = "state_size",
                                  .kernel = "conv_kernel",
                                  .mlp = "ssd_intermediate_size",
                                  .layers = "layer_types",
                                  .mixer_parts = {".mixer.", ".self_attn."}};

// From a masked Llama, which its layers with attention are.
constexpr Family ssd_mdm(Family f) {
  f.ssd = &kSsdKeys;
  f.rms_epsilon = 1e-5;
  f.rope_theta = 500000.0;
  f.weights.ssd_in = "model.layers.{}.mixer.in_proj.weight";
  f.weights.ssd_conv = "model.layers.{}.mixer.conv1d.weight";
  f.weights.ssd_dt_bias = "model.layers.{}.mixer.dt_bias";
  f.weights.ssd_a_log = "model.layers.{}.mixer.A_log";
  f.weights.ssd_fc_d = "model.layers.{}.mixer.fc_D.weight";
  f.weights.ssd_d = "model.layers.{}.mixer.D";
  f.weights.ssd_norm = "model.layers.{}.mixer.norm.weight";
  f.weights.ssd_out = "model.layers.{}.mixer.out_proj.weight";
  return f;
}

}  // namespace buoy
