// Any bytes are either an archive or an array, which then survive being written and read again, or an Error.
#include <cstring>

#include "buoy/base/error.h"
#include "buoy/io/npz.h"

namespace {

void check_one_line(const buoy::Error& e) {
  buoy::check(std::strchr(e.what(), '\n') == nullptr, "an error is one line");
}

void check_round_trip(const buoy::NpyArray& array) {
  const std::string bytes = buoy::format_npy(array);
  const buoy::NpyArray again = buoy::parse_npy(std::as_bytes(std::span(bytes)), "again");
  const bool same = again.shape == array.shape && again.bytes == array.bytes && again.text == array.text &&
                    again.is_text == array.is_text;
  buoy::check(same && (array.is_text || again.dtype == array.dtype), "an array survives the round trip");
}

void check_numbers(const buoy::NpyArray& array) {
  try {
    const auto count = static_cast<std::size_t>(array.size());
    buoy::check(array.as_doubles().size() == count && array.as_floats().size() == count, "one number each");
    buoy::check(array.as_integers().size() == count, "one integer each");
  } catch (const buoy::Error& e) {
    check_one_line(e);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  buoy::NpzArrays arrays;
  try {
    arrays = buoy::parse_npz(bytes, "fuzz.npz");
  } catch (const buoy::Error& e) {
    check_one_line(e);
  }
  try {
    arrays.emplace("", buoy::parse_npy(bytes, "fuzz.npy"));
  } catch (const buoy::Error& e) {
    check_one_line(e);
  }
  for (const auto& [name, array] : arrays) {
    check_round_trip(array);
    check_numbers(array);
  }
  return 0;
}
