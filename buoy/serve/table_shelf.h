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

// Read once; then any thread.
class TableShelf {
 public:
  // Throws Error for a file that is no table.
  explicit TableShelf(const std::vector<std::filesystem::path>& files);

  Index count() const { return std::ssize(tables_); }
  // [{"id","title","columns","rows"}]
  Json list() const;
  // {"columns","rows","sample_column"}: numbers as numbers, empty fields as null. Throws HttpError 404.
  Json table(const std::string& id) const;

 private:
  struct Table {
    std::string id, title;
    std::vector<std::vector<std::string>> lines;  // the first: columns
  };
  std::vector<Table> tables_;
};

}  // namespace buoy
