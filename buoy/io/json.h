// JSON files and typed access to their fields, with errors that name the file and the field.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "buoy/base/types.h"
#include "buoy/io/json_fwd.h"

// Compiled once, in json.cc: the class is most of what a file that uses it would have to compile.
extern template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace buoy {

// Parses `text`; `place` (a file name) starts every error message. Of a repeated key the last value counts,
// as in Python. Linear in the text, also for objects with many keys (but looking a key up in one walks it:
// iterate instead). Throws Error, also for values nested more than 512 deep.
Json parse_json(std::string_view text, std::string_view place);

// The same, but a key that occurs twice in one object throws Error: for files where each name must be one
// thing.
Json parse_json_unique(std::string_view text, std::string_view place);

// Reads and parses a whole file. Throws Error when it cannot be read or parsed.
Json read_json_file(const std::filesystem::path& path);

// Text from a file as it may stand in a message: in double quotes, on one line, control characters escaped,
// invalid UTF-8 replaced, cut after about 100 bytes.
std::string quote(std::string_view text);

// "an object", "a string", …: the kind of a value as people say it.
std::string_view kind_of(const Json& value);

// A view of one JSON object that remembers where it came from, for settings files.
class JsonObject {
 public:
  // Throws Error unless `value` is an object. Keeps a reference: `value` must outlive this.
  JsonObject(const Json& value, std::string place);

  bool has(std::string_view key) const;  // present and not null

  // Required fields; throw Error "place: "key" is missing" or "… is a string, expected an integer".
  Index integer(std::string_view key) const;
  double number(std::string_view key) const;
  bool boolean(std::string_view key) const;
  std::string string(std::string_view key) const;

  // Fields with a default for absent or null; a wrong type still throws.
  Index integer_or(std::string_view key, Index fallback) const;
  double number_or(std::string_view key, double fallback) const;
  bool boolean_or(std::string_view key, bool fallback) const;
  std::string string_or(std::string_view key, std::string fallback) const;

  // nullptr when absent or null.
  const Json* find(std::string_view key) const;
  const Json& value() const { return *value_; }
  const std::string& place() const { return place_; }

 private:
  const Json* value_;
  std::string place_;
};

}  // namespace buoy
