// A visitor of an explorer of two bundled models, for tests: asks without a socket, and waits.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "buoy/base/at.h"
#include "buoy/base/testing.h"
#include "buoy/io/json.h"
#include "buoy/io/npz.h"
#include "buoy/io/test_support.h"
#include "buoy/serve/explorer.h"

namespace buoy {

inline const Places kPlaces{.share = source_path("."), .hub_cache = {}};

inline ExplorerSettings pair_settings(const TempDir& dir) {
  return {.traces = {},
          .tables = {},
          .models = {"mini-mdm", "mini-arm"},
          .model = {.device = {.device = Device::kCpu, .threads = 1}, .places = kPlaces},
          .collections = dir / "collections",
          .limits = {}};
}

inline QaItem small_item() {
  return {.id = "question",
          .question = "Who serves as mayor of Halford?",
          .answers = {},
          .passages = {{.title = "Halford", .text = "The mayor of Halford is Tor Banor.", .evidence = {}},
                       {.title = "Dunmere", .text = "Dunmere is a small town.", .evidence = {}}}};
}

inline Json small_body(const std::string& model, Index steps) {
  Json sampler = {{"gen_length", 8}};
  if (model == "mini-mdm") sampler["steps"] = steps;
  return {{"model", model},
          {"question", "Who serves as mayor of Halford?"},
          {"passages",
           {{{"title", "Halford"}, {"text", "The mayor of Halford is Tor Banor."}},
            {{"title", "Dunmere"}, {"text", "Dunmere is a small town."}}}},
          {"sampler", sampler}};
}

class Visitor {
 public:
  explicit Visitor(const ExplorerSettings& settings) : explorer_(settings) {}
  ~Visitor() { explorer_.stop(); }

  HttpResponse ask(const std::string& method, const std::string& path, const Json& body = nullptr,
                   const std::map<std::string, std::string>& query = {}) {
    return explorer_.answer({.method = method,
                             .path = "/api/v1" + path,
                             .query = query,
                             .body = body.is_null() ? std::string() : body.dump()});
  }
  Json json(const std::string& method, const std::string& path, const Json& body = nullptr,
            const std::map<std::string, std::string>& query = {}) {
    return parse_json(ask(method, path, body, query).body, path);
  }
  NpyArray array(const std::string& path, const std::map<std::string, std::string>& query = {}) {
    const HttpResponse answer = ask("GET", path, nullptr, query);
    EXPECT_EQ(answer.status, 200) << path << ": " << answer.body;
    return parse_npy(std::as_bytes(std::span(answer.body)), path);
  }
  std::string start(const Json& body) { return json("POST", "/runs", body)["id"].get<std::string>(); }
  // Waits until the run is in that state; gives what is then said of it.
  Json wait(const std::string& id, const std::string& state) {
    for (int i = 0; i < 6000; ++i) {
      const Json run = json("GET", "/runs/" + id);
      if (run["state"] == state) return run;
      if (run["state"] == "failed") ADD_FAILURE() << run["error"];
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ADD_FAILURE() << id << " never was " << state;
    return {};
  }
  Json done(const std::string& id) { return wait(id, "done"); }
  Explorer& explorer() { return explorer_; }

 private:
  Explorer explorer_;
};

// Rows 0 … t - 1 of an array of steps are the same bits.
inline void expect_same_before(Visitor& visitor, const std::string& a, const std::string& b, Index t,
                               const char* name) {
  const NpyArray first = visitor.array("/runs/" + a + "/arrays/" + name),
                 second = visitor.array("/runs/" + b + "/arrays/" + name);
  const std::size_t row = first.bytes.size() / at(first.shape.front());
  ASSERT_EQ(row, second.bytes.size() / at(second.shape.front()));
  EXPECT_TRUE(std::equal(first.bytes.begin(), first.bytes.begin() + static_cast<std::ptrdiff_t>(row * at(t)),
                         second.bytes.begin()))
      << name;
}

}  // namespace buoy
