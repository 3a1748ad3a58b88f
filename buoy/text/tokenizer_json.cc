// Reads a tokenizer.json.
#include <algorithm>
#include <array>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/text/tokenizer_parts.h"

namespace buoy {
namespace {

Vocabulary make_vocabulary(const Json* table, const std::string& place) {
  if (table == nullptr || !table->is_object()) fail("{}: is missing or not an object", place);
  Vocabulary vocabulary;
  for (const auto& [spelling, id] : table->items()) {
    if (!id.is_number_integer())
      fail("{}: token {} has {} for its id", place, quote(spelling), quote(id.dump()));
    vocabulary.add(spelling, id.get<Index>(), place);
  }
  return vocabulary;
}

// "a b" or ["a", "b"].
std::pair<std::string, std::string> parse_merge(const Json& merge, std::size_t rank,
                                                const std::string& place) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  }
  if (merge.is_string()) {
    const auto& text = merge.get_ref<const std::string&>();
    const std::size_t space = text.find(' ');
    if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos) {
      return {text.substr(0, space), text.substr(space + 1)};
    }
  }
  fail("{}: merge {} is {}, expected \"left right\" or [\"left\", \"right\"]", place, rank, merge.dump());
}

std::vector<std::pair<std::string, std::string>> make_merges(const Json* list, const std::string& place) {
  if (list == nullptr || !list->is_array()) fail("{}: is missing or not an array", place);
  std::vector<std::pair<std::string, std::string>> merges;
  merges.reserve(list->size());
  for (std::size_t rank = 0; rank < list->size(); ++rank)
    merges.push_back(parse_merge((*list)[rank], rank, place));
  return merges;
}

// Settings of a BPE model that would change its results and that no byte-level family uses.
void refuse_foreign_settings(const JsonObject& model) {
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const std::string value = model.string_or(key, "");
    if (!value.empty())
      fail("{}: {} is {}, expected none in a byte-level model", model.place(), key, quote(value));
  }
  if (model.boolean_or("byte_fallback", false)) fail("{}: byte_fallback is not supported", model.place());
  if (model.number_or("dropout", 0) > 0) fail("{}: dropout is not supported", model.place());
  if (model.boolean_or("fuse_unk", false) && model.has("unk_token")) {
    fail("{}: fuse_unk is not supported", model.place());
  }
}

Bpe make_bpe(const JsonObject& root) {
  const Json* value = root.find("model");
  if (value == nullptr) fail("{}: \"model\" is missing", root.place());
  const JsonObject model(*value, root.place() + ": model");
  // Files from before types were written down hold a BPE when they hold merges.
  const std::string type = model.string_or("type", model.has("merges") ? "BPE" : "");
  if (type != "BPE") fail("{}: type {} is not known (known: BPE)", model.place(), quote(type));
  refuse_foreign_settings(model);
  BpeSettings settings;
  settings.vocabulary = make_vocabulary(model.find("vocab"), model.place() + ".vocab");
  settings.merges = make_merges(model.find("merges"), model.place() + ".merges");
  settings.ignore_merges = model.boolean_or("ignore_merges", false);
  if (model.has("unk_token")) settings.unk_token = model.string("unk_token");
  return Bpe(std::move(settings), model.place());
}

std::vector<AddedToken> make_added_tokens(const JsonObject& root) {
  std::vector<AddedToken> added;
  const Json* list = root.find("added_tokens");
  if (list == nullptr) return added;
  if (!list->is_array()) fail("{}: \"added_tokens\" is not an array", root.place());
  for (std::size_t i = 0; i < list->size(); ++i) {
    const JsonObject entry((*list)[i], fmt::format("{}: added_tokens[{}]", root.place(), i));
    added.push_back(parse_added_token(entry, entry.integer("id")));
  }
  return added;
}

// The only decoder that undoes byte-level spelling.
void check_decoder(const JsonObject& root) {
  const Json* value = root.find("decoder");
  if (value == nullptr) fail("{}: \"decoder\" is missing; expected a ByteLevel", root.place());
  const JsonObject decoder(*value, root.place() + ": decoder");
  const std::string type = decoder.string("type");
  if (type != "ByteLevel") fail("{}: type {} is not known (known: ByteLevel)", decoder.place(), quote(type));
}

