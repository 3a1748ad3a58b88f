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

}  // namespace

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
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
