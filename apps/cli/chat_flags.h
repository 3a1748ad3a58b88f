// --chat, --no-chat and --date: the one way in which every verb is told about a model's chat template.
#pragma once

#include <optional>
#include <string>

#include <fmt/format.h>

#include "apps/cli/options.h"
#include "buoy/engine/loaded_model.h"

namespace buoy {

struct ChatFlags {
  bool on = false, off = false;
  std::optional<std::string> day;

  void add_to(Verb& verb) {
    verb.flag("--chat", &on, "Put prompts into the model's chat template; default: where it has one");
    verb.flag("--no-chat", &off, "Leave the chat template out").excludes("--chat");
    verb.option(
        "--date", &day,
        fmt::format("The day for chat templates that ask for it, or today; default {}", kDefaultDate));
  }
  Chat chat() const { return on ? Chat::kOn : off ? Chat::kOff : Chat::kAuto; }
  std::optional<std::string> date() const { return day ? std::optional(parse_date(*day)) : std::nullopt; }
  // The flag that was given; empty: none.
  const char* given() const { return on ? "--chat" : off ? "--no-chat" : ""; }
};

}  // namespace buoy
