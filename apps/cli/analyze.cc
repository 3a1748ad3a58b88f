// buoy analyze: from traces to tables, figures and a report.
#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "apps/cli/analysis_flags.h"
#include "apps/cli/environment.h"
#include "apps/cli/figure_flags.h"
#include "apps/cli/output_flags.h"
#include "apps/cli/progress.h"
#include "apps/cli/verb.h"
#include "buoy/base/error.h"
#include "buoy/base/version.h"
#include "buoy/io/hash.h"
#include "buoy/io/json.h"
#include "buoy/model/fingerprint.h"
#include "buoy/report/study_page.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

struct AnalyzeFlags {
  std::vector<std::string> traces;
  AnalysisFlags analysis;
  FigureFlags figures;
  OutputFlags folder;
  std::string output;
};

// What tables and figures are made of.
Json described(const std::vector<fs::path>& traces, const CollectOptions& options) {
  Hasher hasher;
  for (const fs::path& path : traces) hasher.add(fingerprint_file(path));
  return {{"traces", traces.size()}, {"hash", hasher.hex()}, {"options", to_json(options)}};
}

// A directory stands for the traces in it.
std::vector<fs::path> find_traces(const std::vector<std::string>& given) {
  std::vector<fs::path> paths;
  for (const std::string& name : given) {
    if (!fs::is_directory(name)) {
      paths.emplace_back(name);
      continue;
    }
    std::vector<fs::path> inside;
    for (const fs::directory_entry& entry : fs::directory_iterator(name)) {
      if (entry.path().extension() == ".npz") inside.push_back(entry.path());
    }
    if (inside.empty()) fail("{}: holds no traces (*.npz)", name);
    std::ranges::sort(inside);
    paths.insert(paths.end(), inside.begin(), inside.end());
  }
  return paths;
}

void analyze_command(const AnalyzeFlags& options, const std::string& command) {
  StudyResult result;
  result.options = options.analysis.options();
  const FigureOptions figures = options.figures.options(result.options.analyses);
  const std::vector<fs::path> paths = find_traces(options.traces);
  OutputFolder folder(options.output, "analyze", described(paths, result.options), options.folder.other());
  {
    ProgressBar progress("reading traces", std::ssize(paths));
    for (const fs::path& path : paths) {
      stop_if_interrupted();
      Trace trace = read_trace(path);
      if (!result.models.empty() && result.models[0].hash != trace.header.model_hash) {
        fail(
            "{}: was made by {}, the traces before it by {}; analyse one model at a time (buoy study "
            "compares several)",
            path.string(), trace.header.model, result.models[0].name);
      }
      collect(result, std::move(trace), "traces");
      progress.advance();
    }
  }
  finish_collecting(result);
  for (const std::string& warning : result.warnings) print_warning(warning);
  const StudyReport report{
      .title = fmt::format("Where the attention of {} goes", result.models[0].name),
      .lead = fmt::format("Traces of {} examples, analysed and drawn by Buoy.", paths.size()),
      .command = command,
      .facts = {{"Traces", fmt::to_string(paths.size())},
                {"Anchors", describe(result.options.analysis.anchors)},
                {"Buoy", std::string(version())}}};
  folder.begin();
  write_and_tell(result, report, folder.path(), figures);
  folder.finish();
}

}  // namespace

void add_analyze(Command& command) {
  auto options = std::make_shared<AnalyzeFlags>();
  Verb verb = command.verb("analyze", "Turn traces into tables, figures and a report");
  verb.option("traces", &options->traces, "Traces of one model, or directories of them").required();
  options->analysis.add_to(verb);
  options->figures.add_to(verb, analysis_names());
  verb.option("-o,--output", &options->output, "Directory for report.html, *.csv and figures/").required();
  options->folder.add_to(verb);
  verb.footer(
      "docs/definitions.md says what every number means.\n\n"
      "Examples:\n"
      "  buoy trace --data data/micro_test.jsonl --limit 5 --steps 16 -o traces\n"
      "  buoy analyze traces/*.npz -o out\n"
      "  buoy analyze traces --only drift,absorption --anchors sigma --format pdf -o out\n");
  verb.runs([options, verb] {
    stoppable("the report is not complete", [&] { analyze_command(*options, verb.command_line()); });
  });
}

}  // namespace buoy
