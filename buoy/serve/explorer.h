// The explorer: runs, models, collections and tables behind one HTTP API, docs/api.md.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "buoy/engine/loaded_model.h"
#include "buoy/probe/trace.h"
#include "buoy/serve/http.h"

namespace buoy {

struct ServeLimits {
  Index prompt_tokens = 4096;
  Index gen_length = 2048;
  Index body_bytes = 1 << 20;
  Index runs = 16;                       // that are not done, at once
  Index history = 128;                   // runs that are remembered; the oldest that are over go first
  Index history_bytes = Index{4} << 30;  // that they take in memory; the same
  Index streams = 64;                    // of events, at once
};

struct ExplorerSettings {
  std::vector<std::filesystem::path> traces;            // files, or folders of them
  std::vector<std::pair<std::string, Trace>> recorded;  // beside them: name and trace
  std::vector<std::filesystem::path> tables;            // CSV files, or folders of them
  std::vector<std::string> models;                      // that visitors may run; empty: none
  ModelSettings model;                                  // device and places of all of them
  std::filesystem::path collections;                    // the folder they lie in; empty: none are kept
  ServeLimits limits;
};

// Any thread may ask. Nothing that a visitor sends ends it.
class Explorer {
 public:
  // Reads the traces and tables. Throws Error for one that is none, and for a model that is not there.
  explicit Explorer(const ExplorerSettings& settings);
  ~Explorer();
  Explorer(const Explorer&) = delete;
  Explorer& operator=(const Explorer&) = delete;

  // The page, and everything under /api/v1. Does not throw.
  HttpResponse answer(const HttpRequest& request);

  // Ends all runs that are under way; returns when they have ended.
  void stop();

  // Everything that is answered: "GET", "/api/v1/runs/{}", what its query may hold.
  const std::vector<Route>& routes() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace buoy
