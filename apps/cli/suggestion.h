// What was meant by a word that is nearly another.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "buoy/base/types.h"

namespace buoy {

// Letters to add, leave out, replace or swap with their neighbour to get from one word to the other; no
// letter is touched twice. By bytes.
Index edit_distance(std::string_view a, std::string_view b);

// The candidate that `word` is nearest to, the first of several, if it is near: at most a third of its
// letters are wrong, or exactly one candidate begins with it (from three letters on).
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace buoy
