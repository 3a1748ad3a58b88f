// A whole table as one file: models with their own prompts and samplers, datasets, conditions, scores.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "buoy/engine/run_settings.h"

namespace buoy {

struct Recipe {
  std::vector<std::string> models;
  std::vector<OwnSettings> own;             // one for each model
  std::vector<std::filesystem::path> data;  // "nq=dev.jsonl"
  std::vector<std::string> passages;
  std::vector<std::string> scores;  // empty: all
};

// Reads a recipe (docs/eval.md says its fields). A dataset's file lies beside the recipe, else where the
// command is run. Throws Error naming the file and the field, also for fields that it does not know.
Recipe read_recipe(const std::filesystem::path& path);

// Takes other files for some of the recipe's datasets: "nq=elsewhere.jsonl". Throws UsageError for a name
// that the recipe does not have.
void replace_data(Recipe& recipe, const std::vector<std::string>& files);

}  // namespace buoy
