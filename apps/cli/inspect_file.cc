#include "apps/cli/inspect_file.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/io/npz.h"
#include "buoy/probe/trace.h"
#include "buoy/run/run_summary.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_in(const fs::path& directory, std::string_view ending) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ending) found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

// run.db here and in the folders here.
std::vector<fs::path> runs_in(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> found;
  if (fs::exists(path / "run.db")) found.push_back(path / "run.db");
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    if (fs::exists(entry.path() / "run.db")) found.push_back(entry.path() / "run.db");
  }
  std::ranges::sort(found);
  return found;
}

std::string row(std::string_view name, const std::string& value) {
  return fmt::format("{:<12} {}\n", name, value);
}

std::string type_of(const NpyArray& array) {
  return array.is_text ? "text" : std::string(name_of(array.dtype));
}

std::string arrays_text(const NpzArrays& arrays) {
  std::size_t longest = 0;
  for (const auto& [name, array] : arrays) longest = std::max(longest, name.size());
  std::string text;
  for (const auto& [name, array] : arrays) {
    text += fmt::format("  {:<{}}  {:<7}  {}\n", name, longest, type_of(array), to_string(array.shape));
  }
  return text;
}

// Which statistics a trace holds, in words.
std::vector<std::string> statistics_of(const Trace& trace) {
  const std::pair<bool, const char*> all[] = {
      {!trace.steps.received.empty(), "received attention of every step"},
      {!trace.steps.received_heads.empty(), "the same of every head"},
      {!trace.steps.flow.empty(), "flow between regions"},
      {!trace.answer.argmax.empty(), "rows that wrote the answer"},
      {!trace.steps.score_means.empty(), "means of scores, cosines and norms"},
      {!trace.steps.key_change.empty(), "change of keys"},
      {!trace.steps.experts.empty(), "experts of every step"},
      {!trace.finished.received.empty(), "a pass over the finished text"}};
  std::vector<std::string> there;
  for (const auto& [is_there, name] : all) {
    if (is_there) there.emplace_back(name);
  }
  return there;
}

std::string verdict_of(const TraceHeader& header) {
  if (!header.correct) return "";
  return *header.correct ? " (right)" : fmt::format(" (wrong: {})", fmt::join(header.answers, " or "));
}

std::string trace_text(const Trace& trace) {
  const TraceHeader& h = trace.header;
  std::string text = row("trace", fmt::format("of {} ({}), by Buoy {}", h.model, name_of(h.writing),
                                              h.buoy_version.empty() ? "?" : h.buoy_version));
  if (!h.sample.empty()) {
    text += row("sample", h.sample + (h.task.empty() ? "" : fmt::format(", task {}", h.task)));
  }
  text += row("question", h.question);
  text += row("answer", h.output + verdict_of(h));
  text += row("tokens",
              fmt::format("{}: {} of the prompt, {} written", trace.N(), trace.prompt_length, trace.G()));
  text += row("layers", fmt::format("{} of {}: {}", trace.L(), h.model_layers, fmt::join(trace.layers, ",")));
  text += row("heads", fmt::format("{}, {} for keys and values", h.H, h.Hkv));
  if (h.experts > 0) text += row("experts", fmt::format("{}, {} a token", h.experts, h.active_experts));
  if (trace.S() > 0) {
    text += row("steps", fmt::format("{}, from {} to {}", trace.S(), trace.steps.steps.front(),
                                     trace.steps.steps.back()));
  }
  text += row("recorded", fmt::format("{}", fmt::join(statistics_of(trace), "; ")));
  return text + row("settings", h.settings);
}

}  // namespace

FileKind kind_of_path(const fs::path& path) {
  if (fs::is_regular_file(path)) {
    if (path.extension() == ".npz") return FileKind::kNpz;
    return path.extension() == ".db" ? FileKind::kRun : FileKind::kOther;
  }
  if (!fs::is_directory(path) || fs::exists(path / "config.json")) return FileKind::kOther;
  if (!runs_in(path).empty()) return FileKind::kRun;
  return files_in(path, ".npz").empty() ? FileKind::kOther : FileKind::kTraces;
}

std::string describe_npz(const fs::path& path) {
  const NpzArrays arrays = read_npz(path);
  std::string text = arrays.contains("header") ? trace_text(read_trace(path)) : "";
  return text + fmt::format("arrays       {}\n", arrays.size()) + arrays_text(arrays);
}

std::string describe_runs(const fs::path& path) {
  std::string text;
  for (const fs::path& file : runs_in(path)) {
    const RunSummary run = summarize_run(file);
    text += fmt::format("{}: {} samples\n", file.string(), run.samples());
    for (const RunSummary::Part& part : run.parts) {
      text += fmt::format("  {:>6} of {}, {}, {}: exact match {:.1f} %{}\n", part.samples, part.model,
                          part.data, part.condition, 100 * part.exact_match,
                          part.traced > 0 ? fmt::format(", {} with attention", part.traced) : "");
    }
  }
  return text;
}

std::string describe_traces(const fs::path& path) {
  const std::vector<fs::path> files = files_in(path, ".npz");
  return fmt::format("{}: {} .npz file{}; \"buoy inspect {}\" says what is in one\n", path.string(),
                     files.size(), files.size() == 1 ? "" : "s", files.front().string());
}

Json npz_json(const fs::path& path) {
  Json json = Json::object();
  for (const auto& [name, array] : read_npz(path)) {
    json[name] = {{"shape", array.shape}, {"dtype", type_of(array)}};
  }
  return json;
}

Json runs_json(const fs::path& path) {
  Json json = Json::array();
  for (const fs::path& file : runs_in(path)) {
    const RunSummary run = summarize_run(file);
    Json parts = Json::array();
    for (const RunSummary::Part& part : run.parts) {
      parts.push_back({{"model", part.model},
                       {"data", part.data},
                       {"condition", part.condition},
                       {"samples", part.samples},
                       {"traced", part.traced},
                       {"exact_match", part.exact_match}});
    }
    json.push_back({{"run", file.string()},
                    {"samples", run.samples()},
                    {"parts", std::move(parts)},
                    {"settings", parse_json(run.settings, file.string())}});
  }
  return json;
}

}  // namespace buoy
