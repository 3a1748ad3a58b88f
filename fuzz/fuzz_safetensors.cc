// Any bytes are either a safetensors file, whose views then all lie inside, or an Error.
#include <cstring>
#include <string>

#include "buoy/base/error.h"
#include "buoy/io/safetensors.h"

namespace {

void parse(std::span<const std::byte> bytes) {
  std::map<std::string, buoy::TensorView> tensors;
  try {
    tensors = buoy::parse_safetensors(bytes, "fuzz");
  } catch (const buoy::Error& e) {
    buoy::check(std::strchr(e.what(), '\n') == nullptr, "an error is one line");
    return;
  }
  unsigned sum = 0;
  for (const auto& [name, view] : tensors) {
    buoy::check(static_cast<buoy::Index>(view.bytes.size()) ==
                    buoy::element_count(view.shape) * buoy::size_of(view.dtype),
                "a view is as long as its shape says");
    for (const std::byte b : view.bytes) sum += std::to_integer<unsigned>(b);
  }
  volatile unsigned sink = sum;  // the reads above must happen, so that the sanitizer sees them
  static_cast<void>(sink);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> input(data, size);
  parse(std::as_bytes(input));
  // The length rarely survives a mutation; so also take the input as header and data, cut at its last '}'.
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::uint64_t header_bytes = text.rfind('}') + 1;
  std::string file(sizeof header_bytes, '\0');
  std::memcpy(file.data(), &header_bytes, sizeof header_bytes);
  file.append(text);
  parse(std::as_bytes(std::span(file)));
  return 0;
}
