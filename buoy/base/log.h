// Where libraries send what a person should read. They never print; the program decides what happens to it.
#pragma once

#include <functional>
#include <string>

namespace buoy {

// Receives one line without a newline. May be empty: then warnings are dropped by the caller's own choice.
using WarningSink = std::function<void(const std::string&)>;

inline void warn(const WarningSink& sink, const std::string& line) {
  if (sink) sink(line);
}

}  // namespace buoy
