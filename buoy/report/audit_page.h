// The page of a cache audit: what each approximate cache buys and costs, and what its errors go with.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "buoy/report/page_parts.h"
#include "buoy/run/audit_table.h"

namespace buoy {

struct AuditReport {
  std::string title, lead;
  std::string command;
  std::vector<Fact> facts = {};
};

// Writes report.html, figures/, audit.csv, audit_steps.csv and audit.json. Throws Error.
void write_audit(const AuditResult& result, const AuditReport& report, const std::filesystem::path& directory,
                 const FigureOptions& options = {});

}  // namespace buoy
