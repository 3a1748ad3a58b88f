// Regular expressions of tokenizer files (written for Oniguruma), run by PCRE2 with the same meaning.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "buoy/base/types.h"

namespace buoy {

// A half-open range of bytes.
struct ByteRange {
  Index begin = 0;
  Index end = 0;

  Index size() const { return end - begin; }
};

enum class PatternKind { kExpression, kLiteral };

// The expression as PCRE2 must read it to mean what Oniguruma means: \s is White_Space. Constructs that the
// two libraries read differently and that are not rewritten here (\w, \h, nested classes, && in a class,
// possessive braces, inline options other than i, …) throw Error starting with `place` and naming the
// construct.
std::string translate_expression(std::string_view expression, std::string_view place);

// A compiled pattern. Immutable and safe to share between threads.
class Pattern {
 public:
  // Throws Error starting with `place` when the expression is not valid or not supported.
  Pattern(std::string_view source, PatternKind kind, std::string place);
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

 private:
  friend class PatternScanner;
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

// Walks the matches of a pattern in a text, from left to right, not overlapping. One thread.
class PatternScanner {
 public:
  explicit PatternScanner(const Pattern& pattern);
  ~PatternScanner();
  PatternScanner(const PatternScanner&) = delete;
  PatternScanner& operator=(const PatternScanner&) = delete;

  // Starts over on `text`: valid UTF-8, which must outlive the walk.
  void start(std::string_view text);

  // The next match; nothing at the end. Throws Error when PCRE2 gives up (its match or memory limit).
  std::optional<ByteRange> next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace buoy
