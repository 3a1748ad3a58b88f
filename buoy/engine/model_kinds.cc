#include "buoy/engine/model_kinds.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "buoy/base/error.h"

namespace buoy {
namespace {

const NamedModel& member_of(std::span<const NamedModel> models, const ModelKind& kind,
                            const std::string& wanted) {
  for (const NamedModel& model : models) {
    if (model.given == wanted || model.name == wanted) return model;
  }
  std::vector<std::string> names;
  for (const NamedModel& model : models) names.push_back(model.name);
  fail_usage("kind {}: \"{}\" is not one of the models {}", kind.name, wanted, fmt::join(names, ", "));
}

ModelKind named_kind(const ModelKind& kind, std::span<const NamedModel> models) {
  ModelKind named{.name = kind.name, .models = {}};
  if (kind.name.empty() || kind.models.empty())
    fail_usage("kind \"{}\" of {} models, expected a name and at least one", kind.name, kind.models.size());
  const NamedModel& first = member_of(models, kind, kind.models.front());
  for (const std::string& wanted : kind.models) {
    const NamedModel& model = member_of(models, kind, wanted);
    if (model.config.family->writing != first.config.family->writing) {
      fail_usage("kind {}: {} is {} and {} is {}; models of one kind write the same way", kind.name,
                 first.name, name_of(first.config.family->writing), model.name,
                 name_of(model.config.family->writing));
    }
    named.models.push_back(model.name);
  }
  return named;
}

bool holds(const ModelKind& kind, const std::string& model) {
  return std::ranges::find(kind.models, model) != kind.models.end();
}

}  // namespace

std::vector<ModelKind> named_kinds(std::span<const ModelKind> kinds, std::span<const NamedModel> models) {
  std::vector<ModelKind> named;
  for (const ModelKind& kind : kinds) {
    if (std::ranges::count(kinds, kind.name, &ModelKind::name) > 1)
      fail_usage("kind {}: is given twice", kind.name);
    named.push_back(named_kind(kind, models));
  }
  std::size_t apart = named.size();
  for (const NamedModel& model : models) {
    std::size_t times = 0;
    for (const ModelKind& kind : named)
      times += static_cast<std::size_t>(std::ranges::count(kind.models, model.name));
    if (times > 1) fail_usage("kind: {} belongs to {}, expected one", model.name, times);
    if (times == 0) ++apart;
    for (const ModelKind& kind : named) {
      if (kind.name == model.name && !holds(kind, model.name))
        fail_usage("kind {}: a model that is not of it has this name", kind.name);
    }
  }
  if (apart > kMostKinds) {
    fail_usage("model: {} kinds of models, expected at most {} (a kind may have several models)", apart,
               kMostKinds);
  }
  return named;
}

std::string kind_of(const StudySettings& settings, const std::string& model) {
  for (const ModelKind& kind : settings.kinds) {
    if (holds(kind, model)) return kind.name;
  }
  return "";
}

}  // namespace buoy
