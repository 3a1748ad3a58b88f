// Where ticks and labels go: pure functions, so that "nothing overlaps" can be tested without drawing.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "buoy/base/types.h"
#include "buoy/draw/range.h"

namespace buoy {

// Ticks and how to write them.
struct Ticks {
  std::vector<double> at;
  std::vector<std::string> labels;  // one per tick, all with the same number of decimals
};

// Multiples of 1, 2, 2.5 or 5 times a power of ten within [low, high]: as many as there can be up to `most`
// (>= 2). One tick where the range is empty. With kWhole steps are whole numbers.
enum class TickStep { kAny, kWhole };
Ticks nice_ticks(Range range, Index most, TickStep step = TickStep::kAny);
// Powers of ten within [low, high] (both > 0), thinned to `most`; nice_ticks where there are fewer than two.
Ticks log_ticks(Range range, Index most);

// A range that is never empty: a single value gets room around it, nothing at all becomes 0 to 1.
Range padded(Range range, double share);
// From the finite ones of `values`; low > high when there is none.
Range extent_of(std::span<const double> values);
Range united(Range a, Range b);

// "12", "0.3", "−1.5": a true minus, no exponent between 1e-4 and 1e6.
std::string format_number(double value, int decimals);

// For `count` labels of one size at equal distances `pitch`: which to write so that each has the room
// `needed`: every 1st, 2nd, 5th, 10th, …, those whose number `first + i` is a multiple of that.
std::vector<Index> thin_evenly(Index count, Index first, double pitch, double needed);

// A label that wants to be centred at `at` and takes `size` (gap included) along the axis.
struct Wish {
  double at = 0, size = 0;
  double weight = 0;
};
// Moves labels as little as possible (least squares) so that none overlap and all stay within [low, high].
// Order along the axis is kept. Where there is no room for all, the lightest are left out (nullopt).
std::vector<std::optional<double>> declutter(std::span<const Wish> wishes, double low, double high);

}  // namespace buoy
