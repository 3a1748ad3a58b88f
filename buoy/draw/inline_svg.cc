#include "buoy/draw/inline_svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "buoy/base/error.h"
#include "buoy/draw/theme.h"

namespace buoy {
namespace {

int byte_of(double channel) {
  return static_cast<int>(std::lround(channel * 255));
}

std::string hex_of(Color c) {
  return fmt::format("#{:02x}{:02x}{:02x}", byte_of(c.r), byte_of(c.g), byte_of(c.b));
}

// Up to `end`, which is taken away too; all that is left where `end` does not come.
std::string_view take_until(std::string_view& text, std::string_view end) {
  const std::size_t at = text.find(end);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + end.size());
  return taken;
}

// "rgb(12.15%,14.1%,18.8%)" by the name of the theme's colour; others as #rrggbb.
std::string color_of(std::string_view channels) {
  Color color;
  for (double* channel : {&color.r, &color.g, &color.b}) {
    *channel = std::atof(std::string(take_until(channels, ",")).c_str()) / 100;
  }
  const std::string hex = hex_of(color);
  for (const ThemeColor& named : theme_colors()) {
    if (hex_of(named.light) == hex) return fmt::format("var(--fig-{})", named.name);
  }
  return hex;
}

bool is_number_sign(char c) {
  return (c >= '0' && c <= '9') || c == '.' || c == '-';
}

// Hundredths of a point cannot be seen: "-4.093750" becomes "-4.09".
std::string rounded(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    std::size_t n = 0;
    while (n < text.size() && is_number_sign(text[n])) ++n;
    if (n == 0) {
      out += text.front();
      text.remove_prefix(1);
      continue;
    }
    std::string number = fmt::format("{:.2f}", std::atof(std::string(text.substr(0, n)).c_str()));
    while (number.back() == '0') number.pop_back();
    if (number.back() == '.') number.pop_back();
    out += number == "-0" ? "0" : number;
    text.remove_prefix(n);
  }
  return out;
}

// A part of the file that is written anew: what stands before it, what ends it, what it is.
struct Rewrite {
  std::string_view sign;
  char end;
  enum class Of { kName, kColor, kNumbers } of;
  std::string_view before, after;  // of what takes its place
};
constexpr Rewrite kRewrites[] = {{" id=\"", '"', Rewrite::Of::kName, " id=\"", "\""},
                                 {"url(#", ')', Rewrite::Of::kName, "url(#", ")"},
                                 {"xlink:href=\"#", '"', Rewrite::Of::kName, "href=\"#", "\""},
                                 {"rgb(", ')', Rewrite::Of::kColor, "", ""},
                                 {" d=\"", '"', Rewrite::Of::kNumbers, " d=\"", "\""},
                                 {" x=\"", '"', Rewrite::Of::kNumbers, " x=\"", "\""},
                                 {" y=\"", '"', Rewrite::Of::kNumbers, " y=\"", "\""}};

using Names = std::map<std::string, std::string, std::less<>>;

std::string value_of(const Rewrite& place, std::string_view value, const Names& names,
                     const std::string& prefix) {
  if (place.of == Rewrite::Of::kColor) return color_of(value);
  if (place.of == Rewrite::Of::kNumbers) return rounded(value);
  const auto found = names.find(value);
  return found == names.end() ? fmt::format("{}{}", prefix, value) : found->second;
}

// `names`: parts that have a name on the page already; the others get the prefix.
std::string rewritten(std::string_view svg, const Names& names, const std::string& prefix) {
  std::string out;
  out.reserve(svg.size());
  std::array<std::size_t, std::size(kRewrites)> next;
  next.fill(0);
  for (std::size_t at = 0; at < svg.size();) {
    std::size_t first = 0;
    for (std::size_t i = 0; i < next.size(); ++i) {
      // Looked for again only once it was passed: images are long.
      if (next[i] <= at) next[i] = std::min(svg.find(kRewrites[i].sign, at), svg.size());
      if (next[i] < next[first]) first = i;
    }
    out += svg.substr(at, next[first] - at);
    if (next[first] == svg.size()) break;
    const Rewrite& place = kRewrites[first];
    const std::size_t begin = next[first] + place.sign.size();
    const std::size_t end = std::min(svg.find(place.end, begin), svg.size());
    out += fmt::format("{}{}{}", place.before, value_of(place, svg.substr(begin, end - begin), names, prefix),
                       place.after);
    at = end + 1;
  }
  return out;
}

// White space between two tags says nothing: there is no text in a figure, its letters are outlines.
std::string squeezed(std::string_view svg) {
  std::string out;
  out.reserve(svg.size());
  while (!svg.empty()) {
    const std::size_t end = std::min(svg.find('>'), svg.size() - 1) + 1;
    out += svg.substr(0, end);
    svg.remove_prefix(end);
    const std::size_t next = std::min(svg.find_first_not_of(" \n"), svg.size());
    if (next == svg.size() || svg[next] == '<') svg.remove_prefix(next);
  }
  return out;
}

// What a style says that would be so without it.
constexpr std::string_view kDefaults[] = {
    " stroke:none;", "fill-rule:nonzero;", "fill-opacity:1;", "stroke-opacity:1;", "stroke-linecap:butt;",
    // The same as Cairo 1.18 writes it.
    " fill-rule=\"nonzero\"", " fill-opacity=\"1\"", " stroke-opacity=\"1\"", " stroke-linecap=\"butt\"",
    " clip-rule=\"nonzero\""};

