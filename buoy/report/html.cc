#include "buoy/report/html.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>

#include <fmt/format.h>

#include "buoy/base/error.h"
#include "buoy/base/types.h"
#include "buoy/io/file.h"
#include "buoy/report/html_style.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

// Nothing may be fetched, whatever stands in the data.
constexpr std::string_view kPolicy =
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'";
// Figures are drawn for paper; on a screen they are shown this much larger than a point is.
constexpr double kPixelsPerPoint = 96.0 / 72 * 1.3;
constexpr double kNarrowestFigure = 520;  // pixels; on a narrower screen the figure is scrolled sideways

std::string base64(std::string_view bytes) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += i + k <= bytes.size() ? kDigits[group >> (18 - 6 * k) & 63U] : '=';
    }
  }
  return out;
}

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

// Width in points as Cairo writes it: <svg … width="486pt" …>; 0 where there is none.
double width_of(std::string_view svg) {
  const std::size_t tag = svg.find("<svg");
  if (tag == std::string_view::npos) return 0;
  const std::string_view head = svg.substr(tag, svg.find('>', tag) - tag);
  const std::size_t at = head.find(" width=\"");
  return at == std::string_view::npos ? 0 : std::atof(std::string(head.substr(at + 8, 16)).c_str());
}

std::string html_of(const FigureBlock& figure) {
  std::string size;
  if (const double width = width_of(figure.svg) * kPixelsPerPoint; width > 0) {
    size = fmt::format(" style=\"max-width:{:.0f}px;min-width:{:.0f}px\"", width,
                       std::min(0.75 * width, kNarrowestFigure));
  }
  std::string files;
  if (!figure.files.empty()) {
    for (const char* extension : {"pdf", "svg", "png", "csv"}) {
      std::string name = extension;
      std::ranges::transform(name, name.begin(), [](char c) { return static_cast<char>(c - 'a' + 'A'); });
      files += fmt::format("<a href=\"{}.{}\">{}</a>", link_to(figure.files), extension, name);
    }
    files = fmt::format(" <span class=\"files\">{}</span>", files);
  }
  return fmt::format(
      "<figure>\n<div class=\"card\"><img alt=\"{}\"{} src=\"data:image/svg+xml;base64,{}\"></div>\n"
      "<figcaption>{}{}</figcaption>\n</figure>\n",
      escape_html(figure.alt), size, base64(figure.svg), escape_html(figure.caption), files);
}

// Names such as mini-mdm are not broken at their hyphens.
bool is_name(std::string_view text) {
  constexpr std::size_t kLongest = 40;  // longer ones would push the other columns out of sight
  return text.size() <= kLongest && text.find('-') != text.npos && text.find(' ') == text.npos;
}

std::string cell(const TableColumn& column, std::string_view text, const char* head, bool name = false) {
  const char* kind = column.kind == ColumnKind::kNumber ? " class=\"n\"" : name ? " class=\"name\"" : "";
  const char* tag = *head != '\0' ? "th" : "td";
  return fmt::format("<{}{}{}>{}</{}>", tag, kind, head, text, tag);
}

