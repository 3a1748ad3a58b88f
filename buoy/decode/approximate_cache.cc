#include "buoy/decode/approximate_cache.h"

#include <algorithm>
#include <array>

#include "buoy/base/at.h"
#include "buoy/base/enum_names.h"
#include "buoy/base/error.h"

namespace buoy {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 4> kCacheKinds = {"none", "prefix", "dual", "delayed"};

}  // namespace

std::string_view name_of(CacheKind kind) {
  return kCacheKinds[static_cast<std::size_t>(kind)];
}

std::vector<std::string> cache_kind_names() {
  return {kCacheKinds.begin(), kCacheKinds.end()};
}

CacheKind parse_cache_kind(std::string_view name) {
  return enum_named<CacheKind>(kCacheKinds, name, "cache");
}

Index default_refresh(CacheKind kind) {
  return kind == CacheKind::kDelayed ? 8 : 0;
}

void check_options(const CacheOptions& options) {
  if (options.refresh < 0) fail_usage("cache_refresh is {}, expected 0 or more", options.refresh);
}

ApproximateCache::ApproximateCache(const Model& model, const CacheOptions& options, Index length)
    : options_(options),
      length_(length),
      shift_(model.config().family->logit_shift),
      mask_(*model.config().mask_id),
      states_(model.make_cache(length)),
      computed_by_(at(length), 0),
      wanted_(at(length), 0) {
  states_.length = length;
}

bool ApproximateCache::computes_all(Index pass) const {
  return passes_ == 0 || !options_.on() || pass < options_.whole_passes ||
         (options_.refresh > 0 && pass % options_.refresh == 0);
}

// A token's row is computed once more after it was written, and so long as what it writes itself is not there
// or new. The last row writes nothing then: it goes with the one before it, as dKV-Cache's "un_right" has it.
void ApproximateCache::plan_delayed(std::span<const TokenId> tokens, std::span<const Index> committed) {
  for (Index p = 0; p < length_; ++p) wanted_[at(p)] = tokens[at(p)] == mask_;
  for (const Index p : committed) {
    wanted_[at(p)] = 1;
    if (p >= shift_) wanted_[at(p - shift_)] = 1;
  }
  if (shift_ > 0 && length_ > 1 && wanted_[at(length_ - 2)] != 0) wanted_[at(length_ - 1)] = 1;
}

std::span<const Index> ApproximateCache::plan(std::span<const TokenId> tokens, const BlockPlace& place,
                                              std::span<const Index> committed,
                                              std::span<const Index> read_rows) {
  check(std::ssize(tokens) == length_, "a cache is of one sequence");
  std::ranges::fill(wanted_, 0);
  if (computes_all(place.pass)) {
    std::ranges::fill(wanted_, 1);
  } else if (options_.kind == CacheKind::kDelayed) {
    plan_delayed(tokens, committed);
  } else {
    const Index end = options_.kind == CacheKind::kPrefix ? length_ : place.end;
    std::fill(wanted_.begin() + place.start, wanted_.begin() + end, 1);
  }
  for (const Index p : read_rows) wanted_[at(p)] = 1;
  rows_.clear();
  for (Index p = 0; p < length_; ++p) {
    if (wanted_[at(p)] == 0) continue;
    rows_.push_back(p);
    computed_by_[at(p)] = passes_;
  }
  ++passes_;
  return rows_;
}

ForwardSequence ApproximateCache::sequence(std::span<const TokenId> tokens,
                                           std::span<const Index> read_rows) {
  ids_.clear();
  read_.clear();
  for (const Index p : rows_) ids_.push_back(tokens[at(p)]);
  for (const Index p : read_rows) read_.push_back(std::ranges::lower_bound(rows_, p) - rows_.begin());
  return {.ids = ids_, .read_rows = read_, .cache = &states_, .positions = rows_};
}

std::vector<ApproximateCache> make_caches(const Model& model, const CacheOptions& options,
                                          std::span<const Generation> generations) {
  std::vector<ApproximateCache> caches;
  if (!options.on()) return caches;
  for (const Generation& g : generations) caches.emplace_back(model, options, std::ssize(g.tokens));
  return caches;
}

}  // namespace buoy
