// What an approximate cache does to one question: the same question with and without it, side by side.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/analysis/measurement.h"
#include "buoy/io/json_fwd.h"
#include "buoy/run/tracer.h"

namespace buoy {

// A cache and how often it is refreshed: "dual", "delayed=4"; "none" is the audit's own control.
struct AuditedCache {
  CacheKind kind = CacheKind::kNone;
  std::optional<Index> refresh = {};  // empty: default_refresh()

  std::string name() const;
  SamplerSettings applied_to(const SamplerSettings& settings) const;
};
// Throws UsageError.
AuditedCache parse_audited_cache(std::string_view text);

// One pass of the exact run's tokens, computed exactly and with the cache. What is stale is what the pass
// does not compute. Attention is that of the rows that are read, averaged over them, heads and layers. A
// change is the mean of the relative distances of a key and a value from what the exact pass computes there.
struct AuditStep {
  Index step = 0, pass = 0;  // of the run, of the block
  Index age = 0;             // passes since the oldest row was computed
  Index rows = 0, read = 0;  // computed; read
  double kl = 0;             // KL(exact ‖ cached), nats, mean over rows that are read
  double agree = 0;          // share of them with the same most probable token
  double stale_share = 0;    // of the sequence's keys
  double stale_mass = 0;     // attention on stale keys in the exact pass
  double cached_mass = 0;    // the same in the pass with the cache
  double change = 0;         // mean over layers and stale keys
  double exposure = 0;       // Σ over stale keys of attention · change, mean over layers
};

struct CacheAudit {
  std::string cache;     // AuditedCache::name()
  Measurements numbers;  // docs/definitions.md, "Cache audits"
  std::vector<AuditStep> steps;
};

struct QuestionAudit {
  Measurements exact;  // of the exact run: em, f1, seconds, rows
  std::vector<CacheAudit> caches;
};

// Answers the example freely, exactly and with every cache, then follows the exact run's tokens pass by pass
// with all of them at once. `number` names the stream of random draws; odd ones run the caches first, so that
// neither side is always the warmer. The source has no cache and no intervention, its model sees both ways.
// Throws Error and Cancelled.
QuestionAudit audit_question(const TraceSource& source, const TraceExample& example,
                             std::span<const AuditedCache> caches, Index number);

// For a run that was broken off. from_json() throws Error naming the place.
Json to_json(const QuestionAudit& audit);
QuestionAudit question_audit_from_json(const Json& json, std::string_view place);

}  // namespace buoy
