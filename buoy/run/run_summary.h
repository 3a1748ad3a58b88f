// What a run's store holds, told without opening it for work: a run that is under way may be looked at.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "buoy/base/types.h"

namespace buoy {

struct RunSummary {
  struct Part {
    std::string model, data, condition;
    Index samples = 0;
    Index traced = 0;        // of them with what the analyses saw
    double exact_match = 0;  // mean, 0 to 1
  };
  std::vector<Part> parts;  // in order of model, data and condition
  std::string settings;     // JSON, as the run was begun with

  Index samples() const;
};

// Throws Error when the file is no run, or of another version.
RunSummary summarize_run(const std::filesystem::path& path);

}  // namespace buoy
