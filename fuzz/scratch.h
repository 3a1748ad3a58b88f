// What targets share that read whole files: a folder in memory, and what every error must be.
#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <unistd.h>

#include "buoy/base/error.h"

namespace buoy::fuzzing {

// One for each process, in memory where the system has such a place.
inline const std::filesystem::path& scratch() {
  static const std::filesystem::path made = [] {
    const std::filesystem::path memory = "/dev/shm";
    const auto root = std::filesystem::exists(memory) ? memory : std::filesystem::temp_directory_path();
    const std::filesystem::path folder = root / ("buoy-fuzz-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    return folder;
  }();
  return made;
}

inline std::filesystem::path put(const char* name, std::string_view bytes) {
  const std::filesystem::path path = scratch() / name;
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

// Work either succeeds or says in one line why not; anything else ends the run.
template <typename Work>
void attempt(const Work& work) {
  try {
    work();
  } catch (const Error& e) {
    const bool one_line = std::strchr(e.what(), '\n') == nullptr;
    check(one_line, one_line ? "" : ("an error is one line, got: " + std::string(e.what())).c_str());
  }
}

}  // namespace buoy::fuzzing
