// Score tables as text, CSV, JSON and LaTeX.
#include <algorithm>

#include <fmt/format.h>

#include "buoy/analysis/table_csv.h"
#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/run/eval_table.h"
#include "buoy/run/run_reader.h"
#include "buoy/run/stored_json.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

constexpr const char* kTitles[] = {"Exact match, %", "Gold answer inside the answer (substring), %", "F1, %"};

constexpr const char* kContrastName = "masked - autoregressive";

using Grid = std::vector<std::vector<std::string>>;

std::string pad(const std::string& text, Index width, bool left) {
  const std::string space(static_cast<std::size_t>(std::max<Index>(0, width - count_code_points(text))), ' ');
  return left ? text + space : space + text;
}

// Columns as wide as their widest entry; the first two flush left.
std::string align(const Grid& grid) {
  std::vector<Index> widths(grid[0].size(), 0);
  for (const auto& row : grid) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], count_code_points(row[c]));
  }
  std::string out;
  for (const auto& row : grid) {
    for (std::size_t c = 0; c < row.size(); ++c)
      out += pad(row[c], widths[c], c < 2) + (c + 1 < row.size() ? "  " : "\n");
  }
  return out;
}

std::string with_error(const std::optional<ScoreCell>& cell, int score) {
  return cell ? fmt::format("{:.1f} ±{:.1f}", cell->mean[score], cell->standard_error[score]) : "–";
}

std::string gain_text(const std::optional<ScoreGain>& gain, int score) {
  if (!gain) return "–";
  return fmt::format("{:+.1f} [{:+.1f}, {:+.1f}]", gain->mean[score], gain->low[score], gain->high[score]);
}

// Text that LaTeX prints as it is and runs nothing of: a name may hold \input.
std::string latex_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("_%&#${}").find(c) != std::string_view::npos) {
      out += '\\';
      out += c;
    } else if (c == '\\') {
      out += "\\textbackslash{}";
    } else if (c == '~') {
      out += "\\textasciitilde{}";
    } else if (c == '^') {
      out += "\\textasciicircum{}";
    } else {
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

// Whether a score is among those asked for.
bool wants(const ScoreNames& scores, int score) {
  return scores.empty() || std::ranges::find(scores, kScoreNames[score]) != scores.end();
}

Grid header_of(const ScoreTable& table) {
  Grid grid = {{"model", "passages"}};
  for (const std::string& column : table.columns) grid[0].push_back(column);
  grid[0].insert(grid[0].end(), {"mean of cells", "mean of items", "n"});
  return grid;
}

std::string count_text(const std::optional<ScoreGain>& gain) {
  return gain ? fmt::to_string(gain->n) : "0";
}

Grid score_grid(const ScoreTable& table, int score) {
  Grid grid = header_of(table);
  for (const ScoreRow& row : table.rows) {
    grid.push_back({row.model, row.condition});
    for (const auto& cell : row.cells) grid.back().push_back(with_error(cell, score));
    grid.back().push_back(with_error(row.cell_mean, score));
    grid.back().push_back(with_error(row.item_mean, score));
    grid.back().push_back(row.item_mean ? fmt::to_string(row.item_mean->n) : "0");
  }
  return grid;
}

Grid gain_grid(const ScoreTable& table, int score) {
  Grid gains = header_of(table);
  for (const ScoreRow& row : table.rows) {
    if (row.gains.empty()) continue;
    gains.push_back({row.model, row.condition});
    for (std::size_t c = 0; c + 1 < row.gains.size(); ++c)
      gains.back().push_back(gain_text(row.gains[c], score));
    gains.back().push_back(gain_text(row.cell_gain, score));
    gains.back().push_back(gain_text(row.gains.back(), score));
    gains.back().push_back(count_text(row.gains.back()));
  }
  for (const GainContrast& contrast : table.contrasts) {
    gains.push_back({kContrastName, contrast.condition});
    for (const auto& gain : contrast.gains) gains.back().push_back(gain_text(gain, score));
    gains.back().push_back(gain_text(contrast.cell_gain, score));
    gains.back().push_back(gain_text(contrast.item_gain, score));
    gains.back().push_back(count_text(contrast.item_gain));
  }
  return gains;
}

}  // namespace

