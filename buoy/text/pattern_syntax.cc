// Rewrites Oniguruma's syntax into PCRE2's where they differ, and refuses what it cannot rewrite.
#include <algorithm>
#include <array>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/text/pattern.h"

namespace buoy {
namespace {

class Translator {
 public:
  Translator(std::string_view source, std::string_view place) : source_(source), place_(place) {}

  std::string run() {
    while (!done()) {
      if (peek() == '\\') {
        escape();
      } else if (in_class_) {
        inside_class();
      } else {
        outside_class();
      }
    }
    if (in_class_) refuse("a class without its ]");
    return std::move(out_);
  }

 private:
  bool done() const { return at_ >= source_.size(); }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  void copy(std::size_t count) {
    out_.append(source_.substr(at_, count));
    at_ += count;
  }
  bool starts_with(std::string_view text) const { return source_.substr(at_).starts_with(text); }

  [[noreturn]] void refuse(std::string_view construct) const {
    const bool printable =
        std::all_of(construct.begin(), construct.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
    fail("{}: the pattern uses {} at byte {}, which Buoy does not support", place_,
         printable ? std::string(construct) : quote(construct), at_);
  }

  void escape() {
    const char letter = peek(1);
    if (letter == '\0') refuse("a lone backslash");
    if (letter == 's' || letter == 'S') {
      // PCRE2's own \s also matches U+180E.
      out_ += letter == 's' ? "\\p{White_Space}" : "\\P{White_Space}";
      at_ += 2;
    } else if (letter == 'd' || letter == 'D') {
      out_ += letter == 'd' ? "\\p{Nd}" : "\\P{Nd}";
      at_ += 2;
    } else if (letter == 'p' || letter == 'P') {
      const std::size_t close = source_.find('}', at_);
      if (peek(2) != '{' || close == std::string_view::npos) refuse("a property without braces");
      copy(close + 1 - at_);
    } else if (std::string_view("rnt").find(letter) != std::string_view::npos || is_punctuation(letter)) {
      copy(2);
    } else {
      refuse(std::string("\\") + letter);
    }
    last_was_braces_ = false;
  }

  static bool is_punctuation(char c) {
    return c > 0x20 && c < 0x7F && !(c >= '0' && c <= '9') && !(c >= 'A' && c <= 'Z') &&
           !(c >= 'a' && c <= 'z');
  }

  void inside_class() {
    if (peek() == '[') refuse("a class inside a class");
    if (starts_with("&&")) refuse("&& in a class");
    if (peek() == ']' && at_ != class_start_) in_class_ = false;
    copy(1);
  }

  void outside_class() {
    const char c = peek();
    if (c == '[') {
      in_class_ = true;
      copy(1);
      if (peek() == '^') copy(1);
      class_start_ = at_;
    } else if (c == '(' && peek(1) == '?') {
      open_group();
    } else if (c == '(' && peek(1) == '*') {
      refuse("(*");
    } else if (c == '{' && peek(1) == ',') {
      refuse("{,");
    } else if (c == '^' || c == '$' || c == '.') {
      refuse(std::string(1, c) + " (lines mean different things to the two libraries)");
    } else if (c == '+' && last_was_braces_) {
      refuse("+ after braces");
    } else {
      last_was_braces_ = c == '}';
      copy(1);
      return;
    }
    last_was_braces_ = false;
  }

  void open_group() {
    constexpr std::array<std::string_view, 7> kGroups = {"(?:", "(?i:", "(?=", "(?!", "(?<=", "(?<!", "(?>"};
    for (const std::string_view group : kGroups) {
      if (!starts_with(group)) continue;
      copy(group.size());
      return;
    }
    refuse(std::string("the group ") + std::string(source_.substr(at_, 4)));
  }

  std::string_view source_;
  std::string_view place_;
  std::size_t at_ = 0;
  std::size_t class_start_ = 0;
  bool in_class_ = false;
  bool last_was_braces_ = false;
  std::string out_;
};

}  // namespace

std::string translate_expression(std::string_view expression, std::string_view place) {
  return Translator(expression, place).run();
}

}  // namespace buoy
