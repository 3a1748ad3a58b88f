// What a run holds: its line in the list, its tokens and arrays, its anchors, its null.
#include "buoy/io/json.h"
#include "buoy/serve/explorer_state.h"
#include "buoy/serve/recompute.h"
#include "buoy/serve/run_view.h"

namespace buoy {
namespace {

using Handler = HttpResponse (*)(Explorer::State&, const HttpRequest&, const RunRecord&, const PathParts&);

Route about_run(Explorer::State& state, const std::string& pattern, Handler handler,
                std::vector<std::string> query = {}) {
  return {"GET", "/runs/{}" + pattern,
          [&state, handler](const HttpRequest& request, const PathParts& parts) {
            return handler(state, request, *state.runs.find(parts[0])->record(), parts);
          },
          std::move(query)};
}

Rows rows_in(const HttpRequest& request) {
  return request.word("rows", {"all", "read"}) == "read" ? Rows::kRead : Rows::kAll;
}

HttpResponse list_runs(Explorer::State& state) {
  Json list = Json::array();
  for (const auto& run : state.runs.all()) list.push_back(run_line(*run->record()));
  return json_response(list);
}

HttpResponse get_run(Explorer::State& state, const HttpRequest&, const RunRecord& run, const PathParts&) {
  const ModelShelf::Match match = state.model_of(run);
  Json json = run_json(run, match.model != nullptr);
  if (match.model != nullptr) json["family"] = match.model->config().family->name;
  json["has_guesses"] = !run.trace.steps.guesses.empty();
  return json_response(json);
}

HttpResponse get_tokens(Explorer::State&, const HttpRequest&, const RunRecord& run, const PathParts&) {
  return npy_response(step_tokens(run));
}

HttpResponse get_guesses(Explorer::State&, const HttpRequest&, const RunRecord& run, const PathParts&) {
  return npy_response(run_array(run, "guesses", {}));
}

HttpResponse get_guess_confidence(Explorer::State&, const HttpRequest&, const RunRecord& run,
                                  const PathParts&) {
  return npy_response(run_array(run, "guess_confidence", {}));
}

HttpResponse get_array(Explorer::State&, const HttpRequest& request, const RunRecord& run,
                       const PathParts& parts) {
  ArraySlice slice;
  if (request.query.contains("step")) slice.step = request.number("step", 0, std::max<Index>(0, run.S() - 1));
  if (request.query.contains("layer")) slice.layer = layer_in(request, run);
  return npy_response(run_array(run, parts[1], slice));
}

HttpResponse get_null(Explorer::State&, const HttpRequest& request, const RunRecord& run, const PathParts&) {
  return npy_response(null_received(run, rows_in(request), step_in(request, run)));
}

HttpResponse get_anchors(Explorer::State&, const HttpRequest& request, const RunRecord& run,
                         const PathParts&) {
  AnchorOptions options;
  options.epsilon = request.real_or("epsilon", options.epsilon);
  options.min_lift = request.real_or("min_lift", options.min_lift);
  return json_response(anchors_json(run, rows_in(request), options));
}

HttpResponse get_flow(Explorer::State&, const HttpRequest& request, const RunRecord& run, const PathParts&) {
  return json_response(flow_json(run, step_in(request, run), layer_in(request, run)));
}

HttpResponse get_pieces(Explorer::State& state, const HttpRequest& request, const RunRecord& run,
                        const PathParts&) {
  Json pieces = Json::object();
  const auto asked = request.query.find("ids");
  if (asked == request.query.end()) {
    for (const TokenId id : ids_of(run)) pieces[std::to_string(id)] = state.piece_in(run, id);
    return json_response(pieces);
  }
  const Json ids = parse_json("[" + asked->second + "]", "ids");
  for (const Json& id : ids) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > 0x7FFFFFFF)
      fail_http(400, "ids holds {}, expected token ids like 1,2,3", quote(id.dump()));
    pieces[id.dump()] = state.piece_in(run, id.get<TokenId>());
  }
  return json_response(pieces);
}

}  // namespace

std::vector<Route> run_routes(Explorer::State& state) {
  return {{"GET", "/runs", [&state](const HttpRequest&, const PathParts&) { return list_runs(state); }},
          about_run(state, "", get_run),
          about_run(state, "/steps/tokens", get_tokens),
          about_run(state, "/steps/guesses", get_guesses),
          about_run(state, "/steps/guess_confidence", get_guess_confidence),
          about_run(state, "/arrays/{}", get_array, {"step", "layer"}),
          about_run(state, "/null", get_null, {"step", "rows"}),
          about_run(state, "/anchors", get_anchors, {"rows", "epsilon", "min_lift"}),
          about_run(state, "/flow", get_flow, {"step", "layer"}),
          about_run(state, "/pieces", get_pieces, {"ids"})};
}

namespace {

// Runs something on a run's model, in turn.
template <typename Body>
auto on_model(Explorer::State& state, const RunRecord& run, const Body& body) {
  ShelvedModel& model = state.need_model(run);
  const Turn turn(model.turns());
  return body(model.loaded().model());
}

HttpResponse get_attention(Explorer::State& state, const HttpRequest& request, const RunRecord& run,
                           const PathParts&) {
  AttentionQuestion question{.t = step_in(request, run),
                             .layer = request.number("layer", 0, run.trace.header.model_layers - 1),
                             .position = request.number("position", 0, run.N() - 1)};
  const auto head = request.query.find("head");
  if (head != request.query.end() && head->second != "mean")
    question.head = request.number("head", 0, run.trace.H() - 1);
  if (request.word("direction", {"row", "column"}) == "column") question.side = AttentionSide::kColumn;
  return npy_response(on_model(state, run, [&](const Model& model) {
    return NpyArray::of(attention_of(model, run, question), {run.N()});
  }));
}

HttpResponse get_grid(Explorer::State& state, const HttpRequest& request, const RunRecord& run,
                      const PathParts&) {
  const Index t = step_in(request, run), position = request.number("position", 0, run.N() - 1),
              target = request.number_or("target", -1, 0, run.N() - 1);
  return npy_response(on_model(state, run, [&](const Model& model) {
    return NpyArray::of(
        target < 0 ? received_grid(model, run, t, position) : attention_grid(model, run, t, position, target),
        {run.trace.L(), run.trace.H()});
  }));
}

HttpResponse get_candidates(Explorer::State& state, const HttpRequest& request, const RunRecord& run,
                            const PathParts&) {
  const Index t = step_in(request, run), position = request.number("position", 0, run.N()),
              k = request.number_or("k", 10, 1, 1000);
  const std::vector<Candidate> candidates =
      on_model(state, run, [&](const Model& model) { return candidates_for(model, run, t, position, k); });
  Json list = Json::array();
  for (const Candidate& c : candidates)
    list.push_back(
        {{"token", c.token}, {"piece", state.piece_in(run, c.token)}, {"probability", c.probability}});
  return json_response(list);
}

}  // namespace

std::vector<Route> recompute_routes(Explorer::State& state) {
  return {about_run(state, "/attention", get_attention, {"step", "layer", "position", "head", "direction"}),
          about_run(state, "/grid", get_grid, {"step", "position", "target"}),
          about_run(state, "/candidates", get_candidates, {"step", "position", "k"})};
}

}  // namespace buoy
