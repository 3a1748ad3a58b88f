// The verdicts on one scale.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "buoy/report/claims_section.h"
#include "buoy/report/number_text.h"

namespace buoy {
namespace {

// Past these many δ the axis ends and intervals go on as arrows, so that 0 and δ stay apart.
constexpr double kFarthest = 6;

ForestMark mark_of(Verdict verdict) {
  return verdict == Verdict::kSupported      ? ForestMark::kDot
         : verdict == Verdict::kNotSupported ? ForestMark::kCross
                                             : ForestMark::kRing;
}

// The claim's own null, whether uniform attention or stated, has one mark.
struct NullMark {
  std::string_view name;
  ForestNullMark mark;
};
constexpr std::array<NullMark, 5> kNullMarks = {{{"stated", ForestNullMark::kTick},
                                                 {"uniform", ForestNullMark::kTick},
                                                 {"frozen", ForestNullMark::kSquare},
                                                 {"recency", ForestNullMark::kDiamond},
                                                 {"shuffled", ForestNullMark::kTriangle}}};

// Where the strictest null is 0, in units of its δ, turned so that to the right is as claimed.
std::vector<ForestNull> null_marks(const ClaimResult& r, double scale) {
  std::vector<ForestNull> marks;
  for (const NullResult& null : r.nulls) {
    const auto known = std::ranges::find(kNullMarks, null.name, &NullMark::name);
    if (!null.left_out.empty() || known == kNullMarks.end()) continue;
    marks.push_back({.value = (null.null - r.null) * scale, .mark = known->mark});
  }
  return marks;
}

ForestRow row_of(const ClaimResult& r, const FigureWriter& colors) {
  ForestRow row;
  if (!r.model.empty()) row.color = colors.color_of(r.model);
  row.group = paper_name(r.claim->paper);
  row.name = r.claim->sentence;
  row.detail = models_of(r);
  if (r.n == 0) {
    row.text = fmt::format("{}: {}", name_of(r.verdict), r.note);
    return row;
  }
  const bool above = r.claim->direction == ClaimDirection::kAbove;
  const double scale = (above ? 1 : -1) / r.delta;
  row.value = r.excess * scale;
  row.low = std::min(row.value, (above ? r.lo : r.hi) * scale);
  row.high = std::max(row.value, (above ? r.hi : r.lo) * scale);
  row.mark = mark_of(r.verdict);
  row.nulls = null_marks(r, scale);
  row.text = fmt::format("{}\n{}\nbeside {}, n = {}", change_text({.mean = r.excess, .lo = r.lo, .hi = r.hi}),
                         r.claim->unit, r.strictest, r.n);
  if (r.over_models) {
    const ModelSpread& s = r.over_models->spread;
    row.text += fmt::format("\nover {} models {}", s.models + s.against,
                            change_text({.mean = r.over_models->excess, .lo = s.lo, .hi = s.hi}));
  }
  return row;
}

}  // namespace

Forest claims_figure(std::span<const ClaimResult> results, const FigureWriter& colors) {
  Forest forest{
      .note =
          "Whiskers: 95 % bootstrap intervals over questions. Arrows: the interval goes on. Marks at "
          "the edge of the axis lie beyond it.",
      .x_title = "(value − strictest null) ÷ δ, in the claimed direction",
      .text_title = "value − strictest null",
      .origin_name = "strictest null",
      .threshold = 1.0,
      .threshold_name = "δ",
      .key = {{ForestMark::kDot, "supported"},
              {ForestMark::kCross, "not supported"},
              {ForestMark::kRing, "cannot tell"}},
      .null_key = {{ForestNullMark::kTick, "uniform or stated"},
                   {ForestNullMark::kSquare, "frozen"},
                   {ForestNullMark::kDiamond, "recency"},
                   {ForestNullMark::kTriangle, "shuffled"}}};
  Range range{-1, 2};
  for (const ClaimResult& r : results) {
    forest.rows.push_back(row_of(r, colors));
    const ForestRow& row = forest.rows.back();
    if (!std::isfinite(row.value)) continue;
    range.low = std::clamp(row.low, -kFarthest, range.low);
    range.high = std::clamp(row.high, range.high, kFarthest);
    for (const ForestNull& null : row.nulls) {
      range.low = std::clamp(null.value, -kFarthest, range.low);
      range.high = std::clamp(null.value, range.high, kFarthest);
    }
  }
  forest.x_range = Range{range.low - 0.3, range.high + 0.3};
  return forest;
}

}  // namespace buoy
