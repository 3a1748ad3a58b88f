#include "buoy/serve/table_shelf.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "buoy/base/error.h"
#include "buoy/io/file.h"
#include "buoy/io/file_name.h"
#include "buoy/io/json.h"
#include "buoy/serve/explorer_state.h"

namespace buoy {
namespace {

Json field_json(const std::string& field) {
  if (field.empty()) return nullptr;
  double number = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number);
  if (error == std::errc() && end == field.data() + field.size() && std::isfinite(number)) return number;
  return field;
}

}  // namespace

std::vector<std::vector<std::string>> parse_csv(const std::string& text, const std::string& place) {
  std::vector<std::vector<std::string>> lines;
  std::vector<std::string> line;
  std::string field;
  bool quoted = false;
  const auto end_field = [&] {
    line.push_back(std::move(field));
    field.clear();
  };
  const auto end_line = [&] {
    end_field();
    lines.push_back(std::move(line));
    line.clear();
    if (lines.back().size() != lines.front().size()) {
      fail("{}: line {} has {} fields, expected {}", place, lines.size(), lines.back().size(),
           lines.front().size());
    }
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c != '"') {
        field += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        field += text[++i];
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      end_field();
    } else if (c == '\n') {
      end_line();
    } else if (c != '\r') {
      field += c;
    }
  }
  if (quoted) fail("{}: a quote is not closed", place);
  if (!field.empty() || !line.empty()) end_line();
  if (lines.empty()) fail("{}: is empty, expected a table", place);
  return lines;
}

TableShelf::TableShelf(const std::vector<std::filesystem::path>& files) {
  std::set<std::string> taken;
  for (const std::filesystem::path& file : files) {
    const std::string base = file_name_of(file.stem().string());
    std::string id = base;
    for (Index i = 2; !taken.insert(id).second; ++i) id = fmt::format("{}-{}", base, i);
    tables_.push_back({id, file.filename().string(), parse_csv(read_file(file), file.string())});
  }
}

Json TableShelf::list() const {
  Json list = Json::array();
  for (const Table& table : tables_) {
    list.push_back({{"id", table.id},
                    {"title", table.title},
                    {"columns", table.lines.front()},
                    {"rows", table.lines.size() - 1}});
  }
  return list;
}

Json TableShelf::table(const std::string& id) const {
  const auto found = std::ranges::find(tables_, id, &Table::id);
  if (found == tables_.end()) fail_http(404, "table {} is not here", quote(id));
  const std::vector<std::string>& columns = found->lines.front();
  const auto sample = std::ranges::find(columns, "sample");
  Json rows = Json::array();
  for (std::size_t i = 1; i < found->lines.size(); ++i) {
    Json row = Json::array();
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::string& field = found->lines[i][c];
      row.push_back(columns[c] == "sample" ? Json(field) : field_json(field));  // an id stays text
    }
    rows.push_back(std::move(row));
  }
  return {{"columns", columns},
          {"rows", std::move(rows)},
          {"sample_column", sample == columns.end() ? Json() : Json(sample - columns.begin())}};
}

std::vector<Route> table_routes(Explorer::State& state) {
  return {{"GET", "/tables",
           [&state](const HttpRequest&, const PathParts&) { return json_response(state.tables->list()); }},
          {"GET", "/tables/{}", [&state](const HttpRequest&, const PathParts& parts) {
             return json_response(state.tables->table(parts[0]));
           }}};
}

}  // namespace buoy
