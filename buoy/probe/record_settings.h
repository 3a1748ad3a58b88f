// What to record of a generation, as plain settings.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/base/types.h"
#include "buoy/compute/attention.h"
#include "buoy/io/json_fwd.h"

namespace buoy {

// Which passes of a generation are kept: every k-th, or those of a list.
struct StepChoice {
  Index every = 1;
  std::vector<Index> list;  // ascending; empty: by `every`

  bool contains(Index step) const;
};

// "all", "every:4" or "0,3,7". Throws UsageError.
StepChoice parse_steps(std::string_view text);

// "all" (an empty list) or "0,3,7", "4-8" and mixtures. Throws UsageError, also for numbers from `count` on.
std::vector<Index> parse_layers(std::string_view text, Index count);

// Throws UsageError naming the first of the layers that a model of `count` does not have.
void check_layers(std::span<const Index> layers, Index count);

// "energy", "magnitude".
std::string_view name_of(Implicit implicit);
Implicit parse_implicit(std::string_view text);  // throws UsageError

// Received attention of the steps averaged over heads only, or of every head too.
enum class HeadDetail { kAveraged, kPerHead };

// The finished sequence's own pass is always recorded whole; this is about the steps before it.
struct RecordSettings {
  StepChoice steps;
  std::vector<Index> layers;  // ascending; empty: all
  HeadDetail heads = HeadDetail::kAveraged;
  bool received = true;     // where attention goes, from all rows and from the read rows
  bool flow = true;         // mass between regions
  bool answer_rows = true;  // the rows that wrote the answer; watched at every step, whatever `steps` says
  bool qk = true;           // column means of score, cosine and norm
  // How far keys turn from one recorded step to the next, where every pass computes all rows anew. Holds the
  // keys of a step meanwhile, 4·L·N·Hkv·D bytes a sequence.
  bool keys = false;
  // Which experts every row goes to, in models that have any: 8·L·N·k bytes a step with k experts a row.
  bool experts = false;
  Implicit implicit = Implicit::kEnergy;  // what stands for attention in layers that have none
};

// The layers to record of a model that has L, ascending. Throws UsageError as check_layers().
std::vector<Index> chosen_layers(const RecordSettings& settings, Index L);

// For a trace's header.
Json to_json(const RecordSettings& settings);

}  // namespace buoy