// The pattern and normaliser that a tokenizer class has in its code when no tokenizer.json says so.
struct SlowClass {
  std::string_view name;
  std::string_view pattern;
  Normalizer normalizer;
};

constexpr std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

const SlowClass& find_class(const JsonObject& config) {
  static const std::array<SlowClass, 5> kClasses = {{
      {"Qwen2Tokenizer", kQwen2Pattern, Normalizer::kNfc},
      {"Qwen2TokenizerFast", kQwen2Pattern, Normalizer::kNfc},
      {"DreamTokenizer", kQwen2Pattern, Normalizer::kNfc},
      {"GPT2Tokenizer", kGpt2Pattern, Normalizer::kNone},
      {"GPT2TokenizerFast", kGpt2Pattern, Normalizer::kNone},
  }};
  const std::string name = config.string("tokenizer_class");
  const auto it =
      std::find_if(kClasses.begin(), kClasses.end(), [&](const SlowClass& c) { return c.name == name; });
  if (it == kClasses.end()) {
    fail(
        "{}: tokenizer_class {} is not known with vocab.json and merges.txt (known: Qwen2Tokenizer, "
        "DreamTokenizer, "
        "GPT2Tokenizer)",
        config.place(), quote(name));
  }
  return *it;
}

std::vector<std::pair<std::string, std::string>> parse_merges_text(const NamedText& file) {
  std::vector<std::pair<std::string, std::string>> merges;
  std::size_t number = 0;
  for (std::size_t at = 0; at < file.text.size();) {
    const std::size_t end = std::min(file.text.find('\n', at), file.text.size());
    std::string_view line = file.text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (number == 1 && line.starts_with("#version:"))) continue;
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
      fail("{}:{}: got {}, expected two tokens and one space", file.place, number, quote(line));
    }
    merges.emplace_back(line.substr(0, space), line.substr(space + 1));
  }
  return merges;
}

}  // namespace

TokenizerParts parse_tokenizer_json(const NamedText& tokenizer, const std::optional<NamedJson>& config) {
  const Json document = parse_json(tokenizer.text, tokenizer.place);
  const JsonObject root(document, tokenizer.place);
  TokenizerParts parts{
      .normalizer = parse_normalizer(root.find("normalizer"), tokenizer.place + ": normalizer"),
      .pre_tokenizer = PreTokenizer::parse(root.find("pre_tokenizer"), tokenizer.place + ": pre_tokenizer"),
      .bpe = make_bpe(root),
      .post_processor =
          parse_post_processor(root.find("post_processor"), tokenizer.place + ": post_processor"),
      .added_tokens = make_added_tokens(root),
      .named = {}};
  check_decoder(root);
  if (config) apply_config(*config, parts.bpe.vocabulary(), parts.added_tokens, parts.named);
  check_added_tokens(parts.added_tokens, parts.bpe.vocabulary(), tokenizer.place);
  return parts;
}

TokenizerParts parse_vocab_and_merges(const NamedText& vocab, const NamedText& merges,
                                      const NamedJson& config) {
  const JsonObject object(config.value, config.place);
  const SlowClass& slow = find_class(object);
  std::vector<PreTokenizerStep> steps;
  if (object.boolean_or("add_prefix_space", false)) steps.emplace_back(PrefixSpaceStep{});
  steps.emplace_back(
      SplitStep{.pattern = Pattern(slow.pattern, PatternKind::kExpression, std::string(slow.name))});
  BpeSettings settings;
  const Json table = parse_json(vocab.text, vocab.place);
  settings.vocabulary = make_vocabulary(&table, vocab.place);
  settings.merges = parse_merges_text(merges);
  TokenizerParts parts{.normalizer = slow.normalizer,
                       .pre_tokenizer = PreTokenizer(std::move(steps)),
                       .bpe = Bpe(std::move(settings), merges.place),
                       .post_processor = {},
                       .added_tokens = {},
                       .named = {}};
  apply_config(config, parts.bpe.vocabulary(), parts.added_tokens, parts.named);
  check_added_tokens(parts.added_tokens, parts.bpe.vocabulary(), config.place);
  return parts;
}

}  // namespace buoy
