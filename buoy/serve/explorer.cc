#include "buoy/serve/explorer.h"

#include <algorithm>

#include "buoy/base/version.h"
#include "buoy/io/json.h"
#include "buoy/serve/document_shelf.h"
#include "buoy/serve/explorer_state.h"
#include "buoy/serve/page.h"
#include "buoy/serve/table_shelf.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

// Files as they are; of folders their traces, in order of their names.
std::vector<fs::path> trace_files(const std::vector<fs::path>& places) {
  std::vector<fs::path> files;
  for (const fs::path& place : places) {
    if (!fs::is_directory(place)) {
      files.push_back(place);
      continue;
    }
    std::vector<fs::path> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(place)) {
      if (entry.path().extension() == ".npz") found.push_back(entry.path());
    }
    if (found.empty()) fail("{}: holds no .npz files", place.string());
    std::ranges::sort(found);
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

RunRecord recorded_run(Trace trace) {
  RunRecord record;
  record.trace = std::move(trace);
  const TraceHeader& h = record.trace.header;
  record.title = title_of(h.question.empty() ? h.sample : h.question);
  record.family = h.writing == Writing::kAppends ? "appends" : "fills masks";
  return record;
}

Route page_route(const std::string& path, const std::string& name) {
  return {"GET", path, [name](const HttpRequest& request, const PathParts&) {
            const auto file = std::ranges::find(page_files(), name, &PageFile::name);
            HttpResponse answer{.type = std::string(file->type)};
            answer.body = request.accepts_gzip ? std::string(file->gzip) : gunzip(file->gzip);
            if (request.accepts_gzip) answer.headers.emplace_back("Content-Encoding", "gzip");
            answer.headers.emplace_back("Vary", "Accept-Encoding");
            return answer;
          }};
}

Json about(const Explorer::State& state) {
  const ServeLimits& limits = state.settings.limits;
  return {{"version", version()},
          {"commit", commit()},
          {"models", state.models.names()},
          {"limits",
           {{"prompt_tokens", limits.prompt_tokens},
            {"gen_length", limits.gen_length},
            {"body_bytes", limits.body_bytes},
            {"runs", limits.runs},
            {"history", limits.history},
            {"history_bytes", limits.history_bytes},
            {"streams", limits.streams}}},
          {"live", !state.models.names().empty()},
          {"traces", state.has_recorded},
          {"collections", state.documents != nullptr},
          {"tables", state.tables->count() > 0}};
}

}  // namespace

Explorer::State::State(const ExplorerSettings& given)
    : settings(given),
      has_recorded(!given.traces.empty() || !given.recorded.empty()),
      models(given.models, given.model),
      runs({.active = given.limits.runs,
            .history = given.limits.history,
            .history_bytes = given.limits.history_bytes}),
      tables(std::make_unique<TableShelf>(table_files(given.tables))) {
  for (const fs::path& file : trace_files(given.traces))
    runs.add_recorded(file.stem().string(), recorded_run(read_trace(file)));
  for (auto& [name, trace] : settings.recorded) runs.add_recorded(name, recorded_run(std::move(trace)));
  settings.recorded.clear();
  if (!given.collections.empty()) documents = std::make_unique<DocumentShelf>(given.collections);
  routes.push_back(page_route("/", "index.html"));
  for (const PageFile& file : page_files()) {
    if (file.name != "index.html")
      routes.push_back(page_route("/assets/" + std::string(file.name), std::string(file.name)));
  }
  routes.push_back({"GET", std::string(kApi) + "/about",
                    [this](const HttpRequest&, const PathParts&) { return json_response(about(*this)); }});
  for (const auto& make : {run_routes, recompute_routes, live_routes, document_routes, table_routes}) {
    for (Route& route : make(*this)) {
      route.pattern = kApi + route.pattern;
      routes.push_back(std::move(route));
    }
  }
}

Explorer::State::~State() = default;

ModelShelf::Match Explorer::State::model_of(const RunRecord& run) {
  const TraceHeader& h = run.trace.header;
  if (h.model_hash.empty()) return {.model = nullptr, .why = "the model is not loaded yet"};
  return models.match(h.model, h.model_hash);
}

ShelvedModel& Explorer::State::need_model(const RunRecord& run) {
  const ModelShelf::Match match = model_of(run);
  if (match.model == nullptr) fail_http(409, "{}", match.why);
  return *match.model;
}

std::string Explorer::State::piece_in(const RunRecord& run, TokenId id) {
  if (const ModelShelf::Match match = model_of(run); match.model != nullptr) return match.model->piece(id);
  if (id == run.trace.header.mask_id) return "[mask]";
  const auto found = std::ranges::find(run.trace.tokens, id);
  return found == run.trace.tokens.end()
             ? std::string(kReplacementCharacter)
             : run.trace.token_texts[static_cast<std::size_t>(found - run.trace.tokens.begin())];
}

Index step_in(const HttpRequest& request, const RunRecord& run) {
  return request.number_or("step", run.S(), 0, run.S());
}

Index layer_in(const HttpRequest& request, const RunRecord& run) {
  const Index layer = request.number("layer", 0, run.trace.header.model_layers - 1);
  const auto found = std::ranges::find(run.trace.layers, layer);
  if (found == run.trace.layers.end()) fail_http(404, "layer {} was not recorded", layer);
  return found - run.trace.layers.begin();
}

Explorer::Explorer(const ExplorerSettings& settings) : state_(std::make_unique<State>(settings)) {}
Explorer::~Explorer() = default;

HttpResponse Explorer::answer(const HttpRequest& request) {
  return dispatch(state_->routes, request);
}

void Explorer::stop() {
  state_->runs.end_all();
}

const std::vector<Route>& Explorer::routes() const {
  return state_->routes;
}

}  // namespace buoy
