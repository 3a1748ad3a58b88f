// Fingerprints of files and tensors (XXH3, 128 bits): to tell things apart, not to protect them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace buoy {

class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  // Each piece is hashed with its length, so that pieces cannot be shifted into one another.
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text);

  std::string hex() const;  // 32 digits

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace buoy
