// The prompt of a verb: token ids, text, a file, or chat messages.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/cli/chat_flags.h"
#include "buoy/text/tokenizer.h"

namespace buoy {

struct PromptOptions {
  std::optional<std::string> ids, text, file;
  ChatFlags chat;
};

// Adds --ids, --prompt, --prompt-file, --chat, --no-chat and --date.
void add_prompt_options(Verb& verb, PromptOptions& options);

struct Prompt {
  std::vector<TokenId> ids;
  std::optional<Tokenizer> tokenizer;  // where the model directory has one
};

// Exactly one of the three sources must be given. Text becomes one user message in the model's chat template,
// where it has one and --no-chat was not given; else it gets the special tokens the tokenizer adds (BOS).
// Throws UsageError, or Error for a model directory without what is needed.
Prompt read_prompt(const PromptOptions& options, const std::filesystem::path& model_directory);

}  // namespace buoy
