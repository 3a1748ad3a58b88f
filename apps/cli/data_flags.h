// What the verbs that record share: which examples, with which template, and what of them.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/chat_flags.h"
#include "buoy/engine/run_settings.h"

namespace buoy {

struct RecordFlags {
  std::string steps = "all", layers = "all";
  std::vector<std::string> statistics = {"received", "flow", "answer", "qk"};
  bool per_head = false;
  std::string implicit = "energy";

  // Adds --record-steps, --layers, --record, --per-head and --implicit.
  void add_to(Verb& verb);
  // Throws UsageError.
  RecordSettings settings() const;
};

struct DataFlags {
  std::string prompt_template = "auto";
  std::string format = "auto";  // of the datasets; auto: told from each file
  ChatFlags chat;
  Index limit = 0;  // 0: all
  Index batch_size = 4;

  // Adds --template, --chat, --no-chat, --limit, --batch-size and, by these names if any, their format.
  void add_to(Verb& verb, const std::string& format_names = "--data-format,--format");
  // Throws UsageError for a format that does not exist.
  DataSettings data(const std::vector<std::string>& files) const;
  PromptSettings prompt() const;
};

}  // namespace buoy
