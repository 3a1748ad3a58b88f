// Any bytes are either JSON, read field by field as config.json is, or an Error.
#include <array>
#include <cstring>

#include "buoy/base/error.h"
#include "buoy/io/json.h"

namespace {

// Calls `read` and lets only an Error of one line pass.
template <typename Read>
void attempt(Read read) {
  try {
    read();
  } catch (const buoy::Error& e) {
    buoy::check(std::strchr(e.what(), '\n') == nullptr, "an error is one line");
  }
}

void read_settings(const buoy::Json& json, const std::string& place) {
  const buoy::JsonObject object(json, place);
  constexpr std::array<std::string_view, 8> kKeys = {"model_type",   "hidden_size",  "rms_norm_eps",
                                                     "rope_theta",   "rope_scaling", "tie_word_embeddings",
                                                     "eos_token_id", "factor"};
  for (const std::string_view key : kKeys) {
    attempt([&] { static_cast<void>(object.integer(key)); });
    attempt([&] { static_cast<void>(object.number(key)); });
    attempt([&] { static_cast<void>(object.boolean(key)); });
    attempt([&] { static_cast<void>(object.string(key)); });
    attempt([&] { static_cast<void>(object.integer_or(key, 1)); });
    attempt([&] { static_cast<void>(object.number_or(key, 1)); });
    attempt([&] { static_cast<void>(object.boolean_or(key, false)); });
    attempt([&] { static_cast<void>(object.string_or(key, "")); });
  }
  if (const buoy::Json* nested = object.find("rope_scaling")) {
    attempt([&] { read_settings(*nested, place + ": \"rope_scaling\""); });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  attempt([&] { static_cast<void>(buoy::parse_json_unique(text, "fuzz.json")); });
  attempt([&] {
    const buoy::Json json = buoy::parse_json(text, "fuzz.json");
    buoy::check(json == buoy::Json::parse(text), "we read what the library reads");
    const std::string written = json.dump();
    buoy::check(buoy::parse_json_unique(written, "again") == json, "JSON survives the round trip");
    read_settings(json, "fuzz.json");
  });
  attempt([&] { static_cast<void>(buoy::quote(text)); });
  return 0;
}
