// Collections: documents in and out, and questions that every model answers from them.
#include "buoy/engine/long_prompts.h"
#include "buoy/io/json.h"
#include "buoy/serve/document_shelf.h"
#include "buoy/serve/live_routes.h"

namespace buoy {
namespace {

constexpr Index kDefaultPassages = 5, kMostPassages = 20;

DocumentShelf& need_documents(Explorer::State& state) {
  if (!state.documents)
    fail_http(409, "the server keeps no collections: it was started without a folder for them");
  return *state.documents;
}

Json document_json(const std::string& id, const LiveDocument& document) {
  return {{"id", id}, {"title", document.title}, {"text", document.text}, {"version", document.version}};
}

HttpResponse list_collections(Explorer::State& state) {
  Json list = Json::array();
  if (!state.documents) return json_response(list);
  for (const std::string& name : state.documents->names()) {
    const LiveCollection& collection = state.documents->find(name);
    list.push_back(
        {{"name", name}, {"documents", collection.all().size()}, {"questions", collection.questions()}});
  }
  return json_response(list);
}

HttpResponse post_collection(Explorer::State& state, const HttpRequest& request) {
  const Json json = request.json();
  const std::string name = JsonObject(json, "body").string("name");
  need_documents(state).make(name);
  return json_response(Json{{"name", name}}, 201);
}

HttpResponse list_documents(Explorer::State& state, const std::string& name) {
  Json list = Json::array();
  for (const auto& [id, document] : need_documents(state).find(name).all())
    list.push_back(document_json(id, document));
  return json_response(list);
}

HttpResponse get_document(Explorer::State& state, const PathParts& parts) {
  const std::optional<LiveDocument> found = need_documents(state).find(parts[0]).get(parts[1]);
  if (!found) fail_http(404, "document {} is not here", quote(parts[1]));
  return json_response(document_json(parts[1], *found));
}

HttpResponse put_document(Explorer::State& state, const HttpRequest& request, const PathParts& parts) {
  const Json json = request.json();
  const JsonObject body(json, "body");
  LiveCollection& collection = need_documents(state).find(parts[0]);
  const Index version = collection.put(parts[1], body.string_or("title", ""), body.string("text"));
  return json_response(Json{{"id", parts[1]}, {"version", version}});
}

HttpResponse delete_document(Explorer::State& state, const PathParts& parts) {
  if (!need_documents(state).find(parts[0]).remove(parts[1]))
    fail_http(404, "document {} is not here", quote(parts[1]));
  return json_response(Json{{"id", parts[1]}});
}

// As many of the passages as fit the model, the last one cut where that helps.
LiveRunSettings fitting_run(const Explorer::State& state, ShelvedModel& model, const QaItem& item,
                            const LiveRunSettings& base) {
  const Index room =
      std::min(state.settings.limits.prompt_tokens, model.config().context - base.sampler.gen_length);
  const auto run_with = [&](const std::vector<QaPassage>& passages) {
    QaItem asked = item;
    asked.passages = passages;
    return question_run(model, asked, Chat::kAuto, base);
  };
  const auto fits = [&](const std::vector<QaPassage>& passages) {
    return std::ssize(run_with(passages).example.prompt.ids) <= room;
  };
  const auto cut = cut_to_fit(item.passages, fits);
  if (!cut)
    fail_http(413, "the question alone is too long for {}, which has room for {} tokens", model.name(), room);
  return run_with(*cut);
}

std::vector<std::string> models_in(Explorer::State& state, const JsonObject& body) {
  const Json* given = body.find("models");
  if (given == nullptr) return state.models.names();
  if (!given->is_array()) fail_http(400, "models is {}, expected a list", kind_of(*given));
  std::vector<std::string> names;
  for (const Json& name : *given) {
    if (!name.is_string()) fail_http(400, "models holds {}, expected names", kind_of(name));
    names.push_back(state.models.find(name.get<std::string>()).name());
  }
  return names;
}

HttpResponse post_ask(Explorer::State& state, const HttpRequest& request, const std::string& name) {
  LiveCollection& collection = need_documents(state).find(name);
  const Json json = request.json();
  const JsonObject body(json, "body");
  const std::vector<std::string> models = models_in(state, body);
  const Index k = body.integer_or("k", kDefaultPassages);
  if (k < 0 || k > kMostPassages) fail_http(400, "k is {}, expected 0 to {}", k, kMostPassages);
  std::vector<SamplerSettings> samplers;  // before anything is logged
  for (const std::string& model : models) samplers.push_back(sampler_in(body, state.models.find(model)));
  const std::string question = body.string("question");
  const LiveCollection::Asked asked = collection.ask(question, k);
  QaItem item{.id = asked.id, .question = question, .answers = {}, .passages = {}};
  Json passages = Json::array();
  for (const auto& passage : asked.passages) {
    item.passages.push_back({.title = passage.document.title,
                             .text = passage.document.text,
                             .evidence = {},
                             .id = passage.id,
                             .score = passage.score});
    Json shown = document_json(passage.id, passage.document);
    shown["score"] = passage.score;
    passages.push_back(std::move(shown));
  }
  Json runs = Json::array();
  for (std::size_t i = 0; i < models.size(); ++i) {
    ShelvedModel& model = state.models.find(models[i]);
    LiveRunSettings base;
    base.model = &model;
    base.sampler = samplers[i];
    base.ask = name + "/" + asked.id;
    runs.push_back(state.runs.start(fitting_run(state, model, item, base))->settings().id);
  }
  return json_response(Json{{"id", asked.id}, {"runs", runs}, {"passages", passages}}, 201);
}

HttpResponse get_log(Explorer::State& state, const std::string& name) {
  return {.type = "text/plain; charset=utf-8", .body = need_documents(state).find(name).log()};
}

}  // namespace

std::vector<Route> document_routes(Explorer::State& state) {
  using Request = const HttpRequest&;
  using Parts = const PathParts&;
  return {
      {"GET", "/collections", [&state](Request, Parts) { return list_collections(state); }},
      {"POST", "/collections", [&state](Request r, Parts) { return post_collection(state, r); }},
      {"GET", "/collections/{}/documents",
       [&state](Request, Parts p) { return list_documents(state, p[0]); }},
      {"GET", "/collections/{}/documents/{*}", [&state](Request, Parts p) { return get_document(state, p); }},
      {"PUT", "/collections/{}/documents/{*}",
       [&state](Request r, Parts p) { return put_document(state, r, p); }},
      {"DELETE", "/collections/{}/documents/{*}",
       [&state](Request, Parts p) { return delete_document(state, p); }},
      {"POST", "/collections/{}/ask", [&state](Request r, Parts p) { return post_ask(state, r, p[0]); }},
      {"GET", "/collections/{}/log", [&state](Request, Parts p) { return get_log(state, p[0]); }}};
}

}  // namespace buoy
