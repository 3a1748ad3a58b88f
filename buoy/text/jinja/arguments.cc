#include <algorithm>

#include "buoy/text/jinja/builtins.h"

namespace buoy::jinja {

const Value* Arguments::find(std::size_t position, std::string_view name) const {
  const Value* named = find_field(named_, name);
  if (position >= positional_.size()) return named;
  if (named != nullptr) fail_at(site_, "{} gets its argument {} twice", callee_, name);
  return &positional_[position];
}

const Value& Arguments::require(std::size_t position, std::string_view name) const {
  const Value* value = find(position, name);
  if (value == nullptr) fail_at(site_, "{} lacks its argument {}", callee_, name);
  return *value;
}

std::string Arguments::string(std::size_t position, std::string_view name) const {
  const Value& value = require(position, name);
  if (value.string() == nullptr) {
    fail_at(site_, "the argument {} of {} is {}, expected a string", name, callee_, value.kind());
  }
  return *value.string();
}

std::int64_t Arguments::integer_or(std::size_t position, std::string_view name, std::int64_t fallback) const {
  const Value* value = find(position, name);
  if (value == nullptr) return fallback;
  const auto* whole = value->get<std::int64_t>();
  if (whole == nullptr) {
    fail_at(site_, "the argument {} of {} is {}, expected an integer", name, callee_, value->kind());
  }
  return *whole;
}

bool Arguments::boolean_or(std::size_t position, std::string_view name, bool fallback) const {
  const Value* value = find(position, name);
  if (value == nullptr) return fallback;
  const auto* boolean = value->get<bool>();
  if (boolean == nullptr) {
    fail_at(site_, "the argument {} of {} is {}, expected true or false", name, callee_, value->kind());
  }
  return *boolean;
}

void Arguments::allow(std::size_t most, std::initializer_list<std::string_view> names) const {
  if (positional_.size() > most) {
    fail_at(site_, "{} got {} arguments, at most {} are supported", callee_, positional_.size(), most);
  }
  for (const auto& field : named_) {
    if (std::find(names.begin(), names.end(), field.first) == names.end()) {
      fail_at(site_, "the argument {} of {} is not supported", field.first, callee_);
    }
  }
}

}  // namespace buoy::jinja
