// Question-answering items from dataset files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "study/world_text.h"

namespace buoy {

struct QaPassage {
  std::string title, text;  // valid UTF-8
  bool gold = false;
  std::vector<TextSpan> evidence;  // code points of `text`; empty where the dataset marks none
};

struct QaItem {
  std::string id, task;
  std::string question;
  std::vector<std::string> answers;  // that count as right
  std::vector<QaPassage> passages;   // in prompt order
};

// Reads a file of docs/datasets.md, at most `limit` items. Throws Error naming file, line and field for a
// line that does not fit, for a file without items, and for an id that occurs twice.
std::vector<QaItem> read_dataset(const std::filesystem::path& path, std::optional<Index> limit = {});

}  // namespace buoy
