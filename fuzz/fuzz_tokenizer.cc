// A tokenizer.json of any bytes either loads or throws Error; one that loads encodes and decodes without
// harm.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "buoy/base/error.h"
#include "buoy/text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  try {
    const buoy::Tokenizer tokenizer = buoy::Tokenizer::parse(file, "fuzz");
    const buoy::Encoding encoding =
        tokenizer.encode_with_spans("Hi there,  e\u0301 \xFF <|x|> 12\n\n", buoy::SpecialTokens::kAdd);
    if (encoding.ids.size() != encoding.spans.size()) std::abort();
    tokenizer.decode(encoding.ids, buoy::SkipSpecial::kKeep);
  } catch (const buoy::Error& error) {
    if (std::strchr(error.what(), '\n') != nullptr) std::abort();  // an error is one line
  }
  return 0;
}
