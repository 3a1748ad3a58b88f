#include <algorithm>
#include <array>
#include <charconv>

#include "buoy/io/json.h"
#include "buoy/text/jinja/builtins.h"
#include "buoy/text/jinja/strings.h"

namespace buoy::jinja {
namespace {

using Filter = Value (*)(const Value& operand, const Arguments& arguments);

const std::string& need_string(const Value& value, const Arguments& arguments) {
  if (value.string() == nullptr) {
    fail_at(arguments.site(), "{} of {} is not supported", arguments.callee(), value.kind());
  }
  spend_steps(arguments.site(), std::ssize(*value.string()) / kBytesPerStep);
  return *value.string();
}

const List& need_list(const Value& value, const Arguments& arguments) {
  if (value.items() == nullptr) {
    fail_at(arguments.site(), "{} of {} is not supported", arguments.callee(), value.kind());
  }
  spend_steps(arguments.site(), std::ssize(*value.items()) / kItemsPerStep);
  return *value.items();
}

// Case of characters outside ASCII is a matter of tables that differ between implementations.
const std::string& need_ascii(const Value& value, const Arguments& arguments) {
  arguments.allow(0);
  const std::string& text = need_string(value, arguments);
  if (!is_ascii(text))
    fail_at(arguments.site(), "{} of text that is not ASCII is not supported", arguments.callee());
  return text;
}

Value trim_filter(const Value& operand, const Arguments& arguments) {
  arguments.allow(1, {"chars"});
  const std::string& text = need_string(operand, arguments);
  if (arguments.find(0, "chars") == nullptr) return std::string(strip(text, StripSide::kBoth));
  spend_search(arguments.site(), text.size(), arguments.string(0, "chars").size());
  return std::string(strip(text, StripSide::kBoth, arguments.string(0, "chars")));
}

Value length_filter(const Value& operand, const Arguments& arguments) {
  arguments.allow(0);
  return length_of(operand, arguments.site());
}

Value upper_filter(const Value& operand, const Arguments& arguments) {
  return ascii_upper(need_ascii(operand, arguments));
}

Value lower_filter(const Value& operand, const Arguments& arguments) {
  return ascii_lower(need_ascii(operand, arguments));
}

Value capitalize_filter(const Value& operand, const Arguments& arguments) {
  std::string text = ascii_lower(need_ascii(operand, arguments));
  return text.empty() ? text : ascii_upper(text.substr(0, 1)) + text.substr(1);
}

Value join_filter(const Value& operand, const Arguments& arguments) {
  arguments.allow(1, {"d"});
  const std::string separator = arguments.find(0, "d") == nullptr ? "" : arguments.string(0, "d");
  std::string joined;
  const List& items = need_list(operand, arguments);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) joined += separator;
    joined += to_text(items[i], arguments.site());
    check_length(arguments.site(), joined.size());
  }
  return joined;
}

Value tojson_filter(const Value& operand, const Arguments& arguments) {
  arguments.allow(0, {"indent", "sort_keys", "ensure_ascii", "separators"});
  JsonStyle style;
  const Value* indent = find_field(arguments.named(), "indent");
  if (indent != nullptr && !indent->is_none()) {
    style.indent = arguments.integer_or(0, "indent", 0);
    if (style.indent < 0 || style.indent > 100)
      fail_at(arguments.site(), "tojson: indent is {}", style.indent);
    style.item_separator = std::string(1, ',');
  }
  style.sort_keys = arguments.boolean_or(0, "sort_keys", false);
  style.ensure_ascii = arguments.boolean_or(0, "ensure_ascii", false);
  const Value* separators = find_field(arguments.named(), "separators");
  if (separators != nullptr && !separators->is_none()) {
    const List& pair = need_list(*separators, arguments);
    if (pair.size() != 2)
      fail_at(arguments.site(), "tojson: separators has {} items, expected 2", pair.size());
    style.item_separator = need_string(pair[0], arguments);
    style.key_separator = need_string(pair[1], arguments);
  }
  return to_json(operand, style, arguments.site());
}

