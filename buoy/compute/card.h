// The cards this machine computes on, for those who ask before they load.
#pragma once

#include <optional>
#include <string>

#include "buoy/base/types.h"

namespace buoy {

struct Card {
  std::string name;
  Index free_bytes = 0, total_bytes = 0;
};

// The first one. Nothing when make_cuda_backend() would fail.
std::optional<Card> find_card();

// How many there are, too old ones included; 0 without driver or in a build without CUDA.
int count_cards();

}  // namespace buoy