std::string score_text(const ScoreTable& table, const ScoreNames& scores) {
  std::string out;
  for (int score = 0; score < 3; ++score) {
    if (!wants(scores, score)) continue;
    out += fmt::format("{}{} (± standard error)\n{}", out.empty() ? "" : "\n", kTitles[score],
                       align(score_grid(table, score)));
    if (const Grid gains = gain_grid(table, score); gains.size() > 1)
      out += fmt::format("Gain over no passages, paired (95 % interval)\n{}", align(gains));
  }
  return out;
}

std::string score_csv(const ScoreTable& table) {
  std::string out = "model,passages,column,score,n,mean,standard_error,gain,gain_lo,gain_hi,gain_n\n";
  const auto line = [&](const ScoreRow& row, const std::string& column, const std::optional<ScoreCell>& cell,
                        const std::optional<ScoreGain>& gain) {
    if (!cell) return;
    for (int s = 0; s < 3; ++s) {
      out += fmt::format("{},{},{},{},{},{:.9g},{:.9g},", csv_field(row.model), csv_field(row.condition),
                         csv_field(column), kScoreNames[s], cell->n, cell->mean[s], cell->standard_error[s]);
      out +=
          gain ? fmt::format("{:.9g},{:.9g},{:.9g},{}\n", gain->mean[s], gain->low[s], gain->high[s], gain->n)
               : std::string(",,,\n");
    }
  };
  for (const ScoreRow& row : table.rows) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      line(row, table.columns[c], row.cells[c], row.gains.empty() ? std::nullopt : row.gains[c]);
    }
    line(row, "mean of cells", row.cell_mean, row.cell_gain);
    line(row, "mean of items", row.item_mean, row.gains.empty() ? std::nullopt : row.gains.back());
  }
  const auto contrast_line = [&](const GainContrast& contrast, const std::string& column,
                                 const std::optional<ScoreGain>& gain) {
    for (int s = 0; gain && s < 3; ++s) {
      out += fmt::format("{},{},{},{},{},,,{:.9g},{:.9g},{:.9g},{}\n", kContrastName,
                         csv_field(contrast.condition), csv_field(column), kScoreNames[s], gain->n,
                         gain->mean[s], gain->low[s], gain->high[s], gain->n);
    }
  };
  for (const GainContrast& contrast : table.contrasts) {
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      contrast_line(contrast, table.columns[c], contrast.gains[c]);
    contrast_line(contrast, "mean of cells", contrast.cell_gain);
    contrast_line(contrast, "mean of items", contrast.item_gain);
  }
  return out;
}

namespace {

Json cell_json(const std::optional<ScoreCell>& cell) {
  if (!cell) return Json();
  Json json = {{"n", cell->n}};
  for (int s = 0; s < 3; ++s) {
    json[kScoreNames[s]] = {{"mean", cell->mean[s]}, {"standard_error", cell->standard_error[s]}};
  }
  return json;
}

void add_gain(Json& json, const std::string& column, const std::optional<ScoreGain>& gain) {
  if (!gain) return;
  Json made = {{"n", gain->n}};
  for (int s = 0; s < 3; ++s) {
    made[kScoreNames[s]] = {{"mean", gain->mean[s]}, {"lo", gain->low[s]}, {"hi", gain->high[s]}};
  }
  json["gain"][column] = std::move(made);
}

Json row_json(const ScoreTable& table, const ScoreRow& row) {
  Json json = {{"model", row.model}, {"passages", row.condition}};
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    json["cells"][table.columns[c]] = cell_json(row.cells[c]);
  json["mean_of_cells"] = cell_json(row.cell_mean);
  json["mean_of_items"] = cell_json(row.item_mean);
  for (std::size_t c = 0; c < row.gains.size(); ++c) {
    add_gain(json, c < table.columns.size() ? table.columns[c] : "mean of items", row.gains[c]);
  }
  add_gain(json, "mean of cells", row.cell_gain);
  return json;
}

}  // namespace

