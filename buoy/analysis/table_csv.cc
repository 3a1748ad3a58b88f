#include "buoy/analysis/table_csv.h"

#include <cmath>
#include <iterator>
#include <optional>

#include <fmt/format.h>

namespace buoy {
namespace {

std::string number(std::optional<double> value) {
  return value && std::isfinite(*value) ? fmt::format("{:.9g}", *value) : "";
}

// A spreadsheet takes such text for a formula, which may read files and call out. Numbers may have signs.
bool looks_like_a_formula(std::string_view text) {
  if (text.size() < 2) return false;
  if (std::string_view("=@\t\r").find(text.front()) != std::string_view::npos) return true;
  return std::string_view("+-").find(text.front()) != std::string_view::npos &&
         text.find_first_not_of("+-0123456789.,e%[] ") != std::string_view::npos;
}

}  // namespace

std::string csv_field(std::string_view text) {
  const std::string safe = looks_like_a_formula(text) ? fmt::format("'{}", text) : std::string(text);
  if (safe.find_first_of(",\"\r\n") == std::string::npos) return safe;
  std::string quoted = "\"";
  for (const char c : safe) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string summaries_csv(std::span<const GroupSummaries> groups) {
  std::string out = "model,data,task,quantity,layer,head,part,n,questions,mean,std,lo,hi,null\n";
  for (const auto& [group, summaries] : groups) {
    const std::string place =
        fmt::format("{},{},{}", csv_field(group.model.value_or("*")), csv_field(group.data.value_or("*")),
                    csv_field(group.task.value_or("*")));
    for (const Summary& s : summaries) {
      fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},{},{},{},{},{},{}\n", place,
                     csv_field(s.quantity), s.layer, s.head, csv_field(s.part), s.n, s.questions,
                     number(s.mean), number(s.std), number(s.lo), number(s.hi), number(s.null));
    }
  }
  return out;
}

std::string samples_csv(const SampleTable& table) {
  std::string out = "model,data,task,sample,quantity,layer,head,part,value,weight,null\n";
  std::vector<std::string> places;
  for (const SampleKey& key : table.samples()) {
    places.push_back(fmt::format("{},{},{},{}", csv_field(key.model), csv_field(key.data),
                                 csv_field(key.task), csv_field(key.sample)));
  }
  for (const auto& [key, column] : table.columns()) {
    for (std::size_t i = 0; i < column.values.size(); ++i) {
      fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},{},{}\n", places[column.samples[i]],
                     csv_field(key.quantity), key.layer, key.head, csv_field(key.part),
                     number(column.values[i]), number(column.weights.empty() ? 1 : column.weights[i]),
                     column.nulls.empty() ? "" : number(column.nulls[i]));
    }
  }
  return out;
}

}  // namespace buoy
