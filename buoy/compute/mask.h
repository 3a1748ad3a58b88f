// Which keys a query may see: always the first ones of its sequence, so a mask is a rule for how many.
#pragma once

#include <algorithm>
#include <string>

#include "buoy/base/types.h"

namespace buoy {

// A value. Positions stand in blocks; a query sees its own block and all before it. Full attention is one
// block without end, causal attention blocks of one.
class Mask {
 public:
  static const Mask kFull, kCausal;

  // Position p is in block ⌊(p + offset) / size⌋: the first block is `offset` positions short.
  // size ≥ 1, offset ≥ 0.
  static Mask blocks(Index size, Index offset = 0);

  constexpr Mask() = default;                      // full
  constexpr Index block() const { return size_; }  // 0: full
  constexpr Index offset() const { return offset_; }

  // How many of N keys the query at `position` sees: keys [0, that).
  constexpr Index visible_keys(Index position, Index N) const {
    if (size_ == 0) return N;
    return std::min(N, ((position + offset_) / size_ + 1) * size_ - offset_);
  }

  // The inverse: the first position whose query sees `key`. All after it do too.
  constexpr Index first_position_seeing(Index key) const {
    return size_ == 0 ? 0 : std::max<Index>(0, (key + offset_) / size_ * size_ - offset_);
  }

  friend constexpr bool operator==(const Mask&, const Mask&) = default;

 private:
  constexpr Mask(Index size, Index offset) : size_(size), offset_(offset) {}

  Index size_ = 0, offset_ = 0;
};

inline constexpr Mask Mask::kFull{};
inline constexpr Mask Mask::kCausal{1, 0};

// "full", "causal", "blocks of 4, the first 1 short".
std::string name_of(const Mask& mask);

}  // namespace buoy
