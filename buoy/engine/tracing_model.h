// A model with everything that answering and recording questions needs: prompt template, sampler, what to
// record.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "buoy/engine/loaded_model.h"
#include "buoy/engine/run_observer.h"
#include "buoy/run/tracer.h"

namespace buoy {

// How questions become prompts.
struct PromptSettings {
  std::string prompt_template = "auto";  // a bundled name, a file, or auto: what the checkpoint says
  Chat chat = Chat::kAuto;               // kAuto: unless the template is raw
  std::string date{kDefaultDate};        // for chat templates that ask for it; see parse_date()
};

// The template that "auto" stands for: what buoy.json in the checkpoint's directory says under
// "prompt_template", else "unified".
std::string choose_template(const std::string& wanted, const std::filesystem::path& directory);

class TracingModel {
 public:
  // Throws Error when the model has no tokenizer. The observer, which may be null, must outlive the model.
  TracingModel(const ModelSettings& model, const SamplerSettings& sampler, const RecordSettings& record,
               const PromptSettings& prompt, RunObserver* observer);
  TracingModel(const TracingModel&) = delete;  // the source points into it
  TracingModel& operator=(const TracingModel&) = delete;

  const TraceSource& source() const { return *source_; }
  // The same model with other sampler settings, or under an intervention, which must outlive it.
  TraceSource variant(const SamplerSettings& sampler, const InterventionSettings* intervention) const;

  const LoadedModel& loaded() const { return model_; }
  const ModelConfig& config() const { return model_.config(); }
  const std::string& name() const { return model_.name(); }

  std::vector<Trace> trace(std::span<const QaItem> items, SampleStreams streams) const;
  TraceExample example(const QaItem& item, QueryPlace place = QueryPlace::kAsWritten) const;
  TraceExample example(const std::string& prompt) const;  // plain text

  // The prompt of an item before a chat template is put around it.
  std::string prompt(const QaItem& item, QueryPlace place = QueryPlace::kAsWritten) const {
    return template_.render(item, place).text;
  }

 private:
  const ChatTemplate* chat() const { return chat_ ? &*chat_ : nullptr; }
  // A raw template is the whole prompt of a question.
  const ChatTemplate* question_chat() const { return template_.raw() ? nullptr : chat(); }

  LoadedModel model_;
  PromptTemplate template_;
  std::optional<ChatTemplate> chat_;
  std::optional<TraceSource> source_;
};

// "mini-mdm-q1.npz": where a model's trace of an example is kept; what cannot stand in a file's name becomes
// "_".
std::string trace_file_name(const std::string& model, const std::string& id);

// Whether a trace is one of this example by this model with these settings.
bool is_trace_of(const Trace& trace, const TraceSource& source, const TraceExample& example);

}  // namespace buoy
