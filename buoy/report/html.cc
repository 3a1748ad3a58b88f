#include "buoy/report/html.h"

#include <algorithm>
#include <set>
#include <span>

#include <fmt/format.h>

#include "buoy/base/error.h"
#include "buoy/draw/theme.h"
#include "buoy/io/file.h"
#include "buoy/report/html_blocks.h"
#include "buoy/report/html_style.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

// Nothing may be fetched or run, whatever stands in the data. Figures carry style attributes and images.
constexpr std::string_view kPolicy =
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

std::string style_sheet() {
  std::string models;
  for (Index i = 0; i < kSeriesColorCount; ++i)
    models += fmt::format(".m{0}{{background:var(--fig-s{0})}}", i);
  return fmt::format(
      ":root{{{}}}\n@media (prefers-color-scheme:dark){{:root{{{}}}.turned{{filter:url(#turn)}}}}\n"
      "@media print{{:root{{{}}}.turned{{filter:none}}}}\n{}\n{}",
      figure_colors_css_light(), figure_colors_css_dark(), figure_colors_css_light(), models, kPageStyle);
}

void check_ids(const Page& page) {
  std::set<std::string_view> seen = {"found"};
  const auto check_one = [&](const Section& section) {
    const bool plain =
        section.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
    if (section.id.empty() || !plain) {
      fail("section \"{}\": id \"{}\", expected a-z, 0-9 and -", section.title, section.id);
    }
    if (!seen.insert(section.id).second)
      fail("section \"{}\": id \"{}\" is used twice", section.title, section.id);
  };
  if (page.verdicts) check_one(*page.verdicts);
  std::ranges::for_each(page.sections, check_one);
}

// Neighbouring sections of one topic, or one section without.
using Folded = std::span<const Section>;

std::vector<Folded> groups_of(const std::vector<Section>& sections) {
  std::vector<Folded> groups;
  for (std::size_t begin = 0, end = 0; begin < sections.size(); begin = end) {
    end = begin + 1;
    const std::string& topic = sections[begin].topic;
    while (!topic.empty() && end < sections.size() && sections[end].topic == topic) ++end;
    groups.push_back(std::span(sections).subspan(begin, end - begin));
  }
  return groups;
}

std::string id_of(const Folded& group) {
  return group[0].topic.empty() ? group[0].id : "topic-" + group[0].id;
}

const std::string& title_of(const Folded& group) {
  return group[0].topic.empty() ? group[0].title : group[0].topic;
}

std::string contents_of(const Page& page) {
  if (page.sections.size() < 2) return "";
  std::string out = "<nav aria-label=\"Contents\"><ol>\n";
  const auto add = [&](const std::string& id, const std::string& title) {
    out += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", id, escape_html(title));
  };
  for (const Folded& group : groups_of(page.sections)) add(id_of(group), title_of(group));
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

std::string key_of(const Page& page) {
  if (page.models.empty()) return "";
  std::string out = "<ul class=\"key\" aria-label=\"Colours of the models in every figure\">\n";
  for (const ModelKey& model : page.models) {
    out += fmt::format("<li>{}<b>{}</b> {}</li>\n", swatch_html(model.color), escape_html(model.name),
                       escape_html(model.detail));
  }
  return out + "</ul>\n";
}

std::string source_of(const Page& page) {
  if (!page.source) return "";
  const LinkedText& s = *page.source;
  if (!s.url.starts_with("https://")) fail("page \"{}\": link to \"{}\", expected https", page.title, s.url);
  return fmt::format("<p class=\"source\">{}<a href=\"{}\">{}</a>{}</p>\n", escape_html(s.before),
                     escape_html(s.url), escape_html(s.text), escape_html(s.after));
}

// A number is not parted from its sign, nor n from its count.
std::string unbroken(std::string text) {
  struct Pair {
    std::string_view from, to;
  };
  for (const auto& [from, to] : {Pair{" %", "&nbsp;%"}, Pair{"n = ", "n&nbsp;=&nbsp;"}}) {
    for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
      text.replace(at, from.size(), to);
  }
  return text;
}

std::string findings_of(const Page& page) {
  if (page.findings.empty()) return "";
  std::string out = "<section id=\"found\">\n<h2>What was found</h2>\n<ol class=\"found\">\n";
  for (const Finding& f : page.findings) {
    out += fmt::format("<li><strong>{}</strong> {}</li>\n", escape_html(f.question),
                       unbroken(escape_html(f.answer)));
  }
  return out + "</ol>\n</section>\n";
}

std::string html_of(const Section& section, int level, InlineFigures& figures) {
  std::string out = fmt::format("<section id=\"{}\">\n<h{}>{}</h{}>\n", section.id, level,
                                escape_html(section.title), level);
  if (!section.explanation.empty()) out += fmt::format("<p>{}</p>\n", escape_html(section.explanation));
  for (const Block& block : section.blocks) out += html_of(block, figures);
  return out + "</section>\n";
}

std::string html_of(const Folded& group, InlineFigures& figures) {
  if (group[0].topic.empty()) return html_of(group[0], 2, figures);
  std::string inside, titles;
  for (const Section& section : group) {
    inside += html_of(section, 3, figures);
    titles += fmt::format("{}{}", titles.empty() ? "" : " · ", section.title);
  }
  return fmt::format(
      "<details class=\"topic\" id=\"{}\"><summary><h2>{}</h2><span>{}</span></summary>\n{}</details>\n",
      id_of(group), escape_html(title_of(group)), escape_html(titles), inside);
}

std::string header_of(const Page& page, InlineFigures& figures) {
  std::string notes;
  for (const std::string& note : page.notes)
    notes += fmt::format("<div class=\"note\">{}</div>\n", escape_html(note));
  const std::string lead =
      page.lead.empty() ? "" : fmt::format("<p class=\"lead\">{}</p>\n", escape_html(page.lead));
  const std::string intro =
      fmt::format("<div class=\"intro\">\n<h1>{}</h1>\n{}{}{}{}{}{}</div>\n", escape_html(page.title),
                  source_of(page), lead, notes, key_of(page), findings_of(page), facts_of(page));
  if (!page.verdicts) return fmt::format("<header>\n{}</header>\n", intro);
  return fmt::format("<header class=\"two\">\n{}{}</header>\n", intro, html_of(*page.verdicts, 2, figures));
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
  InlineFigures figures;
  const std::string header = header_of(page, figures);
  std::string main;
  for (const Folded& group : groups_of(page.sections)) main += html_of(group, figures);
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n"
      "<a class=\"skip\" href=\"#main\">Skip to the results</a>\n"
      "{}{}{}<main id=\"main\">\n{}</main>\n<footer>Made with Buoy.</footer>\n</body>\n</html>\n",
      kPolicy, escape_html(page.title), style_sheet(), figures.definitions(), header, contents_of(page),
      main);
}

void save_page(const Page& page, const std::filesystem::path& path) {
  write_file_atomically(path, render_page(page));
}

}  // namespace buoy
