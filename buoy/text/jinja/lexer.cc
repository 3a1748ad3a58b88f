#include "buoy/text/jinja/lexer.h"

#include <algorithm>
#include <array>

#include "buoy/io/json.h"
#include "buoy/text/jinja/strings.h"
#include "buoy/text/jinja/value.h"
#include "buoy/text/utf8.h"

namespace buoy::jinja {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_name(char c) {
  return is_name_start(c) || is_digit(c);
}
bool is_ascii_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// Longer operators first.
constexpr std::array<std::string_view, 28> kOperators = {
    "**", "//", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "~", "<", ">",
    "=",  ".",  ":",  "|",  ",",  ";",  "(", ")", "[", "]", "{", "}", "!", "&"};

// Python reads every line end as \n, and drops one at the end of a template.
std::string normalize_lines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
      continue;
    }
    out += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class Lexer {
 public:
  Lexer(std::string_view source, const std::string& place)
      : source_(normalize_lines(source)), place_(place) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) {
      const std::size_t open = find_opening();
      add_text(open);
      if (open == source_.size()) break;
      const char kind = source_[open + 1];
      at_ = open + 2;
      if (at_ < source_.size() && (source_[at_] == '-' || (source_[at_] == '+' && kind != '{'))) ++at_;
      if (kind == '#') {
        comment();
      } else {
        add(kind == '%' ? TokenKind::kBlockBegin : TokenKind::kOutputBegin, "");
        inside(kind == '%' ? "%}" : "}}");
      }
    }
    add(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) { fail_at({&place_, line()}, "{}", what); }

  // The line of at_, counted as the position moves on.
  Index line() {
    line_ += std::count(source_.begin() + static_cast<std::ptrdiff_t>(counted_),
                        source_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
    counted_ = at_;
    return line_;
  }

  void add(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), line()}); }

  bool looking_at(std::string_view text) const {
    return std::string_view(source_).substr(at_).starts_with(text);
  }

  std::size_t find_opening() const {
    for (std::size_t i = source_.find('{', at_); i != std::string::npos; i = source_.find('{', i + 1)) {
      if (i + 1 < source_.size() && (source_[i + 1] == '{' || source_[i + 1] == '%' || source_[i + 1] == '#'))
        return i;
    }
    return source_.size();
  }

  // The text up to a tag: `-` strips all white space before the tag; a block or comment alone on its line
  // loses its indent.
  void add_text(std::size_t open) {
    std::string_view text = std::string_view(source_).substr(at_, open - at_);
    const bool at_line_start = at_ == 0 || source_[at_ - 1] == '\n';
    if (open < source_.size()) {
      const char kind = source_[open + 1];
      const char sign = open + 2 < source_.size() ? source_[open + 2] : '\0';
      if (sign == '-') {
        text = strip(text, StripSide::kRight);
      } else if (kind != '{' && sign != '+') {
        const std::size_t newline = text.rfind('\n');
        const std::size_t indent = newline == std::string_view::npos ? 0 : newline + 1;
        const bool whole_line = indent > 0 || at_line_start;
        if (whole_line && strip(text.substr(indent), StripSide::kRight).empty())
          text = text.substr(0, indent);
      }
    }
    if (!text.empty()) add(TokenKind::kText, std::string(text));
    at_ = open;
  }

  // After a tag: `-` takes all white space that follows, a block or comment takes one newline.
  void skip_after(bool strips, bool takes_newline) {
    if (strips) {
      const std::string_view rest = std::string_view(source_).substr(at_);
      at_ += rest.size() - strip(rest, StripSide::kLeft).size();
    } else if (takes_newline && looking_at("\n")) {
      ++at_;
    }
  }

  void comment() {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string::npos) refuse("a comment has no end");
    const char sign = end > at_ ? source_[end - 1] : '\0';
    at_ = end + 2;
    skip_after(sign == '-', sign != '+');
  }

  // Whether the tag ends here. A bracket that is open keeps `}}` and `%}` from ending it.
  bool ends_tag(std::string_view close) {
    if (!brackets_.empty()) return false;
    const bool is_block = close == "%}";
    const char sign = source_[at_];
    const bool signed_end = (sign == '-' || (sign == '+' && is_block)) &&
                            std::string_view(source_).substr(at_ + 1).starts_with(close);
    if (!signed_end && !looking_at(close)) return false;
    add(is_block ? TokenKind::kBlockEnd : TokenKind::kOutputEnd, "");
    at_ += signed_end ? 3 : 2;
    skip_after(signed_end && sign == '-', is_block && !signed_end);
    return true;
  }

  void inside(std::string_view close) {
    brackets_.clear();
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (is_ascii_space(c)) {
        ++at_;
      } else if (ends_tag(close)) {
        return;
      } else if (is_name_start(c)) {
        name();
      } else if (is_digit(c)) {
        number();
      } else if (c == '\'' || c == '"') {
        string(c);
      } else {
        operation();
      }
    }
    refuse(fmt::format("a tag has no {}", close));
  }

  void name() {
    std::size_t end = at_;
    while (end < source_.size() && is_name(source_[end])) ++end;
    add(TokenKind::kName, source_.substr(at_, end - at_));
    at_ = end;
  }

  void number() {
    std::size_t end = at_;
    while (end < source_.size() && is_digit(source_[end])) ++end;
    bool is_real = false;
    if (end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1])) {
      is_real = true;
      ++end;
      while (end < source_.size() && is_digit(source_[end])) ++end;
    }
    if (end < source_.size() && is_name_start(source_[end])) refuse("a number ends in a letter");
    add(is_real ? TokenKind::kReal : TokenKind::kInteger, source_.substr(at_, end - at_));
    at_ = end;
  }

  void string(char quote_mark) {
    const std::size_t begin = at_;
    std::string text;
    ++at_;
    while (at_ < source_.size() && source_[at_] != quote_mark) {
      if (source_[at_] == '\\') {
        text += escape();
      } else {
        text += source_[at_++];
      }
    }
    if (at_ >= source_.size()) {
      at_ = begin;
      refuse("a string has no end");
    }
    add(TokenKind::kString, std::move(text));
    ++at_;
  }

  char escape() {
    constexpr std::string_view kLetters = "ntrbfv'\"\\";
    constexpr std::string_view kMeanings = "\n\t\r\b\f\v'\"\\";
    const char letter = at_ + 1 < source_.size() ? source_[at_ + 1] : '\0';
    const std::size_t index = kLetters.find(letter);
    if (letter == '\0' || index == std::string_view::npos) {
      refuse(fmt::format("the escape {} in a string is not supported", quote(source_.substr(at_, 2))));
    }
    at_ += 2;
    return kMeanings[index];
  }

  void operation() {
    const auto it =
        std::find_if(kOperators.begin(), kOperators.end(), [&](std::string_view o) { return looking_at(o); });
    if (it == kOperators.end()) {
      const std::string_view rest = std::string_view(source_).substr(at_);
      refuse(fmt::format("unexpected character {}", quote(rest.substr(0, rest.empty() ? 0 : 1))));
    }
    track_bracket((*it)[0]);
    add(TokenKind::kOperator, std::string(*it));
    at_ += it->size();
  }

  void track_bracket(char c) {
    if (c == '(' || c == '[' || c == '{') brackets_.push_back(c);
    if (c != ')' && c != ']' && c != '}') return;
    const char opening = c == ')' ? '(' : c == ']' ? '[' : '{';
    if (brackets_.empty() || brackets_.back() != opening) refuse(fmt::format("unexpected {}", c));
    brackets_.pop_back();
  }

  std::string source_;
  const std::string& place_;
  std::size_t at_ = 0;
  std::size_t counted_ = 0;
  Index line_ = 1;
  std::string brackets_;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source, const std::string& place) {
  if (find_invalid_utf8(source)) fail("{}: the template is not valid UTF-8", place);
  return Lexer(source, place).run();
}

}  // namespace buoy::jinja