Value default_filter(const Value& operand, const Arguments& arguments) {
  arguments.allow(2, {"default_value", "boolean"});
  const bool also_false = arguments.boolean_or(1, "boolean", false);
  if (!operand.is_undefined() && !(also_false && !operand.truthy())) return operand;
  const Value* fallback = arguments.find(0, "default_value");
  return fallback == nullptr ? Value(std::string()) : *fallback;
}

Value first_filter(const Value& operand, const Arguments& arguments) {
  arguments.allow(0);
  const List& items = need_list(operand, arguments);
  return items.empty() ? Value(Undefined{"first"}) : items.front();
}

Value last_filter(const Value& operand, const Arguments& arguments) {
  arguments.allow(0);
  const List& items = need_list(operand, arguments);
  return items.empty() ? Value(Undefined{"last"}) : items.back();
}

Value list_filter(const Value& operand, const Arguments& arguments) {
  arguments.allow(0);
  if (const std::string* text = operand.string()) {
    spend_bytes(arguments.site(), text->size() * std::size_t{kBytesPerText});
    const std::vector<Index> starts = character_starts(*text);
    List characters;
    for (Index i = 0; i + 1 < std::ssize(starts); ++i)
      characters.emplace_back(character_at(*text, starts, i));
    return Value::list(std::move(characters), arguments.site());
  }
  return Value::list(iterate(operand, arguments.site()), arguments.site());
}

Value items_filter(const Value& operand, const Arguments& arguments) {
  if (operand.is_undefined()) return Value::list({}, arguments.site());
  if (operand.fields() == nullptr) fail_at(arguments.site(), "items of {} is not supported", operand.kind());
  return call_method(operand, "items", arguments);
}

Value replace_filter(const Value& operand, const Arguments& arguments) {
  arguments.allow(3, {"count"});
  const std::int64_t most = arguments.integer_or(2, "count", -1);
  return replace(need_string(operand, arguments), arguments.string(0, "old"), arguments.string(1, "new"),
                 most, arguments.site());
}

Value int_filter(const Value& operand, const Arguments& arguments) {
  arguments.allow(0);
  if (operand.get<std::int64_t>() != nullptr) return operand;
  const std::string_view text = strip(need_string(operand, arguments), StripSide::kBoth);
  std::int64_t number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) {
    fail_at(arguments.site(), "int of {} is not supported", quote(text));
  }
  return number;
}

Value string_filter(const Value& operand, const Arguments& arguments) {
  arguments.allow(0);
  return to_text(operand, arguments.site());
}

Value reverse_filter(const Value& operand, const Arguments& arguments) {
  arguments.allow(0);
  List items = need_list(operand, arguments);
  std::reverse(items.begin(), items.end());
  return Value::list(std::move(items), arguments.site());
}

Value abs_filter(const Value& operand, const Arguments& arguments) {
  arguments.allow(0);
  const auto* whole = operand.get<std::int64_t>();
  const auto* real = operand.get<double>();
  if (whole == nullptr && real == nullptr)
    fail_at(arguments.site(), "abs of {} is not supported", operand.kind());
  const bool negative = whole != nullptr ? *whole < 0 : *real < 0;
  return negative ? negate(operand, arguments.site()) : operand;
}

Value safe_filter(const Value& operand, const Arguments& arguments) {
  arguments.allow(0);
  return operand;
}

Value indent_filter(const Value& operand, const Arguments& arguments) {
  arguments.allow(3, {"width", "first", "blank"});
  const std::int64_t width = arguments.integer_or(0, "width", 4);
  if (width < 0 || width > 1000) fail_at(arguments.site(), "indent: width is {}", width);
  const bool first = arguments.boolean_or(1, "first", false);
  const bool blank = arguments.boolean_or(2, "blank", false);
  const std::vector<std::string> lines = split(need_string(operand, arguments), "\n", -1, arguments.site());
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) text += '\n';
    const bool indents = (i > 0 || first) && (blank || !lines[i].empty());
    if (indents) text.append(static_cast<std::size_t>(width), ' ');
    text += lines[i];
    check_length(arguments.site(), text.size());
  }
  return text;
}

