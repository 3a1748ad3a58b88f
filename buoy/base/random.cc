#include "buoy/base/random.h"

#include <numeric>

namespace buoy {

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t kMul0 = 0xD2511F53, kMul1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = kMul0 * counter[0];
    const std::uint64_t p1 = kMul1 * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

double uniform(const DrawKey& key, std::uint64_t index) {
  // One block yields two draws; the block number fills the word that sample, step and position leave free.
  const std::array<std::uint32_t, 4> words =
      philox({static_cast<std::uint32_t>(index / 2), key.position, key.step, key.sample},
             {static_cast<std::uint32_t>(key.seed), static_cast<std::uint32_t>(key.seed >> 32)});
  const std::size_t half = index % 2 * 2;
  const std::uint64_t bits = (std::uint64_t{words[half]} << 32 | words[half + 1]) >> 11;
  return (static_cast<double>(bits) + 0.5) * 0x1p-53;
}

std::string_view Draws::pick(std::span<const std::string_view> words) {
  return words[static_cast<std::size_t>(below(std::ssize(words)))];
}

std::vector<Index> Draws::shuffled(Index count) {
  std::vector<Index> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), Index{0});
  for (Index i = count - 1; i > 0; --i) {
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(below(i + 1))]);
  }
  return order;
}

}  // namespace buoy
