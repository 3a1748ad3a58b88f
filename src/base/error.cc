#include "base/error.h"

namespace buoy {

void check(bool condition, const char* what, std::source_location place) {
  if (condition) return;
  throw InternalError(fmt::format("internal error at {}:{}: {}", place.file_name(), place.line(), what));
}

}  // namespace buoy
