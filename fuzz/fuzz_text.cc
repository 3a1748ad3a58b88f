// Any bytes as text, with a small tokenizer that uses NFC and added tokens: spans are in order, streaming
// equals decoding, and decoding gives the text back, normalised.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "buoy/io/json.h"
#include "buoy/text/byte_level.h"
#include "buoy/text/normalizer.h"
#include "buoy/text/tokenizer.h"
#include "buoy/text/utf8.h"

namespace {

using buoy::Json;

buoy::Tokenizer make_tokenizer() {
  Json vocab = Json::object();
  for (int byte = 0; byte < 256; ++byte)
    vocab[buoy::spell_bytes(std::string(1, static_cast<char>(byte)))] = byte;
  const Json merges = {"a b", "ab ab", "Ġ a", "Ã ©", "Ġ Ġ", "ĠĠ ĠĠ"};
  for (const Json& merge : merges) {
    std::string token = merge.get<std::string>();
    token.erase(token.find(' '), 1);
    vocab[token] = vocab.size();
  }
  const Json pattern = {
      {"Regex",
       R"((?i:'s|'t|'re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"}};
  const Json json = {{"added_tokens",
                      {{{"id", 300}, {"content", "<x>"}, {"special", true}, {"normalized", false}},
                       {{"id", 301}, {"content", "<|"}, {"special", false}, {"normalized", true}}}},
                     {"normalizer", {{"type", "NFC"}}},
                     {"pre_tokenizer",
                      {{"type", "Sequence"},
                       {"pretokenizers",
                        {{{"type", "Split"}, {"pattern", pattern}, {"behavior", "Isolated"}},
                         {{"type", "ByteLevel"}, {"use_regex", false}}}}}},
                     {"decoder", {{"type", "ByteLevel"}}},
                     {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", merges}}}};
  return buoy::Tokenizer::parse(json.dump(), "fuzz");
}

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const buoy::Tokenizer tokenizer = make_tokenizer();
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string text = buoy::repair_utf8(bytes).text;
  require(!buoy::find_invalid_utf8(text));
  const buoy::Encoding encoding = tokenizer.encode_with_spans(bytes, buoy::SpecialTokens::kNone);
  require(encoding.ids == tokenizer.encode(text, buoy::SpecialTokens::kNone));
  require(encoding.ids.size() == encoding.spans.size());
  buoy::TokenSpan last;
  for (const buoy::TokenSpan& span : encoding.spans) {
    require(span.begin <= span.end && span.begin >= last.begin && span.end >= last.end);
    last = span;
  }
  require(last.end == buoy::count_code_points(text));

  const std::string decoded = tokenizer.decode(encoding.ids, buoy::SkipSpecial::kKeep);
  // A special token cuts the text before it is normalised, so marks after it stay apart; NFC of both must
  // agree.
  require(buoy::normalize(buoy::Normalizer::kNfc, decoded) == buoy::normalize(buoy::Normalizer::kNfc, text));
  buoy::StreamDecoder stream(tokenizer, buoy::SkipSpecial::kKeep);
  std::string joined;
  for (const buoy::TokenId id : encoding.ids) {
    const std::string part = stream.push(id);
    require(!buoy::find_invalid_utf8(part));
    joined += part;
  }
  require(joined + stream.finish() == decoded);
  // Any bytes as ids.
  std::vector<buoy::TokenId> ids(data, data + size);
  require(!buoy::find_invalid_utf8(tokenizer.decode(ids, buoy::SkipSpecial::kSkip)));
  return 0;
}
