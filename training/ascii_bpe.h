// Byte-level BPE for ASCII text, from a tokenizer.json: the few tokenizer features MicroWorld's text needs,
// without a regex library, so that training data is made with a compiler alone. `tokenizer.py check` compares
// it with the reference implementation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace buoy {

class AsciiBpe {
 public:
  // Throws Error when the file is not the tokenizer this code was written for.
  explicit AsciiBpe(const std::string& tokenizer_json);

  // Appends the ids of `text`. Throws Error for a byte above 127 or an apostrophe (contractions are not
  // supported). Remembers pieces it has seen: one object per thread.
  void encode(std::string_view text, std::vector<std::uint16_t>& ids);

 private:
  const std::vector<std::uint16_t>& piece(std::string_view bytes);

  struct Merge {
    std::int32_t rank;
    std::uint16_t result;
  };
  std::uint16_t byte_ids_[128] = {};
  std::unordered_map<std::uint32_t, Merge> merges_;
  std::unordered_map<std::string, std::vector<std::uint16_t>> seen_;
};

}  // namespace buoy
