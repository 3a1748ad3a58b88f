// Traces of a dataset's questions or of plain prompts, one file each; broken off, it goes on where it was.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "buoy/engine/run_settings.h"
#include "buoy/run/ranks.h"

namespace buoy {

struct TraceRunSettings {
  ModelSettings model;
  SamplerSettings sampler;
  RecordSettings record;
  PromptSettings prompt;
  DataSettings data;                 // one file, or
  std::vector<std::string> prompts;  // plain texts, UTF-8
  Index batch_size = 4;
  std::filesystem::path output;  // a directory, or NAME.npz where there is one example
  bool overwrite = false;        // replace traces that are there; without, they are kept
  TooLong too_long = TooLong::kFail;
};

// On every rank of a job; rank 0 writes, and all files are those of a single process. Before any work the
// ranks compare what they would trace. Throws Error, also for a trace that is there and was made by another
// model or with other settings, UsageError and Cancelled.
void run_traces(Ranks& ranks, const TraceRunSettings& settings, RunObserver& observer);

}  // namespace buoy
