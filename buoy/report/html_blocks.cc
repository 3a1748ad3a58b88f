#include "buoy/report/html_blocks.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "buoy/base/error.h"

namespace buoy {
namespace {

// Figures are drawn for paper; on a screen they are shown this much larger than a point is.
constexpr double kPixelsPerPoint = 96.0 / 72 * 1.3;
constexpr double kNarrowestFigure = 520;  // pixels; on a narrower screen the figure is scrolled sideways

// A relative path as a link: everything but plain characters and slashes is percent-encoded, a colon too, so
// that it cannot become another scheme.
std::string link_to(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string upper_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c; });
  return text;
}

// What is wider than the screen is scrolled in a box of its own, by keyboard too.
std::string scroll_box(std::string_view kind, std::string_view label, std::string_view inside) {
  return fmt::format("<div class=\"{}\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">{}</div>\n", kind,
                     label, inside);
}

std::string html_of(const FigureBlock& figure, InlineFigures& figures) {
  const std::string alt = escape_html(figure.alt);
  std::string svg = figures.add(figure.svg, alt);
  if (const double width = svg_width(figure.svg) * kPixelsPerPoint; width > 0) {
    svg.insert(4, fmt::format(" style=\"max-width:{:.0f}px;min-width:{:.0f}px\"", width,
                              std::min(0.75 * width, kNarrowestFigure)));
  }
  std::string files;
  if (!figure.files.empty() && !figure.extensions.empty()) {
    for (const std::string& extension : figure.extensions) {
      files += fmt::format("<a href=\"{}.{}\">{}</a>", link_to(figure.files), link_to(extension),
                           escape_html(upper_case(extension)));
    }
    files = fmt::format(" <span class=\"files\">{}</span>", files);
  }
  return fmt::format("<figure>\n{}<figcaption>{}{}</figcaption>\n</figure>\n", scroll_box("card", alt, svg),
                     escape_html(figure.caption), files);
}

// Names such as mini-mdm are not broken at their hyphens, nor a short verdict after its sign.
bool is_name(std::string_view text) {
  constexpr std::size_t kLongestVerdict = 20;
  const auto begins = [&](std::string_view sign) { return text.starts_with(sign); };
  if (text.size() <= kLongestVerdict && (begins("✓ ") || begins("✗ ") || begins("? ") || begins("– ")))
    return true;
  constexpr std::size_t kLongest = 40;  // longer ones would push the other columns out of sight
  return text.size() <= kLongest && text.find('-') != text.npos && text.find(' ') == text.npos;
}

// Right and wrong are said in words and by a sign; the sign is coloured.
std::string with_sign(const std::string& text) {
  struct Sign {
    std::string_view sign, kind;
  };
  for (const auto& [sign, kind] : {Sign{"✓ ", "yes"}, Sign{"✗ ", "no"}}) {
    if (text.starts_with(sign)) {
      return fmt::format("<span class=\"{}\">{}</span>{}", kind, sign, text.substr(sign.size()));
    }
  }
  return text;
}

std::string cell(const TableColumn& column, std::string_view text, const char* head, bool name = false) {
  const char* kind = column.kind == ColumnKind::kNumber ? " class=\"n\"" : name ? " class=\"name\"" : "";
  const char* tag = *head != '\0' ? "th" : "td";
  return fmt::format("<{}{}{}>{}</{}>", tag, kind, head, text, tag);
}

// What the names of a table mean: to point at, and listed below it, each once.
class Definitions {
 public:
  std::string operator()(const std::string& text, const std::string& definition) {
    const std::string name = escape_html(text), meaning = escape_html(definition);
    if (definition.empty()) return with_sign(name);
    if (defined_.insert(text).second) list_ += fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, meaning);
    return fmt::format("<abbr title=\"{}\">{}</abbr>", meaning, name);
  }
  std::string list(const char* title) const {
    if (list_.empty()) return "";
    return fmt::format("<details class=\"means\"><summary>{}</summary>\n<dl>\n{}</dl></details>\n", title,
                       list_);
  }

 private:
  std::set<std::string> defined_;
  std::string list_;
};

void check_table(const TableBlock& table) {
  if (!table.row_definitions.empty() && table.row_definitions.size() != table.rows.size()) {
    fail("table \"{}\": definitions of {} rows, expected {}", table.caption, table.row_definitions.size(),
         table.rows.size());
  }
  for (const std::vector<std::string>& row : table.rows) {
    if (row.size() != table.columns.size())
      fail("table \"{}\": a row of {} cells, expected {}", table.caption, row.size(), table.columns.size());
  }
}

std::string html_of(const TableBlock& table) {
  check_table(table);
  Definitions defined;
  const std::string caption = escape_html(table.caption);
  std::string out = "<table>\n";
  if (!caption.empty()) out += fmt::format("<caption><span>{}</span></caption>\n", caption);
  out += "<thead><tr>";
  for (const TableColumn& column : table.columns) {
    out +=
        cell(column, swatch_html(column.color) + defined(column.name, column.definition), " scope=\"col\"");
  }
  out += "</tr></thead>\n<tbody>\n";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const std::vector<std::string>& row = table.rows[r];
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool names_row = i == 0 && table.columns[0].kind == ColumnKind::kText;
      const bool is_defined = i == 0 && !table.row_definitions.empty();
      out += cell(table.columns[i], defined(row[i], is_defined ? table.row_definitions[r] : ""),
                  names_row ? " scope=\"row\"" : "", is_name(row[i]));
    }
    out += "</tr>\n";
  }
  out += "</tbody></table>";
  return scroll_box("scroll", caption.empty() ? "Table" : caption, out) +
         defined.list(table.row_definitions.empty() ? "What the columns mean" : "What rows and columns mean");
}

std::string html_of(const NoteBlock& note) {
  return fmt::format("<div class=\"note\">{}</div>\n", escape_html(note.text));
}

std::string html_of(const CodeBlock& code) {
  return fmt::format("<pre class=\"code\" tabindex=\"0\"><code>{}</code></pre>\n", escape_html(code.code));
}

std::string html_of(const LinksBlock& block) {
  std::string links;
  for (const LinksBlock::Link& link : block.links) {
    links += fmt::format("{}<a href=\"{}\">{}</a>", links.empty() ? "" : " · ", link_to(link.file),
                         escape_html(link.text));
  }
  return fmt::format("<p>{} {}</p>\n", escape_html(block.before), links);
}

}  // namespace

std::string swatch_html(Index color) {
  if (color < 0) return "";
  return fmt::format("<span class=\"swatch m{}\" aria-hidden=\"true\"></span>", color);
}

std::string html_of(const Block& block, InlineFigures& figures) {
  if (const auto* figure = std::get_if<FigureBlock>(&block)) return html_of(*figure, figures);
  if (const auto* table = std::get_if<TableBlock>(&block)) return html_of(*table);
  if (const auto* note = std::get_if<NoteBlock>(&block)) return html_of(*note);
  if (const auto* links = std::get_if<LinksBlock>(&block)) return html_of(*links);
  return html_of(std::get<CodeBlock>(block));
}

}  // namespace buoy
