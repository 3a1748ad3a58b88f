#include "buoy/report/replay_page.h"

#include <algorithm>

#include <fmt/format.h>

#include "buoy/io/file.h"
#include "buoy/report/number_text.h"
#include "buoy/report/replay_figures.h"

namespace buoy {
namespace {

Digits digits_of(std::string_view quantity) {
  return quantity.starts_with("lift") || quantity.starts_with("gap") ? Digits::kThree : Digits::kPercent;
}

std::string row_text(const ReplayRow& row) {
  const Summary summary{.quantity = row.quantity, .mean = row.mean, .lo = row.lo, .hi = row.hi};
  return row.scope == "step" ? change_text(summary, digits_of(row.quantity))
                             : interval_text(summary, digits_of(row.quantity));
}

Block whole_block(const ReplayTable& table, bool attention) {
  TableBlock block{.caption = "Over the whole stream, with 95 % bootstrap intervals over questions.",
                   .columns = {{.name = "what"}, {.name = "model"}},
                   .rows = {}};
  block.columns.push_back(number_column("mean"));
  block.columns.push_back(number_column("null", "point at a row to see what it is"));
  block.columns.push_back(number_column("n", "answers that have it"));
  block.columns.push_back(number_column("questions", "different ones among them; as many are resampled"));
  for (const ReplayQuantity& quantity : replay_quantities()) {
    const bool is_attention = quantity.name.starts_with("lift") || quantity.name.starts_with("gap");
    if (is_attention != attention) continue;
    for (const std::string& model : table.models) {
      const ReplayRow* row = table.find(model, "all", "", quantity.name);
      if (row == nullptr) continue;
      block.rows.push_back({std::string(quantity.label), model, row_text(*row),
                            row->null ? number_text(*row->null, digits_of(row->quantity)) : "–",
                            fmt::to_string(row->n), fmt::to_string(row->questions)});
      block.row_definitions.push_back(
          quantity.null.empty() ? "beside the line above: what picking a passage at random would give"
                                : fmt::format("null: {}", quantity.null));
    }
  }
  return block;
}

// What the page shows around changes; all else is in the CSV.
constexpr std::string_view kStepped[] = {
    "em",           "follows_outdated", "follows_rumour", "follows_nothing",
    "lift_current", "lift_outdated",    "gap_outdated"};

Block step_block(const ReplayTable& table) {
  TableBlock block{
      .caption =
          "First answer after a change less the last before it; 95 % bootstrap intervals over questions.",
      .columns = {{.name = "what"}, {.name = "model"}, {.name = "right answer"}},
      .rows = {}};
  block.columns.push_back(number_column("before", "last before the change"));
  block.columns.push_back(number_column("after", "first after the change"));
  block.columns.push_back(number_column("after − before"));
  block.columns.push_back(number_column("n", "answers right after a change that have it"));
  for (const ReplayQuantity& quantity : replay_quantities()) {
    if (std::ranges::find(kStepped, quantity.name) == std::end(kStepped)) continue;
    for (const std::string& model : table.models) {
      for (const std::string side : {"changed", "kept"}) {
        const ReplayRow* step = table.find(model, "step", side, quantity.name);
        if (step == nullptr) continue;
        const ReplayRow* before = table.find(model, "change", side + " -1", quantity.name);
        const ReplayRow* after = table.find(model, "change", side + " 1", quantity.name);
        const Digits digits = digits_of(quantity.name);
        block.rows.push_back({std::string(quantity.label), model, side,
                              before == nullptr ? "–" : number_text(before->mean, digits),
                              after == nullptr ? "–" : number_text(after->mean, digits), row_text(*step),
                              fmt::to_string(after == nullptr ? 0 : after->n)});
      }
    }
  }
  return block;
}

std::vector<Finding> replay_findings(const ReplayTable& table) {
  const struct {
    const char *quantity, *question, *answer;
  } kinds[] = {{"follows_outdated", "Do answers follow outdated versions?", "of the answers that could"},
               {"follows_rumour", "Do answers follow rumours?", "of the answers that could"},
               {"stale_cost", "What do outdated and false passages cost?",
                "points of exact match where there are some"}};
  std::vector<Finding> findings;
  for (const auto& kind : kinds) {
    std::string text;
    for (const std::string& model : table.models) {
      const ReplayRow* row = table.find(model, "all", "", kind.quantity);
      if (row == nullptr) continue;
      text += fmt::format("{}{}: {}{} {} (n = {})", text.empty() ? "" : "; ", model, row_text(*row),
                          row->quantity == "stale_cost" ? "" : " %", kind.answer, row->n);
      if (row->quantity != "stale_cost" && row->null)
        text += fmt::format(", {} % without such passages", number_text(*row->null, Digits::kPercent));
    }
    if (!text.empty()) findings.push_back({kind.question, text + "."});
  }
  return findings;
}

std::vector<Section> sections_of(const ReplayTable& table, std::span<const Event> events,
                                 const FigureWriter& writer) {
  Section time{.id = "time",
               .title = "What happens over time?",
               .explanation =
                   "Every question is answered from the collection as it is at that moment. A curve "
                   "is a mean over the questions of a window."};
  writer.add(time, "answers", timeline_figure(table, events, writer));
  time.blocks.push_back(whole_block(table, false));
  std::vector<Section> sections = {std::move(time)};
  if (const auto figure = changes_figure(table, writer)) {
    Section changes{.id = "changes",
                    .title = "What happens when a document changes?",
                    .explanation =
                        "The same question, asked before and after the document that it is about "
                        "changed. Where the change kept the answer nothing should happen: that is "
                        "what the other changes are read against."};
    writer.add(changes, "answers", *figure);
    changes.blocks.push_back(step_block(table));
    sections.push_back(std::move(changes));
  }
  if (const auto figure = replay_attention_figure(table, events, writer)) {
    Section attention{.id = "attention",
                      .title = "Where does attention go?",
                      .explanation =
                          "Attention of the rows that wrote the answer, per token of a passage, "
                          "divided by what uniform attention would give. Passages are told apart by "
                          "what they are to the question at that moment."};
    writer.add(attention, "answers", *figure);
    attention.blocks.push_back(whole_block(table, true));
    sections.push_back(std::move(attention));
  }
  return sections;
}

}  // namespace

std::string describe_stream(const std::string& name, std::span<const Event> events) {
  const auto count = [&](EventKind kind) { return std::ranges::count(events, kind, &Event::kind); };
  return fmt::format("{}: {} events, {} of them questions; {} documents added, {} changed, {} removed", name,
                     events.size(), count(EventKind::kAsk), count(EventKind::kAdd), count(EventKind::kChange),
                     count(EventKind::kRemove));
}

void write_replay(const ReplayTable& table, std::span<const Event> events, const ReplayReport& report,
                  const std::filesystem::path& directory, const FigureOptions& options) {
  const FigureWriter writer(directory, options, table.models);
  Page page{.title = report.title,
            .lead = report.lead,
            .notes = writer.notes(),
            .models = writer.key(),
            .findings = replay_findings(table),
            .facts = report.facts,
            .sections = sections_of(table, events, writer)};
  page.sections.push_back(repeat_section("All numbers are in replay.csv, beside this page.", report.command));
  write_file_atomically(directory / "replay.csv", replay_csv(table));
  write_file_atomically(directory / "replay.json", replay_json(table, report.about));
  save_page(page, directory / "report.html");
}

}  // namespace buoy
