#include "buoy/text/chat_template.h"

#include <cstdio>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/io/plain_file.h"
#include "buoy/text/jinja/template.h"

namespace buoy {

struct ChatTemplate::Parts {
  jinja::Template body;
  Json special_tokens;
  std::string place;
  bool asks_for_date;
};

namespace {

// The special tokens by role, as plain text. A null one is absent, hence undefined in the template.
Json collect_special_tokens(const JsonObject& config) {
  Json tokens = Json::object();
  for (const char* key :
       {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}) {
    const Json* value = config.find(key);
    if (value == nullptr) continue;
    tokens[key] = value->is_object()
                      ? JsonObject(*value, fmt::format("{}: {}", config.place(), key)).string("content")
                      : config.string(key);
  }
  return tokens;
}

// "chat_template" is a string, or a list of {"name", "template"}.
std::optional<std::string> find_source(const JsonObject& config) {
  const Json* value = config.find("chat_template");
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) return config.string("chat_template");
  std::string names;
  for (const Json& entry : *value) {
    const JsonObject object(entry, config.place() + ": chat_template");
    const std::string name = object.string("name");
    if (name == "default") return object.string("template");
    names += (names.empty() ? "" : ", ") + name;
  }
  fail("{}: chat_template has no \"default\" (has: {})", config.place(), names);
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  check(localtime_r(&now, &local) != nullptr, "the clock has no local time");
  return fmt::format("{:04}-{:02}-{:02}", local.tm_year + 1900, local.tm_mon + 1, local.tm_mday);
}

// A day of the calendar, with its day of the week and of the year; nothing where there is no such day.
std::optional<std::tm> day_of(const std::string& text) {
  int year = 0, month = 0, day = 0;
  const bool plain = text.size() == 10 && text.find_first_not_of("0123456789-") == text.npos;
  if (!plain || std::sscanf(text.c_str(), "%4d-%2d-%2d", &year, &month, &day) != 3 || year < 1900)
    return std::nullopt;
  std::tm made{};
  made.tm_year = year - 1900;
  made.tm_mon = month - 1;
  made.tm_mday = day;
  made.tm_hour = 12;  // far from any change of the clocks
  const std::tm asked = made;
  made.tm_isdst = -1;
  if (std::mktime(&made) == -1 || made.tm_mon != asked.tm_mon || made.tm_mday != asked.tm_mday)
    return std::nullopt;
  made.tm_hour = made.tm_min = made.tm_sec = 0;
  return made;
}

void check_messages(const Json& messages, const std::string& place) {
  if (!messages.is_array()) fail("{}: the messages are {}, expected an array", place, kind_of(messages));
  for (std::size_t i = 0; i < messages.size(); ++i) {
    JsonObject(messages[i], fmt::format("{}: message {}", place, i)).string("role");
  }
}

}  // namespace

std::string parse_date(const std::string& text) {
  const std::string date = text == "today" ? today() : text;
  if (!day_of(date)) fail_usage("date is \"{}\", expected a day such as {}, or today", text, kDefaultDate);
  return date;
}

void ChatTemplate::set_date(const std::string& date) {
  date_ = parse_date(date);
}

bool ChatTemplate::asks_for_date() const {
  return parts_->asks_for_date;
}

std::optional<ChatTemplate> ChatTemplate::load(const std::filesystem::path& directory) {
  const std::filesystem::path config_path = directory / "tokenizer_config.json";
  const std::filesystem::path template_path = directory / "chat_template.jinja";
  const Json config = std::filesystem::exists(config_path) ? read_json_file(config_path) : Json::object();
  const JsonObject object(config, config_path.string());
  if (std::filesystem::exists(template_path)) {
    return parse(read_plain_file(template_path), collect_special_tokens(object), template_path.string());
  }
  const std::optional<std::string> source = find_source(object);
  if (!source) return std::nullopt;
  return parse(*source, collect_special_tokens(object), config_path.string() + ": chat_template");
}

ChatTemplate ChatTemplate::parse(std::string_view source, const Json& special_tokens,
                                 const std::string& place) {
  const bool asks_for_date = source.find("strftime_now") != std::string_view::npos;
  return ChatTemplate(std::make_shared<const Parts>(
      Parts{jinja::Template::parse(source, place), special_tokens, place, asks_for_date}));
}

std::string ChatTemplate::render(const Json& messages, GenerationPrompt prompt,
                                 const ChatOptions& options) const {
  check_messages(messages, parts_->place);
  Json variables = parts_->special_tokens;
  // Hugging Face always hands these two over, none when not given.
  variables["tools"] = nullptr;
  variables["documents"] = nullptr;
  if (options.variables != nullptr) {
    if (!options.variables->is_object()) fail("{}: the extra variables are not an object", parts_->place);
    for (const auto& [name, value] : options.variables->items()) variables[name] = value;
  }
  variables["messages"] = messages;
  variables["add_generation_prompt"] = prompt == GenerationPrompt::kAdd;
  return parts_->body.render(variables, options.now ? *options.now : *day_of(date_),
                             options.most_steps.value_or(jinja::kMostSteps));
}

std::string ChatTemplate::render(const std::vector<ChatMessage>& messages, GenerationPrompt prompt,
                                 const ChatOptions& options) const {
  Json array = Json::array();
  for (const ChatMessage& message : messages)
    array.push_back({{"role", message.role}, {"content", message.content}});
  return render(array, prompt, options);
}

}  // namespace buoy
