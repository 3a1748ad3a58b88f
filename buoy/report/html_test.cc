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

const std::string kSvg = "<?xml?>\n<svg width=\"300pt\" viewBox=\"0 0 300 9\"><path/></svg>\n";

Page hostile_page() {
  Page page{.title = kHostile, .lead = kHostile, .facts = {{kHostile, kHostile}}};
  page.source = LinkedText{.before = kHostile, .text = kHostile, .url = "https://x/\"", .after = kHostile};
  page.notes = {kHostile};
  page.models = {{kHostile, kHostile, 1}};
  page.findings = {{kHostile, kHostile}};
  page.sections.push_back({.id = "one", .title = kHostile, .explanation = kHostile});
  page.sections.push_back({.id = "two", .title = kHostile, .explanation = "", .topic = kHostile});
  page.sections[0].blocks = {
      FigureBlock{.svg = kSvg, .alt = kHostile, .caption = kHostile, .files = "fig ures/a\"b:c"},
      TableBlock{.caption = kHostile,
                 .columns = {{kHostile, ColumnKind::kText, kHostile}, {"n", ColumnKind::kNumber}},
                 .rows = {{kHostile, "1.5"}}},
      NoteBlock{kHostile}, CodeBlock{kHostile},
      LinksBlock{.before = kHostile, .links = {{kHostile, "explore/a\"b:c"}}}};
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
  EXPECT_EQ(count(html, "<script"), 0);
  EXPECT_EQ(count(html, "alert('x')"), 0);
  EXPECT_EQ(count(html, "alert(&#39;x&#39;)"), 34);
  EXPECT_EQ(count(html, "https://x/&quot;"), 1);
}

TEST(Page, FetchesNothing) {
  const std::string html = render_page(hostile_page());
  EXPECT_EQ(count(html, "http:"), 0);
  EXPECT_EQ(count(html, "https:"), 1);
  EXPECT_EQ(count(html, "<a href=\"https:"), 1) << "a link is not fetched";
  for (const char* fetched : {" src=", "<link", "@import", "<script", "<iframe", "<object", "url(h", "url(/"})
    EXPECT_EQ(count(html, fetched), 0) << fetched;
  EXPECT_EQ(count(html, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "), 1);
  EXPECT_EQ(count(html, "script-src"), 0) << "what is not named is not allowed";
}

TEST(Page, LinksAreHttps) {
  Page page{.title = "t",
            .source = LinkedText{.before = "", .text = "x", .url = "javascript:1", .after = ""}};
  EXPECT_EQ(error_of([&] { render_page(page); }), "page \"t\": link to \"javascript:1\", expected https");
}

TEST(Page, FiguresAreInlineAndLinkTheirFiles) {
  const std::string html = render_page(hostile_page());
  EXPECT_EQ(count(html, "viewBox=\"0 0 300 9\"><path/></svg>"), 1);
  for (const char* extension : {"pdf", "svg", "png", "csv"}) {
    EXPECT_EQ(count(html, fmt::format("href=\"fig%20ures/a%22b%3Ac.{}\"", extension)), 1) << extension;
  }
  Page page{.title = "t",
            .sections = {{"s", "S", "", {FigureBlock{.svg = kSvg, .files = "a", .extensions = {"pdf"}}}}}};
  EXPECT_EQ(count(render_page(page), "<a href=\"a."), 1);
  page.sections[0].blocks = {FigureBlock{.svg = kSvg}};
  EXPECT_EQ(count(render_page(page), "class=\"files\""), 0);
}

TEST(Page, AFigureIsAsWideAsItWasDrawn) {
  const Page page{.title = "t", .sections = {{"s", "S", "", {FigureBlock{.svg = kSvg}}}}};
  EXPECT_EQ(count(render_page(page), "max-width:520px"), 1);
}

TEST(Page, ContentsLinkEverySection) {
  const std::string html = render_page(hostile_page());
  EXPECT_EQ(count(html, "href=\"#one\""), 1);
  EXPECT_EQ(count(html, "<section id=\"one\">"), 1);
  EXPECT_EQ(count(html, "href=\"#topic-two\""), 1);
  EXPECT_EQ(count(html, "<details class=\"topic\" id=\"topic-two\">"), 1);
}

TEST(Page, NeighboursOfOneTopicAreFoldedTogether) {
  Page page{.title = "t", .sections = {{"a", "A", ""}, {"b", "B", ""}, {"c", "C", ""}, {"d", "D", ""}}};
  page.sections[1].topic = page.sections[2].topic = "Both";
  const std::string html = render_page(page);
  EXPECT_EQ(count(html, "<details"), 1);
  const std::size_t fold = html.find("<details"), end = html.find("</details>");
  EXPECT_LT(html.find("<h2>A</h2>"), fold);
  EXPECT_LT(fold, html.find("<h2>Both</h2>"));
  EXPECT_LT(html.find("<h3>B</h3>"), html.find("<h3>C</h3>"));
  EXPECT_LT(html.find("<h3>C</h3>"), end);
  EXPECT_GT(html.find("<h2>D</h2>"), end);
  EXPECT_EQ(count(html, "<li><a href=\"#"), 3) << "A, Both, D";
}

TEST(Page, ModelsHaveTheirColorsInKeyAndColumns) {
  Page page{.title = "t", .models = {{"a", "one", 0}, {"b", "two", 3}}};
  page.sections = {
      {"s", "S", "", {TableBlock{.caption = "T", .columns = {{.name = "b", .color = 3}}, .rows = {}}}}};
  const std::string html = render_page(page);
  EXPECT_EQ(count(html, "class=\"swatch m0\""), 1);
  EXPECT_EQ(count(html, "class=\"swatch m3\""), 2);
  EXPECT_EQ(count(html, ".m3{background:var(--fig-s3)}"), 1);
}

TEST(Page, RightAndWrongAreSaidInWordsAndBySign) {
  const TableBlock table{.caption = "T", .columns = {{"x"}, {"y"}}, .rows = {{"✓ right: a<", "✗ wrong: b"}}};
  const std::string html = render_page({.title = "t", .sections = {{"s", "S", "", {table}}}});
  EXPECT_EQ(count(html, "<span class=\"yes\">✓ </span>right: a&lt;"), 1);
  EXPECT_EQ(count(html, "<span class=\"no\">✗ </span>wrong: b"), 1);
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
