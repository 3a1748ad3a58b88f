// The samplers' flags, as settings; which of them mean something to a model is known to decode/sampler.h.
#pragma once

#include <span>
#include <string>

#include "apps/cli/options.h"
#include "buoy/decode/sampler.h"

namespace buoy {

class SamplerFlags {
 public:
  explicit SamplerFlags(Index gen_length = 128) { given_.gen_length = gen_length; }

  // Adds all flags to a verb.
  void add_to(Verb& verb);

  // Throws UsageError for ids that are none.
  SamplerSettings settings() const;

  // Throws UsageError naming the first flag that was given and would have no effect on this family; on any of
  // several: a flag must mean something to one of them.
  void check_effects(const Family& family) const;
  void check_effects(std::span<const Family* const> families) const;

 private:
  SamplerSettings given_;
  std::string remasking_ = "low_confidence", alg_ = "origin", confidence_ = "f64", stop_ids_;
  std::optional<Verb> verb_;
};

}  // namespace buoy
