#include "buoy/corpus/document_source.h"

#include <algorithm>
#include <utility>

#include "buoy/base/error.h"
#include "buoy/corpus/dataset.h"
#include "buoy/corpus/dataset_fields.h"
#include "buoy/corpus/dataset_lines.h"
#include "buoy/corpus/words.h"
#include "buoy/io/file.h"
#include "buoy/io/json.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

constexpr Index kMaxComplaints = 5;

// One past the last word of the passage that begins with word `first`.
Index passage_end(const std::vector<Word>& words, Index first, Index limit) {
  const Index furthest = std::min(first + limit, std::ssize(words));
  Index after_sentence = furthest;
  for (Index i = first; i < furthest; ++i) {
    const Break after = words[static_cast<std::size_t>(i)].after;
    if (after == Break::kParagraph && 2 * (i + 1 - first) >= limit) return i + 1;
    if (after != Break::kNone) after_sentence = i + 1;
  }
  return furthest == std::ssize(words) ? furthest : after_sentence;
}

// Counts what `record` does: a document handed over, or a complaint.
class Reader {
 public:
  Reader(SourceReport& report, const DocumentSink& sink) : report_(report), sink_(sink) {}

  void hand_over(Document document) {
    ++report_.documents;
    sink_(std::move(document));
  }

  template <typename Parse>
  void read(const Parse& parse) {
    ++report_.records;
    std::vector<Document> documents;
    try {
      documents = parse();
    } catch (const Error& e) {
      ++report_.bad;
      if (std::ssize(report_.complaints) < kMaxComplaints) report_.complaints.emplace_back(e.what());
      return;
    }
    for (Document& document : documents) hand_over(std::move(document));
  }

 private:
  SourceReport& report_;
  const DocumentSink& sink_;
};

std::vector<Document> read_text_file(const fs::path& path, Index passage_words) {
  const std::string name = path.lexically_normal().generic_string();
  const std::string text = read_file(path);
  if (const auto at = find_invalid_utf8(text)) fail("{}: is not valid UTF-8 at byte {}", name, *at);
  std::vector<Document> documents;
  for (const std::string_view passage : cut_passages(text, passage_words)) {
    documents.push_back({.id = fmt::format("{}#{}", name, documents.size() + 1),
                         .title = path.stem().string(),
                         .text = std::string(passage)});
  }
  return documents;
}

void read_folder(const fs::path& folder, Index passage_words, Reader& reader) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const fs::path extension = it->path().extension();
    if ((extension == ".txt" || extension == ".md") && it->is_regular_file()) files.push_back(it->path());
  }
  if (error) fail("{}: cannot be read: {}", folder.string(), error.message());
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    reader.read([&] { return read_text_file(file, passage_words); });
  }
}

// {"id", "title", "text"}; BEIR's "_id"; Pyserini's "contents"; ids may be numbers.
Document parse_document(const JsonObject& object, const std::string& fallback_id) {
  const std::string_view id = first_of(object, {"id", "_id", "docid"});
  Document document{.id = object.has(id) ? id_of(object, id) : fallback_id,
                    .title = object.string_or("title", ""),
                    .text = object.string(first_of(object, {"text", "contents"}))};
  if (document.id.empty()) fail("{}: \"{}\" is empty", object.place(), id);
  return document;
}

// A page of KILT's knowledge source, {"_id", "wikipedia_title", "text": [paragraphs]}, in passages; its first
// paragraph is the title, and "Section::::" and "BULLET::::" are no words of the page.
std::vector<Document> parse_kilt_page(const JsonObject& object, const std::string& fallback_id,
                                      Index passage_words) {
  const std::string id = object.has("_id") ? id_of(object, "_id") : fallback_id,
                    title = object.string_or("wikipedia_title", "");
  std::string text;
  bool is_first = true;
  for (const Json& json : list_of(object, "text")) {
    std::string paragraph = string_in(json, object, "text");
    while (!paragraph.empty() && paragraph.back() == '\n') paragraph.pop_back();
    if (std::exchange(is_first, false) && paragraph == title) continue;
    for (const std::string_view mark : {"Section::::", "BULLET::::- ", "BULLET::::"}) {
      if (paragraph.starts_with(mark)) paragraph.erase(0, mark.size());
    }
    text += (text.empty() ? "" : "\n\n") + paragraph;
  }
  std::vector<Document> documents;
  for (const std::string_view passage : cut_passages(text, passage_words)) {
    documents.push_back(
        {.id = fmt::format("{}#{}", id, documents.size() + 1), .title = title, .text = std::string(passage)});
  }
  return documents;
}

