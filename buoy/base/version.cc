#include "buoy/base/version.h"

namespace buoy {

std::string_view version() {
  return BUOY_VERSION;
}

std::string_view commit() {
  return BUOY_COMMIT;
}

std::string_view compiler() {
  return BUOY_COMPILER;
}

}  // namespace buoy
