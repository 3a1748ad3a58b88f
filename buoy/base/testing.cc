#include "buoy/base/testing.h"

namespace buoy {

std::filesystem::path source_path(std::string_view relative) {
  return std::filesystem::path(BUOY_SOURCE_DIR) / relative;
}

}  // namespace buoy
