// A report as one HTML file that needs nothing else: no network, no script, light, dark and printed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "buoy/base/types.h"

namespace buoy {

// All texts are plain text and are escaped.
struct FigureBlock {
  std::string svg;  // as save_figure returned it; drawn into the page in the page's colours
  std::string alt;  // what the figure shows, for those who cannot see it
  std::string caption;
  std::string files = {};  // "figures/drift": links drift.EXTENSION relative to the page; empty: no links
  std::vector<std::string> extensions = {"pdf", "svg", "png", "csv"};
};

enum class ColumnKind { kText, kNumber };  // numbers are set flush right, in digits of one width
struct TableColumn {
  std::string name;
  ColumnKind kind = ColumnKind::kText;
  std::string definition = {};  // shown when pointing at the name
  Index color = -1;             // of the model it is about: a square before the name; -1: none
};
struct TableBlock {
  std::string caption;
  std::vector<TableColumn> columns;
  std::vector<std::vector<std::string>> rows;  // each as long as columns
  std::vector<std::string> row_definitions =
      {};  // shown when pointing at a row's first cell; one per row, or none
};

struct NoteBlock {
  std::string text;
};

struct CodeBlock {
  std::string code;  // a command; a click selects it whole
};

// Files beside the page to go on with.
struct LinksBlock {
  struct Link {
    std::string text, file;  // relative to the page
  };
  std::string before;  // what they are
  std::vector<Link> links;
};

using Block = std::variant<FigureBlock, TableBlock, NoteBlock, CodeBlock, LinksBlock>;

struct Section {
  std::string id;  // a-z, 0-9 and -; unique on the page, links point at it
  std::string title;
  std::string explanation;  // two sentences: what is seen, how to read it
  std::vector<Block> blocks = {};
  // Neighbours that share a topic are folded away together under it; empty: the section stands open.
  std::string topic = {};
};

struct Fact {
  std::string key, value;
};

// A model and the colour that it has in every figure of the page.
struct ModelKey {
  std::string name, detail;
  Index color = 0;  // of series_color()
};

// A text with one link in it: before, the link, after.
struct LinkedText {
  std::string before, text, url, after;  // url: https://…
};

// One sentence of what came out, with the question that it answers.
struct Finding {
  std::string question, answer;
};

struct Page {
  std::string title;
  std::optional<LinkedText> source = {};  // what the page is about
  std::string lead = {};
  std::vector<std::string> notes = {};  // what the reader must know first
  std::vector<ModelKey> models = {};
  std::vector<Finding> findings = {};
  std::optional<Section> verdicts = {};  // beside the findings
  std::vector<Fact> facts = {};
  std::vector<Section> sections = {};
};

// The page. Headings follow each other without a gap: h1, h2 for topics and open sections, h3 within topics.
// Throws Error on an id that is malformed or used twice, on a table row of another length or without its
// definition, and on a link that is not https.
std::string render_page(const Page& page);
// Written atomically; throws Error naming the path.
void save_page(const Page& page, const std::filesystem::path& path);

// & < > " ' as entities; broken UTF-8 and control characters other than newline and tab replaced by U+FFFD.
std::string escape_html(std::string_view text);

}  // namespace buoy