std::string score_json(const ScoreTable& table, const std::string& about) {
  Json json = about.empty() ? Json::object() : parse_json(about, "what a table is about");
  json["columns"] = table.columns;
  json["baseline"] = table.baseline;
  json["rows"] = Json::array();
  for (const ScoreRow& row : table.rows) json["rows"].push_back(row_json(table, row));
  json["masked_minus_autoregressive"] = Json::array();
  for (const GainContrast& contrast : table.contrasts) {
    Json made = {{"passages", contrast.condition}};
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      add_gain(made, table.columns[c], contrast.gains[c]);
    add_gain(made, "mean of cells", contrast.cell_gain);
    add_gain(made, "mean of items", contrast.item_gain);
    json["masked_minus_autoregressive"].push_back(std::move(made));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

namespace {

// Every row, then what passages add to the mean of the cells.
void add_latex_rows(const ScoreTable& table, int score, std::string& out) {
  std::string model;
  for (const ScoreRow& row : table.rows) {
    if (row.model != model) out += "\\midrule\n";
    out += (row.model != model ? latex_text(row.model) : "") + " & " + latex_text(row.condition);
    model = row.model;
    const auto add = [&](const std::optional<ScoreCell>& cell) {
      out += cell ? fmt::format(" & ${:.1f}_{{{:.1f}}}$", cell->mean[score], cell->standard_error[score])
                  : " & --";
    };
    std::ranges::for_each(row.cells, add);
    add(row.cell_mean);
    out += row.cell_gain ? fmt::format(" & ${:+.1f}\\,[{:+.1f}, {:+.1f}]$", row.cell_gain->mean[score],
                                       row.cell_gain->low[score], row.cell_gain->high[score])
                         : " & ";
    out += " \\\\\n";
  }
  for (const GainContrast& contrast : table.contrasts) {
    if (!contrast.cell_gain) continue;
    out += fmt::format(
        "\\midrule\nmasked $-$ autoregressive & {} & \\multicolumn{{{}}}{{r}}{{}} & "
        "${:+.1f}\\,[{:+.1f}, {:+.1f}]$ \\\\\n",
        latex_text(contrast.condition), table.columns.size() + 1, contrast.cell_gain->mean[score],
        contrast.cell_gain->low[score], contrast.cell_gain->high[score]);
  }
}

}  // namespace

std::string score_latex(const ScoreTable& table, const ScoreNames& scores) {
  std::string out =
      "% Percent, standard errors as subscripts; gain of the average over no passages with its 95 % "
      "interval; made "
      "by Buoy.\n\\begin{tabular}{ll";
  out += std::string(table.columns.size() + 1, 'r') + "r}\n\\toprule\nModel & Passages";
  for (const std::string& column : table.columns) out += " & " + latex_text(column);
  out += " & Avg. & Gain \\\\\n";
  constexpr const char* kNames[] = {"Exact match", "Substring", "F1"};
  for (int score = 0; score < 3; ++score) {
    if (!wants(scores, score)) continue;
    out += fmt::format("\\midrule\n\\multicolumn{{{}}}{{c}}{{{}}} \\\\\n", table.columns.size() + 4,
                       kNames[score]);
    add_latex_rows(table, score, out);
  }
  return out + "\\bottomrule\n\\end{tabular}\n";
}

std::string samples_jsonl(const RunReader& run) {
  const Json settings = run.settings();
  const std::vector<Json> sessions = run.sessions();
  const Json about = sessions.empty() ? Json::object() : sessions.back();
  std::string out;
  for (const SampleResult& r : run.results()) {
    const SampleDetail detail = run.detail(r.key);
    Json json = {{"model", r.key.model},
                 {"data", r.key.data},
                 {"condition", r.key.condition},
                 {"id", r.key.sample},
                 {"task", r.task},
                 {"question", r.question},
                 {"answers", detail.input.answers},
                 {"prompt", r.prompt}};
    if (!detail.prompt_ids.empty()) json["prompt_ids"] = detail.prompt_ids;
    json["passages"] = passages_to_json(detail.input.passages);
    json["answer"] = r.answer;
    json["em"] = r.score.em;
    json["substring"] = r.score.substring;
    json["f1"] = r.score.f1;
    json["prompt_tokens"] = r.prompt_tokens;
    json["tokens"] = r.output_ids.size();
    json["output_ids"] = r.output_ids;
    json["steps"] = r.steps;
    json["commit_step"] = r.commit_step;
    // A model under an intervention goes by a longer name; its settings are the model's.
    const std::string model = r.key.model.substr(0, r.key.model.find(" + "));
    if (settings.contains("models") && settings["models"].contains(model)) {
      json["settings"] = settings["models"][model];
    }
    for (const char* field : {"buoy", "commit", "processor"}) {
      if (about.contains(field)) json[field] = about[field];
    }
    json["seconds"] = r.seconds;
    out += json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return out;
}

}  // namespace buoy
