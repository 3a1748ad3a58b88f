// Tables of studies and analyses: CSV files, for the page to sort and filter.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "buoy/base/types.h"
#include "buoy/io/json_fwd.h"

namespace buoy {

// Fields of lines, as RFC 4180 has them; all lines as long as the first. Throws Error at `place`.
std::vector<std::vector<std::string>> parse_csv(const std::string& text, const std::string& place);

// CSV files as they are; of folders theirs, and those of their figures/, in order of their names. Throws
// Error for a folder that has none.
std::vector<std::filesystem::path> table_files(const std::vector<std::filesystem::path>& places);

// Read once; then any thread. A table beside which X.svg lies is a figure's. What lies behind its points is
// in behind_X.csv (panel, model, sample), or, of a table of means, in the table of samples of the same
// study.
class TableShelf {
 public:
  // Throws Error for a file that is no table.
  explicit TableShelf(const std::vector<std::filesystem::path>& files);

  Index count() const { return std::ssize(tables_); }
  // [{"id","title","columns","rows","picture","samples"}]: whether it has the last two.
  Json list() const;
  // Everything below throws HttpError 404.
  // {"columns","rows","sample_column"}: numbers as numbers, empty fields as null.
  Json table(const std::string& id) const;
  // The samples behind a table's rows, {"columns","rows"}: of means ("row", "model", "sample", "value") with
  // the number of the row they went into, of other figures ("panel", "model", "sample").
  Json samples(const std::string& id) const;
  // The drawing of a figure, SVG.
  std::string picture(const std::string& id) const;

 private:
  using Lines = std::vector<std::vector<std::string>>;
  struct Table {
    std::string id, title;
    std::filesystem::path folder;   // of the study, not of its figures
    std::filesystem::path picture;  // empty: none
    Lines lines;                    // the first: columns
    Lines behind;                   // of behind_X.csv; empty: there is none
  };
  const Table& find(const std::string& id) const;
  // The study's table of samples, for a table of means; nullptr: it is none, or has none.
  const Table* samples_of(const Table& table) const;

  std::vector<Table> tables_;
};

}  // namespace buoy
