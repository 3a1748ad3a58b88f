// What a run of questions is: models, data, prompts, sampler, and where it goes. Plain data; the same for
// eval, stress, intervene and study.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "buoy/corpus/dataset.h"
#include "buoy/engine/tracing_model.h"
#include "buoy/io/json_fwd.h"

namespace buoy {

struct RunItem;  // run_identity.h

// Which data, and how much of it.
struct DataSettings {
  std::vector<std::filesystem::path> files;  // "dev.jsonl" or "nq=dev.jsonl"; empty: the bundled questions
  std::string bundled = "micro_test.jsonl";  // which these are
  std::optional<DatasetFormat> format;       // empty: told from each file
  std::optional<Index> limit;                // items of each file; empty: all
};

struct NamedItems {
  std::string name;  // as given, or of the file, without directory and extension
  std::filesystem::path path;
  std::vector<QaItem> items;
};

// Reads the datasets; bad lines are warned of. The observer, which may be null, sees how far reading of large
// files has come. Throws UsageError when two have one name.
std::vector<NamedItems> read_data(const DataSettings& settings, const Places& places,
                                  const WarningSink& warnings, RunObserver* observer = nullptr);

// "micro_test (100), other (20)": for reports.
std::string describe(std::span<const NamedItems> data);

// What becomes of a prompt that leaves no room for the answer in a model's context: an error that lists all
// of them before any work, the question left out for all models and conditions, or its passages cut from the
// end until it fits, for all models alike.
enum class TooLong { kFail, kSkip, kCut };
// "fail", "skip", "cut".
std::string_view name_of(TooLong too_long);
// Throws UsageError listing them.
TooLong parse_too_long(std::string_view name);

// A model's own prompt and sampler, in place of the run's.
struct OwnSettings {
  std::string model;  // as in RunSettings::models
  PromptSettings prompt;
  SamplerSettings sampler;
  std::set<std::string> given;  // settings of the sampler that were set by name
};

// What is to be done with an output folder that holds another run.
enum class Clash { kRefuse, kBeside };

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
  bool log_ids = false;          // and keep the prompts' token ids for it
  TooLong too_long = TooLong::kFail;
  Clash clash = Clash::kRefuse;  // kBeside: OUTPUT-2, OUTPUT-3, … where OUTPUT holds another run
  std::vector<OwnSettings> own;  // of some models
  std::string command;           // that the run was started by; for its record

  // By the name in `models`.
  const PromptSettings& prompt_of(const std::string& name) const;
  const SamplerSettings& sampler_of(const std::string& name) const;
  ModelSettings model(const std::string& name, int local_rank) const;
};

// A model of a run, as read from its config.json.
struct NamedModel {
  std::string name;   // "mini-mdm", or "mini-mdm (dual cache, approximate)"
  std::string given;  // in RunSettings::models
  std::filesystem::path directory;
  ModelConfig config;
};

// In order. Throws Error for one that is not there and UsageError for two of one name.
std::vector<NamedModel> read_models(const RunSettings& settings);

// Throws UsageError, naming the model, where one's own settings make no sense to it or have no effect on it.
void check_own_settings(const RunSettings& settings);

// Everything in the settings that answers depend on, by content: weights, tokenizers, templates by their
// hash, not by where they lie; device and number type; what the code makes of them; neither the batch nor the
// threads. Two runs of one description over the same items give the same answers.
Json describe_run(const RunSettings& settings);

// The items of the data, each with its hash.
std::vector<RunItem> identify_items(std::span<const NamedItems> data);

// One hash for each dataset: for runs whose prompts depend on all items together.
Json describe_data(std::span<const NamedItems> data);

// Who works: version, commit, compiler, processor, memory, command; and the words of every model's template.
Json describe_session(const RunSettings& settings, Index ranks);

// The same as a short text for reports and file names.
std::string hash_of(const Json& settings);

}  // namespace buoy