std::string without_defaults(std::string svg) {
  for (const std::string_view text : kDefaults) {
    std::string left;
    left.reserve(svg.size());
    for (std::string_view rest = svg; !rest.empty();) left += take_until(rest, text);
    svg = std::move(left);
  }
  return svg;
}

// An outline that is drawn wherever its name is used.
struct Letter {
  std::string_view name, outline;
};

// The next letter, with what stands before it moved to `before`; none: all was moved. A letter is a symbol in
// what Cairo 1.16 writes, and a named group of one outline in what 1.18 does.
std::optional<Letter> take_letter(std::string_view& svg, std::string& before) {
  constexpr std::string_view kSymbol = "<symbol", kGroup = "<g id=\"", kDrawn = "\">\n<path d=\"",
                             kEnd = "\"/>\n</g>";
  while (!svg.empty()) {
    const std::size_t symbol = svg.find(kSymbol), group = svg.find(kGroup);
    const std::size_t at = std::min({symbol, group, svg.size()});
    before += svg.substr(0, at);
    svg.remove_prefix(at);
    if (svg.empty()) return std::nullopt;
    std::string_view rest = symbol < group ? take_until(svg, "</symbol>") : svg;
    Letter letter;
    take_until(rest, "id=\"");
    if (symbol < group) {
      letter.name = take_until(rest, "\"");
      take_until(rest, " d=\"");
      letter.outline = take_until(rest, "\"");
      return letter;
    }
    letter.name = rest.substr(0, rest.find('"'));
    rest.remove_prefix(letter.name.size());
    if (rest.starts_with(kDrawn)) {
      rest.remove_prefix(kDrawn.size());
      letter.outline = rest.substr(0, rest.find('"'));
      rest.remove_prefix(letter.outline.size());
      if (rest.starts_with(kEnd)) {
        svg = rest.substr(kEnd.size());
        return letter;
      }
    }
    before += kGroup;  // another group
    svg.remove_prefix(kGroup.size());
  }
  return std::nullopt;
}

std::string css_of(Color ThemeColor::*which) {
  std::string css;
  for (const ThemeColor& named : theme_colors())
    css += fmt::format("--fig-{}:{};", named.name, hex_of(named.*which));
  return css;
}

// Light for dark with the hue kept: 1 − x, and what is lost of the difference between channels put back.
constexpr std::string_view kTurn =
    "<filter id=\"turn\" color-interpolation-filters=\"sRGB\" x=\"0\" y=\"0\" width=\"1\" height=\"1\">"
    "<feColorMatrix values=\"0.333 -0.667 -0.667 0 1 -0.667 0.333 -0.667 0 1 -0.667 -0.667 0.333 0 1 "
    "0 0 0 1 0\"/></filter>";

}  // namespace

std::string figure_colors_css_light() {
  return css_of(&ThemeColor::light);
}

std::string figure_colors_css_dark() {
  return css_of(&ThemeColor::dark);
}

double svg_width(std::string_view svg) {
  const std::size_t tag = svg.find("<svg");
  if (tag == std::string_view::npos) return 0;
  const std::string_view head = svg.substr(tag, svg.find('>', tag) - tag);
  const std::size_t at = head.find(" width=\"");
  return at == std::string_view::npos ? 0 : std::atof(std::string(head.substr(at + 8, 16)).c_str());
}

std::string InlineFigures::letter(std::string_view drawn) {
  const std::string outline = rounded(drawn);
  const auto found = letters_.try_emplace(outline, letters_.size()).first;
  return fmt::format("g{}", found->second);
}

std::string InlineFigures::add(std::string_view svg, std::string_view label) {
  take_until(svg, "<svg");
  check(!svg.empty(), "a figure is an SVG");
  std::string_view head = take_until(svg, ">");
  take_until(head, "viewBox=\"");
  const std::string box(take_until(head, "\""));
  // The file's own style; the page has it.
  if (const std::size_t style = svg.find("<style>"); style != std::string_view::npos && style < 4) {
    take_until(svg, "</style>");
  }
  Names names;
  std::string body;
  while (const std::optional<Letter> found = take_letter(svg, body)) {
    names.emplace(found->name, letter(found->outline));
  }
  return fmt::format("<svg class=\"fig\" role=\"img\" aria-label=\"{}\" viewBox=\"{}\">{}\n", label, box,
                     squeezed(without_defaults(rewritten(body, names, fmt::format("f{}-", figures_++)))));
}

std::string InlineFigures::definitions() const {
  if (figures_ == 0) return "";
  std::string out =
      fmt::format("<svg class=\"letters\" aria-hidden=\"true\" width=\"0\" height=\"0\"><defs>{}\n", kTurn);
  std::vector<std::string_view> ordered(letters_.size());
  for (const auto& [outline, number] : letters_) ordered[number] = outline;
  for (std::size_t i = 0; i < ordered.size(); ++i)
    out += fmt::format("<path id=\"g{}\" d=\"{}\"/>\n", i, ordered[i]);
  return out + "</defs></svg>\n";
}

}  // namespace buoy
