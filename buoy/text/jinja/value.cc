#include "buoy/text/jinja/value.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "buoy/io/json.h"
#include "buoy/text/utf8.h"

namespace buoy::jinja {
namespace {

Value convert(const Json& json, const Site& site, Index depth) {
  if (depth > kDeepestValue) fail_at(site, "a variable is nested deeper than {} levels", kDeepestValue);
  switch (json.type()) {
    case Json::value_t::null:
      return None{};
    case Json::value_t::boolean:
      return json.get<bool>();
    case Json::value_t::number_unsigned:
      if (json.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) fail_at(site, "{} is too large", json.dump());
      return json.get<std::int64_t>();
    case Json::value_t::number_integer:
      return json.get<std::int64_t>();
    case Json::value_t::number_float:
      return json.get<double>();
    case Json::value_t::string:
      return json.get<std::string>();
    case Json::value_t::array: {
      List items;
      for (const Json& item : json) items.push_back(convert(item, site, depth + 1));
      return Value::list(std::move(items), site);
    }
    case Json::value_t::object: {
      Dict fields;
      for (const auto& [key, value] : json.items()) fields.emplace_back(key, convert(value, site, depth + 1));
      return Value::dict(std::move(fields), site);
    }
    default:
      fail_at(site, "a variable holds something that is not JSON");
  }
}

bool equal_lists(const List& a, const List& b, const Site& site) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](const Value& x, const Value& y) { return equal(x, y, site); });
}

bool equal_dicts(const Dict& a, const Dict& b, const Site& site) {
  if (a.size() != b.size()) return false;
  return std::all_of(a.begin(), a.end(), [&](const auto& field) {
    spend_steps(site, std::ssize(b) / kItemsPerStep);
    const Value* other = find_field(b, field.first);
    return other != nullptr && equal(field.second, *other, site);
  });
}

// A number or a boolean, which Python counts as 0 or 1.
const double* number_of(const Value& value, double& storage) {
  if (const auto* whole = value.get<std::int64_t>())
    storage = static_cast<double>(*whole);
  else if (const auto* real = value.get<double>())
    storage = *real;
  else if (const auto* boolean = value.get<bool>())
    storage = *boolean ? 1 : 0;
  else
    return nullptr;
  return &storage;
}

void append_json_string(std::string& out, const std::string& text, const JsonStyle& style) {
  out += Json(text).dump(-1, ' ', style.ensure_ascii);
}

class JsonWriter {
 public:
  JsonWriter(const JsonStyle& style, const Site& site) : style_(style), site_(site) {}

  void write(const Value& value, Index depth) {
    spend_steps(site_, 1);
    check_length(site_, out_.size());
    if (const List* items = value.items()) return write_list(*items, depth);
    if (const Dict* fields = value.fields()) return write_dict(*fields, depth);
    if (const std::string* text = value.string()) return append_json_string(out_, *text, style_);
    if (value.is_none())
      out_ += "null";
    else if (const auto* boolean = value.get<bool>())
      out_ += *boolean ? "true" : "false";
    else if (const auto* whole = value.get<std::int64_t>())
      out_ += std::to_string(*whole);
    else if (const auto* real = value.get<double>())
      out_ += format_number(*real);
    else
      fail_at(site_, "tojson of {} is not possible", value.kind());
  }

  std::string take() { return std::move(out_); }

 private:
  void new_line(Index depth) {
    if (style_.indent < 0) return;
    out_ += '\n';
    out_.append(static_cast<std::size_t>(style_.indent * depth), ' ');
  }

  void write_list(const List& items, Index depth) {
    out_ += '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += style_.item_separator;
      new_line(depth + 1);
      write(items[i], depth + 1);
    }
    if (!items.empty()) new_line(depth);
    out_ += ']';
  }

  void write_dict(Dict fields, Index depth) {
    if (style_.sort_keys) {
      std::sort(fields.begin(), fields.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    }
    out_ += '{';
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (i > 0) out_ += style_.item_separator;
      new_line(depth + 1);
      append_json_string(out_, fields[i].first, style_);
      out_ += style_.key_separator;
      write(fields[i].second, depth + 1);
    }
    if (!fields.empty()) new_line(depth);
    out_ += '}';
  }

  const JsonStyle& style_;
  const Site& site_;
  std::string out_;
};

}  // namespace

Value Value::from_json(const Json& json, const Site& site) {
  return convert(json, site, 0);
}

