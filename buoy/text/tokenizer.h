// Text to token ids and back, identical to the original tokenizers of the four families.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/base/types.h"
#include "buoy/io/json_fwd.h"
#include "buoy/text/aligned_text.h"

namespace buoy {

// Whether to add the special tokens that the tokenizer's post-processor names (usually BOS).
enum class SpecialTokens { kNone, kAdd };

// Whether decoding leaves out special tokens.
enum class SkipSpecial { kKeep, kSkip };

// ids[i] stands for the characters spans[i] of the text. Spans are never trimmed: a token that begins with a
// space covers it. Tokens that share one character (its bytes are split) all cover that character. Special
// tokens that were added have empty spans, at the begin or the end of the text.
struct Encoding {
  std::vector<TokenId> ids;
  std::vector<TokenSpan> spans;  // as many as ids
};

// Const after loading; safe to share between threads. Movable.
class Tokenizer {
 public:
  // From a directory with tokenizer.json, or else vocab.json, merges.txt and tokenizer_config.json. Roles of
  // tokens come from tokenizer_config.json where there is one. Throws Error naming file and cause.
  static Tokenizer load(const std::filesystem::path& directory);

  // Whether the directory holds files that load() would read.
  static bool present(const std::filesystem::path& directory);

  // From the text of a tokenizer.json; `place` starts every error message.
  static Tokenizer parse(std::string_view tokenizer_json, const std::string& place);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Broken UTF-8 in `text` counts as U+FFFD (see text/utf8.h to find it before).
  std::vector<TokenId> encode(std::string_view text, SpecialTokens special) const;
  Encoding encode_with_spans(std::string_view text, SpecialTokens special) const;

  // Bytes that are not UTF-8 become U+FFFD. Throws Error for an id outside the vocabulary.
  std::string decode(std::span<const TokenId> ids, SkipSpecial skip) const;

  // One token alone, as a label: its text, with bytes that are no whole character as "<0xE2>". Throws as
  // decode().
  std::string token_text(TokenId id) const;

  // The bytes of one token. Throws as decode().
  std::string_view token_bytes(TokenId id) const;

  // Highest id + 1, added tokens included. A model's embedding may have more rows than that.
  Index vocab_size() const;
  bool contains(TokenId id) const;
  // By content for added tokens, by byte-level spelling ("Ġthe") for the others.
  std::optional<TokenId> id_of(std::string_view token) const;
  bool is_special(TokenId id) const;
  bool is_added(TokenId id) const;

  // Tokens with a role in tokenizer_config.json.
  std::optional<TokenId> bos_id() const;
  std::optional<TokenId> eos_id() const;
  std::optional<TokenId> mask_id() const;
  std::optional<TokenId> pad_id() const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<const Impl> impl);
  Encoding encode_as(std::string_view text, SpecialTokens special, SpanMode mode) const;

  std::unique_ptr<const Impl> impl_;
};

// Text of generated ids. A model's vocabulary may be larger than its tokenizer's: ids beyond that show as
// U+FFFD.
std::string decode_generated(const Tokenizer& tokenizer, std::span<const TokenId> ids);

// Decodes a stream of ids. What push() and finish() return, joined, is what Tokenizer::decode() gives for all
// ids; no character is ever split. The tokenizer must outlive it. One thread.
class StreamDecoder {
 public:
  StreamDecoder(const Tokenizer& tokenizer, SkipSpecial skip) : tokenizer_(&tokenizer), skip_(skip) {}

  // The text that is complete now. Throws Error for an id outside the vocabulary.
  std::string push(TokenId id);

  // The rest: an unfinished character as U+FFFD. Afterwards the decoder is as new.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  SkipSpecial skip_;
  std::string pending_;  // bytes of an unfinished character
};

}  // namespace buoy
