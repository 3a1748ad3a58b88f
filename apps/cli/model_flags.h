// What the verbs that run a model share: which model, on which device, with how many threads.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/options.h"
#include "buoy/engine/loaded_model.h"

namespace buoy {

struct ModelFlags {
  std::string model = "mini-mdm";
  std::string family;
  std::string device = "auto", dtype = "auto";
  int threads = 0;

  // Adds --device, --dtype and --threads.
  void add_device_to(Verb& verb);
  // The same, --model and --family.
  void add_to(Verb& verb);

  DeviceSettings device_settings() const;
  ModelSettings settings() const;
};

// Loads it, with warnings and a line that says where it computes on standard error.
LoadedModel load(const ModelFlags& flags);

// "1,2,3" or "1 2 3" → ids. Throws UsageError naming what is no number.
std::vector<TokenId> parse_ids(const std::string& text, std::string_view flag);

}  // namespace buoy
