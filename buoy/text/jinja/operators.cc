// Operators, indexing and slices.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "buoy/io/json.h"
#include "buoy/text/jinja/builtins.h"
#include "buoy/text/jinja/strings.h"
#include "buoy/text/utf8.h"

namespace buoy::jinja {
namespace {

[[noreturn]] void refuse(std::string_view name, const Value& left, const Value& right, const Site& site) {
  fail_at(site, "{} between {} and {} is not supported", name, left.kind(), right.kind());
}

bool is_number(const Value& value) {
  return value.get<std::int64_t>() != nullptr || value.get<double>() != nullptr;
}

double to_real(const Value& value) {
  if (const auto* whole = value.get<std::int64_t>()) return static_cast<double>(*whole);
  return *value.get<double>();
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Value calculate_whole(char op, std::int64_t a, std::int64_t b, const Site& site) {
  std::int64_t result = 0;
  bool overflow = false;
  if ((op == 'f' || op == '%') && b == 0) fail_at(site, "division by zero");
  if ((op == 'f' || op == '%') && b == -1) {  // the one quotient that may not fit
    overflow = op == 'f' && a == std::numeric_limits<std::int64_t>::min();
    result = op == 'f' && !overflow ? -a : 0;
  } else if (op == 'f') {
    result = floor_divide(a, b);
  } else if (op == '%') {
    result = a - floor_divide(a, b) * b;
  } else if (op == '+') {
    overflow = __builtin_add_overflow(a, b, &result);
  } else if (op == '-') {
    overflow = __builtin_sub_overflow(a, b, &result);
  } else {
    overflow = __builtin_mul_overflow(a, b, &result);
  }
  if (overflow) fail_at(site, "a number is too large");
  return result;
}

Value calculate_real(char op, double a, double b, const Site& site) {
  if ((op == '/' || op == 'f' || op == '%') && b == 0) fail_at(site, "division by zero");
  switch (op) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return a / b;
    case 'f':
      return std::floor(a / b);
    default:
      return a - std::floor(a / b) * b;
  }
}

Value calculate(std::string_view name, const Value& left, const Value& right, const Site& site) {
  const char op = name == "//" ? 'f' : name[0];
  const auto *a = left.get<std::int64_t>(), *b = right.get<std::int64_t>();
  if (a != nullptr && b != nullptr && op != '/') return calculate_whole(op, *a, *b, site);
  return calculate_real(op, to_real(left), to_real(right), site);
}

Value add(const Value& left, const Value& right, const Site& site) {
  if (left.string() != nullptr && right.string() != nullptr) {
    check_length(site, left.string()->size() + right.string()->size());
    return *left.string() + *right.string();
  }
  if (left.items() != nullptr && right.items() != nullptr) {
    spend_bytes(site, (left.items()->size() + right.items()->size()) * std::size_t{kBytesPerItem});
    List joined = *left.items();
    joined.insert(joined.end(), right.items()->begin(), right.items()->end());
    return Value::list(std::move(joined), site);
  }
  if (left.is_undefined() || right.is_undefined()) {
    fail_at(site, "{} is undefined", quote((left.is_undefined() ? left : right).get<Undefined>()->name));
  }
  refuse("+", left, right, site);
}

bool less(const Value& left, const Value& right, std::string_view name, const Site& site) {
  if (is_number(left) && is_number(right)) return to_real(left) < to_real(right);
  if (left.string() != nullptr && right.string() != nullptr) {
    spend_steps(site, std::ssize(*left.string()) / kBytesPerStep);
    return *left.string() < *right.string();
  }
  refuse(name, left, right, site);
}

bool contains(const Value& container, const Value& item, const Site& site) {
  if (container.is_undefined()) return false;
  if (const List* items = container.items()) {
    return std::any_of(items->begin(), items->end(),
                       [&](const Value& value) { return equal(value, item, site); });
  }
  if (item.string() != nullptr) {
    if (const std::string* text = container.string()) {
      spend_search(site, text->size(), item.string()->size());
      return text->find(*item.string()) != std::string::npos;
    }
    if (const Dict* fields = container.fields()) {
      spend_steps(site, std::ssize(*fields) / kItemsPerStep);
      return find_field(*fields, *item.string()) != nullptr;
    }
  }
  refuse("in", item, container, site);
}

// What a name would find on the object in Python before any key: such a name must be written in brackets.
bool is_method_name(const Value& object, std::string_view name) {
  constexpr std::array<std::string_view, 11> kDict = {"clear",      "copy",   "fromkeys", "get",
                                                      "items",      "keys",   "pop",      "popitem",
                                                      "setdefault", "update", "values"};
  constexpr std::array<std::string_view, 11> kString = {"strip",      "lstrip",   "rstrip", "split",
                                                        "startswith", "endswith", "upper",  "lower",
                                                        "capitalize", "replace",  "title"};
  if (object.fields() != nullptr) return std::find(kDict.begin(), kDict.end(), name) != kDict.end();
  if (object.string() != nullptr) return std::find(kString.begin(), kString.end(), name) != kString.end();
  return false;
}

struct SliceRange {
  std::int64_t begin, end, step;
};

// Python's rules for absent, negative and too large bounds.
SliceRange resolve(const SliceBounds& bounds, std::int64_t size, const Site& site) {
  const auto whole = [&](const Value& value) -> const std::int64_t* {
    if (value.is_undefined() || value.is_none()) return nullptr;
    if (value.get<std::int64_t>() == nullptr) fail_at(site, "a slice has {} as a bound", value.kind());
    return value.get<std::int64_t>();
  };
  const std::int64_t step = whole(bounds.step) == nullptr ? 1 : *whole(bounds.step);
  if (step == 0) fail_at(site, "a slice has step 0");
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? size : size - 1;
  const auto clamp = [&](const std::int64_t* bound, std::int64_t fallback) {
    if (bound == nullptr) return fallback;
    const std::int64_t from_start = *bound < 0 ? *bound + size : *bound;
    return std::clamp(from_start, low, high);
  };
  return {clamp(whole(bounds.begin), step > 0 ? low : high), clamp(whole(bounds.end), step > 0 ? high : low),
          step};
}

template <typename Item>
std::vector<Item> take_slice(const std::vector<Item>& items, const SliceBounds& bounds, const Site& site) {
  const SliceRange range = resolve(bounds, std::ssize(items), site);
  std::vector<Item> taken;
  std::int64_t at = range.begin;
  while (range.step > 0 ? at < range.end : at > range.end) {
    taken.push_back(items[static_cast<std::size_t>(at)]);
    if (__builtin_add_overflow(at, range.step, &at)) break;
  }
  return taken;
}

}  // namespace

Value apply_operator(std::string_view name, const Value& left, const Value& right, const Site& site) {
  if (name == "==") return equal(left, right, site);
  if (name == "!=") return !equal(left, right, site);
  if (name == "in") return contains(right, left, site);
  if (name == "not in") return !contains(right, left, site);
  if (name == "<") return less(left, right, name, site);
  if (name == ">") return less(right, left, name, site);
  if (name == "<=") return !less(right, left, name, site);
  if (name == ">=") return !less(left, right, name, site);
  if (name == "~") {
    std::string text = to_text(left, site) + to_text(right, site);
    check_length(site, text.size());
    return text;
  }
  if (is_number(left) && is_number(right)) return calculate(name, left, right, site);
  if (name == "+") return add(left, right, site);
  refuse(name, left, right, site);
}

Value negate(const Value& value, const Site& site) {
  if (const auto* whole = value.get<std::int64_t>()) return calculate_whole('-', 0, *whole, site);
  if (const auto* real = value.get<double>()) return -*real;
  fail_at(site, "- before {} is not supported", value.kind());
}

Value get_item(const Value& object, const Value& index, const Site& site) {
  if (object.is_undefined()) fail_at(site, "{} is undefined", quote(object.get<Undefined>()->name));
  if (const std::string* key = index.string()) {
    if (const Dict* fields = object.fields()) {
      spend_steps(site, std::ssize(*fields) / kItemsPerStep);
      const Value* found = find_field(*fields, *key);
      return found != nullptr ? *found : Value(Undefined{*key});
    }
    return get_attribute(object, *key, site);
  }
  const auto* whole = index.get<std::int64_t>();
  if (whole == nullptr) fail_at(site, "{} as an index is not supported", index.kind());
  const auto at = [&](std::int64_t size) { return *whole < 0 ? *whole + size : *whole; };
  if (const List* items = object.items()) {
    const std::int64_t position = at(std::ssize(*items));
    if (position >= 0 && position < std::ssize(*items)) return (*items)[static_cast<std::size_t>(position)];
  } else if (const std::string* text = object.string()) {
    spend_steps(site, std::ssize(*text) / kBytesPerStep);
    const std::vector<Index> starts = character_starts(*text);
    const std::int64_t position = at(std::ssize(starts) - 1);
    if (position >= 0 && position + 1 < std::ssize(starts)) return character_at(*text, starts, position);
  }
  return Undefined{std::to_string(*whole)};
}

Value get_attribute(const Value& object, const std::string& name, const Site& site) {
  if (object.is_undefined()) fail_at(site, "{} is undefined", quote(object.get<Undefined>()->name));
  if (is_method_name(object, name)) fail_at(site, "the method {} without a call is not supported", name);
  const Dict* fields = object.fields();
  if (const auto* loop = object.get<std::shared_ptr<const Loop>>()) {
    const Value* found = find_field((*loop)->fields, name);
    if (found == nullptr) fail_at(site, "loop.{} is not supported", name);
    return *found;
  }
  if (const auto* space = object.get<std::shared_ptr<Namespace>>()) fields = &(*space)->fields;
  if (fields != nullptr) spend_steps(site, std::ssize(*fields) / kItemsPerStep);
  const Value* found = fields == nullptr ? nullptr : find_field(*fields, name);
  return found != nullptr ? *found : Value(Undefined{name});
}

Value get_slice(const Value& object, const SliceBounds& bounds, const Site& site) {
  if (object.is_undefined()) fail_at(site, "{} is undefined", quote(object.get<Undefined>()->name));
  if (const List* items = object.items()) return Value::list(take_slice(*items, bounds, site), site);
  const std::string* text = object.string();
  if (text == nullptr) fail_at(site, "a slice of {} is not supported", object.kind());
  spend_steps(site, std::ssize(*text) / kBytesPerStep);
  const std::vector<Index> starts = character_starts(*text);
  std::vector<Index> numbers(starts.size() - 1);
  std::iota(numbers.begin(), numbers.end(), Index{0});
  std::string joined;
  for (const Index number : take_slice(numbers, bounds, site)) joined += character_at(*text, starts, number);
  return joined;
}

std::int64_t length_of(const Value& value, const Site& site) {
  if (const List* items = value.items()) return std::ssize(*items);
  if (const Dict* fields = value.fields()) return std::ssize(*fields);
  if (const std::string* text = value.string()) {
    spend_steps(site, std::ssize(*text) / kBytesPerStep);
    return count_code_points(*text);
  }
  if (value.is_undefined()) return 0;
  fail_at(site, "the length of {} is not supported", value.kind());
}

std::vector<Value> iterate(const Value& value, const Site& site) {
  if (value.is_undefined()) return {};
  if (const List* items = value.items()) {
    spend_bytes(site, items->size() * std::size_t{kBytesPerItem});
    return *items;
  }
  const Dict* fields = value.fields();
  if (fields == nullptr) fail_at(site, "walking over {} is not supported", value.kind());
  std::vector<Value> keys;
  spend_bytes(site, fields->size() * std::size_t{kBytesPerItem + kBytesPerText});
  for (const auto& field : *fields) keys.emplace_back(field.first);
  return keys;
}

}  // namespace buoy::jinja
