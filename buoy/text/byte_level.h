// The byte-level alphabet: each of the 256 bytes has one visible character in vocabulary files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace buoy {

// The spelling of bytes in vocabulary files: " the" is "Ġthe".
std::string spell_bytes(std::string_view bytes);

// The bytes behind a spelling; nothing when a character is outside the alphabet or the UTF-8 is broken.
std::optional<std::string> unspell_bytes(std::string_view spelling);

}  // namespace buoy