// "a.b" looks up a, then b in it.
Value lookup_path(const Value& item, const std::string& path, const Arguments& arguments) {
  Value value = item;
  for (const std::string& part : split(path, ".", -1, arguments.site())) {
    if (value.is_undefined()) return value;
    value = get_item(value, part, arguments.site());
  }
  return value;
}

Value map_filter(const Value& operand, const Arguments& arguments) {
  arguments.allow(0, {"attribute", "default"});
  const std::string path = arguments.string(0, "attribute");
  const Value* fallback = find_field(arguments.named(), "default");
  List mapped;
  for (const Value& item : need_list(operand, arguments)) {
    Value value = lookup_path(item, path, arguments);
    mapped.push_back(value.is_undefined() && fallback != nullptr ? *fallback : std::move(value));
  }
  return Value::list(std::move(mapped), arguments.site());
}

// Keeps the items whose value passes the test named by argument `first` (none named: that are true).
Value keep_items(const Value& operand, const Arguments& arguments, std::size_t first, bool keep_passing) {
  const std::vector<Value>& given = arguments.positional();
  std::vector<Value> rest;
  if (given.size() > first + 1)
    rest.assign(given.begin() + static_cast<std::ptrdiff_t>(first) + 1, given.end());
  const std::string test = given.size() > first ? arguments.string(first, "test") : "";
  const Arguments test_arguments(rest, {}, test, arguments.site());
  List kept;
  for (const Value& item : need_list(operand, arguments)) {
    const Value value = first == 0 ? item : lookup_path(item, arguments.string(0, "attribute"), arguments);
    const bool passes = test.empty() ? value.truthy() : apply_test(test, value, test_arguments);
    if (passes == keep_passing) kept.push_back(item);
  }
  return Value::list(std::move(kept), arguments.site());
}

Value select_filter(const Value& operand, const Arguments& arguments) {
  arguments.allow(2);
  return keep_items(operand, arguments, 0, true);
}
Value reject_filter(const Value& operand, const Arguments& arguments) {
  arguments.allow(2);
  return keep_items(operand, arguments, 0, false);
}
Value selectattr_filter(const Value& operand, const Arguments& arguments) {
  arguments.allow(3);
  return keep_items(operand, arguments, 1, true);
}
Value rejectattr_filter(const Value& operand, const Arguments& arguments) {
  arguments.allow(3);
  return keep_items(operand, arguments, 1, false);
}

struct NamedFilter {
  std::string_view name;
  Filter apply;
};

constexpr std::array<NamedFilter, 26> kFilters = {{
    {"abs", abs_filter},
    {"capitalize", capitalize_filter},
    {"count", length_filter},
    {"d", default_filter},
    {"default", default_filter},
    {"first", first_filter},
    {"indent", indent_filter},
    {"int", int_filter},
    {"items", items_filter},
    {"join", join_filter},
    {"last", last_filter},
    {"length", length_filter},
    {"list", list_filter},
    {"lower", lower_filter},
    {"map", map_filter},
    {"reject", reject_filter},
    {"rejectattr", rejectattr_filter},
    {"replace", replace_filter},
    {"reverse", reverse_filter},
    {"safe", safe_filter},
    {"select", select_filter},
    {"selectattr", selectattr_filter},
    {"string", string_filter},
    {"tojson", tojson_filter},
    {"trim", trim_filter},
    {"upper", upper_filter},
}};

}  // namespace

Value apply_filter(std::string_view name, const Value& operand, const Arguments& arguments) {
  const auto it =
      std::find_if(kFilters.begin(), kFilters.end(), [&](const NamedFilter& f) { return f.name == name; });
  if (it == kFilters.end()) {
    fail_at(arguments.site(), "the filter {} is not supported", name);
  }
  return it->apply(operand, arguments);
}

}  // namespace buoy::jinja
