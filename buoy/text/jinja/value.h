// The values of a template: what Python would hold, without what templates cannot reach.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "buoy/base/error.h"
#include "buoy/base/types.h"
#include "buoy/io/json_fwd.h"
#include "buoy/text/jinja/budget.h"

namespace buoy::jinja {

template <typename... Args>
[[noreturn]] void fail_at(const Site& site, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format("{} line {}: {}", *site.place, site.line,
                          fmt::format(format, std::forward<Args>(args)...)));
}

class Value;
using List = std::vector<Value>;
using Dict = std::vector<std::pair<std::string, Value>>;  // in order of insertion; keys are strings

struct Undefined {
  std::string name;  // of what was looked up, for messages
};
struct None {};
struct Function {
  std::string name;
};
// What `namespace()` makes: the only value that a template can change.
struct Namespace {
  Dict fields;
};
// The `loop` of a for.
struct Loop {
  Dict fields;
};

// Cheap to copy. Strings, lists and dicts are shared because they never change after they are made; a
// namespace is shared because every name of it must see its changes.
class Value {
 public:
  using Data = std::variant<Undefined, None, bool, std::int64_t, double, std::shared_ptr<const std::string>,
                            std::shared_ptr<const List>, std::shared_ptr<const Dict>,
                            std::shared_ptr<Namespace>, std::shared_ptr<const Loop>, Function>;

  Value() = default;
  // Implicit, because values are made from data everywhere.
  template <typename T>
  requires(!std::is_same_v<T, Value> && std::is_constructible_v<Data, T>) Value(T data)
      : data_(std::move(data)) {}
  Value(std::string text) : data_(std::make_shared<const std::string>(std::move(text))) {}

  // Throw Error at the site when too much is made, or nested deeper than kDeepestValue.
  static Value list(List items, const Site& site);
  static Value dict(Dict fields, const Site& site);

  // Throws Error when nested deeper than kDeepestValue levels.
  static Value from_json(const Json& json, const Site& site);

  const Data& data() const { return data_; }
  template <typename T>
  const T* get() const {
    return std::get_if<T>(&data_);
  }
  bool is_undefined() const { return get<Undefined>() != nullptr; }
  bool is_none() const { return get<None>() != nullptr; }
  const std::string* string() const;  // of a string; else nullptr
  const List* items() const;          // of a list; else nullptr
  const Dict* fields() const;         // of a dict; else nullptr

  bool truthy() const;
  std::string_view kind() const;  // "a string", "undefined", …

 private:
  Data data_;
  Index depth_ =
      0;  // of lists and dicts in it; a namespace counts as 0, since nothing looks into it by itself
};

const Value* find_field(const Dict& dict, std::string_view key);
void set_field(Dict& dict, std::string_view key, Value value);

// Python's ==. Spends a step for each pair of values.
bool equal(const Value& a, const Value& b, const Site& site);

// The text of a string, a number or an undefined (empty). Others throw Error: Python and JavaScript write
// booleans, none, lists and dicts differently, and no prompt should depend on it.
std::string to_text(const Value& value, const Site& site);

// A whole or real number as Python's repr writes it.
std::string format_number(double number);

struct JsonStyle {
  Index indent = -1;  // -1: on one line
  bool sort_keys = false;
  bool ensure_ascii = false;
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};

// As Python's json.dumps writes it.
std::string to_json(const Value& value, const JsonStyle& style, const Site& site);

}  // namespace buoy::jinja
