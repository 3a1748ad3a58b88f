// The models of a server: each loaded when it is first needed, and used by one caller at a time, in turn.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "buoy/engine/loaded_model.h"
#include "buoy/engine/tracing_model.h"
#include "buoy/serve/turns.h"

namespace buoy {

// One model. Its name, sizes and tokenizer are there at once; its weights after load(). Any thread; who
// computes with loaded() must have the turn.
class ShelvedModel {
 public:
  // Throws Error for a checkpoint that is not there or cannot be read.
  explicit ShelvedModel(const ModelSettings& settings);

  const std::string& name() const { return found_.name; }
  const std::filesystem::path& directory() const { return found_.directory; }
  const ModelConfig& config() const { return config_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }

  TurnLine& turns() { return turns_; }
  // Only on one's turn. Reads the weights the first time. Throws Error.
  const LoadedModel& loaded();
  // Of config and weights; as a trace's header has it. Reads parts of the checkpoint the first time.
  const std::string& hash();

  // A token as a label: "[mask]" for masks, U+FFFD for ids beyond the tokenizer's.
  std::string piece(TokenId id) const;

 private:
  ModelSettings settings_;
  FoundModel found_;
  ModelConfig config_;
  Tokenizer tokenizer_;
  TurnLine turns_;
  std::optional<LoadedModel> loaded_;
  std::mutex hash_mutex_;
  std::string hash_;
};

// Any thread. What find() gives lives as long as the shelf.
class ModelShelf {
 public:
  // Opens every model that is named; `base` says device and places.
  ModelShelf(const std::vector<std::string>& models, const ModelSettings& base);

  // The names that users may choose from, in the order they were given.
  std::vector<std::string> names() const;
  // Throws HttpError 404 naming those that there are.
  ShelvedModel& find(const std::string& name);
  // The model with that hash: one of those named, else what lies under that name. Nothing, and why, where
  // there is none.
  struct Match {
    ShelvedModel* model = nullptr;
    std::string why;
  };
  Match match(const std::string& name, const std::string& hash);

 private:
  ModelSettings base_;
  std::vector<std::unique_ptr<ShelvedModel>> named_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<ShelvedModel>> others_;  // by name; opened for traces
  std::map<std::string, Match> matches_;                         // by hash and name
};

}  // namespace buoy
