// A prompt as token ids, with the region, the origin and the evidence of every token.
#pragma once

#include <vector>

#include "buoy/model/config.h"
#include "buoy/probe/recorder.h"
#include "buoy/prompt/prompt_template.h"
#include "buoy/text/chat_template.h"
#include "buoy/text/tokenizer.h"

namespace buoy {

struct TokenizedPrompt {
  std::vector<TokenId> ids;
  PromptLayout layout;               // regions: BOS, Template, Query, Doc1 …, Answer, Tail
  std::vector<TokenOrigin> origins;  // [N]
};

// With `chat` the text becomes a user's message in that template and its words count as Template; without,
// the tokenizer adds its special tokens. A token that reaches over two parts belongs to the part of its first
// character that is no white space. The first token is BOS where it is the model's. Throws Error when the
// chat template does not repeat the text as it is.
TokenizedPrompt tokenize_prompt(const Tokenizer& tokenizer, const PromptText& prompt,
                                const ChatTemplate* chat);

// A prompt without an item: all of it is the query.
PromptText plain_prompt(std::string_view text);

// Roles of tokenizer and model together: masks and ends of text.
RoleIds role_ids(const Tokenizer& tokenizer, const ModelConfig& config);

}  // namespace buoy
