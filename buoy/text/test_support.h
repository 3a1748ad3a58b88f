// Small tokenizers for the tests of this room.
#pragma once

#include <string>
#include <vector>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/text/byte_level.h"
#include "buoy/text/tokenizer.h"

namespace buoy {

// A tokenizer.json with all 256 bytes (id = byte) and the given merges ("a b", in spellings), whose results
// get the ids from 256 on. Pre-tokenizer: ByteLevel with the GPT-2 pattern. Change what a test needs.
inline Json small_tokenizer(const std::vector<std::string>& merges = {}) {
  Json vocab = Json::object();
  for (int byte = 0; byte < 256; ++byte) vocab[spell_bytes(std::string(1, static_cast<char>(byte)))] = byte;
  Index next = 256;
  for (const std::string& merge : merges) {
    const std::size_t space = merge.find(' ');
    vocab[merge.substr(0, space) + merge.substr(space + 1)] = next++;
  }
  return {{"added_tokens", Json::array()},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
          {"post_processor", nullptr},
          {"decoder", {{"type", "ByteLevel"}}},
          {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", merges}}}};
}

inline Json added_token(Index id, const std::string& content) {
  return {{"id", id}, {"content", content}, {"special", true}, {"normalized", false}};
}

inline Tokenizer make_tokenizer(const Json& json) {
  return Tokenizer::parse(json.dump(), "t.json");
}

// The message of the Error that `act` throws; empty when it throws none.
template <typename Act>
std::string error_of(const Act& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace buoy
