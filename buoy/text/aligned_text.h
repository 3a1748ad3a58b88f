// Text that remembers which characters of the original each of its bytes came from.
#pragma once

#include <string>
#include <vector>

#include "buoy/base/types.h"

namespace buoy {

// Where a token stands in the original text: code points, begin included, end excluded.
struct TokenSpan {
  Index begin = 0;
  Index end = 0;

  bool operator==(const TokenSpan&) const = default;
};

// Whether spans are wanted; they cost time and 16 bytes of memory per byte of text.
enum class SpanMode { kSkip, kTrack };

struct AlignedText {
  std::string bytes;              // valid UTF-8
  std::vector<TokenSpan> origin;  // one per byte; empty when spans are not wanted
};

}  // namespace buoy
