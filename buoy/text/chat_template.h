// Turns a conversation into the prompt that a model was trained on.
#pragma once

#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/base/types.h"
#include "buoy/io/json_fwd.h"

namespace buoy {

struct ChatMessage {
  std::string role;  // "system", "user", "assistant", …
  std::string content;
};

// Whether the prompt ends where the assistant's answer begins. A template may ignore it, as LLaDA's does.
enum class GenerationPrompt { kOmit, kAdd };

// The day that strftime_now() writes unless another is asked for: a prompt must not depend on when it is
// made. It is the one that Llama 3's own template falls back to.
inline constexpr std::string_view kDefaultDate = "2024-07-26";

// "2024-07-26"; of "today" the day of the clock. Throws UsageError for anything else.
std::string parse_date(const std::string& text);

struct ChatOptions {
  const Json* variables = nullptr;  // an object: more variables for the template ("tools", "documents", …)
  std::optional<std::tm> now;       // for strftime_now(); midnight of the template's date when absent
  std::optional<Index> most_steps;  // that rendering may take; jinja/budget.h has the default
};

// A model's chat template. Immutable, safe to share between threads. The text it renders holds its own
// special tokens: encode it with SpecialTokens::kNone.
class ChatTemplate {
 public:
  // From chat_template.jinja, or else "chat_template" of tokenizer_config.json; of several named templates
  // the one called "default". Nothing when the directory has none. Throws Error when it cannot be read or is
  // outside the subset.
  static std::optional<ChatTemplate> load(const std::filesystem::path& directory);

  // From a template's text; `special_tokens` is an object with "bos_token" and so on, which become variables.
  static ChatTemplate parse(std::string_view source, const Json& special_tokens, const std::string& place);

  // `messages` is an array of objects with a "role". Throws Error naming the template's line, also for what
  // the template itself refuses with raise_exception().
  std::string render(const Json& messages, GenerationPrompt prompt, const ChatOptions& options = {}) const;
  std::string render(const std::vector<ChatMessage>& messages, GenerationPrompt prompt,
                     const ChatOptions& options = {}) const;

  // Another day for strftime_now(), as parse_date() gives it.
  void set_date(const std::string& date);
  const std::string& date() const { return date_; }
  bool asks_for_date() const;  // whether the date can matter

 private:
  struct Parts;
  explicit ChatTemplate(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

  std::shared_ptr<const Parts> parts_;  // shared by copies: never changed
  std::string date_{kDefaultDate};
};

}  // namespace buoy
