// What the verbs that record share: which examples, with which template, and what of them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "apps/cli/engine.h"
#include "apps/cli/sampler_flags.h"
#include "buoy/run/tracer.h"

namespace buoy {

struct RecordFlags {
  std::string steps = "all", layers = "all";
  std::vector<std::string> statistics = {"received", "flow", "answer", "qk"};
  bool per_head = false;

  // Adds --record-steps, --layers, --record and --per-head.
  void add_to(CLI::App& verb);
  // Throws UsageError, also for layers that a model of that many does not have.
  RecordSettings settings(Index layers_of_model) const;
};

struct DataFlags {
  std::string prompt_template = "auto";
  std::string format = "auto";  // of the datasets; auto: told from each file
  Index limit = 0;              // 0: all
  Index batch_size = 4;

  // Adds --template, --format, --limit and --batch-size.
  void add_to(CLI::App& verb);
  // How datasets are to be read. Throws UsageError for a format that does not exist.
  DatasetOptions reading() const;
};

struct NamedItems {
  std::string name;  // of the file, without directory and extension
  std::filesystem::path path;
  std::vector<QaItem> items;
};

// Reads the datasets, or the bundled questions when none is given; bad lines are warned of. Throws UsageError
// when two have one name.
std::vector<NamedItems> read_data(const std::vector<std::string>& paths, const DataFlags& flags);

// A model with everything that recording its examples needs.
class TracingModel {
 public:
  // `name` is what --model said. Throws Error when the model has no tokenizer.
  TracingModel(const EngineOptions& engine, const SamplerFlags& sampler, const RecordFlags& record,
               const DataFlags& data);

  const TraceSource& source() const { return *source_; }
  // The same model with other sampler settings, or under an intervention, which must outlive it.
  TraceSource variant(const SamplerFlags& sampler, const InterventionSettings* intervention) const;
  const ModelConfig& config() const { return engine_.model->config(); }
  std::vector<Trace> trace(std::span<const QaItem> items, SampleStreams streams) const;
  TraceExample example(const QaItem& item, QueryPlace place = QueryPlace::kAsWritten) const;
  TraceExample example(
      const std::string& prompt) const;  // plain text, the model's chat template where it has one

  // The prompt of an item before a chat template is put around it.
  std::string prompt(const QaItem& item, QueryPlace place = QueryPlace::kAsWritten) const {
    return template_->render(item, place).text;
  }

  // "mini-mdm" of "/models/mini-mdm/".
  const std::string& name() const { return source_->name; }
  const std::string& template_name() const { return template_->name(); }

 private:
  std::filesystem::path directory_;
  Engine engine_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<ChatTemplate> chat_;
  std::optional<PromptTemplate> template_;
  std::optional<TraceSource> source_;
};

// "mini-mdm-q1.npz": where a model's trace of an example is kept; what cannot stand in a file's name becomes
// "_".
std::string trace_file_name(const std::string& model, const std::string& id);

// Whether a trace is one of this example by this model with these settings.
bool is_trace_of(const Trace& trace, const TraceSource& source, const TraceExample& example);

}  // namespace buoy
