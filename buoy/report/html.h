// A report as one HTML file that needs nothing else: no network, no script but a copy button, light, dark and
// printed.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace buoy {

// All texts are plain text and are escaped.
struct FigureBlock {
  std::string svg;  // as save_figure returned it
  std::string alt;  // what the figure shows, for those who cannot see it
  std::string caption;
  std::string
      files;  // "figures/drift": links drift.pdf, .svg, .png and .csv relative to the page; empty: no links
};

enum class ColumnKind { kText, kNumber };  // numbers are set flush right, in digits of one width
struct TableColumn {
  std::string name;
  ColumnKind kind = ColumnKind::kText;
  std::string definition = {};  // shown when pointing at the name
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
  std::string code;  // a command, with a button that copies it
};

using Block = std::variant<FigureBlock, TableBlock, NoteBlock, CodeBlock>;

struct Section {
  std::string id;  // a-z, 0-9 and -; unique on the page, links point at it
  std::string title;
  std::string explanation;  // two sentences: what is seen, how to read it
  std::vector<Block> blocks = {};
};

struct Fact {
  std::string key, value;
};

struct Page {
  std::string title;
  std::string lead;
  std::vector<Fact> facts = {};
  std::vector<Section> sections = {};
};

// The page. Throws Error on an id that is malformed or used twice, and on a table row of another length or
// without its definition.
std::string render_page(const Page& page);
// Written atomically; throws Error naming the path.
void save_page(const Page& page, const std::filesystem::path& path);

// & < > " ' as entities; broken UTF-8 and control characters other than newline and tab replaced by U+FFFD.
std::string escape_html(std::string_view text);

}  // namespace buoy
