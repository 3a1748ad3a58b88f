// Starting runs, watching and steering them, and forking them.
#include "buoy/serve/live_routes.h"

#include <algorithm>
#include <set>

#include <fmt/ranges.h>

#include "buoy/base/at.h"
#include "buoy/decode/sampler_json.h"
#include "buoy/engine/trace_source.h"
#include "buoy/io/json.h"
#include "buoy/serve/pinning.h"
#include "buoy/serve/run_view.h"

namespace buoy {
namespace {

constexpr Index kDefaultLength = 32;

void check_fields(const Json& json, const std::vector<std::string>& known) {
  for (const auto& [name, value] : json.items()) {
    if (std::ranges::find(known, name) == known.end())
      fail_http(400, "{} is no field here, expected {}", quote(name), fmt::join(known, ", "));
  }
}

// A list of objects or numbers; empty where the field is absent.
const Json& list_in(const JsonObject& object, const char* name) {
  static const Json kNone = Json::array();
  const Json* list = object.find(name);
  if (list == nullptr) return kNone;
  if (!list->is_array()) fail_http(400, "{} is {}, expected a list", name, kind_of(*list));
  return *list;
}

Index number_in(const Json& json, const char* what, Index low, Index high) {
  if (!json.is_number_integer()) fail_http(400, "{} is {}, expected a whole number", what, kind_of(json));
  const auto value = json.get<Index>();
  if (value < low || value > high) fail_http(400, "{} is {}, expected {} to {}", what, value, low, high);
  return value;
}

std::optional<Index> steps_in(const JsonObject& body, const char* name) {
  const Json* steps = body.find(name);
  if (steps == nullptr) return std::nullopt;
  return number_in(*steps, name, 1, 1 << 20);
}

Chat chat_in(const JsonObject& body) {
  if (!body.has("chat")) return Chat::kAuto;
  return body.boolean("chat") ? Chat::kOn : Chat::kOff;
}

std::vector<QaPassage> passages_in(const JsonObject& body) {
  std::vector<QaPassage> passages;
  for (const Json& json : list_in(body, "passages")) {
    const JsonObject passage(json, "passages");
    check_fields(json, {"title", "text"});
    passages.push_back(
        {.title = passage.string_or("title", ""), .text = passage.string("text"), .evidence = {}});
  }
  return passages;
}

void check_lengths(const Explorer::State& state, const ShelvedModel& model, const LiveRunSettings& run) {
  const ServeLimits& limits = state.settings.limits;
  const Index prompt = std::ssize(run.example.prompt.ids), length = run.sampler.gen_length;
  if (prompt < 1) fail_http(400, "the prompt is empty");
  if (prompt > limits.prompt_tokens)
    fail_http(413, "the prompt has {} tokens, expected at most {}", prompt, limits.prompt_tokens);
  if (length > limits.gen_length)
    fail_http(400, "gen_length is {}, expected at most {}", length, limits.gen_length);
  if (prompt + length > model.config().context) {
    fail_http(400, "prompt and answer have {} tokens, more than the context of {} of {}", prompt + length,
              model.config().context, model.name());
  }
  check_watchable(run.sampler, model.config(), "the explorer");
}

HttpResponse started(const LiveRun& run) {
  return json_response(Json{{"id", run.settings().id}}, 201);
}

HttpResponse post_run(Explorer::State& state, const HttpRequest& request) {
  const Json json = request.json();
  check_fields(json, {"model", "prompt", "question", "passages", "sampler", "chat", "steps_to_go"});
  const JsonObject body(json, "body");
  if (body.has("prompt") == body.has("question")) fail_http(400, "give either prompt or question");
  if (body.has("prompt") && body.has("passages"))
    fail_http(400, "passages go with a question, not with a prompt");
  const std::string what = body.has("prompt") ? "prompt" : "question";
  if (body.string(what).empty()) fail_http(400, "the {} is empty", what);
  const std::vector<std::string> names = state.models.names();
  ShelvedModel& model = state.models.find(body.string_or("model", names.empty() ? "" : names.front()));
  LiveRunSettings run;
  run.model = &model;
  run.sampler = sampler_in(body, model);
  run.steps_to_go = steps_in(body, "steps_to_go");
  if (body.has("prompt")) {
    run.example = plain_example(model.tokenizer(), body.string("prompt"),
                                choose_chat_template(model.directory(), chat_in(body)));
  } else {
    const QaItem item{
        .id = "question", .question = body.string("question"), .answers = {}, .passages = passages_in(body)};
    run = question_run(model, item, chat_in(body), std::move(run));
  }
  check_lengths(state, model, run);
  return started(*state.runs.start(std::move(run)));
}

// The prompt and what is known of it out of a record.
TraceExample example_of(const RunRecord& run) {
  const Trace& trace = run.trace;
  const auto prompt = static_cast<std::ptrdiff_t>(trace.prompt_length);
  TraceExample example;
  example.prompt.ids.assign(trace.tokens.begin(), trace.tokens.begin() + prompt);
  example.prompt.layout.regions.regions = trace.regions.regions;
  example.prompt.layout.regions.of.assign(trace.regions.of.begin(), trace.regions.of.begin() + prompt);
  example.prompt.layout.evidence.assign(trace.evidence.begin(), trace.evidence.begin() + prompt);
  for (Index p = 0; p < prompt; ++p) {
    const bool words = trace.classes[at(p)] == TokenClass::kTemplate;
    example.prompt.origins.push_back(words ? TokenOrigin::kTemplate : TokenOrigin::kText);
  }
  example.item = {.id = trace.header.sample,
                  .task = trace.header.task,
                  .question = trace.header.question,
                  .answers = trace.header.answers,
                  .passages = {}};
  return example;
}

TokenId token_in(const JsonObject& forced, const ShelvedModel& model) {
  if (forced.has("token") == forced.has("text")) fail_http(400, "force: give either token or text");
  if (forced.has("token"))
    return static_cast<TokenId>(number_in(*forced.find("token"), "token", 0, model.config().V - 1));
  const std::string text = forced.string("text");
  const std::vector<TokenId> ids = model.tokenizer().encode(text, SpecialTokens::kNone);
  if (ids.size() != 1) fail_http(400, "text {} is {} tokens, expected one", quote(text), ids.size());
  return ids.front();
}

RunChange change_in(const JsonObject& body, const RunRecord& run, Index t, const ShelvedModel& model) {
  const ModelConfig& config = model.config();
  const bool appends = config.family->writing == Writing::kAppends;
  const Index P = run.trace.prompt_length, last = run.length(t) - 1;
  RunChange change{.step = run.pass(t)};
  for (const Json& key : list_in(body, "hide_keys"))
    change.hide_keys.push_back(number_in(key, "hide_keys", 0, last));
  for (const Json& head : list_in(body, "cut_heads")) {
    if (!head.is_array() || head.size() != 2)
      fail_http(400, "cut_heads holds {}, expected [layer, head]", head.dump());
    change.cut_heads.emplace_back(number_in(head[0], "layer", 0, config.L - 1),
                                  number_in(head[1], "head", 0, config.H - 1));
  }
  for (const Json& layer : list_in(body, "pin_anchors"))
    change.pin_anchors.push_back(number_in(layer, "pin_anchors", 0, config.L - 1));
  for (const Json& json : list_in(body, "force")) {
    check_fields(json, {"position", "token", "text"});
    const JsonObject forced(json, "force");
    if (!forced.has("position")) fail_http(400, "force: position is missing");
    change.tokens.write.push_back(
        {number_in(*forced.find("position"), "position", P, last), token_in(forced, model)});
  }
  for (const Json& position : list_in(body, "remask")) {
    if (appends) fail_http(400, "remask: {} appends and has no masks", model.name());
    change.tokens.remask.push_back(number_in(position, "remask", P, last));
  }
  change.tokens.steps_left = steps_in(body, "steps_left");
  if (change.tokens.empty() && !change.changes_attention())
    fail_http(400, "nothing to change: give hide_keys, cut_heads, pin_anchors, force, remask or steps_left");
  return change;
}

SamplerSettings sampler_of(const RunRecord& run, const ShelvedModel& model) {
  const Json settings = parse_json(run.trace.header.settings, "settings");
  if (!settings.is_object() || !settings.contains("sampler"))
    fail_http(409, "run {} does not say how it was sampled", run.id);
  if (settings.contains("intervention")) fail_http(409, "run {} was made under an intervention", run.id);
  return recorded_sampler(settings["sampler"], "sampler", model.config());
}

HttpResponse post_fork(Explorer::State& state, const HttpRequest& request, const std::string& id) {
  const std::shared_ptr<const RunRecord> parent = state.runs.find(id)->record();
  const Json json = request.json();
  check_fields(json, {"step", "hide_keys", "cut_heads", "pin_anchors", "force", "remask", "steps_left",
                      "steps_to_go"});
  const JsonObject body(json, "body");
  if (!body.has("step")) fail_http(400, "step is missing");
  const ModelShelf::Match match = state.model_of(*parent);
  if (match.model == nullptr) fail_http(409, "{}", match.why);
  if (parent->S() == 0) fail_http(409, "run {} has no step yet", id);
  // After the last step something can be masked again and written anew; what appends has nothing left to do.
  const bool reopens = body.has("remask") && parent->state == RunState::kDone;
  const Index t = number_in(*body.find("step"), "step", 0, parent->S() - (reopens ? 0 : 1));
  LiveRunSettings run;
  run.model = match.model;
  run.example = example_of(*parent);
  run.sampler = sampler_of(*parent, *match.model);
  run.parent = parent;
  run.fork_step = parent->pass(t);
  run.steps_to_go = steps_in(body, "steps_to_go");
  for (const RunChange& before : parent->changes) {
    if (before.step <= *run.fork_step) run.changes.push_back(before);
  }
  run.changes.push_back(change_in(body, *parent, t, *match.model));
  check_pins(run.changes, run.sampler, match.model->config(), match.model->name());
  check_lengths(state, *match.model, run);
  return started(*state.runs.start(std::move(run)));
}

HttpResponse get_events(Explorer::State& state, const HttpRequest& request, const std::string& id) {
  const std::shared_ptr<const EventLog> log = state.runs.find_live(id)->events();
  std::string after = request.last_event_id;
  if (const auto asked = request.query.find("after"); after.empty() && asked != request.query.end())
    after = asked->second;
  std::unique_ptr<HttpStream> stream = stream_events(log, after);
  // A browser that has heard everything comes back again and again unless it is told that nothing follows.
  if (!after.empty() && !stream->next(std::chrono::milliseconds(0)))
    return {.status = 204, .type = "text/plain", .body = ""};
  HttpResponse answer{.type = "text/event-stream", .body = ""};
  answer.stream = stream_events(log, after);
  return answer;
}

HttpResponse line_of(const LiveRun& run) {
  return json_response(run_line(*run.record()));
}

HttpResponse post_go(Explorer::State& state, const HttpRequest& request, const std::string& id) {
  const Json json = request.json();
  check_fields(json, {"steps"});
  const std::shared_ptr<LiveRun> run = state.runs.find_live(id);
  run->go(steps_in(JsonObject(json, "body"), "steps"));
  return line_of(*run);
}

HttpResponse patch_run(Explorer::State& state, const HttpRequest& request, const std::string& id) {
  const Json json = request.json();
  check_fields(json, {"steps_left"});
  const std::optional<Index> steps = steps_in(JsonObject(json, "body"), "steps_left");
  if (!steps) fail_http(400, "steps_left is missing");
  const std::shared_ptr<LiveRun> run = state.runs.find_live(id);
  run->set_steps_left(*steps);
  return line_of(*run);
}

HttpResponse post_stop(Explorer::State& state, const std::string& id) {
  const std::shared_ptr<LiveRun> run = state.runs.find_live(id);
  run->stop();
  return line_of(*run);
}

HttpResponse delete_run(Explorer::State& state, const std::string& id) {
  state.runs.remove(id);
  return json_response(Json{{"id", id}});
}

}  // namespace

SamplerSettings sampler_in(const JsonObject& body, const ShelvedModel& model) {
  const Json* given = body.find("sampler");
  return sampler_from_json(given == nullptr ? Json::object() : *given, "sampler", model.config(),
                           {.gen_length = kDefaultLength}, Useless::kIgnore);
}

LiveRunSettings question_run(ShelvedModel& model, const QaItem& item, Chat chat, LiveRunSettings run) {
  const QuestionPrompt prompt = choose_prompt({.chat = chat}, model.directory());
  run.prompt_template = prompt.words.name();
  run.example = {.prompt = tokenize_prompt(model.tokenizer(), prompt.words.render(item),
                                           prompt.chat ? &*prompt.chat : nullptr),
                 .item = item};
  return run;
}

std::vector<Route> live_routes(Explorer::State& state) {
  using Request = const HttpRequest&;
  using Parts = const PathParts&;
  return {{"POST", "/runs", [&state](Request r, Parts) { return post_run(state, r); }},
          {"GET",
           "/runs/{}/events",
           [&state](Request r, Parts p) { return get_events(state, r, p[0]); },
           {"after"}},
          {"POST", "/runs/{}/stop", [&state](Request, Parts p) { return post_stop(state, p[0]); }},
          {"POST", "/runs/{}/go", [&state](Request r, Parts p) { return post_go(state, r, p[0]); }},
          {"PATCH", "/runs/{}", [&state](Request r, Parts p) { return patch_run(state, r, p[0]); }},
          {"DELETE", "/runs/{}", [&state](Request, Parts p) { return delete_run(state, p[0]); }},
          {"POST", "/runs/{}/fork", [&state](Request r, Parts p) { return post_fork(state, r, p[0]); }}};
}

}  // namespace buoy
