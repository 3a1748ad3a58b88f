// Work shared out over ranks: rank 0 hands out pieces and takes what comes back, the others do them.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "buoy/io/json_fwd.h"
#include "buoy/run/ranks.h"

namespace buoy {

// Rank 0 hears from all others what they would work on, before anything is written or computed. Throws Error
// naming which rank differs, and in what.
void agree(Ranks& ranks, const Json& own);

// From rank 0 to all: gives back what rank 0 has; what the others pass is not looked at.
Json share(Ranks& ranks, const Json& from_lead);

// On rank 0: gives each other rank a piece as it asks for one, until all are done; `take` gets what came of a
// piece, in the order they come, each once. The pieces of a rank that is lost go to the others. Throws
// RankLost when none is left.
void hand_out(Ranks& ranks, std::span<const std::string> pieces,
              const std::function<void(const std::string& result)>& take);

// On the others, at the same time: does pieces until rank 0 has no more; a result is never empty.
void take_work(Ranks& ranks, const std::function<std::string(const std::string& piece)>& work);

}  // namespace buoy
