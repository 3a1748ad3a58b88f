// Exact attention of one moment of a run, computed again: rows, columns, one pair in all heads, and what the
// model would write.
#pragma once

#include <optional>
#include <vector>

#include "buoy/model/model.h"
#include "buoy/serve/run_record.h"

namespace buoy {

// Runs passes on the model: on one's turn. The sequence is that before recorded step t of the run (t = S: as
// it stands after the last), under what visitors had changed by then. Everything throws HttpError 400 for a
// position that is not there.

enum class AttentionSide { kRow, kColumn };  // what a position attends to, who attends to it

struct AttentionQuestion {
  Index t = 0;
  Index layer = 0;            // of the model
  std::optional<Index> head;  // none: the mean over heads
  Index position = 0;
  AttentionSide side = AttentionSide::kRow;
};

// [N], 0 for positions that do not exist yet.
std::vector<float> attention_of(const Model& model, const RunRecord& run, const AttentionQuestion& question);

// [L, H] attention of a query to a key in the run's layers.
std::vector<float> attention_grid(const Model& model, const RunRecord& run, Index t, Index query, Index key);

// [L, H] what a key receives in the run's layers: the mean over all rows that exist at the step, as
// `received_heads` of a trace. Throws HttpError 409 for a sequence whose matrices are too large.
std::vector<float> received_grid(const Model& model, const RunRecord& run, Index t, Index key);

struct Candidate {
  TokenId token = 0;
  double probability = 0;
};
// The k most probable tokens for a position, most probable first, by the logits that the sampler gets
// (guidance included), at temperature 1.
std::vector<Candidate> candidates_for(const Model& model, const RunRecord& run, Index t, Index position,
                                      Index k);

// Whole matrices are read where H·N² stays under `matrix_elements`; longer sequences' weights are computed
// from queries and keys, row by row. For tests of the second way.
struct RecomputeLimits {
  Index matrix_elements = kMaxMatrixElements;
};
std::vector<float> attention_of(const Model& model, const RunRecord& run, const AttentionQuestion& question,
                                const RecomputeLimits& limits);

}  // namespace buoy
