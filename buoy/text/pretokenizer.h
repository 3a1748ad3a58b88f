// Cuts text into the pieces that are encoded one by one.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "buoy/io/json_fwd.h"
#include "buoy/text/aligned_text.h"
#include "buoy/text/pattern.h"

namespace buoy {

// What becomes of the matches of a Split.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

struct SplitStep {
  Pattern pattern;
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;  // the text between the matches counts as the matches
};

// ByteLevel's own part: a space put before each piece that has none. Its regex is a SplitStep of its own.
struct PrefixSpaceStep {};

using PreTokenizerStep = std::variant<SplitStep, PrefixSpaceStep>;

// Text and its pieces, in order.
struct Pieces {
  AlignedText text;
  std::vector<ByteRange> ranges;  // none is empty
};

// A chain of steps. Immutable, safe to share between threads.
class PreTokenizer {
 public:
  explicit PreTokenizer(std::vector<PreTokenizerStep> steps) : steps_(std::move(steps)) {}

  // Reads the "pre_tokenizer" of a tokenizer.json. Throws Error naming a type that is not known, and when no
  // ByteLevel stands at the end.
  static PreTokenizer parse(const Json* value, const std::string& place);

  // Working memory of one thread, kept between calls for speed. Must not outlive the PreTokenizer.
  class Scanners {
   public:
    explicit Scanners(const PreTokenizer& owner);

   private:
    friend class PreTokenizer;
    std::vector<std::unique_ptr<PatternScanner>> scanners_;  // one per step; null where none is needed
  };

  Pieces split(AlignedText text, Scanners& scanners) const;

 private:
  std::vector<PreTokenizerStep> steps_;
};

// The pattern of GPT-2, which ByteLevel uses when it has "use_regex".
extern const std::string_view kGpt2Pattern;

}  // namespace buoy
