// Score tables as text, CSV, JSON and LaTeX.
#include <algorithm>

#include <fmt/format.h>

#include "buoy/analysis/table_csv.h"
#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/run/eval_table.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

constexpr const char* kTitles[] = {"Exact match, %", "Gold answer inside the answer (substring), %", "F1, %"};

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

}  // namespace

std::string score_text(const ScoreTable& table) {
  std::string out;
  for (int score = 0; score < 3; ++score) {
    Grid grid = {{"model", "passages"}};
    for (const std::string& column : table.columns) grid[0].push_back(column);
    grid[0].insert(grid[0].end(), {"mean of cells", "mean of items", "n"});
    Grid gains = {grid[0]};
    for (const ScoreRow& row : table.rows) {
      grid.push_back({row.model, row.condition});
      for (const auto& cell : row.cells) grid.back().push_back(with_error(cell, score));
      grid.back().push_back(with_error(row.cell_mean, score));
      grid.back().push_back(with_error(row.item_mean, score));
      grid.back().push_back(row.item_mean ? fmt::to_string(row.item_mean->n) : "0");
      if (row.gains.empty()) continue;
      gains.push_back({row.model, row.condition});
      for (std::size_t c = 0; c + 1 < row.gains.size(); ++c)
        gains.back().push_back(gain_text(row.gains[c], score));
      gains.back().push_back("");
      gains.back().push_back(gain_text(row.gains.back(), score));
      gains.back().push_back(row.gains.back() ? fmt::to_string(row.gains.back()->n) : "0");
    }
    out += fmt::format("{}{} (± standard error)\n{}", score == 0 ? "" : "\n", kTitles[score], align(grid));
    if (gains.size() > 1)
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
    line(row, "mean of cells", row.cell_mean, {});
    line(row, "mean of items", row.item_mean, row.gains.empty() ? std::nullopt : row.gains.back());
  }
  return out;
}

std::string score_json(const ScoreTable& table) {
  Json rows = Json::array();
  const auto cell_json = [](const std::optional<ScoreCell>& cell) {
    if (!cell) return Json();
    Json json = {{"n", cell->n}};
    for (int s = 0; s < 3; ++s) {
      json[kScoreNames[s]] = {{"mean", cell->mean[s]}, {"standard_error", cell->standard_error[s]}};
    }
    return json;
  };
  for (const ScoreRow& row : table.rows) {
    Json json = {{"model", row.model}, {"passages", row.condition}};
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      json["cells"][table.columns[c]] = cell_json(row.cells[c]);
    json["mean_of_cells"] = cell_json(row.cell_mean);
    json["mean_of_items"] = cell_json(row.item_mean);
    for (std::size_t c = 0; c < row.gains.size(); ++c) {
      if (!row.gains[c]) continue;
      Json gain = {{"n", row.gains[c]->n}};
      for (int s = 0; s < 3; ++s) {
        gain[kScoreNames[s]] = {
            {"mean", row.gains[c]->mean[s]}, {"lo", row.gains[c]->low[s]}, {"hi", row.gains[c]->high[s]}};
      }
      json["gain"][c < table.columns.size() ? table.columns[c] : "mean of items"] = gain;
    }
    rows.push_back(std::move(json));
  }
  return Json{{"columns", table.columns}, {"baseline", table.baseline}, {"rows", rows}}.dump(2) + "\n";
}

std::string score_latex(const ScoreTable& table) {
  std::string out =
      "% Exact match in percent, standard errors as subscripts; made by Buoy.\n\\begin{tabular}{ll";
  out += std::string(table.columns.size() + 1, 'r') + "}\n\\toprule\nModel & Passages";
  for (const std::string& column : table.columns) out += " & " + latex_text(column);
  out += " & Avg. \\\\\n";
  std::string model;
  for (const ScoreRow& row : table.rows) {
    if (row.model != model) out += "\\midrule\n";
    out += (row.model != model ? latex_text(row.model) : "") + " & " + latex_text(row.condition);
    model = row.model;
    const auto add = [&](const std::optional<ScoreCell>& cell) {
      out += cell ? fmt::format(" & ${:.1f}_{{{:.1f}}}$", cell->mean[0], cell->standard_error[0]) : " & --";
    };
    std::ranges::for_each(row.cells, add);
    add(row.cell_mean);
    out += " \\\\\n";
  }
  return out + "\\bottomrule\n\\end{tabular}\n";
}

std::string samples_jsonl(const std::vector<SampleResult>& results) {
  std::string out;
  for (const SampleResult& r : results) {
    const Json json = {{"model", r.key.model},
                       {"data", r.key.data},
                       {"condition", r.key.condition},
                       {"id", r.key.sample},
                       {"task", r.task},
                       {"prompt", r.prompt},
                       {"answer", r.answer},
                       {"em", r.score.em},
                       {"substring", r.score.substring},
                       {"f1", r.score.f1},
                       {"prompt_tokens", r.prompt_tokens},
                       {"steps", r.steps},
                       {"commit_step", r.commit_step},
                       {"seconds", r.seconds}};
    out += json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return out;
}

}  // namespace buoy
