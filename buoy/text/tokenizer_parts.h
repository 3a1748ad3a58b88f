// What a tokenizer is made of, and how it is read from the two kinds of files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/io/json_fwd.h"
#include "buoy/text/added_tokens.h"
#include "buoy/text/bpe.h"
#include "buoy/text/normalizer.h"
#include "buoy/text/post_processor.h"
#include "buoy/text/pretokenizer.h"

namespace buoy {

// Tokens that tokenizer_config.json gives a role. Absent ones were null or not named.
struct NamedTokens {
  std::optional<std::string> bos, eos, mask, pad;
};

struct TokenizerParts {
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  Bpe bpe;
  PostProcessor post_processor;
  std::vector<AddedToken> added_tokens;  // by id; each id and content once
  NamedTokens named;
};

// A file's bytes and the name it goes by in messages.
struct NamedText {
  std::string_view text;
  std::string place;
};

// A tokenizer_config.json.
struct NamedJson {
  const Json& value;
  std::string place;
};

// From the bytes of a tokenizer.json, and tokenizer_config.json where there is one. Throws Error.
TokenizerParts parse_tokenizer_json(const NamedText& tokenizer, const std::optional<NamedJson>& config);

// From vocab.json, merges.txt and tokenizer_config.json, whose "tokenizer_class" decides the pattern and the
// normaliser. Throws Error, also for a class that is not known.
TokenizerParts parse_vocab_and_merges(const NamedText& vocab, const NamedText& merges,
                                      const NamedJson& config);

// Shared by the two: the added tokens and roles of tokenizer_config.json, joined to those already known.
void apply_config(const NamedJson& config, const Vocabulary& vocabulary, std::vector<AddedToken>& added,
                  NamedTokens& named);

// One entry of "added_tokens" or "added_tokens_decoder".
AddedToken parse_added_token(const JsonObject& object, Index id);

// Sorted by id. Throws Error when a token has no content, when two share an id or a content, or when one
// disagrees with the vocabulary about an id.
void check_added_tokens(std::vector<AddedToken>& added, const Vocabulary& vocabulary,
                        const std::string& place);

}  // namespace buoy
