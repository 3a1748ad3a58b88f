#include "buoy/serve/table_shelf.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "buoy/base/error.h"
#include "buoy/io/file.h"
#include "buoy/io/file_name.h"
#include "buoy/io/json.h"
#include "buoy/serve/explorer_state.h"

namespace buoy {
namespace fs = std::filesystem;
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

namespace {

std::vector<fs::path> csv_files(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".csv") found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

constexpr const char* kBehind = "behind_";

// Whether another file's table says what lies behind its points.
bool is_behind(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.starts_with(kBehind) &&
         fs::exists(file.parent_path() / name.substr(std::string_view(kBehind).size()));
}

// Where the columns stand; nothing where one is missing.
std::optional<std::vector<std::size_t>> columns_of(const std::vector<std::string>& head,
                                                   const std::vector<std::string>& names) {
  std::vector<std::size_t> places;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(head, name);
    if (found == head.end()) return std::nullopt;
    places.push_back(static_cast<std::size_t>(found - head.begin()));
  }
  return places;
}

// What names a number of a study; a mean over all data or tasks has "*" there.
const std::vector<std::string> kNumberKey = {"model", "quantity", "layer", "head", "part"};
const std::vector<std::string> kGroup = {"data", "task"};

std::string joined(const std::vector<std::string>& line, const std::vector<std::size_t>& places) {
  std::string key;
  for (const std::size_t place : places) key += line[place] + '\n';
  return key;
}

}  // namespace

std::vector<fs::path> table_files(const std::vector<fs::path>& places) {
  std::vector<fs::path> files;
  for (const fs::path& place : places) {
    if (!fs::is_directory(place)) {
      files.push_back(place);
      continue;
    }
    std::vector<fs::path> found = csv_files(place);
    if (fs::is_directory(place / "figures"))
      std::ranges::copy(csv_files(place / "figures"), std::back_inserter(found));
    if (found.empty()) fail("{}: holds no .csv files", place.string());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

TableShelf::TableShelf(const std::vector<fs::path>& files) {
  std::set<std::string> taken;
  for (const fs::path& file : files) {
    if (is_behind(file)) continue;
    const std::string base = file_name_of(file.stem().string());
    std::string id = base;
    for (Index i = 2; !taken.insert(id).second; ++i) id = fmt::format("{}-{}", base, i);
    const fs::path parent = fs::absolute(file).parent_path(),
                   drawing = fs::path(file).replace_extension(".svg"),
                   behind = file.parent_path() / (kBehind + file.filename().string());
    tables_.push_back(
        {.id = id,
         .title = file.filename().string(),
         .folder = parent.filename() == "figures" ? parent.parent_path() : parent,
         .picture = fs::exists(drawing) ? drawing : fs::path(),
         .lines = parse_csv(read_file(file), file.string()),
         .behind = fs::exists(behind) ? parse_csv(read_file(behind), behind.string()) : Lines()});
  }
}

const TableShelf::Table& TableShelf::find(const std::string& id) const {
  const auto found = std::ranges::find(tables_, id, &Table::id);
  if (found == tables_.end()) fail_http(404, "table {} is not here", quote(id));
  return *found;
}

const TableShelf::Table* TableShelf::samples_of(const Table& table) const {
  const std::vector<std::string>& head = table.lines.front();
  if (!columns_of(head, kNumberKey) || !columns_of(head, kGroup) || !columns_of(head, {"mean"}))
    return nullptr;
  for (const Table& other : tables_) {
    const std::vector<std::string>& columns = other.lines.front();
    if (other.folder == table.folder && columns_of(columns, kNumberKey) && columns_of(columns, kGroup) &&
        columns_of(columns, {"sample", "value"}))
      return &other;
  }
  return nullptr;
}

Json TableShelf::list() const {
  Json list = Json::array();
  for (const Table& table : tables_) {
    list.push_back({{"id", table.id},
                    {"title", table.title},
                    {"columns", table.lines.front()},
                    {"rows", table.lines.size() - 1},
                    {"picture", !table.picture.empty()},
                    {"samples", !table.behind.empty() || samples_of(table) != nullptr}});
  }
  return list;
}

Json TableShelf::table(const std::string& id) const {
  const Table& found = find(id);
  const std::vector<std::string>& columns = found.lines.front();
  const auto sample = std::ranges::find(columns, "sample");
  Json rows = Json::array();
  for (std::size_t i = 1; i < found.lines.size(); ++i) {
    Json row = Json::array();
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::string& field = found.lines[i][c];
      row.push_back(columns[c] == "sample" ? Json(field) : field_json(field));  // an id stays text
    }
    rows.push_back(std::move(row));
  }
  return {{"columns", columns},
          {"rows", std::move(rows)},
          {"sample_column", sample == columns.end() ? Json() : Json(sample - columns.begin())}};
}

Json TableShelf::samples(const std::string& id) const {
  const Table& table = find(id);
  Json rows = Json::array();
  if (!table.behind.empty()) {
    for (std::size_t i = 1; i < table.behind.size(); ++i) rows.push_back(table.behind[i]);
    return {{"columns", table.behind.front()}, {"rows", std::move(rows)}};
  }
  const Table* source = samples_of(table);
  if (source == nullptr) fail_http(404, "of table {} no samples are known", quote(id));
  const std::vector<std::string>&head = source->lines.front(), &columns = table.lines.front();
  const auto key = *columns_of(head, kNumberKey), group = *columns_of(head, kGroup),
             given = *columns_of(head, {"model", "sample", "value"}),
             wanted = *columns_of(columns, kNumberKey), of = *columns_of(columns, kGroup);
  std::map<std::string, std::vector<std::size_t>> rows_by_key;  // of this table: several, for several groups
  for (std::size_t i = 1; i < table.lines.size(); ++i)
    rows_by_key[joined(table.lines[i], wanted)].push_back(i);
  for (std::size_t i = 1; i < source->lines.size(); ++i) {
    const std::vector<std::string>& line = source->lines[i];
    const auto found = rows_by_key.find(joined(line, key));
    if (found == rows_by_key.end()) continue;
    for (const std::size_t row : found->second) {
      bool in = true;
      for (std::size_t g = 0; g < group.size(); ++g) {
        const std::string& which = table.lines[row][of[g]];
        in = in && (which == "*" || which == line[group[g]]);
      }
      if (in) rows.push_back({row - 1, line[given[0]], line[given[1]], field_json(line[given[2]])});
    }
  }
  return {{"columns", {"row", "model", "sample", "value"}}, {"rows", std::move(rows)}};
}

std::string TableShelf::picture(const std::string& id) const {
  const Table& table = find(id);
  if (table.picture.empty()) fail_http(404, "table {} has no picture", quote(id));
  return read_file(table.picture);
}

std::vector<Route> table_routes(Explorer::State& state) {
  return {{"GET", "/tables",
           [&state](const HttpRequest&, const PathParts&) { return json_response(state.tables->list()); }},
          {"GET", "/tables/{}",
           [&state](const HttpRequest&, const PathParts& parts) {
             return json_response(state.tables->table(parts[0]));
           }},
          {"GET", "/tables/{}/samples",
           [&state](const HttpRequest&, const PathParts& parts) {
             return json_response(state.tables->samples(parts[0]));
           }},
          {"GET", "/tables/{}/picture", [&state](const HttpRequest&, const PathParts& parts) {
             return HttpResponse{.type = "image/svg+xml", .body = state.tables->picture(parts[0])};
           }}};
}

}  // namespace buoy
