#include "buoy/io/hash.h"

#include <new>

#include <fmt/format.h>
#include <xxhash.h>

namespace buoy {

struct Hasher::State {
  XXH3_state_t* xxh = XXH3_createState();
  State() {
    if (xxh == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(xxh);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { XXH3_freeState(xxh); }
};

Hasher::Hasher() : state_(std::make_unique<State>()) {}
Hasher::~Hasher() = default;

void Hasher::add(std::span<const std::byte> bytes) {
  const std::uint64_t size = bytes.size();
  XXH3_128bits_update(state_->xxh, &size, sizeof size);
  XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size());
}

void Hasher::add(std::string_view text) {
  add(std::as_bytes(std::span(text)));
}

std::string Hasher::hex() const {
  const XXH128_hash_t digest = XXH3_128bits_digest(state_->xxh);
  return fmt::format("{:016x}{:016x}", digest.high64, digest.low64);
}

}  // namespace buoy
