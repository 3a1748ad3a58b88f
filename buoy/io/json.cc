#include "buoy/io/json.h"

#include "buoy/base/error.h"
#include "buoy/io/plain_file.h"

template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace buoy {

std::string_view kind_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "an array";
    case Json::value_t::string:
      return "a string";
    case Json::value_t::boolean:
      return "a boolean";
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      return "an integer";
    case Json::value_t::number_float:
      return "a number";
    default:
      return "unreadable";
  }
}

namespace {

[[noreturn]] void fail_type(const JsonObject& object, std::string_view key, const Json& got,
                            std::string_view expected) {
  fail("{}: \"{}\" is {}, expected {}", object.place(), key, kind_of(got), expected);
}

const Json& require(const JsonObject& object, std::string_view key) {
  const Json* found = object.find(key);
  if (found == nullptr) fail("{}: \"{}\" is missing", object.place(), key);
  return *found;
}

}  // namespace

Json read_json_file(const std::filesystem::path& path) {
  return parse_json(read_plain_file(path), path.string());
}

JsonObject::JsonObject(const Json& value, std::string place) : value_(&value), place_(std::move(place)) {
  if (!value.is_object()) fail("{}: is {}, expected an object", place_, kind_of(value));
}

const Json* JsonObject::find(std::string_view key) const {
  const auto it = value_->find(std::string(key));
  return it == value_->end() || it->is_null() ? nullptr : &*it;
}

bool JsonObject::has(std::string_view key) const {
  return find(key) != nullptr;
}

Index JsonObject::integer(std::string_view key) const {
  const Json& found = require(*this, key);
  if (!found.is_number_integer()) fail_type(*this, key, found, "an integer");
  if (found.is_number_unsigned() && found.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) {
    fail("{}: \"{}\" is {}, too large for an integer", place_, key, found.dump());
  }
  return found.get<Index>();
}

double JsonObject::number(std::string_view key) const {
  const Json& found = require(*this, key);
  if (!found.is_number()) fail_type(*this, key, found, "a number");
  return found.get<double>();
}

bool JsonObject::boolean(std::string_view key) const {
  const Json& found = require(*this, key);
  if (!found.is_boolean()) fail_type(*this, key, found, "true or false");
  return found.get<bool>();
}

std::string JsonObject::string(std::string_view key) const {
  const Json& found = require(*this, key);
  if (!found.is_string()) fail_type(*this, key, found, "a string");
  return found.get<std::string>();
}

Index JsonObject::integer_or(std::string_view key, Index fallback) const {
  return has(key) ? integer(key) : fallback;
}

double JsonObject::number_or(std::string_view key, double fallback) const {
  return has(key) ? number(key) : fallback;
}

bool JsonObject::boolean_or(std::string_view key, bool fallback) const {
  return has(key) ? boolean(key) : fallback;
}

std::string JsonObject::string_or(std::string_view key, std::string fallback) const {
  return has(key) ? string(key) : std::move(fallback);
}

}  // namespace buoy
