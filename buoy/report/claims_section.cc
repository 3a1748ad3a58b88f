#include "buoy/report/claims_section.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "buoy/claims/dispute.h"
#include "buoy/draw/figure.h"
#include "buoy/report/number_text.h"

namespace buoy {
namespace {

using Results = std::span<const ClaimResult>;

Summary excess_of(const ClaimResult& r) {
  return {.mean = r.excess, .lo = r.lo, .hi = r.hi};
}

std::string definition_of(const Claim& claim) {
  std::string text = fmt::format("Computed: {}. Null: {}", claim.contrast, claim.null_name);
  for (const NullKind kind : claim.nulls) text += fmt::format("; {}", name_of(kind));
  text += fmt::format(". δ = {} {}: {}.", claim.delta, claim.unit, claim.why);
  if (!claim.caveat.empty()) text += fmt::format(" {}", claim.caveat);
  return text;
}

Index count(Results results, Verdict verdict) {
  return std::ranges::count(results, verdict, &ClaimResult::verdict);
}

std::string tally(Results results) {
  return fmt::format(
      "Of {} verdicts {} are supported, {} not supported, {} cannot be told and {} not measured.",
      results.size(), count(results, Verdict::kSupported), count(results, Verdict::kNotSupported),
      count(results, Verdict::kCannotTell), count(results, Verdict::kNotMeasured));
}

std::string holm_text(Results results) {
  const Index survive = std::ranges::count(results, true, &ClaimResult::survives);
  const Index asked = std::ranges::count_if(results, [](const ClaimResult& r) { return r.p.has_value(); });
  if (asked == 0) return "";
  return fmt::format(" By Holm's correction for {} tests {} of the verdicts for or against stand.", asked,
                     survive);
}

// Neighbours that share a paper.
std::vector<Results> by_paper(Results results) {
  std::vector<Results> groups;
  for (std::size_t from = 0; from < results.size();) {
    std::size_t to = from;
    while (to < results.size() && results[to].claim->paper == results[from].claim->paper) ++to;
    groups.push_back(results.subspan(from, to - from));
    from = to;
  }
  return groups;
}

std::string null_text(const NullResult& null) {
  return fmt::format("{} {}", null.name, number_text(null.null));
}

// Those beside the strictest.
std::string other_nulls(const ClaimResult& r) {
  std::vector<std::string> texts;
  for (const NullResult& null : r.nulls) {
    if (null.left_out.empty() && null.name != r.strictest) texts.push_back(null_text(null));
  }
  return texts.empty() ? "–" : fmt::format("{}", fmt::join(texts, ", "));
}

// Whether a kind of any of them has several models.
bool has_several_models(Results results) {
  return std::ranges::any_of(results, [](const ClaimResult& r) { return r.over_models.has_value(); });
}

enum class Numbers { kMeans, kRanges };

void add_kind_columns(std::vector<TableColumn>& columns, const ClaimResult& first, const FigureWriter& colors,
                      Numbers numbers) {
  const std::string_view range = numbers == Numbers::kRanges ? ", then the lowest and the highest" : "";
  for (const KindText& kind : each_kind(first)) {
    columns.push_back({.name = kind.kind,
                       .kind = ColumnKind::kNumber,
                       .definition = fmt::format("the number that the claim is about, of this model by "
                                                 "itself; of a kind with several models their mean{}",
                                                 range),
                       .color = colors.color_of(kind.kind)});
  }
}

std::vector<TableColumn> columns_of(Results results, const FigureWriter& colors) {
  std::vector<TableColumn> columns = {{.name = "claim"}, {.name = "models"}};
  columns.push_back(
      number_column("n", "samples, or samples that both models have; resampled are their questions"));
  columns.push_back(number_column("value", "the contrast, mean over samples"));
  columns.push_back(number_column("strictest null",
                                  "the same where nothing of the kind is the case: of all nulls that apply, "
                                  "the one that it exceeds least"));
  columns.push_back(
      {.name = "other nulls",
       .definition = "uniform: even attention; stated: as the claim has it; frozen: that of the first step "
                     "kept to the end; recency: by distance alone; shuffled: that of the model with "
                     "its weights shuffled"});
  columns.push_back(number_column("value − null",
                                  "beside the strictest null, with the 95 % interval, bootstrap over "
                                  "questions; the verdict rests on it"));
  columns.push_back(number_column(
      "δ", "what it must exceed, in the claimed direction; fixed before any result was looked at"));
  columns.push_back({.name = "verdict",
                     .kind = ColumnKind::kText,
                     .definition = "supported: the interval lies beyond δ; not supported: it lies wholly "
                                   "short of δ; else it cannot be told; also by Holm: it stands though so "
                                   "many were asked"});
  if (has_several_models(results)) {
    columns.push_back(
        number_column("over models",
                      "value − null beside the null that is strictest over models, with the 95 % "
                      "interval by Student's t over the models of the kind; their standard deviation"));
  }
  add_kind_columns(columns, results[0], colors, Numbers::kRanges);
  return columns;
}

// Over the models of its kinds; – where each is one model.
std::string over_models_text(const ClaimResult& r) {
  if (!r.over_models) return "–";
  const OverModels& over = *r.over_models;
  const ModelSpread& s = over.spread;
  std::string text =
      fmt::format("{} beside {}, deviation {}", change_text({.mean = over.excess, .lo = s.lo, .hi = s.hi}),
                  over.strictest, number_text(s.deviation));
  if (s.against > 1) text += fmt::format(" and {}", number_text(s.against_deviation));
  return text + (s.against > 0 ? fmt::format(", {} and {} models", s.models, s.against)
                               : fmt::format(", {} models", s.models));
}

std::vector<std::string> row_of_numbers(const ClaimResult& r, Results of_paper) {
  const bool measured = r.n > 0;
  std::string verdict = verdict_words(r);
  if (r.survives) verdict += ", also by Holm";
  if (!r.note.empty()) verdict += fmt::format(" ({})", r.note);
  if (r.over_models && !r.over_models->note.empty())
    verdict += fmt::format(" (over models: {})", r.over_models->note);
  std::vector<std::string> row = {
      std::string(r.claim->sentence),
      models_of(r),
      fmt::to_string(r.n),
      measured ? number_text(r.value) : "–",
      measured ? fmt::format("{} {}", r.strictest, number_text(r.null)) : "–",
      other_nulls(r),
      measured ? change_text(excess_of(r)) : "–",
      fmt::format("{}{}", r.claim->direction == ClaimDirection::kAbove ? "> " : "< −",
                  number_text(measured ? r.delta : r.claim->delta)),
      std::move(verdict)};
  if (has_several_models(of_paper)) row.push_back(over_models_text(r));
  for (const KindText& kind : each_kind(r)) row.push_back(kind.text);
  return row;
}

TableBlock table_of(Results of_paper, const FigureWriter& colors) {
  TableBlock table{.caption = fmt::format("{}. {} What is computed shows when pointing at a claim.",
                                          paper_name(of_paper[0].claim->paper), tally(of_paper)),
                   .columns = columns_of(of_paper, colors),
                   .rows = {}};
  for (const ClaimResult& r : of_paper) {
    table.rows.push_back(row_of_numbers(r, of_paper));
    table.row_definitions.push_back(definition_of(*r.claim));
  }
  return table;
}

std::string papers_text(std::span<const std::string_view> arxiv, std::string_view answer) {
  return fmt::format("{}: {}", fmt::join(arxiv, ", "), answer);
}

// Which side the study supports, and by what.
std::string settlement_text(const Settlement& s) {
  const ClaimResult& r = *s.result;
  const std::string model = r.model.empty() ? "" : fmt::format("{}: ", r.model);
  if (!s.as_claimed) {
    const std::string why = r.note.empty() ? "" : fmt::format(" ({})", r.note);
    return fmt::format("{}{}{}", model, r.nulls.empty() ? "not measured" : "cannot be told", why);
  }
  const NullResult& own = r.nulls.front();
  std::string text =
      fmt::format("{}{}. {} is {} against δ = {}", model,
                  *s.as_claimed ? s.dispute->as_claimed : s.dispute->otherwise, r.claim->side.quantity,
                  interval_text({.mean = own.excess, .lo = own.lo, .hi = own.hi}), number_text(own.delta));
  if (s.no_finding) text += fmt::format("; but {} does as much: {}", r.strictest, number_text(r.null));
  return text;
}

TableBlock dispute_table(std::span<const Settlement> settled) {
  TableBlock table{
      .caption = "Where papers contradict each other, one statistic decides.",
      .columns = {{.name = "question"},
                  {.name = "some say"},
                  {.name = "others say"},
                  {.name = "this study",
                   .definition = "by the first null and δ of the deciding claim alone: what is asked is how "
                                 "things are; where another null does as much, that is said"}},
      .rows = {}};
  for (const Settlement& s : settled) {
    const Dispute& d = *s.dispute;
    table.rows.push_back({std::string(d.question), papers_text(d.claimers, d.as_claimed),
                          papers_text(d.others, d.otherwise), settlement_text(s)});
    table.row_definitions.push_back(definition_of(*s.result->claim));
  }
  return table;
}

const char* sign_of(Verdict verdict) {
  constexpr std::array<const char*, 4> kSigns = {"✓", "✗", "?", "–"};
  return kSigns[static_cast<std::size_t>(verdict)];
}

std::string verdict_text(const ClaimResult& r) {
  return fmt::format("{} {}", sign_of(r.verdict), verdict_words(r));
}

// Whether a claim has several verdicts, of several models.
bool has_several(Results results) {
  const auto same = [](const ClaimResult& a, const ClaimResult& b) { return a.claim == b.claim; };
  return std::ranges::adjacent_find(results, same) != results.end();
}

TableBlock verdicts_titled(Results results) {
  return {.caption = fmt::format("{}. {}", paper_name(results[0].claim->paper), tally(results)),
          .columns = {{.name = "claim"}},
          .rows = {}};
}

// The verdicts on one paper where one model or kind is judged, with each one's number.
TableBlock verdict_table(Results results, const FigureWriter& colors) {
  TableBlock table = verdicts_titled(results);
  table.columns.push_back({.name = "verdict",
                           .definition =
                               "supported: the 95 % interval of value − null lies beyond the least size that "
                               "matters, for every null that applies; not supported: it lies wholly short of "
                               "it for the strictest; else it cannot be told"});
  add_kind_columns(table.columns, results[0], colors, Numbers::kRanges);
  table.columns.push_back({.name = "strictest null",
                           .kind = ColumnKind::kNumber,
                           .definition =
                               "of what the verdict is about; the model's number, or the difference of "
                               "the two, must exceed it"});
  for (const ClaimResult& r : results) {
    std::vector<std::string> row = {std::string(r.claim->sentence), verdict_text(r)};
    for (const KindText& kind : each_kind(r)) row.push_back(kind.text);
    row.push_back(r.n > 0 ? fmt::format("{} {}", r.strictest, number_text(r.null)) : "–");
    table.rows.push_back(std::move(row));
    table.row_definitions.push_back(definition_of(*r.claim));
  }
  return table;
}

// A kind's number behind the sign of its verdict, and that over models where it is another one.
std::string judged_text(const ClaimResult& r, const std::string& number) {
  if (r.verdict == Verdict::kNotMeasured) return sign_of(r.verdict);
  std::string text = fmt::format("{} {}", sign_of(r.verdict), number);
  if (r.over_models && r.over_models->verdict != r.verdict)
    text += fmt::format(" ({})", sign_of(r.over_models->verdict));
  return text;
}

// The same where several are: a row for each claim, which is the same for all of them.
TableBlock verdict_table_of_several(Results results, const FigureWriter& colors) {
  TableBlock table = verdicts_titled(results);
  table.caption +=
      " ✓ supported, ✗ not supported, ? cannot be told, – not measured; a number without a sign is of a "
      "model "
      "that others are compared with.";
  if (has_several_models(results))
    table.caption += " In brackets: the verdict over models, where it is another one.";
  add_kind_columns(table.columns, results[0], colors, Numbers::kMeans);
  for (std::size_t from = 0, to = 0; from < results.size(); from = to) {
    while (to < results.size() && results[to].claim == results[from].claim) ++to;
    const Results of_claim = results.subspan(from, to - from);
    std::vector<std::string> row = {std::string(of_claim[0].claim->sentence)};
    for (const KindText& kind : each_kind(of_claim[0])) {
      const auto judged = std::ranges::find(of_claim, kind.kind, &ClaimResult::model);
      row.push_back(judged == of_claim.end() ? kind.mean : judged_text(*judged, kind.mean));
    }
    table.rows.push_back(std::move(row));
    table.row_definitions.push_back(definition_of(*of_claim[0].claim));
  }
  return table;
}

// One row per paper.
TableBlock paper_table(std::span<const Results> papers) {
  TableBlock table{.caption =
                       "Of other papers on attention in diffusion language models. Every claim, with its "
                       "numbers, is below.",
                   .columns = {{.name = "paper"},
                               number_column("✓", "claims that are supported"),
                               number_column("✗", "not supported"),
                               number_column("?", "cannot be told"),
                               number_column("–", "not measured")},
                   .rows = {}};
  for (const Results& of_paper : papers) {
    std::vector<std::string> row = {paper_name(of_paper[0].claim->paper)};
    for (const Verdict verdict :
         {Verdict::kSupported, Verdict::kNotSupported, Verdict::kCannotTell, Verdict::kNotMeasured})
      row.push_back(fmt::to_string(count(of_paper, verdict)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

std::string paper_name(std::string_view arxiv) {
  const auto known = std::ranges::find(papers(), arxiv, &Paper::arxiv);
  if (known == papers().end()) return std::string(arxiv);
  return fmt::format("{} (arXiv {})", known->subject, arxiv);
}

std::vector<KindText> each_kind(const ClaimResult& result) {
  std::vector<KindText> kinds;
  for (const std::string& name : names_in(result.each, [](const ModelNumber& n) { return n.kind_name(); })) {
    double sum = 0, lowest = 0, highest = 0;
    Index count = 0;
    for (const ModelNumber& number : result.each) {
      if (number.kind_name() != name || number.n == 0) continue;
      lowest = count == 0 ? number.value : std::min(lowest, number.value);
      highest = count == 0 ? number.value : std::max(highest, number.value);
      sum += number.value;
      ++count;
    }
    const std::string mean = count == 0 ? "–" : number_text(sum / static_cast<double>(count));
    const std::string range =
        count > 1 ? fmt::format(" ({} to {})", number_text(lowest), number_text(highest)) : "";
    kinds.push_back({.kind = name, .text = mean + range, .mean = mean});
  }
  return kinds;
}

std::string models_of(const ClaimResult& result) {
  if (result.claim->scope == ClaimScope::kMasked || result.against.empty()) return result.model;
  return fmt::format("{} − {}", result.model, result.against);
}

Section verdict_section(Results results, const FigureWriter& colors) {
  const std::vector<Results> groups = by_paper(results);
  Section section{.id = "verdicts",
                  .title = "Do the claims hold?",
                  .explanation = "",
                  .blocks = {has_several(groups[0]) ? verdict_table_of_several(groups[0], colors)
                                                    : verdict_table(groups[0], colors)}};
  if (groups.size() > 1) section.blocks.push_back(paper_table(std::span(groups).subspan(1)));
  return section;
}

Section claims_section(Results results, const FigureWriter& writer) {
  Section section{
      .id = "claims",
      .title = "Contrast, nulls and least size of every claim",
      .explanation =
          "Each claim is one contrast, computed sample by sample, with a direction, a least size that "
          "matters (δ) and the nulls that it must exceed, all fixed before any result was looked at; where "
          "one has changed since, its "
          "caveat says so. The "
          "verdict is a rule: supported when the 95 % interval of value − null lies beyond δ for the "
          "strictest null, not supported when it lies wholly short of it, else open; it holds for "
          "these models and these data. Where a kind has several models the same rule is also applied over "
          "models, "
          "by Student's t; that says whether it holds of models of the kind. " +
          tally(results) + holm_text(results)};
  const StudyFigure figure{.name = "claims",
                           .figure = claims_figure(results, writer),
                           .csv = claims_csv(results),
                           .caption =
                               "Every claim on one scale: 0 is the strictest null, 1 is the least size that "
                               "matters, and to the right is as claimed. Small outlines are the nulls.",
                           .alt = "Forest plot: one row per claim and model with interval, nulls and δ.",
                           .behind = writer.traced()};
  writer.add(section, "claims", figure);
  const std::vector<Settlement> settled = settle(results);
  if (!settled.empty()) section.blocks.push_back(dispute_table(settled));
  for (const Results& of_paper : by_paper(results)) section.blocks.push_back(table_of(of_paper, writer));
  return section;
}

}  // namespace buoy
