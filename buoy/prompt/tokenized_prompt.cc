#include "buoy/prompt/tokenized_prompt.h"

#include <algorithm>

#include "buoy/base/at.h"
#include "buoy/base/error.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

// The prompt inside a chat template: the same parts, shifted, with the template's words around them.
PromptText wrap_in_chat(const PromptText& prompt, const ChatTemplate& chat) {
  PromptText wrapped = prompt;
  wrapped.text = chat.render({{.role = "user", .content = prompt.text}}, GenerationPrompt::kAdd);
  const std::size_t found = wrapped.text.find(prompt.text);
  if (found == std::string::npos) {
    fail(
        "the model's chat template does not repeat the prompt as it is (does it trim it?), so its regions "
        "are lost");
  }
  const Index before = count_code_points(std::string_view(wrapped.text).substr(0, found));
  for (PromptPart& part : wrapped.parts) {
    part.begin += before;
    part.end += before;
  }
  const Index end = wrapped.parts.back().end, total = count_code_points(wrapped.text);
  if (before > 0) wrapped.parts.insert(wrapped.parts.begin(), PromptPart{.begin = 0, .end = before});
  if (end < total) wrapped.parts.push_back({.begin = end, .end = total});
  return wrapped;
}

std::vector<bool> white_space_of(std::string_view text) {
  std::vector<bool> space;
  for (Index byte = 0; byte < std::ssize(text);) {
    const CodePoint c = code_point_at(text, byte);
    space.push_back(is_white_space(c.value));
    byte += c.length;
  }
  return space;
}

}  // namespace

TokenizedPrompt tokenize_prompt(const Tokenizer& tokenizer, const PromptText& plain,
                                const ChatTemplate* chat) {
  const PromptText prompt = chat != nullptr ? wrap_in_chat(plain, *chat) : plain;
  const Encoding encoding =
      tokenizer.encode_with_spans(prompt.text, chat != nullptr ? SpecialTokens::kNone : SpecialTokens::kAdd);
  const std::vector<bool> space = white_space_of(prompt.text);

  TokenizedPrompt made{.ids = encoding.ids};
  RegionMap& map = made.layout.regions;
  map.regions = {{.kind = RegionKind::kBos}, {.kind = RegionKind::kTemplate}, {.kind = RegionKind::kQuery}};
  const Index first_document = map.count() - 1;  // documents count from 1
  map.regions.insert(map.regions.end(), prompt.documents.begin(), prompt.documents.end());
  map.regions.push_back({.kind = RegionKind::kAnswer});
  map.regions.push_back({.kind = RegionKind::kTail});

  for (std::size_t i = 0; i < encoding.ids.size(); ++i) {
    const TokenSpan span = encoding.spans[i];
    if (i == 0 && tokenizer.bos_id() == encoding.ids[0]) {
      map.of.push_back(0);
      made.origins.push_back(TokenOrigin::kTemplate);
      made.layout.evidence.push_back(0);
      continue;
    }
    Index character = span.begin;
    while (character < span.end && space[at(character)]) ++character;
    if (character == span.end) character = span.begin;
    const auto part = std::ranges::find_if(
        prompt.parts, [&](const PromptPart& p) { return p.begin <= character && character < p.end; });
    // Special tokens that were added stand for no character.
    const bool is_template =
        span.begin == span.end || part == prompt.parts.end() || part->kind == RegionKind::kTemplate;
    map.of.push_back(is_template                        ? 1
                     : part->kind == RegionKind::kQuery ? 2
                                                        : first_document + part->document);
    made.origins.push_back(is_template ? TokenOrigin::kTemplate : TokenOrigin::kText);
    made.layout.evidence.push_back(!is_template && part->evidence ? 1 : 0);
  }
  return made;
}

PromptText plain_prompt(std::string_view text) {
  return {.text = std::string(text),
          .parts = {{.begin = 0, .end = count_code_points(text), .kind = RegionKind::kQuery}}};
}

RoleIds role_ids(const Tokenizer& tokenizer, const ModelConfig& config) {
  RoleIds roles = RoleIds::of(tokenizer);
  if (config.mask_id) roles.mask = config.mask_id;
  for (const TokenId id : config.eos_ids) {
    if (std::ranges::find(roles.eos_and_pad, id) == roles.eos_and_pad.end()) roles.eos_and_pad.push_back(id);
  }
  return roles;
}

}  // namespace buoy
