#include "apps/cli/terminal_view.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <vector>

#include <fmt/ranges.h>
#include <unistd.h>
#include <utf8proc.h>

#include "apps/cli/environment.h"
#include "buoy/text/terminal_text.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

constexpr const char* kMaskGlyph = "▒";
constexpr const char* kMaskStyle = "\x1b[2m";      // dim
constexpr const char* kFreshStyle = "\x1b[1;32m";  // bold green
constexpr const char* kPlain = "\x1b[0m";

// Breaks styled text into terminal lines, so that the view knows how far to move back.
class TerminalPage {
 public:
  TerminalPage(int columns, bool color) : columns_(columns), color_(color) {}

  void add(const std::string& text, const char* style) {
    if (color_) lines_.back() += style;
    for (Index at = 0; at < std::ssize(text);) {
      const CodePoint c = code_point_at(text, at);
      const std::string_view character =
          std::string_view(text).substr(static_cast<std::size_t>(at), static_cast<std::size_t>(c.length));
      at += c.length;
      if (c.value == '\n') {
        new_line(style);
        continue;
      }
      const int width = utf8proc_charwidth(static_cast<utf8proc_int32_t>(c.value));
      if (c.value < ' ' || c.value == 0x7f) continue;  // a model must not steer the terminal
      if (column_ + width > columns_) new_line(style);
      column_ += width;
      lines_.back() += character;
    }
    if (color_) lines_.back() += kPlain;
  }

  // The last `most` lines; an empty page has one.
  std::vector<std::string> last_lines(int most) const {
    return {lines_.end() - std::min<std::ptrdiff_t>(most, std::ssize(lines_)), lines_.end()};
  }

 private:
  // Every line carries its own style: the lines above it may be out of sight.
  void new_line(const char* style) {
    column_ = 0;
    if (color_) lines_.back() += kPlain;
    lines_.emplace_back(color_ ? style : "");
  }

  int columns_, column_ = 0;
  bool color_;
  std::vector<std::string> lines_{1};
};

}  // namespace

TerminalView::TerminalView(const Tokenizer& tokenizer, const ModelConfig& config)
    : tokenizer_(tokenizer), config_(config), stream_(tokenizer, SkipSpecial::kSkip) {}

TerminalView::~TerminalView() {
  if (open_) std::printf("\n");
}

bool TerminalView::cancelled() const {
  return interrupted();
}

void TerminalView::after_step(Index /*sample*/, const Generation& generation) {
  open_ = true;
  if (config_.family->writing == Writing::kAppends) {
    const TokenId id = generation.tokens.back();
    const bool known = tokenizer_.contains(id);
    const std::string text = known ? stream_.push(id) : stream_.finish() + std::string(kReplacementCharacter);
    std::printf("%s", for_terminal(text).c_str());
  } else {
    last_ = generation;
    draw(generation, false);
  }
  std::fflush(stdout);
}

void TerminalView::finish() {
  open_ = false;
  if (config_.family->writing == Writing::kAppends) {
    std::printf("%s\n", for_terminal(stream_.finish()).c_str());
  } else {
    draw(last_, true);
    std::printf("\n");
  }
}

void TerminalView::draw(const Generation& g, bool final) {
  const WindowSize window = window_size(STDOUT_FILENO);
  TerminalPage page(window.columns, can_color(STDOUT_FILENO));
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
      page.add(for_terminal(decode_generated(tokenizer_, ids.subspan(first, last - first))), style);
    }
    first = last;
  }
  std::printf("\r");
  if (lines_ > 0) std::printf("\x1b[%dA", lines_);
  // What does not fit the window could not be drawn over; the whole text stands there at the end.
  const auto shown = page.last_lines(final ? std::numeric_limits<int>::max() : window.lines - 1);
  std::printf("%s\x1b[J", fmt::format("{}", fmt::join(shown, "\x1b[K\n")).c_str());
  lines_ = static_cast<int>(shown.size()) - 1;
}

}  // namespace buoy
