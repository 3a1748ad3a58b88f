#include "apps/cli/prompt.h"

#include <algorithm>

#include "apps/cli/engine.h"
#include "buoy/base/error.h"
#include "buoy/io/file.h"
#include "buoy/text/chat_template.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

std::string as_chat(const std::string& text, const std::filesystem::path& model_directory) {
  const std::optional<ChatTemplate> chat = ChatTemplate::load(model_directory);
  if (!chat) fail("{}: has no chat template, so --chat cannot be used", model_directory.string());
  return chat->render(std::vector<ChatMessage>{{"user", text}}, GenerationPrompt::kAdd);
}

}  // namespace

void add_prompt_options(CLI::App& verb, PromptOptions& options) {
  options.ids_given = verb.add_option("--ids", options.ids, "The prompt as token ids, e.g. 1,2,3");
  options.text_given = verb.add_option("-p,--prompt", options.text, "The prompt as text");
  options.file_given = verb.add_option("--prompt-file", options.file, "The prompt as a file, byte for byte");
  verb.add_flag("--chat", options.chat, "Put the text into the model's chat template, as the user's message");
}

Prompt read_prompt(const PromptOptions& options, const std::filesystem::path& model_directory) {
  const auto given = options.ids_given->count() + options.text_given->count() + options.file_given->count();
  if (given != 1) fail_usage("give the prompt with one of --ids, --prompt and --prompt-file");
  Prompt prompt;
  if (Tokenizer::present(model_directory)) prompt.tokenizer = Tokenizer::load(model_directory);
  if (options.ids_given->count() > 0) {
    if (options.chat) fail_usage("--chat has no effect on --ids");
    prompt.ids = parse_ids(options.ids);
    return prompt;
  }
  if (!prompt.tokenizer)
    fail("{}: has no tokenizer files; give the prompt with --ids", model_directory.string());
  const RepairedText repaired =
      repair_utf8(options.file_given->count() > 0 ? read_file(options.file) : options.text);
  if (repaired.replaced > 0) {
    print_warning(
        fmt::format("the prompt holds {} invalid UTF-8 sequences, replaced by U+FFFD", repaired.replaced));
  }
  const std::string& text = repaired.text;
  prompt.ids = options.chat ? prompt.tokenizer->encode(as_chat(text, model_directory), SpecialTokens::kNone)
                            : prompt.tokenizer->encode(text, SpecialTokens::kAdd);
  if (prompt.ids.empty()) fail_usage("the prompt is empty");
  return prompt;
}

}  // namespace buoy
