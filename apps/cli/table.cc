// buoy table and buoy score: tables of runs that lie there, and of other programs' answers.
#include <cstdio>
#include <memory>

#include "apps/cli/data_flags.h"
#include "apps/cli/environment.h"
#include "apps/cli/verb.h"
#include "buoy/base/error.h"
#include "buoy/engine/run_tables.h"
#include "buoy/io/file.h"
#include "buoy/text/terminal_text.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

// How a table is written, and where.
struct TableFlags {
  std::string format = "text", output;
  std::vector<std::string> scores;

  void add_to(Verb& verb) {
    verb.option("--format", &format, "How to write the table").choices({"text", "csv", "latex", "json"});
    verb.option("--score", &scores, "Text and LaTeX: em, substring, f1; may be repeated; default: all")
        .split_at(',')
        .choices({"em", "substring", "f1"});
    verb.option("-o,--output", &output, "File to write; default: standard output");
  }

  void write(const ScoreTable& table, const std::string& about) const {
    const std::string text = format == "csv"     ? score_csv(table)
                             : format == "latex" ? score_latex(table, scores)
                             : format == "json"  ? score_json(table, about)
                                                 : score_text(table, scores);
    if (!output.empty()) return write_file_atomically(output, text);
    std::printf("%s", format == "text" ? for_terminal(text).c_str() : text.c_str());
  }
};

struct RunsFlags {
  std::vector<std::string> runs;
  TableFlags table;
};

struct ScoreFlags {
  std::vector<std::string> predictions, data;
  std::string data_format = "auto";
  TableFlags table;
};

void table_command(const RunsFlags& flags) {
  const std::vector<fs::path> paths(flags.runs.begin(), flags.runs.end());
  const MergedRuns merged = merge_runs(paths);
  if (merged.results.empty()) fail("{}: holds no finished samples", flags.runs.front());
  flags.table.write(make_score_table(merged.results, merged.order), merged.about);
}

void score_command(const ScoreFlags& flags) {
  DataFlags reading;
  reading.format = flags.data_format;
  const std::vector<NamedItems> data = read_data(reading.data(flags.data), command_places(), print_warning);
  if (data.size() != 1) fail_usage("score takes one dataset, not {}", data.size());
  std::vector<SampleResult> results;
  ScoreOrder order{.models = {}, .data = {data[0].name}, .conditions = {"as given"}};
  for (const std::string& file : flags.predictions) {
    for (SampleResult& r : score_predictions(file, data[0], print_warning)) results.push_back(std::move(r));
    order.models.push_back(fs::path(file).stem().string());
  }
  flags.table.write(make_score_table(results, order), "");
}

}  // namespace

void add_table(Command& command) {
  auto flags = std::make_shared<RunsFlags>();
  Verb verb = command.verb("table", "One table of one or several runs of eval");
  verb.option("runs", &flags->runs, "Directories of runs, finished or under way").required();
  flags->table.add_to(verb);
  verb.footer(
      "Runs are put together by model, dataset, condition and item; what two of them hold must be the "
      "same.\n\n"
      "Examples:\n"
      "  buoy eval --steps 16 --limit 20 -o eval\n"
      "  buoy table eval --format latex --score em\n"
      "  buoy table nq hotpotqa --format csv -o table.csv\n");
  verb.runs([flags] { table_command(*flags); });
}

void add_score(Command& command) {
  auto flags = std::make_shared<ScoreFlags>();
  Verb verb = command.verb("score", "Other programs' answers, scored as eval scores its own");
  verb.option("predictions", &flags->predictions,
              "{id: answer}, lines of {\"id\", \"prediction\"}, or one answer a line")
      .required();
  verb.option("--data", &flags->data, "The dataset that they answer (docs/datasets.md)").required();
  verb.option("--data-format", &flags->data_format, "Its format; auto: told from the file");
  flags->table.add_to(verb);
  verb.footer(
      "Items without an answer count as wrong, and a warning says how many. docs/definitions.md says how "
      "answers are "
      "scored.\n\n"
      "Examples:\n"
      "  buoy score predictions.json --data dev-v2.0.json\n"
      "  buoy score ours.jsonl theirs.jsonl --data nq.jsonl --format csv\n");
  verb.runs([flags] { score_command(*flags); });
}

}  // namespace buoy
