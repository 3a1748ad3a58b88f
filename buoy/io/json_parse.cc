// Builds ordered JSON from text in linear time: the library's own builder walks the object for every key.
#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "buoy/base/error.h"
#include "buoy/io/json.h"

namespace buoy {
namespace {

enum class Repeats { kLastCounts, kRefused };

constexpr std::size_t kMaxDepth = 512;     // printing and copying recurse; no settings file comes near it
constexpr std::size_t kMaxMessage = 300;   // the library quotes the whole last token, however long
constexpr std::size_t kLinearSearch = 16;  // up to this many keys a walk beats a hash table
constexpr std::size_t kMaxQuotedBytes = 100;

// The longest prefix of at most `limit` bytes that does not split a UTF-8 character.
std::string_view prefix(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80) --limit;
  return text.substr(0, limit);
}

// Receives the parser's events; result() is the value once parsing has ended.
class Builder {
 public:
  Builder(std::string_view place, Repeats repeats) : place_(place), repeats_(repeats) {}

  Json result() { return std::move(root_); }

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(Json::number_integer_t value) { return add(value); }
  bool number_unsigned(Json::number_unsigned_t value) { return add(value); }
  bool number_float(Json::number_float_t value, const std::string& /*text*/) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(Json::binary_t& /*value*/) { return false; }  // not in JSON text

  bool start_object(std::size_t /*size*/) { return open(Json::object()); }
  bool start_array(std::size_t /*size*/) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    Level& level = levels_.back();
    auto& members = level.value->get_ref<Json::object_t&>();
    const std::size_t position = find(level, members, name);
    if (position == members.size()) {
      if (members.size() >= kLinearSearch) level.positions.emplace(name, position);
      members.emplace_back(std::move(name), nullptr);
    } else if (repeats_ == Repeats::kRefused) {
      fail("{}: {} occurs twice in one object", place_, quote(name));
    }
    slot_ = &(members.begin() + static_cast<std::ptrdiff_t>(position))->second;
    return true;
  }

  bool parse_error(std::size_t /*position*/, const std::string& /*token*/, const Json::exception& e) const {
    // The message starts with "[json.exception.parse_error.101] "; people need what follows.
    std::string_view message = e.what();
    const std::size_t bracket = message.find("] ");
    if (bracket != std::string_view::npos) message.remove_prefix(bracket + 2);
    fail("{}: not valid JSON: {}{}", place_, prefix(message, kMaxMessage),
         message.size() > kMaxMessage ? "…" : "");
  }

 private:
  struct Level {
    Json* value;
    std::unordered_map<std::string, std::size_t> positions;  // of the keys after the first kLinearSearch
  };

  static std::size_t find(const Level& level, const Json::object_t& members, const std::string& name) {
    std::size_t i = 0;
    for (auto it = members.begin(); it != members.end() && i < kLinearSearch; ++it, ++i) {
      if (it->first == name) return i;
    }
    const auto found = level.positions.find(name);
    return found == level.positions.end() ? members.size() : found->second;
  }

  // Puts `value` where the parser stands: the root, the end of an array, or the member whose key came last.
  Json* put(Json value) {
    if (levels_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *levels_.back().value;
    if (parent.is_array()) {
      auto& elements = parent.get_ref<Json::array_t&>();
      elements.push_back(std::move(value));
      return &elements.back();
    }
    *slot_ = std::move(value);
    return slot_;
  }

  bool add(Json value) {
    put(std::move(value));
    return true;
  }

  bool open(Json value) {
    if (levels_.size() == kMaxDepth) fail("{}: JSON nested more than {} deep", place_, kMaxDepth);
    levels_.push_back({put(std::move(value)), {}});
    return true;
  }

  bool close() {
    levels_.pop_back();
    return true;
  }

  std::string_view place_;
  Repeats repeats_;
  Json root_;
  std::vector<Level> levels_;
  Json* slot_ = nullptr;
};

Json parse(std::string_view text, std::string_view place, Repeats repeats) {
  // The library takes a NUL for the end of the text.
  if (const std::size_t nul = text.find('\0'); nul != text.npos)
    fail("{}: not valid JSON: byte {} is NUL", place, nul);
  Builder builder(place, repeats);
  Json::sax_parse(text, &builder);
  return builder.result();
}

}  // namespace

Json parse_json(std::string_view text, std::string_view place) {
  return parse(text, place, Repeats::kLastCounts);
}

Json parse_json_unique(std::string_view text, std::string_view place) {
  return parse(text, place, Repeats::kRefused);
}

std::string quote(std::string_view text) {
  const std::string_view shown = prefix(text, kMaxQuotedBytes);
  std::string result = Json(shown).dump(-1, ' ', false, Json::error_handler_t::replace);
  if (shown.size() < text.size()) result.insert(result.size() - 1, "…");
  return result;
}

}  // namespace buoy
