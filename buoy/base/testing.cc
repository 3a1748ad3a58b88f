#include "buoy/base/testing.h"

#include <cstdlib>

namespace buoy {

std::filesystem::path source_path(std::string_view relative) {
  const char* moved = std::getenv("BUOY_SOURCE");  // tests that run on another machine than they were built on
  return std::filesystem::path(moved != nullptr ? moved : BUOY_SOURCE_DIR) / relative;
}

}  // namespace buoy