std::vector<Document> parse_line(const std::string& line, const std::string& place,
                                 const std::string& fallback_id, Index passage_words) {
  const Json json = parse_json(line, place);
  const JsonObject object(json, place);
  const Json* text = object.find("text");
  if (text != nullptr && text->is_array()) return parse_kilt_page(object, fallback_id, passage_words);
  return {parse_document(object, fallback_id)};
}

// Fields between tabs; one in double quotes has them doubled inside, as Python's csv writes it.
std::vector<std::string> split_tabs(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (line[i] == '"' && (quoted || fields.back().empty())) {
      quoted = !quoted;
    } else if (line[i] == '\t' && !quoted) {
      fields.emplace_back();
    } else if (line[i] != '\r') {
      fields.back() += line[i];
    }
  }
  return fields;
}

constexpr std::string_view kTabHeader = "id\ttext\ttitle";  // DPR's psgs_w100.tsv

void read_tab_lines(const fs::path& path, Reader& reader) {
  LineReader lines(path);
  lines.next();  // the header
  while (const auto line = lines.next()) {
    reader.read([&]() -> std::vector<Document> {
      std::vector<std::string> fields = split_tabs(*line);
      if (fields.size() != 3 || fields[0].empty() || find_invalid_utf8(*line)) {
        fail("{}: line {}: has {} fields, expected id, text and title in UTF-8", path.string(),
             lines.number(), fields.size());
      }
      return {{.id = std::move(fields[0]), .title = std::move(fields[2]), .text = std::move(fields[1])}};
    });
  }
}

void read_document_lines(const fs::path& path, Index passage_words, Reader& reader) {
  const std::string name = path.lexically_normal().generic_string();
  LineReader lines(path);
  while (const auto line = lines.next()) {
    const Index number = lines.number();
    reader.read([&]() -> std::vector<Document> {
      return parse_line(*line, fmt::format("{}: line {}", path.string(), number),
                        fmt::format("{}:{}", name, number), passage_words);
    });
  }
}

void read_dataset_passages(const fs::path& path, SourceReport& report, Reader& reader) {
  Dataset dataset = open_dataset(path);
  while (auto item = dataset.next()) {
    Index number = 0;
    for (QaPassage& passage : item->passages) {
      reader.hand_over({.id = fmt::format("{}/p{}", item->id, ++number),
                        .title = std::move(passage.title),
                        .text = std::move(passage.text)});
    }
  }
  report.records = dataset.counts().read;
  report.bad = dataset.counts().bad;
  for (const BadRecord& bad : dataset.counts().first_bad) {
    if (std::ssize(report.complaints) < kMaxComplaints) report.complaints.push_back(bad.cause);
  }
}

bool has_tab_header(const fs::path& path) {
  LineReader lines(path);
  std::string line = lines.next().value_or("");
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return line == kTabHeader;
}

// Told by the first line that can be parsed; a dataset may be one line of many megabytes, or laid out over
// many lines of which none can be parsed alone.
bool holds_document_lines(const fs::path& path) {
  constexpr std::size_t kLongest = 1 << 20;
  constexpr Index kLines = 100;
  LineReader lines(path);
  for (Index i = 0; i < kLines; ++i) {
    const auto line = lines.next();
    if (!line || line->size() > kLongest) return false;
    const Json json = Json::parse(*line, nullptr, false);
    if (json.is_object()) return json.contains("text") || json.contains("contents");
  }
  return false;
}

}  // namespace

std::vector<std::string_view> cut_passages(std::string_view text, Index words) {
  check(words >= 1, "passages of one word or more");
  const std::vector<Word> all = split_words(text);
  std::vector<std::string_view> passages;
  for (Index first = 0; first < std::ssize(all);) {
    const Index end = passage_end(all, first, words);
    passages.push_back(
        slice(text, all[static_cast<std::size_t>(first)].begin, all[static_cast<std::size_t>(end - 1)].end));
    first = end;
  }
  return passages;
}

SourceReport read_documents(const fs::path& path, Index passage_words, const DocumentSink& sink) {
  SourceReport report;
  Reader reader(report, sink);
  if (fs::is_directory(path)) {
    read_folder(path, passage_words, reader);
  } else if (has_tab_header(path)) {
    read_tab_lines(path, reader);
  } else if (holds_document_lines(path)) {
    read_document_lines(path, passage_words, reader);
  } else {
    read_dataset_passages(path, report, reader);
  }
  if (static_cast<double>(report.bad) > kMaxBadShare * static_cast<double>(report.records)) {
    fail("{}: {} of {} records are bad, more than {:.0f} %; the first: {}", path.string(), report.bad,
         report.records, 100 * kMaxBadShare, report.complaints.front());
  }
  if (report.documents == 0) fail("{}: holds no documents", path.string());
  return report;
}

}  // namespace buoy
