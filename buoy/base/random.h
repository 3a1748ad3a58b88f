// Counter-based random numbers: a draw depends only on its key, never on the order of draws.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "buoy/base/types.h"

namespace buoy {

// Philox 4x32-10 (Salmon et al. 2011): four random words for a counter under a key.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

// Names one stream of draws. The same key gives the same numbers on every machine, device, batch and thread
// count.
struct DrawKey {
  std::uint64_t seed = 0;
  std::uint32_t sample = 0;
  std::uint32_t step = 0;
  std::uint32_t position = 0;
};

// Draw `index` (below 2^33) of the stream, uniform in the open interval (0, 1), with 53 random bits.
double uniform(const DrawKey& key, std::uint64_t index);

// A running position in one stream of draws.
class Draws {
 public:
  explicit Draws(DrawKey key) : key_(key) {}
  double unit() { return uniform(key_, next_++); }
  // Uniform in [0, count); count >= 1.
  Index below(Index count) { return static_cast<Index>(unit() * static_cast<double>(count)); }
  // One of the words; at least one.
  std::string_view pick(std::span<const std::string_view> words);
  // A permutation of [0, count).
  std::vector<Index> shuffled(Index count);

 private:
  DrawKey key_;
  std::uint64_t next_ = 0;
};

}  // namespace buoy
