// Caches for models whose rows see both ways: what is kept there goes stale, so whatever comes of it is
// approximate.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/decode/generation.h"
#include "buoy/model/model.h"

namespace buoy {

// What is not computed again in every pass: nothing; what lies before the block at hand (Fast-dLLM's prefix
// cache); what lies before and behind it (its dual cache); tokens, from the second pass after they were
// written on (dKV-Cache's decode variant).
enum class CacheKind { kNone, kPrefix, kDual, kDelayed };

// "none", "prefix", "dual", "delayed".
std::string_view name_of(CacheKind kind);
std::vector<std::string> cache_kind_names();
// Throws UsageError listing what there is.
CacheKind parse_cache_kind(std::string_view name);

struct CacheOptions {
  CacheKind kind = CacheKind::kNone;
  // A block's pass i computes every row where i is a multiple of this; the first always does. 0: no other.
  Index refresh = 0;
  // So many passes at a block's start compute every row. dKV-Cache: two of LLaDA's, one of Dream's.
  Index whole_passes = 1;

  bool on() const { return kind != CacheKind::kNone; }
};

// How often a kind computes everything where nobody says: within a block never, delayed every 8 passes.
Index default_refresh(CacheKind kind);

// Throws UsageError for a negative refresh, and for one without a cache.
void check_options(const CacheOptions& options);

// The block that a pass fills, and which of its passes it is.
struct BlockPlace {
  Index start = 0, end = 0;  // positions in tokens
  Index pass = 0;            // counted from 0
};

// What one sample keeps from pass to pass. Used by one thread.
class ApproximateCache {
 public:
  // `length` is that of prompt and answer together.
  ApproximateCache(const Model& model, const CacheOptions& options, Index length);

  // The rows that the next pass computes, ascending; those that are read (positions too) are always among
  // them. All others count with the keys and values of the pass that computed them last. `committed` are the
  // positions that the step before wrote.
  std::span<const Index> plan(std::span<const TokenId> tokens, const BlockPlace& place,
                              std::span<const Index> committed, std::span<const Index> read_rows);

  // The sequence of the pass that was planned; valid until the next plan().
  ForwardSequence sequence(std::span<const TokenId> tokens, std::span<const Index> read_rows);

  std::span<const Index> rows() const { return rows_; }
  // Per position the number of the pass, counted from 0, that computed it last.
  std::span<const Index> computed_by() const { return computed_by_; }
  Index passes() const { return passes_; }
  const KvCache& states() const { return states_; }

 private:
  bool computes_all(Index pass) const;
  void plan_delayed(std::span<const TokenId> tokens, std::span<const Index> committed);

  CacheOptions options_;
  Index length_, shift_;
  TokenId mask_;
  KvCache states_;
  Index passes_ = 0;
  std::vector<Index> rows_, computed_by_, read_;
  std::vector<TokenId> ids_;
  std::vector<char> wanted_;
};

// One for each generation, or none where the options have no cache.
std::vector<ApproximateCache> make_caches(const Model& model, const CacheOptions& options,
                                          std::span<const Generation> generations);

}  // namespace buoy
