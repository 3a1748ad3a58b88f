// What the explorer's handlers share, and the routes, by what they are about. Private to serve.
#pragma once

#include <memory>
#include <vector>

#include "buoy/serve/explorer.h"
#include "buoy/serve/model_shelf.h"
#include "buoy/serve/run_shelf.h"

namespace buoy {

class DocumentShelf;
class TableShelf;

struct Explorer::State {
  explicit State(const ExplorerSettings& given);
  ~State();

  ExplorerSettings settings;
  bool has_recorded = false;
  ModelShelf models;
  RunShelf runs;
  std::unique_ptr<DocumentShelf> documents;
  std::unique_ptr<TableShelf> tables;
  std::vector<Route> routes;

  // The model that computed a run, or why it is not at hand.
  ModelShelf::Match model_of(const RunRecord& run);
  // The same. Throws HttpError 409 where it is not.
  ShelvedModel& need_model(const RunRecord& run);
  // The text of a token in a run, by its model or, without, by what the run itself holds.
  std::string piece_in(const RunRecord& run, TokenId id);
};

// Every path below begins with this.
inline constexpr const char* kApi = "/api/v1";

std::vector<Route> run_routes(Explorer::State& state);        // what a run holds
std::vector<Route> recompute_routes(Explorer::State& state);  // what is computed again
std::vector<Route> live_routes(Explorer::State& state);       // starting, stopping, forking
std::vector<Route> document_routes(Explorer::State& state);   // collections and questions to them
std::vector<Route> table_routes(Explorer::State& state);

// A run's place in a request: 0 … S. `layer` is the model's number; gives the index among the recorded ones.
Index step_in(const HttpRequest& request, const RunRecord& run);
Index layer_in(const HttpRequest& request, const RunRecord& run);

}  // namespace buoy
