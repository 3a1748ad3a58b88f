// Draws bars in groups, with whiskers, null marks and a reference line.
#include "buoy/draw/bars.h"

#include <algorithm>
#include <cmath>

#include "buoy/base/error.h"
#include "buoy/draw/chrome.h"
#include "buoy/draw/draw.h"

namespace buoy {
namespace {

constexpr double kGroupShare = 0.78;  // of a group's room that its bars take
constexpr double kWidestBar = 26;

void check_bars(const Bars& bars) {
  if (bars.groups.empty()) fail("bars \"{}\": no groups, expected at least one", bars.title);
  if (std::ssize(bars.series) > kSeriesColorCount) {
    fail("bars \"{}\": {} series, expected at most {}", bars.title, bars.series.size(), kSeriesColorCount);
  }
  for (const BarSeries& s : bars.series) {
    if (s.bars.size() == bars.groups.size()) continue;
    fail("bars \"{}\", series \"{}\": {} bars, expected {}", bars.title, s.name, s.bars.size(),
         bars.groups.size());
  }
  if (bars.y_range &&
      !(bars.y_range->low < bars.y_range->high && std::isfinite(bars.y_range->high - bars.y_range->low))) {
    fail("bars \"{}\": y range from {} to {}, expected ascending", bars.title, bars.y_range->low,
         bars.y_range->high);
  }
}

Range range_of(const Bars& bars) {
  if (bars.y_range) return *bars.y_range;
  Range data{0, 0};
  for (const BarSeries& s : bars.series) {
    for (const Bar& bar : s.bars) {
      const double values[] = {bar.value, bar.low, bar.high, bar.null};
      data = united(data, extent_of(values));
    }
  }
  if (bars.reference) data = united(data, {bars.reference->value, bars.reference->value});
  if (data.low == data.high) return {0, 1};
  const double room = (data.high - data.low) * (bars.labels == ValueLabels::kShown ? 0.14 : 0.06);
  return {data.low < 0 ? data.low - room : 0, data.high > 0 ? data.high + room : 0};
}

bool any_null(const Bars& bars) {
  return std::ranges::any_of(bars.series, [](const BarSeries& s) {
    return std::ranges::any_of(s.bars, [](const Bar& bar) { return std::isfinite(bar.null); });
  });
}

// Names of groups stand on up to two lines; where a word has no room they are turned.
struct GroupNames {
  TextStyle style = {.size = kTextSize, .align_x = AlignX::kCentre};
  double height = 0;
};

GroupNames plan_names(const Canvas& canvas, const Bars& bars, double room) {
  GroupNames names;
  double longest_word = 0;
  for (const std::string& group : bars.groups) {
    for (std::size_t begin = 0; begin < group.size();) {
      // A hyphen stays with what is before it.
      const std::size_t end = std::min(group.find_first_of(" \n-", begin), group.size() - 1) + 1;
      longest_word =
          std::max(longest_word, canvas.measure(group.substr(begin, end - begin), names.style).width);
      begin = end;
    }
  }
  if (longest_word <= room - 2) {
    names.style.max_width = room - 2;
    names.style.max_lines = 2;
  } else {
    names.style.turn = Turn::kUp;
    names.style.max_width = 80;
  }
  for (const std::string& group : bars.groups) {
    names.height = std::max(names.height, canvas.measure(group, names.style).height);
  }
  return names;
}

Color color_of(const Bars& bars, std::size_t s) {
  const Index own = bars.series[s].color;
  return series_color(own == kColorByOrder ? static_cast<Index>(s) : own);
}

KeyShape shape_of(Fill fill) {
  return fill == Fill::kSolid ? KeyShape::kBar : fill == Fill::kHatched ? KeyShape::kHatch : KeyShape::kPale;
}

struct Paint {
  Color color;
  Fill fill;
};

void fill_bar(Canvas& canvas, const Box& box, const Paint& paint) {
  if (paint.fill == Fill::kSolid) return canvas.fill(box, paint.color);
  if (paint.fill == Fill::kPale) canvas.fill(box, with_alpha(paint.color, kPaleStrength));
  if (paint.fill == Fill::kHatched) canvas.hatch({&box, 1}, paint.color);
  canvas.stroke(box, {.color = paint.color, .width = kThinLine});
}

void draw_bar(Canvas& canvas, const Frame& frame, const Bar& bar, const Box& place, const Paint& paint) {
  const double zero = std::clamp(frame.at_y(0), frame.plot.y, frame.plot.bottom());
  if (std::isfinite(bar.value)) {
    const double end = frame.at_y(bar.value);
    fill_bar(canvas, {place.x, std::min(zero, end), place.width, std::abs(end - zero)}, paint);
  }
  if (std::isfinite(bar.low) && std::isfinite(bar.high)) {
    const double x = place.middle_x(), cap = std::min(2.2, place.width / 4);
    const LineStyle style{.color = kInk, .width = 0.7};
    canvas.line({x, frame.at_y(bar.low)}, {x, frame.at_y(bar.high)}, style);
    for (const double value : {bar.low, bar.high}) {
      canvas.line({x - cap, frame.at_y(value)}, {x + cap, frame.at_y(value)}, style);
    }
  }
  if (std::isfinite(bar.null)) {
    const double y = frame.at_y(bar.null);
    canvas.line({place.x - 1, y}, {place.right() + 1, y}, {.color = kWhite, .width = 1.7});
    canvas.line({place.x - 1, y}, {place.right() + 1, y}, {.color = kInk, .width = 0.9, .dashes = {2, 1.2}});
  }
}

void draw_value(Canvas& canvas, const Frame& frame, const Bar& bar, const Box& place, int decimals) {
  if (!std::isfinite(bar.value)) return;
  const bool down = bar.value < 0;
  const double whisker = down ? bar.low : bar.high;
  const double end = std::isfinite(whisker) ? whisker : bar.value;
  TextStyle style{.size = kSmallSize, .color = kInk, .align_x = AlignX::kCentre};
  style.align_y = down ? AlignY::kTop : AlignY::kBottom;
  const std::string text = format_number(bar.value, decimals);
  if (canvas.measure(text, style).width > place.width + 3) style.turn = Turn::kUp;
  canvas.text({place.middle_x(), frame.at_y(end) + (down ? 1.5 : -1.5)}, text, style);
}

void draw_groups(Canvas& canvas, const Frame& frame, const Bars& bars) {
  const double room = frame.plot.width / static_cast<double>(bars.groups.size());
  const double count = std::max(1.0, static_cast<double>(bars.series.size()));
  const double width = std::min(kWidestBar, room * kGroupShare / count);
  for (std::size_t g = 0; g < bars.groups.size(); ++g) {
    const double middle = frame.plot.x + (static_cast<double>(g) + 0.5) * room;
    for (std::size_t s = 0; s < bars.series.size(); ++s) {
      const double x = middle + (static_cast<double>(s) - count / 2) * width;
      const double gap = std::min(0.8, width * 0.1);
      const Box place{x + gap / 2, frame.plot.y, width - gap, frame.plot.height};
      draw_bar(canvas, frame, bars.series[s].bars[g], place, {color_of(bars, s), bars.series[s].fill});
      if (bars.labels == ValueLabels::kShown) {
        draw_value(canvas, frame, bars.series[s].bars[g], place, bars.decimals);
      }
    }
  }
}

std::vector<KeyEntry> key_of(const Bars& bars) {
  std::vector<KeyEntry> key;
  if (bars.series.size() > 1) {
    for (std::size_t s = 0; s < bars.series.size(); ++s) {
      key.push_back({bars.series[s].name, shape_of(bars.series[s].fill), color_of(bars, s)});
    }
  }
  if (any_null(bars)) key.push_back({bars.null_name, KeyShape::kDashes, kInk});
  if (bars.reference) key.push_back({bars.reference->name, KeyShape::kDashes, kMark});
  return key;
}

}  // namespace

Size draw(Canvas& canvas, const Bars& bars) {
  check_bars(bars);
  const double right = bars.width - kMargin;
  const Range range = range_of(bars);
  const Ticks widest_ticks = nice_ticks(range, 7);
  const double left = kMargin + (bars.y_title.empty() ? 0 : kAxisTitleHeight) +
                      widest(canvas, widest_ticks.labels, kSmallText) + 4;
  double y = kMargin + 2;
  y += draw_heading(canvas, bars.title, {kMargin, y}, right);
  y += draw_key(canvas, key_of(bars), {left, y}, right);
  const double height = bars.height > 0 ? bars.height : std::clamp((right - left) * 0.5, 70.0, 150.0);
  const Frame frame{{left, y, right - left, height}, {0, 1}, range};
  draw_y_axis(canvas, frame, nice_ticks(range, std::clamp<Index>(static_cast<Index>(height / 17), 2, 7)),
              AxisLabels::kShown);
  {
    const Box& p = frame.plot;
    const Canvas::Clip clip(canvas, {p.x - 1, p.y - 1, p.width + 2, p.height + 2});
    draw_groups(canvas, frame, bars);
    const double zero = frame.at_y(0);
    canvas.line({p.x, zero}, {p.right(), zero}, {});
    if (bars.reference) {
      const double at = frame.at_y(bars.reference->value);
      canvas.line({p.x, at}, {p.right(), at}, {.color = kMark, .width = 0.9, .dashes = {2.6, 1.8}});
    }
  }
  const double room = frame.plot.width / static_cast<double>(bars.groups.size());
  const GroupNames names = plan_names(canvas, bars, room);
  for (std::size_t g = 0; g < bars.groups.size(); ++g) {
    canvas.text({left + (static_cast<double>(g) + 0.5) * room, frame.plot.bottom() + 3}, bars.groups[g],
                names.style);
  }
  double bottom = frame.plot.bottom() + 3 + names.height;
  draw_side_title(canvas, bars.y_title, {frame.plot.y, frame.plot.bottom()}, bottom);
  bottom += draw_note(canvas, bars.note, {kMargin, bottom}, right);
  return {bars.width, bottom + kMargin};
}

}  // namespace buoy
