#include "buoy/text/tokenizer.h"

#include <unordered_map>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/io/plain_file.h"
#include "buoy/text/tokenizer_parts.h"
#include "buoy/text/utf8.h"

namespace buoy {

struct Tokenizer::Impl {
  TokenizerParts parts;
  AddedTokenMatcher raw_tokens;         // looked for in the text as it is
  AddedTokenMatcher normalized_tokens;  // looked for in the normalised text
  std::unordered_map<TokenId, const AddedToken*> added;
  StringMap<TokenId> added_ids;  // by content
  Index end_id = 0;

  explicit Impl(TokenizerParts all);

  std::optional<TokenId> find(std::string_view token) const {
    if (const auto it = added_ids.find(token); it != added_ids.end()) return it->second;
    return parts.bpe.vocabulary().find_spelling(token);
  }
};

Tokenizer::Impl::Impl(TokenizerParts all) : parts(std::move(all)), end_id(parts.bpe.vocabulary().end_id()) {
  for (const AddedToken& token : parts.added_tokens) {
    added.emplace(token.id, &token);
    added_ids.emplace(token.content, token.id);
    end_id = std::max<Index>(end_id, Index{token.id} + 1);
    if (token.normalized) {
      const std::string spelling = normalize(parts.normalizer, token.content);
      normalized_tokens.add(token, spelling);
    } else {
      raw_tokens.add(token, token.content);
    }
  }
}

namespace {

// One call's view of the tokenizer: walks a text and collects tokens.
class Encoder {
 public:
  Encoder(const TokenizerParts& parts, const AddedTokenMatcher& raw, const AddedTokenMatcher& normalized,
          SpanMode mode)
      : parts_(parts), raw_(raw), normalized_(normalized), mode_(mode), scanners_(parts.pre_tokenizer) {}

  // `text` is valid UTF-8.
  void run(std::string_view text) {
    Index code_point = 0;
    for (const TextSegment& segment : raw_.split(text)) {
      const std::string_view bytes = text.substr(static_cast<std::size_t>(segment.range.begin),
                                                 static_cast<std::size_t>(segment.range.size()));
      const Index length = mode_ == SpanMode::kTrack ? count_code_points(bytes) : 0;
      if (segment.token) {
        add(*segment.token, {code_point, code_point + length});
      } else {
        encode_plain(normalize(parts_.normalizer, bytes, code_point, mode_));
      }
      code_point += length;
    }
  }

  void add(TokenId id, TokenSpan span) {
    encoding_.ids.push_back(id);
    if (mode_ == SpanMode::kTrack) encoding_.spans.push_back(span);
  }

  Encoding take() { return std::move(encoding_); }

 private:
  // Text without added tokens, except those that are looked for after normalising.
  void encode_plain(AlignedText text) {
    std::vector<TextSegment> segments = normalized_.split(text.bytes);
    if (segments.size() == 1 && !segments.front().token) {
      encode_pieces(parts_.pre_tokenizer.split(std::move(text), scanners_));
      return;
    }
    for (const TextSegment& segment : segments) {
      AlignedText part = cut(text, segment.range);
      if (segment.token) {
        add(*segment.token, span_of(part, 0, std::ssize(part.bytes)));
      } else {
        encode_pieces(parts_.pre_tokenizer.split(std::move(part), scanners_));
      }
    }
  }

  static AlignedText cut(const AlignedText& text, ByteRange range) {
    AlignedText part;
    part.bytes =
        text.bytes.substr(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.size()));
    if (!text.origin.empty()) {
      part.origin.assign(text.origin.begin() + range.begin, text.origin.begin() + range.end);
    }
    return part;
  }

  static TokenSpan span_of(const AlignedText& text, Index begin, Index end) {
    if (text.origin.empty()) return {};
    return {text.origin[static_cast<std::size_t>(begin)].begin,
            text.origin[static_cast<std::size_t>(end - 1)].end};
  }

  void encode_pieces(const Pieces& pieces) {
    const std::string_view bytes = pieces.text.bytes;
    for (const ByteRange& range : pieces.ranges) {
      tokens_.clear();
      parts_.bpe.encode(
          bytes.substr(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.size())),
          workspace_, tokens_);
      Index at = range.begin;
      for (const BpeToken& token : tokens_) {
        encoding_.ids.push_back(token.id);
        if (mode_ == SpanMode::kTrack) encoding_.spans.push_back(span_of(pieces.text, at, at + token.length));
        at += token.length;
      }
    }
  }

  const TokenizerParts& parts_;
  const AddedTokenMatcher& raw_;
  const AddedTokenMatcher& normalized_;
  SpanMode mode_;
  PreTokenizer::Scanners scanners_;
  Bpe::Workspace workspace_;
  std::vector<BpeToken> tokens_;
  Encoding encoding_;
};

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

bool Tokenizer::present(const std::filesystem::path& directory) {
  return std::filesystem::exists(directory / "tokenizer.json") ||
         std::filesystem::exists(directory / "vocab.json");
}

Tokenizer Tokenizer::load(const std::filesystem::path& directory) {
  const std::filesystem::path config_path = directory / "tokenizer_config.json";
  const bool has_config = std::filesystem::exists(config_path);
  const Json config = has_config ? read_json_file(config_path) : Json();
  if (const std::filesystem::path path = directory / "tokenizer.json"; std::filesystem::exists(path)) {
    const std::string text = read_plain_file(path);
    std::optional<NamedJson> named;
    if (has_config) named.emplace(NamedJson{config, config_path.string()});
    return Tokenizer(std::make_unique<const Impl>(parse_tokenizer_json({text, path.string()}, named)));
  }
  if (!std::filesystem::exists(directory / "vocab.json")) {
    fail("{}: has no tokenizer.json, and no vocab.json with merges.txt", directory.string());
  }
  if (!has_config) fail("{}: is missing; vocab.json needs its tokenizer_class", config_path.string());
  const std::string vocab = read_plain_file(directory / "vocab.json");
  const std::string merges = read_plain_file(directory / "merges.txt");
  return Tokenizer(std::make_unique<const Impl>(
      parse_vocab_and_merges({vocab, (directory / "vocab.json").string()},
                             {merges, (directory / "merges.txt").string()}, {config, config_path.string()})));
}

