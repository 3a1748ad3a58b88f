// Methods of strings and dicts, and the global functions.
#include <algorithm>
#include <array>

#include "buoy/io/json.h"
#include "buoy/text/jinja/builtins.h"
#include "buoy/text/jinja/strings.h"

namespace buoy::jinja {
namespace {

constexpr std::array<std::string_view, 4> kFunctions = {"raise_exception", "strftime_now", "namespace",
                                                        "range"};
constexpr std::int64_t kLongestRange = 100000;  // as in Jinja's sandbox

Value to_list(const std::vector<std::string>& texts, const Site& site) {
  return Value::list(List(texts.begin(), texts.end()), site);
}

// startswith and endswith take one string or a list of them.
bool matches_any(const Value& pattern, const Arguments& arguments,
                 bool (*matches)(std::string_view, std::string_view), std::string_view text) {
  if (pattern.string() != nullptr) return matches(text, *pattern.string());
  if (pattern.items() == nullptr)
    fail_at(arguments.site(), "{} of {} is not supported", arguments.callee(), pattern.kind());
  return std::any_of(pattern.items()->begin(), pattern.items()->end(), [&](const Value& item) {
    if (item.string() == nullptr)
      fail_at(arguments.site(), "{} of {} is not supported", arguments.callee(), item.kind());
    return matches(text, *item.string());
  });
}

Value strip_method(const std::string& text, StripSide side, const Arguments& arguments) {
  arguments.allow(1);
  const Value* characters = arguments.find(0, "chars");
  if (characters == nullptr || characters->is_none()) return std::string(strip(text, side));
  spend_search(arguments.site(), text.size(), arguments.string(0, "chars").size());
  return std::string(strip(text, side, arguments.string(0, "chars")));
}

Value split_method(const std::string& text, const Arguments& arguments) {
  arguments.allow(2, {"sep", "maxsplit"});
  const std::int64_t most = arguments.integer_or(1, "maxsplit", -1);
  const Value* separator = arguments.find(0, "sep");
  if (separator == nullptr || separator->is_none())
    return to_list(split(text, std::nullopt, most, arguments.site()), arguments.site());
  const std::string by = arguments.string(0, "sep");
  if (by.empty()) fail_at(arguments.site(), "split by an empty string");
  return to_list(split(text, by, most, arguments.site()), arguments.site());
}

Value string_method(const std::string& text, std::string_view name, const Arguments& arguments) {
  spend_steps(arguments.site(), std::ssize(text) / kBytesPerStep);
  const auto starts = [](std::string_view a, std::string_view b) { return a.starts_with(b); };
  const auto ends = [](std::string_view a, std::string_view b) { return a.ends_with(b); };
  if (name == "strip") return strip_method(text, StripSide::kBoth, arguments);
  if (name == "lstrip") return strip_method(text, StripSide::kLeft, arguments);
  if (name == "rstrip") return strip_method(text, StripSide::kRight, arguments);
  if (name == "split") return split_method(text, arguments);
  if (name == "replace" || name == "upper" || name == "lower" || name == "capitalize") {
    return apply_filter(name, text, arguments);
  }
  if (name == "startswith" || name == "endswith") {
    arguments.allow(1);
    return matches_any(arguments.require(0, "prefix"), arguments, name == "startswith" ? +starts : +ends,
                       text);
  }
  fail_at(arguments.site(), "the method {} of a string is not supported", name);
}

Value dict_method(const Dict& fields, std::string_view name, const Arguments& arguments) {
  spend_steps(arguments.site(), std::ssize(fields) / kItemsPerStep);
  if (name == "get") {
    arguments.allow(2);
    const Value* found = find_field(fields, arguments.string(0, "key"));
    if (found != nullptr) return *found;
    const Value* fallback = arguments.find(1, "default");
    return fallback != nullptr ? *fallback : Value(None{});
  }
  arguments.allow(0);
  List result;
  for (const auto& [key, value] : fields) {
    if (name == "items")
      result.push_back(Value::list({Value(key), value}, arguments.site()));
    else if (name == "keys")
      result.emplace_back(key);
    else if (name == "values")
      result.push_back(value);
    else
      break;
  }
  if (name != "items" && name != "keys" && name != "values") {
    fail_at(arguments.site(), "the method {} of a dict is not supported", name);
  }
  return Value::list(std::move(result), arguments.site());
}

Value make_namespace(const Arguments& arguments) {
  auto space = std::make_shared<Namespace>();
  spend_bytes(arguments.site(), std::size_t{kBytesPerItem});
  arguments.site().budget->namespaces.push_back(space);
  if (!arguments.positional().empty()) {
    const Dict* fields = arguments.positional().front().fields();
    if (fields == nullptr || arguments.positional().size() > 1) {
      fail_at(arguments.site(), "namespace takes a dict or named arguments");
    }
    space->fields = *fields;
  }
  for (const auto& [key, value] : arguments.named()) set_field(space->fields, key, value);
  return space;
}

Value make_range(const Arguments& arguments) {
  arguments.allow(3);
  arguments.require(0, "stop");
  const bool has_stop = arguments.positional().size() > 1;
  const std::int64_t begin = has_stop ? arguments.integer_or(0, "start", 0) : 0;
  const std::int64_t end = arguments.integer_or(has_stop ? 1 : 0, "stop", 0);
  const std::int64_t step = arguments.integer_or(2, "step", 1);
  if (step == 0) fail_at(arguments.site(), "range has step 0");
  List numbers;
  for (std::int64_t i = begin; step > 0 ? i < end : i > end;) {
    if (std::ssize(numbers) == kLongestRange)
      fail_at(arguments.site(), "range is longer than {}", kLongestRange);
    numbers.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return Value::list(std::move(numbers), arguments.site());
}

Value format_time(const Arguments& arguments, const std::tm& now) {
  arguments.allow(1);
  const std::string format = arguments.string(0, "format");
  std::string text;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      text += format[i];
      continue;
    }
    const char letter = i + 1 < format.size() ? format[i + 1] : '\0';
    if (letter == '\0' || std::string_view("YymdbBHMSIpjaA%").find(letter) == std::string_view::npos) {
      fail_at(arguments.site(), "strftime_now: {} is not supported", quote(format.substr(i, 2)));
    }
    const char directive[] = {'%', letter, '\0'};
    char buffer[64];
    text.append(buffer, std::strftime(buffer, sizeof buffer, directive, &now));
    ++i;
  }
  return text;
}

}  // namespace

Value call_method(const Value& object, std::string_view name, const Arguments& arguments) {
  if (object.is_undefined())
    fail_at(arguments.site(), "{} is undefined", quote(object.get<Undefined>()->name));
  if (const std::string* text = object.string()) return string_method(*text, name, arguments);
  if (const Dict* fields = object.fields()) return dict_method(*fields, name, arguments);
  fail_at(arguments.site(), "the method {} of {} is not supported", name, object.kind());
}

bool is_function(std::string_view name) {
  return std::find(kFunctions.begin(), kFunctions.end(), name) != kFunctions.end();
}

Value call_function(std::string_view name, const Arguments& arguments, const std::tm& now) {
  if (name == "namespace") return make_namespace(arguments);
  if (name == "range") return make_range(arguments);
  if (name == "strftime_now") return format_time(arguments, now);
  check(name == "raise_exception", "every function has its code");
  arguments.allow(1);
  fail_at(arguments.site(), "raise_exception: {}", quote(arguments.string(0, "message")));
}

}  // namespace buoy::jinja
