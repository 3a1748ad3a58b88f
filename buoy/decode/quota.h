// How many masks a step may fill.
#pragma once

#include <vector>

#include "buoy/base/types.h"

namespace buoy {

// LLaDA's: M masks in S steps, evenly, the first M mod S steps one more.
Index even_quota(Index M, Index S, Index i);

// A2D's: M masks in at most S steps by a linear schedule in float32, rounded half to even; 8 in 3 are 3,
// 2, 3. Steps that would fill nothing are left out.
std::vector<Index> scheduled_quotas(Index M, Index S);

}  // namespace buoy
