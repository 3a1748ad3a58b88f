// The split rules of the pattern in tokenizer.json, spelled out for ASCII, and the merges.
#include "training/ascii_bpe.h"

#include <fstream>

#include <nlohmann/json.hpp>

#include "buoy/base/error.h"

namespace buoy {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_line_end(char c) {
  return c == '\n' || c == '\r';
}
bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
bool is_mark(char c) {
  return !is_letter(c) && !is_digit(c) && !is_space(c);
}

template <typename Test>
std::size_t run_of(std::string_view text, std::size_t begin, Test test) {
  while (begin < text.size() && test(text[begin])) ++begin;
  return begin;
}

// End of the whitespace piece at `begin`: up to the last line end of the run, else all but the space before a
// word.
std::size_t space_end(std::string_view text, std::size_t begin) {
  const std::size_t end = run_of(text, begin, is_space);
  for (std::size_t i = end; i > begin; --i) {
    if (is_line_end(text[i - 1])) return i;
  }
  return end < text.size() && end - begin > 1 ? end - 1 : end;
}

std::size_t piece_end(std::string_view text, std::size_t i) {
  const char c = text[i];
  const char next = i + 1 < text.size() ? text[i + 1] : '\0';
  if (is_letter(c)) return run_of(text, i, is_letter);
  if (is_digit(c)) return std::min(run_of(text, i, is_digit), i + 3);
  if (!is_line_end(c) && is_letter(next)) return run_of(text, i + 1, is_letter);
  if (is_mark(c) || (c == ' ' && next != '\0' && is_mark(next))) {
    return run_of(text, run_of(text, i + 1, is_mark), is_line_end);
  }
  return space_end(text, i);
}

// The printable stand-in of a byte in a byte-level vocabulary.
std::string stand_in(int byte) {
  if (byte > 32 && byte < 127) return std::string(1, static_cast<char>(byte));
  const int code = byte <= 32 ? 256 + byte : 256 + 33;
  return {static_cast<char>(0xC0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3F))};
}

}  // namespace

AsciiBpe::AsciiBpe(const std::string& tokenizer_json) {
  std::ifstream file(tokenizer_json);
  const nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  if (json.is_discarded() || !json.contains("model")) fail("{}: not a tokenizer.json", tokenizer_json);
  const nlohmann::json& vocab = json["model"]["vocab"];
  const auto id_of = [&](const std::string& token) {
    if (!vocab.contains(token)) fail("{}: \"{}\" is not in the vocabulary", tokenizer_json, token);
    return vocab[token].get<std::uint16_t>();
  };
  for (int byte = 0; byte < 128; ++byte) byte_ids_[byte] = id_of(stand_in(byte));
  std::int32_t rank = 0;
  for (const nlohmann::json& merge : json["model"]["merges"]) {
    std::string left, right;
    if (merge.is_array()) {
      left = merge[0];
      right = merge[1];
    } else {
      const std::string both = merge;
      left = both.substr(0, both.find(' '));
      right = both.substr(both.find(' ') + 1);
    }
    const std::uint32_t key = std::uint32_t{id_of(left)} << 16 | id_of(right);
    merges_.emplace(key, Merge{rank++, id_of(left + right)});
  }
}

const std::vector<std::uint16_t>& AsciiBpe::piece(std::string_view bytes) {
  const auto [it, is_new] = seen_.try_emplace(std::string(bytes));
  std::vector<std::uint16_t>& ids = it->second;
  if (!is_new) return ids;
  for (const char c : bytes) {
    if (static_cast<unsigned char>(c) > 127 || c == '\'')
      fail("text: byte {} is not supported", static_cast<int>(c));
    ids.push_back(byte_ids_[static_cast<unsigned char>(c)]);
  }
  for (;;) {
    const Merge* best = nullptr;
    std::size_t at = 0;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto found = merges_.find(std::uint32_t{ids[i]} << 16 | ids[i + 1]);
      if (found != merges_.end() && (best == nullptr || found->second.rank < best->rank)) {
        best = &found->second;
        at = i;
      }
    }
    if (best == nullptr) return ids;
    ids[at] = best->result;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

void AsciiBpe::encode(std::string_view text, std::vector<std::uint16_t>& ids) {
  constexpr std::size_t kMostPieces = 400000;  // names never end: forget them before they fill the memory
  if (seen_.size() > kMostPieces) seen_.clear();
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = piece_end(text, i);
    const std::vector<std::uint16_t>& found = piece(text.substr(i, end - i));
    ids.insert(ids.end(), found.begin(), found.end());
    i = end;
  }
}

}  // namespace buoy
