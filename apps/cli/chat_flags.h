// --chat and --no-chat: the one way in which every verb is told about a model's chat template.
#pragma once

#include <CLI/CLI.hpp>

#include "buoy/engine/loaded_model.h"

namespace buoy {

struct ChatFlags {
  bool on = false, off = false;

  void add_to(CLI::App& verb) {
    CLI::Option* chat =
        verb.add_flag("--chat", on, "Put prompts into the model's chat template; default: where it has one");
    verb.add_flag("--no-chat", off, "Leave the chat template out")->excludes(chat);
  }
  Chat chat() const { return on ? Chat::kOn : off ? Chat::kOff : Chat::kAuto; }
  // The flag that was given; empty: none.
  const char* given() const { return on ? "--chat" : off ? "--no-chat" : ""; }
};

}  // namespace buoy
