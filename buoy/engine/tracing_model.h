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

// How questions become prompts, and what is generated an answer.
struct PromptSettings {
  std::string prompt_template = "auto";  // a bundled name, a file, or auto: what the checkpoint says
  Chat chat = Chat::kAuto;               // kAuto: unless the template is raw
  std::optional<std::string>
      date;  // for chat templates that ask for it; see parse_date(). None: kDefaultDate
  AnswerEnd answer_end = AnswerEnd::kEos;
};

// The template that "auto" stands for: what buoy.json in the checkpoint's directory says under
// "prompt_template", else "unified".
std::string choose_template(const std::string& wanted, const std::filesystem::path& directory);

// A template's words and, where they go into one, the model's chat template.
struct QuestionPrompt {
  PromptTemplate words;
  std::optional<ChatTemplate> chat;
};
// Throws Error for what is not there, and UsageError for a raw template that is to go into a chat template.
QuestionPrompt choose_prompt(const PromptSettings& settings, const std::filesystem::path& directory);

// Throws UsageError for a day that none of the chat templates in use asks for.
void check_date(const PromptSettings& settings, std::span<const std::optional<ChatTemplate>> used);

// The prompt of an item as the model gets it, but for the special tokens that its tokenizer adds.
std::string exact_prompt(const QuestionPrompt& prompt, const QaItem& item, QueryPlace place);

// Throws UsageError for what no generation of the model has: layers, steps, experts, state space layers.
void check_record(const RecordSettings& record, const SamplerSettings& sampler, const ModelConfig& config,
                  std::string_view model);

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
  const std::optional<ChatTemplate>& chat_of_questions() const { return prompt_.chat; }
  const std::optional<ChatTemplate>& chat_of_text() const { return chat_; }
  const std::string& name() const { return model_.name(); }

  std::vector<Trace> trace(std::span<const QaItem> items, SampleStreams streams) const;
  TraceExample example(const QaItem& item, QueryPlace place = QueryPlace::kAsWritten) const;
  TraceExample example(const std::string& prompt) const;  // plain text

  // The prompt of an item as the model gets it.
  std::string prompt(const QaItem& item, QueryPlace place = QueryPlace::kAsWritten) const {
    return exact_prompt(prompt_, item, place);
  }

 private:
  LoadedModel model_;
  QuestionPrompt prompt_;
  std::optional<ChatTemplate> chat_;  // of plain prompts
  std::optional<TraceSource> source_;
};

// "mini-mdm-q1.npz": where a model's trace of an example is kept. What cannot stand in a file's name becomes
// "_", and what is too long is cut; a hash of the whole then follows, so that ids that differ have files that
// differ.
std::string trace_file_name(const std::string& model, const std::string& id);

// Whether a trace is one of this example by this model with these settings.
bool is_trace_of(const Trace& trace, const TraceSource& source, const TraceExample& example);

}  // namespace buoy
