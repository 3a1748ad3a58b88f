// Documents for a collection, out of files: JSON lines, datasets with passages, folders of text.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/corpus/collection.h"

namespace buoy {

// What reading a source came to. A record is a line, an item of a dataset, or a text file of a folder.
struct SourceReport {
  Index records = 0, documents = 0, bad = 0;
  std::vector<std::string> complaints;  // place and cause of the first bad records
};
inline constexpr double kMaxBadShare = 0.01;  // of the records

using DocumentSink = std::function<void(Document)>;

// Hands the documents of `path` to `sink`, in order. Bad records are left out and counted. Throws Error when
// more than kMaxBadShare are bad, when there are no documents, and when reading fails: possibly after some
// documents were handed over, so a caller who wants all or nothing reads twice.
// - A folder: its .txt and .md files, also in folders below, in order of their paths; each is cut into
//   passages of at most `passage_words` words with the ids "PATH#1", "PATH#2", … and the file's stem as
//   title.
// - A file whose first line is an object with "text" or "contents": each line is a document {"text",
// "title"?,
//   "id"? or "_id"?}; one without an id becomes "PATH:LINE". Where "text" is a list (KILT's pages) it is cut
//   into passages "ID#1", "ID#2", …
// - A file whose first line is id, text and title between tabs (DPR's psgs_w100.tsv): each line is a
// document.
// - Any other file is a dataset (docs/datasets.md): the passages of its items become "ID/p1", "ID/p2", …
SourceReport read_documents(const std::filesystem::path& path, Index passage_words, const DocumentSink& sink);

// `text` in stretches of at most `words` words (1 or more), without the white space around them. Ends between
// sentences where it can, and after a paragraph once the stretch is half full. Views into `text`, valid
// UTF-8.
std::vector<std::string_view> cut_passages(std::string_view text, Index words);

}  // namespace buoy
