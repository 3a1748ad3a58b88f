// The report page: everything escaped, nothing fetched, links and tables as given.
#include "buoy/report/html.h"

#include "buoy/base/types.h"
#include "buoy/io/file.h"
#include "buoy/io/test_support.h"

namespace buoy {
namespace {

const std::string kHostile = "<script>alert('x')</script> & \"quoted\"";

Index count(std::string_view text, std::string_view part) {
  Index found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

Page hostile_page() {
  Page page{.title = kHostile, .lead = kHostile, .facts = {{kHostile, kHostile}}};
  page.sections.push_back({.id = "one", .title = kHostile, .explanation = kHostile});
  page.sections.push_back({.id = "two", .title = "Two"});
  page.sections[0].blocks = {
      FigureBlock{.svg = "foobar", .alt = kHostile, .caption = kHostile, .files = "fig ures/a\"b:c"},
      TableBlock{.caption = kHostile,
                 .columns = {{kHostile, ColumnKind::kText, kHostile}, {"n", ColumnKind::kNumber}},
                 .rows = {{kHostile, "1.5"}}},
      NoteBlock{kHostile}, CodeBlock{kHostile}};
  return page;
}

TEST(EscapeHtml, LeavesNoMarkup) {
  EXPECT_EQ(escape_html("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  EXPECT_EQ(escape_html("Käse 東京\n"), "Käse 東京\n");
  EXPECT_EQ(escape_html("a\xff"), "a\xEF\xBF\xBD");
  EXPECT_EQ(escape_html(std::string_view("\0\x1b", 2)), "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Page, EscapesEveryText) {
  const std::string html = render_page(hostile_page());
  EXPECT_EQ(count(html, "<script"), 1) << "the page's own";
  EXPECT_EQ(count(html, "alert('x')"), 0);
  EXPECT_EQ(count(html, "alert(&#39;x&#39;)"), 18);
}

TEST(Page, FetchesNothing) {
  const std::string html = render_page(hostile_page());
  EXPECT_EQ(count(html, "http:") + count(html, "https:") + count(html, "//"), 0);
  EXPECT_EQ(count(html, " src="), count(html, " src=\"data:image/svg+xml;base64,"));
  EXPECT_EQ(count(html, "default-src 'none'"), 1);
}

TEST(Page, FiguresAreInlineAndLinkTheirFiles) {
  const std::string html = render_page(hostile_page());
  EXPECT_EQ(count(html, "base64,Zm9vYmFy\""), 1) << "RFC 4648's own example";
  for (const char* extension : {"pdf", "svg", "png", "csv"}) {
    EXPECT_EQ(count(html, fmt::format("href=\"fig%20ures/a%22b%3Ac.{}\"", extension)), 1) << extension;
  }
  Page page{.title = "t",
            .sections = {{"s", "S", "", {FigureBlock{.svg = "foob"}, FigureBlock{.svg = "fooba"}}}}};
  EXPECT_EQ(count(render_page(page), "base64,Zm9vYg==\""), 1);
  EXPECT_EQ(count(render_page(page), "base64,Zm9vYmE=\""), 1);
  EXPECT_EQ(count(render_page(page), "class=\"files\""), 0);
}

TEST(Page, AFigureIsAsWideAsItWasDrawn) {
  const Page page{.title = "t", .sections = {{"s", "S", "", {FigureBlock{.svg = "<svg width=\"300pt\">"}}}}};
  EXPECT_EQ(count(render_page(page), "max-width:520px"), 1);
}

TEST(Page, ContentsLinkEverySection) {
  const std::string html = render_page(hostile_page());
  for (const char* id : {"one", "two"}) {
    EXPECT_EQ(count(html, fmt::format("href=\"#{}\"", id)), 1);
    EXPECT_EQ(count(html, fmt::format("<section id=\"{}\">", id)), 1);
  }
}

TEST(Page, NumbersAreSetFlushRight) {
  const std::string html = render_page(hostile_page());
  EXPECT_EQ(count(html, "<td class=\"n\">1.5</td>"), 1);
  EXPECT_EQ(count(html, "<th class=\"n\" scope=\"col\">n</th>"), 1);
}

TEST(Page, NamesAreNotBrokenAtTheirHyphens) {
  const TableBlock table{.caption = "T",
                         .columns = {{"model"}, {"what"}},
                         .rows = {{"mini-mdm", "a well-known thing"}, {"plain", "x-y"}}};
  const std::string html = render_page({.title = "t", .sections = {{"s", "S", "", {table}}}});
  EXPECT_EQ(count(html, "<th class=\"name\" scope=\"row\">mini-mdm</th>"), 1);
  EXPECT_EQ(count(html, "<td class=\"name\">x-y</td>"), 1);
  EXPECT_EQ(count(html, "<td>a well-known thing</td>"), 1);
}

TEST(Page, DefinitionsOfRowsArePointedAtAndListedOnce) {
  TableBlock table{.caption = "T", .columns = {{"x"}, {"y"}}, .rows = {{"a<", "1"}, {"a<", "2"}, {"b", "3"}}};
  table.row_definitions = {"first & last", "first & last", ""};
  Page page{.title = "t", .sections = {{"s", "S", "", {table}}}};
  const std::string html = render_page(page);
  EXPECT_EQ(count(html, "<abbr title=\"first &amp; last\">a&lt;</abbr>"), 2);
  EXPECT_EQ(count(html, "<dt>a&lt;</dt><dd>first &amp; last</dd>"), 1);
  EXPECT_EQ(count(html, "<abbr"), 2) << "what has no definition is plain";
  table.row_definitions.pop_back();
  page.sections[0].blocks = {table};
  EXPECT_EQ(error_of([&] { render_page(page); }), "table \"T\": definitions of 2 rows, expected 3");
}

TEST(Page, IdsAreCheckedAndRowsCounted) {
  Page page{.title = "t", .sections = {{"a b", "Title", ""}}};
  EXPECT_EQ(error_of([&] { render_page(page); }), "section \"Title\": id \"a b\", expected a-z, 0-9 and -");
  page.sections = {{"a", "First", ""}, {"a", "Second", ""}};
  EXPECT_EQ(error_of([&] { render_page(page); }), "section \"Second\": id \"a\" is used twice");
  page.sections = {
      {"a", "First", "", {TableBlock{.caption = "T", .columns = {{"x"}, {"y"}}, .rows = {{"1"}}}}}};
  EXPECT_EQ(error_of([&] { render_page(page); }), "table \"T\": a row of 1 cells, expected 2");
}

TEST(Page, IsSavedWhole) {
  const TempDir dir;
  save_page(hostile_page(), dir / "index.html");
  EXPECT_EQ(read_file(dir / "index.html"), render_page(hostile_page()));
  EXPECT_EQ(error_of([&] { save_page(hostile_page(), dir / "no/index.html"); }),
            (dir / "no/index.html").string() + ": cannot write: No such file or directory");
}

}  // namespace
}  // namespace buoy
