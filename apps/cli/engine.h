// What the verbs that run a model share: which model, on which device, with how many threads.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "buoy/model/transformer.h"

namespace buoy {

struct EngineOptions {
  std::string model = "mini-mdm";
  std::string device = "auto";
  std::string dtype = "auto";
  int threads = 0;     // 0: all that are available
  int local_rank = 0;  // of this process among those of the job on this machine: they share out its cards
};

// Adds --device, --dtype and --threads.
void add_device_options(CLI::App& verb, EngineOptions& options);
// The same and --model.
void add_engine_options(CLI::App& verb, EngineOptions& options);

// A directory as given, or the bundled model of that name. Throws Error when neither exists.
std::filesystem::path find_model(const std::string& model);

// A backend with a model loaded on it.
struct Engine {
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Transformer> model;
};

// The device that the options name. `weight_bytes` of the checkpoint decide what --dtype auto means on a
// card: bf16 above kLargeModel, where it is the type the weights were published in, else f32. Throws
// UsageError for what this build or machine does not have.
inline constexpr Index kLargeModel = Index{4} << 30;
std::unique_ptr<Backend> make_backend(const EngineOptions& options, Index weight_bytes,
                                      Widen widen = Widen::kOnce);

// Warnings go to standard error. Throws UsageError for a device or dtype that this build does not have.
Engine open_engine(const EngineOptions& options);

// Prints "buoy: warning: …" on standard error.
void print_warning(const std::string& line);

// "1,2,3" or "1 2 3" → ids. Throws UsageError naming what is no number.
std::vector<TokenId> parse_ids(const std::string& text);

}  // namespace buoy
