// Runs of bundled models through the explorer: live ones are the traces of the same question, forks are the
// same before their step, and everyone is served.
#include "buoy/serve/explorer.h"

#include <set>
#include <thread>

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "buoy/base/at.h"
#include "buoy/base/testing.h"
#include "buoy/engine/tracing_model.h"
#include "buoy/io/json.h"
#include "buoy/io/test_support.h"
#include "buoy/probe/trace_arrays.h"
#include "buoy/serve/explorer_testing.h"
#include "buoy/serve/live_run.h"
#include "buoy/serve/standalone_page.h"

namespace buoy {
namespace {

TEST(LiveRuns, AreTheTraceOfTheSameQuestion) {
  const TempDir dir;
  Visitor visitor(pair_settings(dir));
  for (const char* name : {"mini-mdm", "mini-arm"}) {
    const std::string id = visitor.start(small_body(name, 4));
    const Json run = visitor.done(id);
    SamplerSettings sampler{.gen_length = 8};
    if (std::string(name) == "mini-mdm") sampler.steps = 4;
    const TracingModel model(
        {.model = name, .device = {.device = Device::kCpu, .threads = 1}, .places = kPlaces}, sampler, {}, {},
        nullptr);
    const QaItem item = small_item();
    const Trace trace = model.trace({&item, 1}, {})[0];
    EXPECT_EQ(run["tokens"].get<std::vector<TokenId>>(), trace.tokens) << name;
    EXPECT_EQ(run["answer"], trace.header.output) << name;
    for (const TraceArray& array : trace_arrays()) {
      array.visit(trace, [&](const auto& values) {
        if (values.empty()) return;
        const NpyArray got = visitor.array("/runs/" + id + "/arrays/" + std::string(array.name));
        const std::vector<double> numbers = got.as_doubles();
        ASSERT_EQ(numbers.size(), values.size()) << array.name;
        for (std::size_t i = 0; i < numbers.size(); ++i)
          ASSERT_EQ(numbers[i], static_cast<double>(static_cast<float>(values[i])))
              << name << " " << array.name;
      });
    }
  }
}

// Or whoever watches from the first step on would have to load the run again for it.
TEST(LiveRuns, HaveTheirLengthBeforeTheirFirstStep) {
  const TempDir dir;
  Visitor visitor(pair_settings(dir));
  const std::string id = visitor.start(small_body("mini-mdm", 4));
  const Json before = visitor.json("GET", "/runs/" + id);
  EXPECT_EQ(before["tokens"].size(), before["prompt_length"].get<std::size_t>() + 8);
  EXPECT_EQ(visitor.array("/runs/" + id + "/steps/tokens").shape.back(), std::ssize(before["tokens"]));
  EXPECT_EQ(visitor.wait(id, "done")["tokens"].size(), before["tokens"].size());
}

TEST(LiveRuns, StopStepByStepAndGoOnToTheSameEnd) {
  const TempDir dir;
  Visitor visitor(pair_settings(dir));
  const Json whole = visitor.done(visitor.start(small_body("mini-mdm", 8)));
  Json body = small_body("mini-mdm", 8);
  body["steps_to_go"] = 2;
  const std::string id = visitor.start(body);
  const Json stopped = visitor.wait(id, "stopped");
  EXPECT_EQ(stopped["steps"], 2);
  EXPECT_EQ(visitor.array("/runs/" + id + "/arrays/received").shape.front(), 2);
  EXPECT_EQ(visitor.array("/runs/" + id + "/steps/guesses").shape.front(), 2);
  EXPECT_EQ(visitor.ask("GET", "/runs/" + id + "/arrays/finished_received").status, 404);
  visitor.ask("POST", "/runs/" + id + "/go", {{"steps", 1}});
  for (int i = 0; i < 4000 && visitor.json("GET", "/runs/" + id)["steps"] != 3; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  visitor.wait(id, "stopped");
  visitor.ask("POST", "/runs/" + id + "/go", {{"steps", nullptr}});
  EXPECT_EQ(visitor.done(id)["tokens"], whole["tokens"]);
  EXPECT_EQ(visitor.ask("POST", "/runs/" + id + "/go").status, 409) << "it is over";
}

TEST(LiveRuns, TakeOtherStepsForWhatIsLeft) {
  const TempDir dir;
  Visitor visitor(pair_settings(dir));
  Json body = small_body("mini-mdm", 8);
  body["steps_to_go"] = 2;
  const std::string id = visitor.start(body);
  visitor.wait(id, "stopped");
  EXPECT_EQ(visitor.ask("PATCH", "/runs/" + id, {{"steps_left", 3}}).status, 200);
  visitor.ask("POST", "/runs/" + id + "/go");
  const Json run = visitor.done(id);
  EXPECT_EQ(run["steps"], 5);
  EXPECT_EQ(run["changes"][0]["steps_left"], 3);
  // A fork of it repeats the change before its own step.
  const Json fork = visitor.json("POST", "/runs/" + id + "/fork", {{"step", 4}, {"hide_keys", {3}}});
  EXPECT_EQ(visitor.done(fork["id"].get<std::string>())["steps"], 5);
}

TEST(Forks, AreTheSameBitsBeforeTheirStepAndFollowTheChangeAfterIt) {
  const TempDir dir;
  Visitor visitor(pair_settings(dir));
  const std::string parent = visitor.start(small_body("mini-mdm", 8));
  const Json before = visitor.done(parent);
  const Index P = before["prompt_length"].get<Index>(), key = 2;
  const std::string fork =
      visitor
          .json("POST", "/runs/" + parent + "/fork",
                {{"step", 3}, {"hide_keys", {key}}, {"force", {{{"position", P + 7}, {"token", 100}}}}})["id"]
          .get<std::string>();
  const Json after = visitor.done(fork);
  EXPECT_EQ(after["parent"], parent);
  EXPECT_EQ(after["fork_step"], 3);
  EXPECT_EQ(after["tokens"][at(P + 7)], 100);
  EXPECT_EQ(after["commit_step"][7], -1);
  for (const char* name : {"received", "received_read", "step_tokens", "flow"})
    expect_same_before(visitor, parent, fork, 3, name);
  const NpyArray received = visitor.array("/runs/" + fork + "/arrays/received");
  const std::vector<float> values = received.as_floats();
  const Index L = received.shape[1], N = received.shape[2];
  for (Index t = 0; t < received.shape[0]; ++t) {
    const float share = values[at((t * L + 5) * N + key)];
    EXPECT_EQ(share == 0.0f, t >= 3) << "a hidden key receives nothing, step " << t;
  }
  const auto row = visitor.array("/runs/" + fork + "/attention",
                                 {{"step", "4"}, {"layer", "5"}, {"head", "mean"}, {"position", "9"}});
  EXPECT_EQ(row.as_floats()[at(key)], 0.0f) << "what is computed again is under the change too";
}

TEST(Forks, OfARecordedTraceRepeatItAndPutMasksBack) {
  const TempDir dir;
  const TracingModel model(
      {.model = "mini-mdm", .device = {.device = Device::kCpu, .threads = 1}, .places = kPlaces},
      {.gen_length = 8, .steps = 4}, {}, {}, nullptr);
  const QaItem item = small_item();
  const Trace trace = model.trace({&item, 1}, {})[0];
  write_trace(dir / "t.npz", trace);
  ExplorerSettings settings = pair_settings(dir);
  settings.traces = {dir / "t.npz"};
  settings.models = {};
  Visitor visitor(settings);
  const Json run = visitor.json("GET", "/runs/t");
  EXPECT_TRUE(run["can_recompute"].get<bool>()) << "the bundled model is found by its hash";
  const Index P = trace.prompt_length;
  const Json fork = visitor.json("POST", "/runs/t/fork", {{"step", 4}, {"remask", {P, P + 1}}});
  const Json again = visitor.done(fork["id"].get<std::string>());
  EXPECT_EQ(again["steps"], 5) << "one more step, after the last";
  EXPECT_EQ(again["commit_step"][0], 4);
  EXPECT_EQ(again["tokens"][at(P + 2)], trace.tokens[at(P + 2)]);
  EXPECT_EQ(visitor.ask("POST", "/runs/t/stop").status, 409) << "what was recorded does not go on";
}

TEST(LiveRuns, ManyVisitorsAreServedInTurnAndGetWhatEachAskedFor) {
  const TempDir dir;
  Visitor visitor(pair_settings(dir));
  const Json alone = visitor.done(visitor.start(small_body("mini-mdm", 8)));
  std::vector<std::string> ids;
  for (int i = 0; i < 10; ++i) ids.push_back(visitor.start(small_body("mini-mdm", 8)));
  for (const std::string& id : ids) EXPECT_EQ(visitor.done(id)["tokens"], alone["tokens"]);
}

// Steps of several visitors in the order in which they were computed: nobody gets a second while another
// waits for his first.
TEST(LiveRuns, OfTenVisitorsNoneIsStepsAheadOfTheOthers) {
  const TempDir dir;
  Visitor visitor(pair_settings(dir));
  constexpr int kVisitors = 10, kSteps = 8;
  Json body = small_body("mini-mdm", kSteps);
  body["steps_to_go"] = 1;
  std::vector<std::string> ids;
  for (int i = 0; i < kVisitors; ++i) ids.push_back(visitor.start(body));
  for (const std::string& id : ids) visitor.wait(id, "stopped");
  for (const std::string& id : ids) visitor.ask("POST", "/runs/" + id + "/go");
  std::vector<std::pair<double, std::string>> steps;  // when, whose
  for (const std::string& id : ids) {
    visitor.done(id);
    const HttpResponse answer = visitor.ask("GET", "/runs/" + id + "/events");
    std::string events;
    while (const auto text = answer.stream->next(std::chrono::milliseconds(100))) events += *text;
    for (std::size_t at = events.find("\"computed\":"); at != events.npos;
         at = events.find("\"computed\":", at + 1))
      steps.emplace_back(std::stod(events.substr(at + 11)), id);
  }
  ASSERT_EQ(steps.size(), std::size_t{kVisitors * kSteps});
  std::ranges::sort(steps);
  std::map<std::string, int> taken;
  for (const auto& [when, id] : steps) {
    ++taken[id];
    if (taken.size() < kVisitors || taken[id] < 4) continue;  // the go-aheads come one after the other
    int least = kSteps;
    for (const auto& [other, count] : taken) least = std::min(least, count);
    EXPECT_LE(taken[id], least + 3) << id << " runs ahead";
  }
}

TEST(LiveRuns, TooManyAreRefusedAndTheOldestAreForgotten) {
  const TempDir dir;
  ExplorerSettings settings = pair_settings(dir);
  settings.limits.runs = 2;
  settings.limits.history = 3;
  Visitor visitor(settings);
  Json body = small_body("mini-mdm", 4);
  body["steps_to_go"] = 1;
  const std::string a = visitor.start(body), b = visitor.start(body);
  EXPECT_EQ(visitor.ask("POST", "/runs", body).status, 429);
  EXPECT_EQ(visitor.ask("DELETE", "/runs/" + a).status, 200);
  EXPECT_EQ(visitor.ask("GET", "/runs/" + a).status, 404);
  visitor.ask("POST", "/runs/" + b + "/go");
  visitor.done(b);
  std::set<std::string> left;
  for (int i = 0; i < 4; ++i) visitor.done(visitor.start(small_body("mini-mdm", 1)));
  EXPECT_EQ(visitor.json("GET", "/runs").size(), 3u);
  EXPECT_EQ(visitor.ask("GET", "/runs/" + b).status, 404);
}

// Long runs take much more than short ones: what is remembered is limited in bytes too.
TEST(LiveRuns, AreForgottenWhereTheyTakeTooMuch) {
  const TempDir dir;
  ExplorerSettings settings = pair_settings(dir);
  settings.limits.history_bytes = 1;
  Visitor visitor(settings);
  const std::string a = visitor.start(small_body("mini-mdm", 1));
  visitor.done(a);
  const std::string b = visitor.start(small_body("mini-mdm", 1));
  visitor.done(b);
  EXPECT_EQ(visitor.ask("GET", "/runs/" + a).status, 404);
  EXPECT_EQ(visitor.ask("GET", "/runs/" + b).status, 200) << "the newest stays";
}

// What a trace holds with --per-head is what the model says of one that was recorded without.
TEST(Grids, AreWhatWasRecordedOfSingleHeads) {
  const TempDir dir;
  Visitor visitor(pair_settings(dir));
  for (const char* name : {"mini-mdm", "mini-arm"}) {
    const std::string id = visitor.start(small_body(name, 4));
    visitor.done(id);
    const NpyArray heads = visitor.array("/runs/" + id + "/arrays/received_heads");
    const std::vector<float> recorded = heads.as_floats();
    const Index L = heads.shape[1], H = heads.shape[2], N = heads.shape[3];
    for (const Index t : {Index{0}, heads.shape[0] - 1}) {
      for (const Index position : {Index{0}, Index{7}}) {
        const auto grid = visitor.array(
            "/runs/" + id + "/grid", {{"step", std::to_string(t)}, {"position", std::to_string(position)}});
        ASSERT_EQ(grid.shape, (std::vector<Index>{L, H}));
        const std::vector<float> values = grid.as_floats();
        for (Index i = 0; i < L * H; ++i)
          EXPECT_NEAR(values[at(i)], recorded[at((t * L * H + i) * N + position)], 1e-6)
              << name << " step " << t;
      }
    }
  }
}

TEST(Requests, ThatMakeNoSenseAreToldSoInOneLine) {
  const TempDir dir;
  ExplorerSettings settings = pair_settings(dir);
  settings.limits.prompt_tokens = 40;
  Visitor visitor(settings);
  const auto status = [&](const Json& body) { return visitor.ask("POST", "/runs", body).status; };
  EXPECT_EQ(status({{"model", "gpt"}, {"prompt", "x"}}), 404);
  EXPECT_EQ(status({{"model", "mini-mdm"}}), 400);
  EXPECT_EQ(status({{"prompt", "x"}, {"question", "y"}}), 400);
  EXPECT_EQ(status({{"prompt", "x"}, {"promt", "y"}}), 400);
  EXPECT_EQ(status({{"prompt", ""}}), 400);
  EXPECT_EQ(status({{"prompt", std::string(1000, 'x')}}), 413);
  EXPECT_EQ(status({{"prompt", "x"}, {"sampler", {{"gen_length", 100000}}}}), 400);
  EXPECT_EQ(status({{"prompt", "x"}, {"sampler", {{"steps", 0}}}}), 400);
  EXPECT_EQ(status({{"prompt", "x"}, {"sampler", {{"cache", "dual"}}}}), 400);
  EXPECT_EQ(status({{"prompt", 7}}), 422);
  EXPECT_EQ(visitor.explorer().answer({.method = "POST", .path = "/api/v1/runs", .body = "{"}).status, 400);
  EXPECT_EQ(visitor.explorer().answer({.method = "POST", .path = "/api/v1/runs", .body = "[]"}).status, 400);
  const std::string id = visitor.start({{"prompt", "Hello"}, {"sampler", {{"gen_length", 4}}}});
  visitor.done(id);
  const auto fork = [&](const Json& body) {
    return visitor.ask("POST", "/runs/" + id + "/fork", body).status;
  };
  EXPECT_EQ(fork({{"step", 0}}), 400) << "nothing to change";
  EXPECT_EQ(fork({{"step", 4}, {"hide_keys", {0}}}), 400) << "no such step";
  EXPECT_EQ(fork({{"step", 0}, {"hide_keys", {999}}}), 400);
  EXPECT_EQ(fork({{"step", 0}, {"cut_heads", {{99, 0}}}}), 400);
  EXPECT_EQ(fork({{"step", 0}, {"force", {{{"position", 0}, {"token", 5}}}}}), 400) << "the prompt";
  EXPECT_EQ(fork({{"step", 0}, {"force", {{{"position", 4}, {"text", "several words here"}}}}}), 400);
}

TEST(Questions, AreAnsweredByEveryModelFromTheDocumentsAsTheyStand) {
  const TempDir dir;
  Visitor visitor(pair_settings(dir));
  EXPECT_EQ(visitor.ask("POST", "/collections", {{"name", "towns"}}).status, 201);
  visitor.ask("PUT", "/collections/towns/documents/halford",
              {{"title", "Halford"}, {"text", "The mayor of Halford is Tor Banor."}});
  visitor.ask("PUT", "/collections/towns/documents/far/away", {{"text", "Nothing of the kind."}});
  EXPECT_EQ(visitor.json("GET", "/collections/towns/documents/far/away")["version"], 1);
  const Json asked = visitor.json(
      "POST", "/collections/towns/ask",
      {{"question", "Who serves as mayor of Halford?"}, {"k", 2}, {"sampler", {{"gen_length", 8}}}});
  ASSERT_EQ(asked["runs"].size(), 2u);
  EXPECT_EQ(asked["passages"][0]["id"], "halford");
  for (const Json& id : asked["runs"]) {
    const Json run = visitor.done(id.get<std::string>());
    EXPECT_EQ(run["ask"], "towns/ask-1");
    EXPECT_EQ(std::ranges::count(run["regions"], Json("Doc1")) > 0, true)
        << "the passage stands in the prompt";
    EXPECT_EQ(visitor.array("/runs/" + id.get<std::string>() + "/arrays/answer_mass").shape[0],
              run["commit_step"].size());
  }
  EXPECT_EQ(visitor.ask("POST", "/collections/towns/ask", {{"question", "x"}, {"k", 99}}).status, 400);
  EXPECT_EQ(visitor.ask("DELETE", "/collections/towns/documents/halford").status, 200);
  EXPECT_EQ(visitor.ask("GET", "/collections/towns/documents/halford").status, 404);
  const std::string log = visitor.ask("GET", "/collections/towns/log").body;
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 4);
}

TEST(StandalonePage, HoldsTheRunAndNothingThatWouldBeFetched) {
  const TempDir dir;
  const TracingModel model(
      {.model = "mini-arm", .device = {.device = Device::kCpu, .threads = 1}, .places = kPlaces},
      {.gen_length = 4}, {}, {}, nullptr);
  QaItem item = small_item();
  item.question = "Who is </script><script>alert(1)</script>?";
  write_trace(dir / "t.npz", model.trace({&item, 1}, {})[0]);
  ExplorerSettings settings = pair_settings(dir);
  settings.traces = {dir / "t.npz"};
  const std::string page = standalone_page(settings);
  EXPECT_EQ(page.find("src=\""), std::string::npos);
  EXPECT_EQ(page.find("alert(1)"), std::string::npos);
  EXPECT_NE(page.find("\"/api/v1/runs/t/arrays/received\":\"gz:"), std::string::npos);
  EXPECT_NE(page.find("\"/api/v1/runs/t/flow?step=0&layer=0\":"), std::string::npos);
}

// docs/openapi.json and the routes are one list, with what stands in their queries.
TEST(Api, EveryPathIsInTheDocumentAndNoOther) {
  const TempDir dir;
  const Explorer explorer(pair_settings(dir));
  std::set<std::string> routes, documented;
  const auto line = [](const std::string& method, const std::string& pattern,
                       const std::set<std::string>& query) {
    return fmt::format("{} {} {}", method, pattern, fmt::join(query, ","));
  };
  for (const Route& route : explorer.routes()) {
    if (route.pattern.starts_with("/api/"))
      routes.insert(line(route.method, route.pattern, {route.query.begin(), route.query.end()}));
  }
  const Json json = read_json_file(source_path("docs/openapi.json"));
  for (const auto& [path, methods] : json["paths"].items()) {
    std::string pattern;
    for (std::size_t i = 0; i < path.size(); ++i) {
      if (path[i] != '{') {
        pattern += path[i];
        continue;
      }
      const std::size_t end = path.find('}', i);
      const bool document = path.substr(i, end - i) == "{document";
      pattern += document ? "{*}" : "{}";
      i = end;
    }
    for (const auto& [method, what] : methods.items()) {
      std::string upper = method;
      for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      std::set<std::string> query;
      for (const Json& parameter : what.value("parameters", Json::array()))
        if (parameter["in"] == "query") query.insert(parameter["name"].get<std::string>());
      documented.insert(line(upper, "/api/v1" + pattern, query));
    }
  }
  EXPECT_EQ(routes, documented);
}

}  // namespace
}  // namespace buoy
