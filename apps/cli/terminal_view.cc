#include "apps/cli/terminal_view.h"

#include <algorithm>
#include <cstdio>

#include <sys/ioctl.h>
#include <unistd.h>
#include <utf8proc.h>

#include "apps/cli/prompt.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

constexpr const char* kMaskGlyph = "▒";
constexpr const char* kMaskStyle = "\x1b[2m";      // dim
constexpr const char* kFreshStyle = "\x1b[1;32m";  // bold green
constexpr const char* kPlain = "\x1b[0m";

int terminal_columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

// Breaks styled text into terminal lines, so that the view knows how far to move back.
class Page {
 public:
  explicit Page(int columns) : columns_(columns) {}

  void add(const std::string& text, const char* style) {
    text_ += style;
    for (Index at = 0; at < std::ssize(text);) {
      const CodePoint c = code_point_at(text, at);
      const std::string_view character =
          std::string_view(text).substr(static_cast<std::size_t>(at), static_cast<std::size_t>(c.length));
      at += c.length;
      if (c.value == '\n') {
        new_line();
        continue;
      }
      const int width = utf8proc_charwidth(static_cast<utf8proc_int32_t>(c.value));
      if (c.value < ' ' || c.value == 0x7f) continue;  // a model must not steer the terminal
      if (column_ + width > columns_) new_line();
      column_ += width;
      text_ += character;
    }
    text_ += kPlain;
  }

  const std::string& text() const { return text_; }
  int lines() const { return lines_; }

 private:
  void new_line() {
    text_ += "\x1b[K\n";
    column_ = 0;
    ++lines_;
  }

  int columns_, column_ = 0, lines_ = 0;
  std::string text_;
};

}  // namespace

TerminalView::TerminalView(const Tokenizer& tokenizer, const ModelConfig& config)
    : tokenizer_(tokenizer), config_(config), stream_(tokenizer, SkipSpecial::kSkip) {}

void TerminalView::after_step(Index /*sample*/, const Generation& generation) {
  if (config_.family->kind == ModelKind::kCausal) {
    const TokenId id = generation.tokens.back();
    const bool known = tokenizer_.contains(id);
    std::printf("%s", known ? stream_.push(id).c_str()
                            : (stream_.finish() + std::string(kReplacementCharacter)).c_str());
  } else {
    last_ = generation;
    draw(generation, false);
  }
  std::fflush(stdout);
}

void TerminalView::finish() {
  if (config_.family->kind == ModelKind::kCausal) {
    std::printf("%s\n", stream_.finish().c_str());
  } else {
    draw(last_, true);
    std::printf("\n");
  }
}

void TerminalView::draw(const Generation& g, bool final) {
  Page page(terminal_columns());
  const std::span<const TokenId> ids = g.generated();
  // Tokens of one style are decoded together: a character may be spread over several of them.
  const auto style_of = [&](std::size_t i) {
    if (ids[i] == config_.mask_id) return kMaskStyle;
    const bool fresh =
        !final && std::ranges::count(g.just_committed, g.prompt_length + static_cast<Index>(i)) > 0;
    return fresh ? kFreshStyle : kPlain;
  };
  for (std::size_t first = 0; first < ids.size();) {
    const char* style = style_of(first);
    std::size_t last = first + 1;
    while (last < ids.size() && style_of(last) == style) ++last;
    if (style == kMaskStyle) {
      for (std::size_t i = first; i < last; ++i) page.add(kMaskGlyph, style);
    } else {
      page.add(decode_generated(tokenizer_, ids.subspan(first, last - first)), style);
    }
    first = last;
  }
  std::printf("\r");
  if (lines_ > 0) std::printf("\x1b[%dA", lines_);
  std::printf("%s\x1b[J", page.text().c_str());
  lines_ = page.lines();
}

}  // namespace buoy
