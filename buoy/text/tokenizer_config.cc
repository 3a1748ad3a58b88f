// Reads the added tokens and the roles of tokens from tokenizer_config.json.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/text/tokenizer_parts.h"

namespace buoy {
namespace {

// A token's content, written as a string or as an object with "content".
std::optional<std::string> content_of(const JsonObject& config, std::string_view key) {
  const Json* value = config.find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_object())
    return JsonObject(*value, fmt::format("{}: {}", config.place(), key)).string("content");
  return config.string(key);
}

AddedToken* find_content(std::vector<AddedToken>& added, std::string_view content) {
  const auto it =
      std::find_if(added.begin(), added.end(), [&](const AddedToken& t) { return t.content == content; });
  return it == added.end() ? nullptr : &*it;
}

// A token with a role is special, wherever it was defined.
void make_special(std::vector<AddedToken>& added, const Vocabulary& vocabulary, const std::string& content,
                  std::string_view key, const std::string& place) {
  if (AddedToken* known = find_content(added, content)) {
    known->special = true;
    return;
  }
  const std::optional<TokenId> id = vocabulary.find_spelling(content);
  if (!id)
    fail("{}: {} is {}, which is neither in the vocabulary nor an added token", place, key, quote(content));
  added.push_back({.id = *id, .content = content, .special = true});
}

Index parse_id(const std::string& key, const std::string& place) {
  Index id = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
  if (error != std::errc() || end != key.data() + key.size()) {
    fail("{}: \"added_tokens_decoder\" has the key {}, expected a token id", place, quote(key));
  }
  return id;
}

void join_added_tokens(const JsonObject& config, std::vector<AddedToken>& added) {
  const Json* decoder = config.find("added_tokens_decoder");
  if (decoder == nullptr) return;
  if (!decoder->is_object()) fail("{}: \"added_tokens_decoder\" is not an object", config.place());
  for (const auto& [key, value] : decoder->items()) {
    const JsonObject entry(value, fmt::format("{}: added_tokens_decoder[{}]", config.place(), quote(key)));
    AddedToken token = parse_added_token(entry, parse_id(key, config.place()));
    const AddedToken* known = find_content(added, token.content);
    if (known == nullptr) {
      added.push_back(std::move(token));
    } else if (known->id != token.id) {
      fail("{}: {} has id {}, but {} in tokenizer.json", entry.place(), quote(token.content), token.id,
           known->id);
    }
  }
}

}  // namespace

AddedToken parse_added_token(const JsonObject& object, Index id) {
  if (id < 0 || id > std::numeric_limits<TokenId>::max()) fail("{}: {} is no token id", object.place(), id);
  AddedToken token;
  token.id = static_cast<TokenId>(id);
  token.content = object.string("content");
  token.special = object.boolean_or("special", false);
  token.single_word = object.boolean_or("single_word", false);
  token.lstrip = object.boolean_or("lstrip", false);
  token.rstrip = object.boolean_or("rstrip", false);
  token.normalized = object.boolean_or("normalized", !token.special);
  return token;
}

void check_added_tokens(std::vector<AddedToken>& added, const Vocabulary& vocabulary,
                        const std::string& place) {
  std::sort(added.begin(), added.end(), [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
  StringMap<TokenId> ids;
  for (std::size_t i = 0; i < added.size(); ++i) {
    const AddedToken& token = added[i];
    if (token.content.empty()) fail("{}: the added token {} has no content", place, token.id);
    if (i > 0 && added[i - 1].id == token.id) {
      fail("{}: the added tokens {} and {} share id {}", place, quote(added[i - 1].content),
           quote(token.content), token.id);
    }
    if (!ids.emplace(token.content, token.id).second) {
      fail("{}: the added token {} appears twice", place, quote(token.content));
    }
    const std::optional<TokenId> known = vocabulary.find_spelling(token.content);
    if (known && *known != token.id) {
      fail("{}: the added token {} has id {}, but {} in the vocabulary", place, quote(token.content),
           token.id, *known);
    }
    if (!known && vocabulary.has(token.id)) {
      fail("{}: the added token {} has id {}, which the vocabulary gives to another token", place,
           quote(token.content), token.id);
    }
  }
}

void apply_config(const NamedJson& config, const Vocabulary& vocabulary, std::vector<AddedToken>& added,
                  NamedTokens& named) {
  const JsonObject object(config.value, config.place);
  join_added_tokens(object, added);
  constexpr std::array<std::string_view, 7> kRoles = {"bos_token", "eos_token", "mask_token", "pad_token",
                                                      "unk_token", "sep_token", "cls_token"};
  const std::array<std::optional<std::string>*, 4> targets = {&named.bos, &named.eos, &named.mask,
                                                              &named.pad};
  for (std::size_t i = 0; i < kRoles.size(); ++i) {
    const std::optional<std::string> content = content_of(object, kRoles[i]);
    if (!content) continue;
    make_special(added, vocabulary, *content, kRoles[i], config.place);
    if (i < targets.size()) *targets[i] = content;
  }
  const Json* extra = object.find("additional_special_tokens");
  if (extra == nullptr) return;
  if (!extra->is_array()) fail("{}: \"additional_special_tokens\" is not an array", config.place);
  for (const Json& token : *extra) {
    const bool is_object = token.is_object() && token.contains("content") && token["content"].is_string();
    if (!token.is_string() && !is_object) {
      fail("{}: \"additional_special_tokens\" holds {}, expected a string", config.place, token.dump());
    }
    make_special(added, vocabulary,
                 is_object ? token["content"].get<std::string>() : token.get<std::string>(),
                 "additional_special_tokens", config.place);
  }
}

}  // namespace buoy
