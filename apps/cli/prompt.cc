#include "apps/cli/prompt.h"

#include <algorithm>

#include "apps/cli/environment.h"
#include "apps/cli/model_flags.h"
#include "buoy/base/error.h"
#include "buoy/io/file.h"
#include "buoy/text/chat_template.h"
#include "buoy/text/utf8.h"

namespace buoy {
void add_prompt_options(Verb& verb, PromptOptions& options) {
  verb.option("--ids", &options.ids, "The prompt as token ids, e.g. 1,2,3");
  verb.option("-p,--prompt", &options.text, "The prompt as text");
  verb.option("--prompt-file", &options.file, "The prompt as a file, byte for byte");
  options.chat.add_to(verb);
}

Prompt read_prompt(const PromptOptions& options, const std::filesystem::path& model_directory) {
  if (options.ids.has_value() + options.text.has_value() + options.file.has_value() != 1)
    fail_usage("give the prompt with one of --ids, --prompt and --prompt-file");
  Prompt prompt;
  if (Tokenizer::present(model_directory)) prompt.tokenizer = Tokenizer::load(model_directory);
  if (options.ids) {
    if (options.chat.chat() != Chat::kAuto) fail_usage("{} has no effect on --ids", options.chat.given());
    if (options.chat.day) fail_usage("--date has no effect on --ids");
    prompt.ids = parse_ids(*options.ids, "--ids");
    return prompt;
  }
  if (!prompt.tokenizer)
    fail("{}: has no tokenizer files; give the prompt with --ids", model_directory.string());
  const RepairedText repaired = repair_utf8(options.file ? read_file(*options.file) : *options.text);
  if (repaired.replaced > 0) {
    print_warning(
        fmt::format("the prompt holds {} invalid UTF-8 sequences, replaced by U+FFFD", repaired.replaced));
  }
  const std::string& text = repaired.text;
  const auto chat = choose_chat_template(model_directory, options.chat.chat(),
                                         options.chat.date().value_or(std::string(kDefaultDate)));
  if (options.chat.day && !(chat && chat->asks_for_date()))
    fail_usage("--date has no effect: {}",
               chat ? "the chat template does not ask for it" : "there is no chat template");
  prompt.ids = encode_prompt(*prompt.tokenizer, chat, text);
  if (prompt.ids.empty()) fail_usage("the prompt is empty");
  return prompt;
}

}  // namespace buoy
