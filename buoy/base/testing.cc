#include "buoy/base/testing.h"

#include <cstdlib>

namespace buoy {

std::filesystem::path source_path(std::string_view relative) {
  const char* moved = std::getenv("BUOY_SOURCE");  // by whoever runs the tests where they were not built
  return std::filesystem::path(moved != nullptr ? moved : BUOY_SOURCE_DIR) / relative;
}

}  // namespace buoy
