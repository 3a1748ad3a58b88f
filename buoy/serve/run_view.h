// What the explorer says of a run: as JSON and as arrays, all from its record.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "buoy/analysis/anchors.h"
#include "buoy/analysis/null_model.h"
#include "buoy/io/json_fwd.h"
#include "buoy/io/npz.h"
#include "buoy/serve/run_record.h"

namespace buoy {

// A line of the list of runs.
Json run_line(const RunRecord& run);

// Everything but the arrays. docs/api.md lists the fields.
Json run_json(const RunRecord& run, bool can_recompute);

// Ids that occur in the tokens of any step, and among the guesses, ascending.
std::set<TokenId> ids_of(const RunRecord& run);

// The sequence before every recorded step and as it stands after the last: [S + 1, N] int32, -1 where a
// position does not exist yet.
NpyArray step_tokens(const RunRecord& run);

// A recorded array by its name in docs/trace.md, numbers as float32 or int32. `step` and `layer` (an index
// into the recorded layers) leave one slice of that dimension. Throws HttpError 404 for one that was not
// recorded and 400 for a slice that it does not have.
struct ArraySlice {
  std::optional<Index> step, layer;
};
NpyArray run_array(const RunRecord& run, const std::string& name, const ArraySlice& slice);
// Those that were recorded: name, shape, dtype.
Json array_list(const RunRecord& run);

// Received attention under uniform attention at step t, [N]: 0 for positions that do not exist yet.
NpyArray null_received(const RunRecord& run, Rows rows, Index t);

// The anchors of all recorded steps and layers; of the finished pass too (step S), where rows are kAll.
Json anchors_json(const RunRecord& run, Rows rows, const AnchorOptions& options);

// Mean attention between regions; layer is an index into the recorded ones. Throws HttpError 404 where it was
// not recorded.
Json flow_json(const RunRecord& run, Index t, Index layer);

}  // namespace buoy