Value Value::list(List items, const Site& site) {
  if (items.size() > kLongestList) fail_at(site, "a list is longer than {}", kLongestList);
  spend_bytes(site, items.size() * std::size_t{kBytesPerItem});
  Value made;
  for (const Value& item : items) made.depth_ = std::max(made.depth_, item.depth_);
  if (++made.depth_ > kDeepestValue) fail_at(site, "a list is nested deeper than {} levels", kDeepestValue);
  made.data_ = std::make_shared<const List>(std::move(items));
  return made;
}

Value Value::dict(Dict fields, const Site& site) {
  spend_bytes(site, fields.size() * std::size_t{kBytesPerItem});
  Value made;
  for (const auto& [name, value] : fields) made.depth_ = std::max(made.depth_, value.depth_);
  if (++made.depth_ > kDeepestValue) fail_at(site, "a dict is nested deeper than {} levels", kDeepestValue);
  made.data_ = std::make_shared<const Dict>(std::move(fields));
  return made;
}

const std::string* Value::string() const {
  const auto* pointer = get<std::shared_ptr<const std::string>>();
  return pointer == nullptr ? nullptr : pointer->get();
}

const List* Value::items() const {
  const auto* pointer = get<std::shared_ptr<const List>>();
  return pointer == nullptr ? nullptr : pointer->get();
}

const Dict* Value::fields() const {
  const auto* pointer = get<std::shared_ptr<const Dict>>();
  return pointer == nullptr ? nullptr : pointer->get();
}

bool Value::truthy() const {
  if (is_undefined() || is_none()) return false;
  double storage = 0;
  if (const double* number = number_of(*this, storage)) return *number != 0;
  if (const std::string* text = string()) return !text->empty();
  if (const List* list = items()) return !list->empty();
  if (const Dict* dict = fields()) return !dict->empty();
  return true;
}

std::string_view Value::kind() const {
  constexpr std::string_view kKinds[] = {"undefined",     "none",     "a boolean", "an integer",
                                         "a real number", "a string", "a list",    "a dict",
                                         "a namespace",   "a loop",   "a function"};
  return kKinds[data_.index()];
}

const Value* find_field(const Dict& dict, std::string_view key) {
  const auto it =
      std::find_if(dict.begin(), dict.end(), [&](const auto& field) { return field.first == key; });
  return it == dict.end() ? nullptr : &it->second;
}

void set_field(Dict& dict, std::string_view key, Value value) {
  const auto it =
      std::find_if(dict.begin(), dict.end(), [&](const auto& field) { return field.first == key; });
  if (it == dict.end())
    dict.emplace_back(std::string(key), std::move(value));
  else
    it->second = std::move(value);
}

bool equal(const Value& a, const Value& b, const Site& site) {
  spend_steps(site, 1 + (a.string() != nullptr ? std::ssize(*a.string()) / kBytesPerStep : 0));
  if (const auto* x = a.get<std::int64_t>(), *y = b.get<std::int64_t>(); x != nullptr && y != nullptr)
    return *x == *y;
  double x = 0, y = 0;
  if (number_of(a, x) != nullptr && number_of(b, y) != nullptr) return x == y;
  if (a.string() != nullptr && b.string() != nullptr) return *a.string() == *b.string();
  if (a.items() != nullptr && b.items() != nullptr) return equal_lists(*a.items(), *b.items(), site);
  if (a.fields() != nullptr && b.fields() != nullptr) return equal_dicts(*a.fields(), *b.fields(), site);
  return (a.is_none() && b.is_none()) || (a.is_undefined() && b.is_undefined());
}

std::string to_text(const Value& value, const Site& site) {
  if (const std::string* text = value.string()) return *text;
  if (const auto* whole = value.get<std::int64_t>()) return std::to_string(*whole);
  if (const auto* real = value.get<double>()) return format_number(*real);
  if (value.is_undefined()) return {};
  fail_at(site, "writing {} as text is not supported (tojson would be)", value.kind());
}

std::string format_number(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  char buffer[64];
  const double size = std::fabs(number);
  const bool fixed = size == 0 || (size >= 1e-4 && size < 1e16);
  const auto format = fixed ? std::chars_format::fixed : std::chars_format::scientific;
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number, format).ptr;
  std::string text(buffer, end);
  if (fixed && text.find('.') == std::string::npos) text += ".0";
  return text;
}

std::string to_json(const Value& value, const JsonStyle& style, const Site& site) {
  JsonWriter writer(style, site);
  writer.write(value, 0);
  return writer.take();
}

}  // namespace buoy::jinja
