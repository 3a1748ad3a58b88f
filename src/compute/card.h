// The card this machine computes on, for those who ask before they load.
#pragma once

#include <optional>
#include <string>

#include "base/types.h"

namespace buoy {

struct Card {
  std::string name;
  Index free_bytes = 0, total_bytes = 0;
};

// Nothing when make_cuda_backend() would fail.
std::optional<Card> find_card();

}  // namespace buoy
