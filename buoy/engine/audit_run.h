// Audits approximate caches over a dataset's questions; broken off, it goes on where it was.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "buoy/engine/run_place.h"
#include "buoy/engine/run_settings.h"
#include "buoy/run/audit_table.h"

namespace buoy {

struct AuditSettings {
  RunSettings run;  // of one model; its sampler has no cache, its output is the audit's folder
  std::vector<AuditedCache> caches = {
      {.kind = CacheKind::kPrefix}, {.kind = CacheKind::kDual}, {.kind = CacheKind::kDelayed}};
  std::string passages = "given";                            // see parse_condition()
  OutputFolder::Other other = OutputFolder::Other::kRefuse;  // what becomes of another's folder
};

struct AuditedRun {
  OutputFolder folder;  // begun; finish() it when all is written
  std::vector<NamedItems> data;
  AuditResult result;
};

// Every audited question is on disk, in questions.jsonl, before the bar moves. Throws Error, also for a model
// that does not see both ways, UsageError and Cancelled.
AuditedRun run_audit(const AuditSettings& settings, RunObserver& observer);

}  // namespace buoy
