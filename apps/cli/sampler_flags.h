// The samplers' flags, as settings; which of them mean something to a model is known to decode/sampler.h.
#pragma once

#include <span>
#include <string>

#include "apps/cli/options.h"
#include "buoy/decode/sampler.h"

namespace buoy {

// Whether a verb takes its approximate cache here or has flags of its own for it.
enum class CacheFlags { kHere, kElsewhere };

class SamplerFlags {
 public:
  explicit SamplerFlags(Index gen_length = 128) { given_.gen_length = gen_length; }

  // Adds all flags to a verb.
  void add_to(Verb& verb, CacheFlags cache = CacheFlags::kHere);

  // Throws UsageError for ids that are none.
  SamplerSettings settings() const;

  // Throws UsageError naming the first flag that was given and would have no effect on this family; on any of
  // several: a flag must mean something to one of them.
  void check_effects(const Family& family) const;
  void check_effects(std::span<const Family* const> families) const;

 private:
  void add_cache_to(Verb& verb, const std::string& group);

  SamplerSettings given_;
  std::string remasking_ = "low_confidence", alg_ = "origin", confidence_ = "f64", cache_ = "none", stop_ids_;
  CacheFlags cache_flags_ = CacheFlags::kHere;
  std::optional<Verb> verb_;
};

}  // namespace buoy
