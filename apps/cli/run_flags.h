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

// How long a rank may be silent.
struct RankFlags {
  double timeout = kRankPatience;

  // Adds --rank-timeout.
  void add_to(Verb& verb);
};

struct RunFlags {
  ModelFlags device;
  std::vector<std::string> models = {"mini-mdm", "mini-arm"};
  std::vector<std::string> families;
  std::vector<std::string> data;
  SamplerFlags sampler{32};
  DataFlags prompts;
  std::string output;
  bool log_samples = false, log_ids = false;
  std::string too_long = "fail", answer_end = "eos";
  bool begin_new = false;
  RankFlags ranks;

  // Adds --model, --family, --data, --answer-end, --output, --new, --too-long, --log-samples, --log-ids,
  // --rank-timeout and the flags of the parts. `format` are the names of the option for the datasets' format;
  // empty: neither that nor --data.
  void add_to(Verb& verb, const std::string& format = "--data-format,--format");

  // Throws Error and UsageError, also for sampler flags that mean nothing to any of the models.
  RunSettings settings() const;

 private:
  std::optional<Verb> verb_;
};

// Does the work on every rank of the job that this process was started in, or on this process alone. A rank
// that fails ends the job, saying why; one that is silent for too long is given up. Where the work is stopped
// by Ctrl-C or SIGTERM, says what the observer was told is kept.
void on_ranks(const RankFlags& flags, const std::function<void(Ranks& ranks, RunObserver& observer)>& work);

// "mini-mdm, mini-arm": for titles.
std::string names_of(const RunSettings& settings);

}  // namespace buoy
