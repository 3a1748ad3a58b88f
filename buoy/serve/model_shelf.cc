#include "buoy/serve/model_shelf.h"

#include <fmt/ranges.h>

#include "buoy/io/json.h"
#include "buoy/model/fingerprint.h"
#include "buoy/serve/http.h"
#include "buoy/text/utf8.h"

namespace buoy {

ShelvedModel::ShelvedModel(const ModelSettings& settings)
    : settings_(settings),
      found_(find_model(settings.model, settings.places)),
      config_(read_model_config(found_.directory, settings.family)),
      tokenizer_(Tokenizer::load(found_.directory)) {}

const LoadedModel& ShelvedModel::loaded() {
  if (!loaded_) loaded_.emplace(settings_);
  return *loaded_;
}

const std::string& ShelvedModel::hash() {
  const std::lock_guard lock(hash_mutex_);
  if (hash_.empty()) hash_ = fingerprint_model(found_.directory, Checkpoint::open(found_.directory));
  return hash_;
}

std::string ShelvedModel::piece(TokenId id) const {
  if (id == config_.mask_id) return "[mask]";
  return tokenizer_.contains(id) ? tokenizer_.token_text(id) : std::string(kReplacementCharacter);
}

ModelShelf::ModelShelf(const std::vector<std::string>& models, const ModelSettings& base) : base_(base) {
  for (const std::string& model : models) {
    ModelSettings settings = base_;
    settings.model = model;
    named_.push_back(std::make_unique<ShelvedModel>(settings));
    for (std::size_t i = 0; i + 1 < named_.size(); ++i) {
      if (named_[i]->name() == named_.back()->name())
        fail_usage("two models are called {}, expected each once", named_.back()->name());
    }
  }
}

std::vector<std::string> ModelShelf::names() const {
  std::vector<std::string> names;
  for (const auto& model : named_) names.push_back(model->name());
  return names;
}

ShelvedModel& ModelShelf::find(const std::string& name) {
  for (const auto& model : named_) {
    if (model->name() == name) return *model;
  }
  fail_http(404, "model {} is not here, expected {}", quote(name),
            named_.empty() ? "none: the server was started without models"
                           : fmt::format("{}", fmt::join(names(), ", ")));
}

ModelShelf::Match ModelShelf::match(const std::string& name, const std::string& hash) {
  const std::lock_guard lock(mutex_);
  const std::string key = hash + " " + name;
  if (const auto found = matches_.find(key); found != matches_.end()) return found->second;
  Match match;
  for (const auto& model : named_) {
    if (model->hash() == hash) match.model = model.get();
  }
  if (match.model == nullptr) {
    try {
      auto& other = others_[name];
      ModelSettings settings = base_;
      settings.model = name;
      if (!other) other = std::make_unique<ShelvedModel>(settings);
      if (other->hash() == hash) match.model = other.get();
      if (match.model == nullptr)
        match.why = fmt::format("the model {} at hand is not the one that was recorded", name);
    } catch (const Error& error) {
      match.why = fmt::format("the model {} is not at hand: {}", name, error.what());
    }
  }
  return matches_[key] = match;
}

}  // namespace buoy
