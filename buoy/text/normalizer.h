// Unicode normalisation of text before it is split, with spans back into the original.
#pragma once

#include <string>
#include <string_view>

#include "buoy/io/json_fwd.h"
#include "buoy/text/aligned_text.h"

namespace buoy {

enum class Normalizer { kNone, kNfc };

// Reads the "normalizer" of a tokenizer.json (null allowed). Throws Error naming a type that is not known.
Normalizer parse_normalizer(const Json* value, const std::string& place);

// Normalises valid UTF-8 whose first code point is number `first_code_point` of the original text. A
// character that changes takes the span of its whole cluster (base and marks). Time is n log n in the longest
// run of marks.
AlignedText normalize(Normalizer normalizer, std::string_view text, Index first_code_point, SpanMode mode);

// The same without spans.
std::string normalize(Normalizer normalizer, std::string_view text);

}  // namespace buoy
