// A study: the traces of many questions by one model or several, analysed; answers, stress and interventions
// beside them; and what all of it says of the claims.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "buoy/claims/claims.h"
#include "buoy/engine/evaluation.h"
#include "buoy/engine/intervention_run.h"
#include "buoy/engine/run_place.h"
#include "buoy/engine/stress_run.h"
#include "buoy/engine/trace_shelf.h"
#include "buoy/run/collect.h"

namespace buoy {

// Models that are several trainings of one kind, each as in RunSettings::models or by its name.
struct ModelKind {
  std::string name;
  std::vector<std::string> models;
};

struct StudySettings {
  RunSettings run;
  RecordSettings record;
  CollectOptions analyses;
  bool analyses_alone = false;        // neither answers, nor stress, interventions and verdicts
  std::optional<Index> stress_limit;  // items of stress and interventions; empty: as the run's limit
  bool keep_traces = false;           // leave OUTPUT/traces and OUTPUT/twins when all is done
  // So many shuffled twins of each model, by this seed and those after it, are traced on the same questions,
  // for the verdicts; not with analyses_alone.
  Index twins = 3;
  std::uint64_t twin_seed = 1;
  // Judged and drawn together; a model in none of them is a kind of its own.
  std::vector<ModelKind> kinds = {};
  // Where the folder holds another study, or anything else of ours.
  OutputFolder::Other other = OutputFolder::Other::kRefuse;
};

// What came of it. Parts that were left out, or that these models or data cannot be put through, are empty.
struct StudyOutcome {
  std::optional<OutputFolder> folder;  // where it is kept
  std::vector<NamedItems> data;
  StudyResult result;
  std::optional<EvaluatedRun> answers;
  std::optional<StressedRun> stress;
  std::optional<IntervenedRun> interventions;
  std::vector<ClaimResult> claims;
  TraceShelf shelf;
  std::vector<std::filesystem::path> twins;  // checkpoints that were made in OUTPUT/twins
};

// Up to so many heads in all its layers a model's steps are recorded head by head and with the change of its
// keys and its experts, asked for or not: claims need it, and the trace of a small model stays small.
inline constexpr Index kFewHeads = 256;

// A figure can tell this many kinds of models apart.
inline constexpr std::size_t kMostKinds = 6;
inline constexpr std::size_t kMostModels = 24;

// On every rank of a job; nothing on those that do not lead. All must see OUTPUT, which holds the twins.
// Broken off, a study with the same settings goes on where it was: until finish_study() its traces lie in
// OUTPUT/traces. A folder that holds anything else is treated as the settings say. Throws Error, UsageError
// (kinds that name no model, a model twice, or models that write in different ways among them) and Cancelled.
std::optional<StudyOutcome> run_study(Ranks& ranks, const StudySettings& settings, RunObserver& observer);

// Removes traces and twins that are not to be kept, and writes down which files the study made; to be called
// when the outcome is written.
void finish_study(const StudySettings& settings, const StudyOutcome& outcome);

}  // namespace buoy
