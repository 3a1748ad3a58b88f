#include "buoy/report/claims_section.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "buoy/base/error.h"
#include "buoy/draw/figure.h"
#include "buoy/report/number_text.h"
#include "buoy/report/page_parts.h"

namespace buoy {
namespace {

// Past these many δ the axis ends and intervals go on as arrows, so that 0 and δ stay apart.
constexpr double kFarthest = 6;

std::string models_of(const ClaimResult& r) {
  if (r.claim->scope == ClaimScope::kMasked || r.against.empty()) return r.model;
  return fmt::format("{} − {}", r.model, r.against);
}

Summary excess_of(const ClaimResult& r) {
  return {.mean = r.excess, .lo = r.lo, .hi = r.hi};
}

ForestMark mark_of(Verdict verdict) {
  return verdict == Verdict::kSupported      ? ForestMark::kDot
         : verdict == Verdict::kNotSupported ? ForestMark::kCross
                                             : ForestMark::kRing;
}

ForestRow row_of(const ClaimResult& r, const FigureWriter& colors) {
  ForestRow row;
  if (!r.model.empty()) row.color = colors.color_of(r.model);
  row.group = r.claim->topic;
  row.name = r.claim->sentence;
  row.detail = models_of(r);
  if (r.n == 0) {
    row.text = fmt::format("{}: {}", name_of(r.verdict), r.note);
    return row;
  }
  const bool above = r.claim->direction == ClaimDirection::kAbove;
  const double scale = (above ? 1 : -1) / r.claim->delta;
  row.value = r.excess * scale;
  row.low = std::min(row.value, (above ? r.lo : r.hi) * scale);
  row.high = std::max(row.value, (above ? r.hi : r.lo) * scale);
  row.mark = mark_of(r.verdict);
  row.text = fmt::format("{}\n{}, n = {}", change_text(excess_of(r)), r.claim->unit, r.n);
  return row;
}

std::string definition_of(const Claim& claim) {
  std::string text = fmt::format("Computed: {}. Null: {}. δ = {} {}: {}.", claim.contrast, claim.null_name,
                                 claim.delta, claim.unit, claim.why);
  if (!claim.caveat.empty()) text += fmt::format(" {}", claim.caveat);
  return text;
}

Index count(std::span<const ClaimResult> results, Verdict verdict) {
  return std::ranges::count(results, verdict, &ClaimResult::verdict);
}

std::string tally(std::span<const ClaimResult> results) {
  std::string text =
      fmt::format("Of {} verdicts {} are supported, {} not supported, {} cannot be told and {} not measured.",
                  results.size(), count(results, Verdict::kSupported), count(results, Verdict::kNotSupported),
                  count(results, Verdict::kCannotTell), count(results, Verdict::kNotMeasured));
  const Index survive = std::ranges::count(results, true, &ClaimResult::survives);
  const Index asked = std::ranges::count_if(results, [](const ClaimResult& r) { return r.p.has_value(); });
  if (asked > 0) {
    text += fmt::format(" By Holm's correction for {} tests {} of the verdicts for or against stand.", asked,
                        survive);
  }
  return text;
}

TableBlock table_of(std::span<const ClaimResult> results) {
  TableBlock table{.caption = tally(results) + " What is computed shows when pointing at a claim.",
                   .columns = {{.name = "claim"}, {.name = "models"}},
                   .rows = {}};
  table.columns.push_back(
      number_column("n", "samples, or samples that both models have; resampled are their questions"));
  table.columns.push_back(number_column("value", "the contrast, mean over samples"));
  table.columns.push_back(number_column(
      "null", "the same where nothing of the kind is the case: uniform attention, or no difference"));
  table.columns.push_back(number_column(
      "value − null", "with the 95 % interval, bootstrap over questions; the verdict rests on it"));
  table.columns.push_back(number_column(
      "δ", "what it must exceed, in the claimed direction; fixed before any result was looked at"));
  table.columns.push_back(
      {.name = "verdict",
       .kind = ColumnKind::kText,
       .definition =
           "supported: the interval lies beyond δ; not supported: it lies wholly "
           "short of δ; else it cannot be told; also by Holm: it stands though so many were asked"});
  for (const ClaimResult& r : results) {
    const bool measured = r.n > 0;
    std::string verdict(name_of(r.verdict));
    if (r.survives) verdict += ", also by Holm";
    if (!r.note.empty()) verdict += fmt::format(" ({})", r.note);
    table.rows.push_back({std::string(r.claim->sentence), models_of(r), fmt::to_string(r.n),
                          measured ? number_text(r.value) : "–", measured ? number_text(r.null) : "–",
                          measured ? change_text(excess_of(r)) : "–",
                          fmt::format("{}{}", r.claim->direction == ClaimDirection::kAbove ? "> " : "< −",
                                      number_text(r.claim->delta)),
                          std::move(verdict)});
    table.row_definitions.push_back(definition_of(*r.claim));
  }
  return table;
}

std::string verdict_text(const ClaimResult& r) {
  constexpr std::array<const char*, 4> kSigns = {"✓", "✗", "?", "–"};
  return fmt::format("{} {}", kSigns[static_cast<std::size_t>(r.verdict)], name_of(r.verdict));
}

// Whether a claim has several verdicts, of several models.
bool has_several(std::span<const ClaimResult> results) {
  const auto same = [](const ClaimResult& a, const ClaimResult& b) { return a.claim == b.claim; };
  return std::ranges::adjacent_find(results, same) != results.end();
}

}  // namespace

Section verdict_section(std::span<const ClaimResult> results, const FigureWriter& colors) {
  const bool several = has_several(results);
  TableBlock table{.caption = tally(results), .columns = {{.name = "claim of the paper"}}, .rows = {}};
  if (several) table.columns.push_back({.name = "models"});
  table.columns.push_back({.name = "verdict",
                           .definition =
                               "supported: the 95 % interval of value − null lies beyond the least size that "
                               "matters; not supported: it lies wholly short of it; else it cannot be told"});
  for (const ModelNumber& number : results[0].each) {
    table.columns.push_back({.name = number.model,
                             .kind = ColumnKind::kNumber,
                             .definition = "the number that the claim is about, of this model by itself",
                             .color = colors.color_of(number.model)});
    table.columns.push_back(
        number_column("null", "the same under uniform attention, or as the claim states it"));
  }
  for (const ClaimResult& r : results) {
    std::vector<std::string> row = {std::string(r.claim->sentence)};
    if (several) row.push_back(models_of(r));
    row.push_back(verdict_text(r));
    for (const ModelNumber& number : r.each) {
      row.push_back(number.n > 0 ? number_text(number.value) : "–");
      row.push_back(number.n > 0 ? number_text(number.null) : "–");
    }
    table.rows.push_back(std::move(row));
    table.row_definitions.push_back(definition_of(*r.claim));
  }
  return {.id = "verdicts",
          .title = "Do the paper’s claims hold?",
          .explanation = "",
          .blocks = {std::move(table)}};
}

Forest claims_figure(std::span<const ClaimResult> results, const FigureWriter& colors) {
  Forest forest{.note = "Whiskers: 95 % bootstrap intervals over questions. Arrows: the interval goes on.",
                .x_title = "(value − null) ÷ δ, in the claimed direction",
                .text_title = "value − null",
                .origin_name = "null",
                .threshold = 1.0,
                .threshold_name = "δ",
                .key = {{ForestMark::kDot, "supported"},
                        {ForestMark::kCross, "not supported"},
                        {ForestMark::kRing, "cannot tell"}}};
  Range range{-1, 2};
  for (const ClaimResult& r : results) {
    forest.rows.push_back(row_of(r, colors));
    const ForestRow& row = forest.rows.back();
    if (!std::isfinite(row.value)) continue;
    range.low = std::clamp(row.low, -kFarthest, range.low);
    range.high = std::clamp(row.high, range.high, kFarthest);
  }
  forest.x_range = Range{range.low - 0.3, range.high + 0.3};
  return forest;
}

Section claims_section(std::span<const ClaimResult> results, const FigureWriter& writer) {
  Section section{.id = "claims",
                  .title = "Contrast, null and least size of every claim",
                  .explanation =
                      "Each claim of the paper is one contrast, computed sample by sample, with a direction "
                      "and a least size "
                      "that matters (δ), all fixed before any result was looked at. The verdict is a rule: "
                      "supported when the "
                      "95 % interval of value − null lies beyond δ, not supported when it lies wholly short "
                      "of it, else open; "
                      "it holds for these models and these data."};
  const StudyFigure figure{.name = "claims",
                           .figure = claims_figure(results, writer),
                           .csv = claims_csv(results),
                           .caption =
                               "Every claim on one scale: 0 is the null, 1 is the least size that matters, "
                               "and to the right is as claimed.",
                           .alt = "Forest plot: one row per claim and model with interval, null and δ."};
  writer.add(section, "claims", figure);
  section.blocks.push_back(table_of(results));
  return section;
}

}  // namespace buoy
