// Filters, tests, functions, methods and operators of templates. Each behaves as in Python; what it does not
// know throws Error naming it.
#pragma once

#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/text/jinja/value.h"

namespace buoy::jinja {

// The values of a call's arguments.
class Arguments {
 public:
  Arguments(std::vector<Value> positional, Dict named, std::string callee, Site site)
      : positional_(std::move(positional)),
        named_(std::move(named)),
        callee_(std::move(callee)),
        site_(site) {}

  // The argument at `position` or called `name`; nullptr when absent.
  const Value* find(std::size_t position, std::string_view name) const;
  const Value& require(std::size_t position, std::string_view name) const;

  // The same with a type, and a default for an absent argument. Throw Error for another type.
  std::string string(std::size_t position, std::string_view name) const;
  std::int64_t integer_or(std::size_t position, std::string_view name, std::int64_t fallback) const;
  bool boolean_or(std::size_t position, std::string_view name, bool fallback) const;

  // Throws Error for more positional arguments than `most`, or a name that is not in `names`.
  void allow(std::size_t most, std::initializer_list<std::string_view> names = {}) const;

  const std::vector<Value>& positional() const { return positional_; }
  const Dict& named() const { return named_; }
  const Site& site() const { return site_; }
  const std::string& callee() const { return callee_; }

 private:
  std::vector<Value> positional_;
  Dict named_;
  std::string callee_;
  Site site_;
};

Value apply_filter(std::string_view name, const Value& operand, const Arguments& arguments);
bool apply_test(std::string_view name, const Value& operand, const Arguments& arguments);
Value call_method(const Value& object, std::string_view name, const Arguments& arguments);

bool is_function(std::string_view name);
// `now`: what strftime_now() writes.
Value call_function(std::string_view name, const Arguments& arguments, const std::tm& now);

Value apply_operator(std::string_view name, const Value& left, const Value& right, const Site& site);
Value negate(const Value& value, const Site& site);

// value[index], value.name and value[begin:end:step]. What is not there is undefined.
Value get_item(const Value& object, const Value& index, const Site& site);
Value get_attribute(const Value& object, const std::string& name, const Site& site);
struct SliceBounds {
  Value begin, end, step;  // undefined where absent
};
Value get_slice(const Value& object, const SliceBounds& bounds, const Site& site);

// Number of items, fields or characters. Throws Error for other values.
std::int64_t length_of(const Value& value, const Site& site);

// What a `for` walks over: the items of a list, the keys of a dict; nothing for undefined. Others throw
// Error.
std::vector<Value> iterate(const Value& value, const Site& site);

}  // namespace buoy::jinja
