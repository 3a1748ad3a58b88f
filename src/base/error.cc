#include "base/error.h"

namespace buoy {

void check(bool condition, const char* what, const char* file, int line) {
  if (condition) return;
  throw InternalError(fmt::format("internal error at {}:{}: {}", file, line, what));
}

}  // namespace buoy
