// How failures travel: Error for bad input, UsageError for a wrong call, check() for our own bugs.
#pragma once

#include <stdexcept>
#include <string>

#include <fmt/core.h>

namespace buoy {

// Bad input or a failed piece of work. The message is one line: place, got, expected. Exit code 1.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The caller asked for something that makes no sense (a flag, a combination). Exit code 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

// A broken invariant inside Buoy: a bug of ours, never of the user.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Out of line: formatting is compiled once, not in every file that can fail.
[[noreturn]] void throw_error(fmt::string_view format, fmt::format_args args);
[[noreturn]] void throw_usage_error(fmt::string_view format, fmt::format_args args);

template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw_error(format, fmt::make_format_args(args...));
}

template <typename... Args>
[[noreturn]] void fail_usage(fmt::format_string<Args...> format, Args&&... args) {
  throw_usage_error(format, fmt::make_format_args(args...));
}

// Throws InternalError naming the place unless `condition` holds.
void check(bool condition, const char* what, const char* file = __builtin_FILE(),
           int line = __builtin_LINE());

}  // namespace buoy
