// What a run of questions is: models, data, prompts, sampler, and where it goes. Plain data; the same for
// eval, stress, intervene and study.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "buoy/corpus/dataset.h"
#include "buoy/engine/tracing_model.h"
#include "buoy/io/json_fwd.h"

namespace buoy {

// Which data, and how much of it.
struct DataSettings {
  std::vector<std::filesystem::path> files;  // empty: the bundled questions
  std::string bundled = "micro_test.jsonl";  // which these are
  std::optional<DatasetFormat> format;       // empty: told from each file
  std::optional<Index> limit;                // items of each file; empty: all
};

struct NamedItems {
  std::string name;  // of the file, without directory and extension
  std::filesystem::path path;
  std::vector<QaItem> items;
};

// Reads the datasets; bad lines are warned of. Throws UsageError when two have one name.
std::vector<NamedItems> read_data(const DataSettings& settings, const Places& places,
                                  const WarningSink& warnings);

// "micro_test (100), other (20)": for reports.
std::string describe(std::span<const NamedItems> data);

struct RunSettings {
  std::vector<std::string> models = {"mini-mdm", "mini-arm"};
  std::map<std::string, std::string>
      families;  // of models that are not what they say: name in `models` → key
  DeviceSettings device;
  Places places = places_beside_program();
  DataSettings data;
  PromptSettings prompt;
  SamplerSettings sampler;
  Index batch_size = 16;         // no result depends on it
  std::filesystem::path output;  // the run's directory
  bool log_samples = false;      // write OUTPUT/samples.jsonl

  ModelSettings model(const std::string& name, int local_rank) const;
};

// A model of a run, as read from its config.json.
struct NamedModel {
  std::string name;
  std::filesystem::path directory;
  ModelConfig config;
};

// In order. Throws Error for one that is not there and UsageError for two of one name.
std::vector<NamedModel> read_models(const RunSettings& settings);

// Everything in the settings that answers depend on, by content: weights, tokenizers, templates and data by
// their hash, not by where they lie; neither the batch nor the threads. Two runs of one description give the
// same answers.
Json describe_run(const RunSettings& settings, std::span<const NamedItems> data);

// The same as a short text for reports and file names.
std::string hash_of(const Json& settings);

}  // namespace buoy
