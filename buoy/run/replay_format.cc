// Tables of a replayed stream as text, CSV and JSON.
#include <algorithm>

#include <fmt/format.h>

#include "buoy/analysis/table_csv.h"
#include "buoy/io/json.h"
#include "buoy/run/replay_table.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

using Lines = std::vector<std::vector<std::string>>;

// Columns as wide as their widest entry; the first `left` flush left.
std::string aligned(const Lines& lines, std::size_t left) {
  std::vector<Index> widths(lines[0].size(), 0);
  for (const auto& line : lines) {
    for (std::size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], count_code_points(line[c]));
  }
  std::string out;
  for (const auto& line : lines) {
    for (std::size_t c = 0; c < line.size(); ++c) {
      const std::string space(static_cast<std::size_t>(widths[c] - count_code_points(line[c])), ' ');
      out += c < left ? line[c] + (c + 1 < line.size() ? space : "") : space + line[c];
      out += c + 1 < line.size() ? "  " : "\n";
    }
  }
  return out;
}

bool is_lift(std::string_view quantity) {
  return quantity.starts_with("lift") || quantity.starts_with("gap");
}

std::string shown(double value, std::string_view quantity) {
  return is_lift(quantity) ? fmt::format("{:.2f}", value) : fmt::format("{:.1f}", value);
}

std::string with_interval(const ReplayRow& row) {
  std::string out = shown(row.mean, row.quantity);
  if (row.lo && row.hi)
    out += fmt::format(" [{}, {}]", shown(*row.lo, row.quantity), shown(*row.hi, row.quantity));
  return out;
}

Lines whole_lines(const ReplayTable& table) {
  Lines lines = {{"", "model", "mean [95 %]", "null", "n", "questions"}};
  for (const ReplayQuantity& quantity : replay_quantities()) {
    for (const std::string& model : table.models) {
      const ReplayRow* row = table.find(model, "all", "", quantity.name);
      if (row == nullptr) continue;
      lines.push_back({std::string(quantity.label), model, with_interval(*row),
                       row->null ? shown(*row->null, row->quantity) : "–", fmt::to_string(row->n),
                       fmt::to_string(row->questions)});
    }
  }
  return lines;
}

// One line for each quantity, model and side; a column for each place before and after the change.
Lines change_lines(const ReplayTable& table) {
  Lines lines = {{"", "model", "answer"}};
  for (Index k = -kMostOffset; k <= kMostOffset; ++k) {
    if (k != 0) lines[0].push_back(fmt::format("{:+}", k));
  }
  lines[0].insert(lines[0].end(), {"first after - last before", "n"});
  for (const char* quantity : {"em", "follows_outdated", "lift_current", "lift_outdated"}) {
    for (const std::string& model : table.models) {
      for (const char* side : {"changed", "kept"}) {
        std::vector<std::string> line = {quantity, model, side};
        Index n = 0;
        for (Index k = -kMostOffset; k <= kMostOffset; ++k) {
          if (k == 0) continue;
          const ReplayRow* row = table.find(model, "change", fmt::format("{} {}", side, k), quantity);
          line.push_back(row == nullptr ? "–" : shown(row->mean, quantity));
          if (row != nullptr && k == 1) n = row->n;
        }
        const ReplayRow* step = table.find(model, "step", side, quantity);
        line.push_back(step == nullptr ? "–" : with_interval(*step));
        line.push_back(fmt::to_string(n));
        const auto empty = [](const std::string& cell) { return cell == "–"; };
        if (!std::all_of(line.begin() + 3, line.end() - 1, empty)) lines.push_back(std::move(line));
      }
    }
  }
  return lines;
}

Lines window_lines(const ReplayTable& table, std::string_view quantity) {
  Lines lines = {{"events"}};
  for (const std::string& model : table.models) lines[0].push_back(model);
  lines[0].push_back("n");
  bool any = false;
  for (const ReplayWindow& window : table.windows) {
    std::vector<std::string> line = {window.name};
    Index n = 0;
    for (const std::string& model : table.models) {
      const ReplayRow* row = table.find(model, "window", window.name, quantity);
      line.push_back(row == nullptr ? "–" : with_interval(*row));
      if (row != nullptr) n = row->n;
    }
    any = any || n > 0;
    line.push_back(fmt::to_string(n));
    lines.push_back(std::move(line));
  }
  return any ? lines : Lines{};
}

}  // namespace

std::string replay_text(const ReplayTable& table) {
  std::string out = "Over the whole stream\n" + aligned(whole_lines(table), 2);
  for (const ReplayQuantity& quantity : replay_quantities()) {
    if (quantity.name != "em" && quantity.name != "follows_outdated") continue;
    if (const Lines lines = window_lines(table, quantity.name); !lines.empty())
      out += fmt::format("\nOver time: {}\n{}", quantity.label, aligned(lines, 1));
  }
  if (const Lines lines = change_lines(table); lines.size() > 1) {
    out += "\nAround changes of the document asked about: the same question, asked before and after\n" +
           aligned(lines, 3);
  }
  return out;
}

std::string replay_csv(const ReplayTable& table) {
  const auto cell = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.9g}", *value) : std::string();
  };
  std::string out = "model,scope,part,quantity,n,questions,mean,lo,hi,null\n";
  for (const ReplayRow& row : table.rows) {
    out +=
        fmt::format("{},{},{},{},{},{},{:.9g},{},{},{}\n", csv_field(row.model), row.scope, row.part,
                    row.quantity, row.n, row.questions, row.mean, cell(row.lo), cell(row.hi), cell(row.null));
  }
  return out;
}

std::string replay_json(const ReplayTable& table, const std::string& about) {
  const auto value = [](const std::optional<double>& number) { return number ? Json(*number) : Json(); };
  Json json = about.empty() ? Json::object() : parse_json(about, "what a table is about");
  json["quantities"] = Json::object();
  for (const ReplayQuantity& quantity : replay_quantities())
    json["quantities"][std::string(quantity.name)] = {{"label", quantity.label}, {"null", quantity.null}};
  json["windows"] = Json::array();
  for (const ReplayWindow& w : table.windows)
    json["windows"].push_back({{"part", w.name}, {"first", w.first}, {"last", w.last}, {"middle", w.middle}});
  json["rows"] = Json::array();
  for (const ReplayRow& row : table.rows) {
    json["rows"].push_back({{"model", row.model},
                            {"scope", row.scope},
                            {"part", row.part},
                            {"quantity", row.quantity},
                            {"n", row.n},
                            {"questions", row.questions},
                            {"mean", row.mean},
                            {"lo", value(row.lo)},
                            {"hi", value(row.hi)},
                            {"null", value(row.null)}});
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace buoy
