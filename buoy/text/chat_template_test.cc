#include "buoy/text/chat_template.h"

#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/text/test_support.h"

namespace buoy {
namespace {

const Json kTokens = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};

ChatTemplate simple() {
  return ChatTemplate::parse(
      "{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content }}{{ eos_token }}{% endfor %}"
      "{% if add_generation_prompt %}[assistant]{% endif %}{% if tools is not none %}T{% endif %}",
      kTokens, "t");
}

TEST(ChatTemplate, RendersMessages) {
  const std::vector<ChatMessage> messages = {{"system", "Be brief."}, {"user", "Hi"}};
  EXPECT_EQ(simple().render(messages, GenerationPrompt::kAdd),
            "<s>[system] Be brief.</s>[user] Hi</s>[assistant]");
  EXPECT_EQ(simple().render(messages, GenerationPrompt::kOmit), "<s>[system] Be brief.</s>[user] Hi</s>");
}

TEST(ChatTemplate, ToolsAreNoneUnlessGiven) {
  const Json messages = Json::array();
  EXPECT_EQ(simple().render(messages, GenerationPrompt::kOmit), "<s>");
  const Json tools = {{"tools", {1}}};
  EXPECT_EQ(
      simple().render(messages, GenerationPrompt::kOmit, {.variables = &tools, .now = {}, .most_steps = {}}),
      "<s>T");
}

TEST(ChatTemplate, TakesNoMoreStepsThanGiven) {
  const ChatTemplate loop =
      ChatTemplate::parse("{% for i in range(100) %}{{ i }}{% endfor %}", Json::object(), "t");
  const Json none = Json::array();
  EXPECT_EQ(loop.render(none, GenerationPrompt::kOmit).size(), 190u);
  EXPECT_EQ(error_of([&] {
              loop.render(none, GenerationPrompt::kOmit, {.variables = nullptr, .now = {}, .most_steps = 50});
            }),
            "t line 1: the template takes more than 50 steps");
}

TEST(ChatTemplate, MessagesMustHaveRoles) {
  EXPECT_EQ(error_of([] { simple().render(Json::object(), GenerationPrompt::kAdd); }),
            "t: the messages are an object, expected an array");
  EXPECT_EQ(error_of([] {
              simple().render(Json::array({{{"content", "x"}}}), GenerationPrompt::kAdd);
            }),
            "t: message 0: \"role\" is missing");
}

TEST(ChatTemplate, ComesFromEitherFile) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("buoy_chat_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  EXPECT_FALSE(ChatTemplate::load(folder));
  std::ofstream(folder / "tokenizer_config.json")
      << R"({"bos_token": {"content": "<s>"}, "chat_template": "config{{ bos_token }}"})";
  EXPECT_EQ(ChatTemplate::load(folder)->render(Json::array(), GenerationPrompt::kAdd), "config<s>");
  std::ofstream(folder / "chat_template.jinja") << "file{{ bos_token }}\n";
  EXPECT_EQ(ChatTemplate::load(folder)->render(Json::array(), GenerationPrompt::kAdd), "file<s>");
  std::filesystem::remove(folder / "chat_template.jinja");
  std::ofstream(folder / "tokenizer_config.json")
      << R"({"chat_template": [{"name": "tool_use", "template": "a"}, {"name": "default", "template": "b"}]})";
  EXPECT_EQ(ChatTemplate::load(folder)->render(Json::array(), GenerationPrompt::kAdd), "b");
  std::ofstream(folder / "tokenizer_config.json")
      << R"({"chat_template": [{"name": "tool_use", "template": "a"}]})";
  EXPECT_NE(error_of([&] { ChatTemplate::load(folder); }).find("has no \"default\" (has: tool_use)"),
            std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST(ChatTemplateDate, IsThatOfTheTemplateAndNotOfTheClock) {
  ChatTemplate chat = ChatTemplate::parse("{{ strftime_now('%A %d %b %Y %j %H:%M') }}", Json::object(), "t");
  EXPECT_EQ(chat.render(Json::array(), GenerationPrompt::kAdd), "Friday 26 Jul 2024 208 00:00");
  chat.set_date("2028-02-29");
  EXPECT_EQ(chat.render(Json::array(), GenerationPrompt::kAdd), "Tuesday 29 Feb 2028 060 00:00");
  EXPECT_TRUE(chat.asks_for_date());
  EXPECT_FALSE(ChatTemplate::parse("{{ messages }}", Json::object(), "t").asks_for_date());
}

TEST(ChatTemplateDate, IsADayOfTheCalendar) {
  for (const char* bad : {"", "2024-7-26", "2024-02-30", "2023-02-29", "24-07-2024", "2024-13-01",
                          "2024- 7-26", "2024--1-26", "2024-07-26x", "yesterday"}) {
    EXPECT_THROW(parse_date(bad), UsageError) << bad;
  }
  EXPECT_EQ(parse_date("today").size(), 10u);
  EXPECT_EQ(parse_date("2024-07-26"), "2024-07-26");
}

}  // namespace
}  // namespace buoy
