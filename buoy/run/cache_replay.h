// Follows a generation's tokens pass by pass, exactly and with approximate caches, and compares the two.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "buoy/decode/approximate_cache.h"
#include "buoy/run/cache_audit.h"

namespace buoy {

// A pass as its sampler ran it.
struct LoggedPass {
  std::vector<TokenId> tokens;   // before it
  std::vector<Index> read_rows;  // positions
  std::vector<Index> committed;  // by the step before
  BlockPlace place;
};

// Notes every pass of one sample.
class PassLog : public GenerationObserver {
 public:
  // `block_length` of the sampler: that of the answer where there is one block.
  PassLog(Index block_length, Index shift, std::function<bool()> cancelled)
      : block_length_(block_length), shift_(shift), cancelled_(std::move(cancelled)) {}

  Tap* before_pass(std::span<const Pass> passes) override;
  bool cancelled() const override { return cancelled_ && cancelled_(); }

  const std::vector<LoggedPass>& passes() const { return passes_; }

 private:
  Index block_length_, shift_;
  std::function<bool()> cancelled_;
  std::vector<LoggedPass> passes_;
};

// Sums over stale keys of how far their keys and values lie from the exact ones: 1 − cosine and ‖difference‖
// ÷ ‖exact‖, all key heads as one vector.
struct StateChange {
  double key_turn = 0, key_distance = 0, value_turn = 0, value_distance = 0;
  Index count = 0;
};

// What a stale key is of, and since when.
struct StaleKind {
  Index layer = 0;
  std::string part;  // "prompt 3–4": age in passes; "written 1": passes since it was written; "mask 2": age
  friend auto operator<=>(const StaleKind&, const StaleKind&) = default;
};

struct ReplayedCache {
  std::vector<AuditStep> steps;
  std::map<StaleKind, StateChange> changes;
};

// 1, 2, 3–4, 5–8, …: n ≥ 1 in powers of two.
std::string since_bin(Index n);

// The passes again, with each of these caches; the tokens are the log's whatever a cache would have written.
std::vector<ReplayedCache> replay(const Model& model, std::span<const LoggedPass> passes,
                                  std::span<const CacheOptions> caches,
                                  const std::function<bool()>& cancelled);

}  // namespace buoy
