// The prompt of a verb: token ids, text, a file, or chat messages.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "buoy/text/tokenizer.h"

namespace buoy {

struct PromptOptions {
  std::string ids, text, file;
  bool chat = false;
  CLI::Option *ids_given = nullptr, *text_given = nullptr, *file_given = nullptr;
};

// Adds --ids, --prompt, --prompt-file and --chat.
void add_prompt_options(CLI::App& verb, PromptOptions& options);

struct Prompt {
  std::vector<TokenId> ids;
  std::optional<Tokenizer> tokenizer;  // where the model directory has one
};

// Exactly one of the three sources must be given. Text gets the special tokens the tokenizer adds (BOS); with
// --chat it becomes one user message in the model's template, which brings its own. Throws UsageError, or
// Error for a model directory without what is needed.
Prompt read_prompt(const PromptOptions& options, const std::filesystem::path& model_directory);

}  // namespace buoy
