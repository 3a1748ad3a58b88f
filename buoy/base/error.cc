#include "buoy/base/error.h"

#include <fmt/format.h>

namespace buoy {

void throw_error(fmt::string_view format, fmt::format_args args) {
  throw Error(fmt::vformat(format, args));
}

void throw_usage_error(fmt::string_view format, fmt::format_args args) {
  throw UsageError(fmt::vformat(format, args));
}

void check(bool condition, const char* what, const char* file, int line) {
  if (condition) return;
  throw InternalError(fmt::format("internal error at {}:{}: {}", file, line, what));
}

}  // namespace buoy