Tokenizer Tokenizer::parse(std::string_view tokenizer_json, const std::string& place) {
  return Tokenizer(std::make_unique<const Impl>(parse_tokenizer_json({tokenizer_json, place}, std::nullopt)));
}

Encoding Tokenizer::encode_as(std::string_view text, SpecialTokens special, SpanMode mode) const {
  RepairedText repaired;
  if (find_invalid_utf8(text)) {
    repaired = repair_utf8(text);
    text = repaired.text;
  }
  Encoder encoder(impl_->parts, impl_->raw_tokens, impl_->normalized_tokens, mode);
  const PostProcessor& around = impl_->parts.post_processor;
  if (special == SpecialTokens::kAdd) {
    for (const TokenId id : around.before) encoder.add(id, {0, 0});
  }
  encoder.run(text);
  if (special == SpecialTokens::kAdd && !around.after.empty()) {
    const Index end = mode == SpanMode::kTrack ? count_code_points(text) : 0;
    for (const TokenId id : around.after) encoder.add(id, {end, end});
  }
  return encoder.take();
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, SpecialTokens special) const {
  return encode_as(text, special, SpanMode::kSkip).ids;
}

Encoding Tokenizer::encode_with_spans(std::string_view text, SpecialTokens special) const {
  return encode_as(text, special, SpanMode::kTrack);
}

std::string Tokenizer::decode(std::span<const TokenId> ids, SkipSpecial skip) const {
  StreamDecoder decoder(*this, skip);
  std::string text;
  for (const TokenId id : ids) text += decoder.push(id);
  text += decoder.finish();
  return text;
}

std::string_view Tokenizer::token_bytes(TokenId id) const {
  if (const auto it = impl_->added.find(id); it != impl_->added.end()) return it->second->content;
  if (!impl_->parts.bpe.vocabulary().has(id)) {
    fail("tokenizer: id {} is outside the vocabulary of {} tokens", id, vocab_size());
  }
  return impl_->parts.bpe.vocabulary().bytes_of(id);
}

std::string Tokenizer::token_text(TokenId id) const {
  std::string_view bytes = token_bytes(id);
  std::string label;
  while (!bytes.empty()) {
    const std::optional<Index> broken = find_invalid_utf8(bytes);
    const auto valid = static_cast<std::size_t>(broken.value_or(std::ssize(bytes)));
    label += bytes.substr(0, valid);
    bytes.remove_prefix(valid);
    if (!bytes.empty()) {
      label += fmt::format("<0x{:02X}>", static_cast<unsigned char>(bytes.front()));
      bytes.remove_prefix(1);
    }
  }
  return label;
}

Index Tokenizer::vocab_size() const {
  return impl_->end_id;
}

bool Tokenizer::contains(TokenId id) const {
  return is_added(id) || impl_->parts.bpe.vocabulary().has(id);
}

std::optional<TokenId> Tokenizer::id_of(std::string_view token) const {
  return impl_->find(token);
}

bool Tokenizer::is_special(TokenId id) const {
  const auto it = impl_->added.find(id);
  return it != impl_->added.end() && it->second->special;
}

bool Tokenizer::is_added(TokenId id) const {
  return impl_->added.contains(id);
}

// apply_config() has made sure that each named token exists.
std::optional<TokenId> Tokenizer::bos_id() const {
  return impl_->parts.named.bos ? impl_->find(*impl_->parts.named.bos) : std::nullopt;
}
std::optional<TokenId> Tokenizer::eos_id() const {
  return impl_->parts.named.eos ? impl_->find(*impl_->parts.named.eos) : std::nullopt;
}
std::optional<TokenId> Tokenizer::mask_id() const {
  return impl_->parts.named.mask ? impl_->find(*impl_->parts.named.mask) : std::nullopt;
}
std::optional<TokenId> Tokenizer::pad_id() const {
  return impl_->parts.named.pad ? impl_->find(*impl_->parts.named.pad) : std::nullopt;
}

std::string StreamDecoder::push(TokenId id) {
  const std::string_view bytes = tokenizer_->token_bytes(id);
  if (skip_ == SkipSpecial::kSkip && tokenizer_->is_special(id)) return {};
  if (tokenizer_->is_added(id)) {
    // An added token is text of its own: it cannot finish a character that stands before it.
    std::string text = finish();
    append_lossy(text, bytes, Tail::kFinal);
    return text;
  }
  pending_ += bytes;
  std::string text;
  const LossyResult result = append_lossy(text, pending_, Tail::kMayContinue);
  pending_.erase(0, static_cast<std::size_t>(result.consumed));
  return text;
}

std::string StreamDecoder::finish() {
  std::string text;
  append_lossy(text, pending_, Tail::kFinal);
  pending_.clear();
  return text;
}

std::string decode_generated(const Tokenizer& tokenizer, std::span<const TokenId> ids) {
  std::string text;
  while (!ids.empty()) {
    std::size_t known = 0;
    while (known < ids.size() && tokenizer.contains(ids[known])) ++known;
    text += tokenizer.decode(ids.first(known), SkipSpecial::kSkip);
    if (known < ids.size()) text += kReplacementCharacter;
    ids = ids.subspan(std::min(known + 1, ids.size()));
  }
  return text;
}

}  // namespace buoy