std::string html_of(const TableBlock& table) {
  std::string out = "<div class=\"scroll\"><table>\n";
  if (!table.caption.empty()) out += fmt::format("<caption>{}</caption>\n", escape_html(table.caption));
  out += "<thead><tr>";
  std::set<std::string> defined;
  std::string definitions;
  // The text with its definition to point at, which is listed below the table once.
  const auto with_definition = [&](const std::string& text, const std::string& definition) {
    const std::string name = escape_html(text), meaning = escape_html(definition);
    if (definition.empty()) return name;
    if (defined.insert(text).second) definitions += fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, meaning);
    return fmt::format("<abbr title=\"{}\">{}</abbr>", meaning, name);
  };
  for (const TableColumn& column : table.columns) {
    out += cell(column, with_definition(column.name, column.definition), " scope=\"col\"");
  }
  out += "</tr></thead>\n<tbody>\n";
  if (!table.row_definitions.empty() && table.row_definitions.size() != table.rows.size()) {
    fail("table \"{}\": definitions of {} rows, expected {}", table.caption, table.row_definitions.size(),
         table.rows.size());
  }
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const std::vector<std::string>& row = table.rows[r];
    if (row.size() != table.columns.size()) {
      fail("table \"{}\": a row of {} cells, expected {}", table.caption, row.size(), table.columns.size());
    }
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool names_row = i == 0 && table.columns[0].kind == ColumnKind::kText;
      const bool is_defined = i == 0 && !table.row_definitions.empty();
      out += cell(table.columns[i], with_definition(row[i], is_defined ? table.row_definitions[r] : ""),
                  names_row ? " scope=\"row\"" : "", is_name(row[i]));
    }
    out += "</tr>\n";
  }
  out += "</tbody></table></div>\n";
  if (!definitions.empty()) {
    out += fmt::format("<details><summary>{}</summary>\n<dl>\n{}</dl></details>\n",
                       table.row_definitions.empty() ? "What the columns mean" : "What rows and columns mean",
                       definitions);
  }
  return out;
}

std::string html_of(const NoteBlock& note) {
  return fmt::format("<div class=\"note\">{}</div>\n", escape_html(note.text));
}

std::string html_of(const CodeBlock& code) {
  return fmt::format(
      "<div class=\"code\"><pre><code>{}</code></pre><button type=\"button\" hidden>Copy</button></div>\n",
      escape_html(code.code));
}

void check_ids(const Page& page) {
  std::set<std::string_view> seen;
  for (const Section& section : page.sections) {
    const bool plain =
        section.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
    if (section.id.empty() || !plain) {
      fail("section \"{}\": id \"{}\", expected a-z, 0-9 and -", section.title, section.id);
    }
    if (!seen.insert(section.id).second)
      fail("section \"{}\": id \"{}\" is used twice", section.title, section.id);
  }
}

std::string contents_of(const Page& page) {
  if (page.sections.size() < 2) return "";
  std::string out = "<nav aria-label=\"Contents\"><ol>\n";
  for (const Section& section : page.sections) {
    out += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", section.id, escape_html(section.title));
  }
  return out + "</ol></nav>\n";
}

std::string facts_of(const Page& page) {
  if (page.facts.empty()) return "";
  std::string out = "<dl class=\"facts\">\n";
  for (const Fact& fact : page.facts) {
    out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escape_html(fact.key), escape_html(fact.value));
  }
  return out + "</dl>\n";
}

std::string html_of(const Section& section) {
  std::string out = fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n", section.id, escape_html(section.title));
  if (!section.explanation.empty()) out += fmt::format("<p>{}</p>\n", escape_html(section.explanation));
  for (const Block& block : section.blocks) {
    out += std::visit([](const auto& kind) { return html_of(kind); }, block);
  }
  return out + "</section>\n";
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : repair_utf8(text).text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default: {
        const auto byte = static_cast<unsigned char>(c);
        const bool control = (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F;
        out += control ? std::string(kReplacementCharacter) : std::string(1, c);
      }
    }
  }
  return out;
}

std::string render_page(const Page& page) {
  check_ids(page);
  std::string sections;
  for (const Section& section : page.sections) sections += html_of(section);
  const std::string title = escape_html(page.title);
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<div class=\"page\">\n"
      "<header>\n<h1>{}</h1>\n{}{}</header>\n{}<main>\n{}</main>\n<footer>Made with Buoy.</footer>\n</div>\n"
      "<script>{}</script>\n</body>\n</html>\n",
      kPolicy, title, kPageStyle, title,
      page.lead.empty() ? "" : fmt::format("<p class=\"lead\">{}</p>\n", escape_html(page.lead)),
      facts_of(page), contents_of(page), sections, kPageScript);
}

void save_page(const Page& page, const std::filesystem::path& path) {
  write_file_atomically(path, render_page(page));
}

}  // namespace buoy
