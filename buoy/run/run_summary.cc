#include "buoy/run/run_summary.h"

#include "buoy/io/sqlite.h"
#include "buoy/run/run_reader.h"

namespace buoy {

Index RunSummary::samples() const {
  Index total = 0;
  for (const Part& part : parts) total += part.samples;
  return total;
}

RunSummary summarize_run(const std::filesystem::path& path) {
  const Database database(path, {.access = DatabaseAccess::kRead});
  check_run(database);
  RunSummary summary;
  Statement begun(database, "SELECT settings FROM run");
  if (begun.step()) summary.settings = begun.text(0);
  begun.reset();
  Statement row(database,
                "SELECT model, data, condition, count(*), sum(seen <> ''), avg(em) FROM samples "
                "GROUP BY model, data, condition ORDER BY model, data, condition");
  while (row.step()) {
    summary.parts.push_back({.model = std::string(row.text(0)),
                             .data = std::string(row.text(1)),
                             .condition = std::string(row.text(2)),
                             .samples = row.integer(3),
                             .traced = row.integer(4),
                             .exact_match = row.real(5)});
  }
  return summary;
}

}  // namespace buoy
