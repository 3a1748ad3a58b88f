// What eval, stress, intervene and study share on the command line.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/data_flags.h"
#include "apps/cli/model_flags.h"
#include "apps/cli/sampler_flags.h"
#include "buoy/engine/run_settings.h"
#include "buoy/run/ranks.h"

namespace buoy {

struct RunFlags {
  ModelFlags device;
  std::vector<std::string> models = {"mini-mdm", "mini-arm"};
  std::vector<std::string> families;
  std::vector<std::string> data;
  SamplerFlags sampler{32};
  DataFlags prompts;
  std::string output;
  bool log_samples = false, log_ids = false;
  std::string too_long = "fail";
  bool begin_new = false;

  // Adds --model, --family, --data, --output, --new, --too-long, --log-samples, --log-ids and the flags of
  // the parts.
  // `format` names the option for the datasets' format; empty: neither that nor --data.
  void add_to(Verb& verb, const std::string& format = "--data-format,--format");

  // Throws Error and UsageError, also for sampler flags that mean nothing to any of the models.
  RunSettings settings() const;

 private:
  std::optional<Verb> verb_;
};

// Does the work on every rank of the job that this process was started in, or on this process alone. A rank
// that fails ends the job, saying why. Where the work is stopped by Ctrl-C, says what is kept in `output`.
void on_ranks(const std::string& output, const std::function<void(Ranks& ranks)>& work);

// "mini-mdm, mini-arm": for titles.
std::string names_of(const RunSettings& settings);

}  // namespace buoy
