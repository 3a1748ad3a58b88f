// Which models of a study are trainings of one kind.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "buoy/engine/study.h"

namespace buoy {

// The same kinds with the models' names in the place of how they were given. Throws UsageError naming the
// kind: no model, one that is not among `models`, one that is in two kinds, the name of a model outside,
// models that write in different ways, more kinds than a figure can tell apart.
std::vector<ModelKind> named_kinds(std::span<const ModelKind> kinds, std::span<const NamedModel> models);

// The kind that names the model; empty where none does.
std::string kind_of(const StudySettings& settings, const std::string& model);

}  // namespace buoy
