#include "buoy/engine/tracing_model.h"

#include <algorithm>

#include "buoy/base/error.h"
#include "buoy/engine/trace_source.h"
#include "buoy/io/file_name.h"
#include "buoy/io/json.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

std::string day_in(const PromptSettings& settings) {
  return settings.date.value_or(std::string(kDefaultDate));
}

// What can be known to be wrong before the weights are read.
const ModelSettings& checked(const ModelSettings& settings, const SamplerSettings& sampler,
                             const RecordSettings& record) {
  const FoundModel found = find_model(settings.model, settings.places);
  if (!Tokenizer::present(found.directory))
    fail("{}: has no tokenizer files, which a trace needs", found.directory.string());
  check_record(record, sampler, read_model_config(found.directory, settings.family), found.name);
  return settings;
}

WarningSink sink_of(RunObserver* observer) {
  if (observer == nullptr) return {};
  return [observer](const std::string& line) { observer->warn(line); };
}

}  // namespace

std::string choose_template(const std::string& wanted, const fs::path& directory) {
  if (wanted != "auto") return wanted;
  const fs::path says = directory / "buoy.json";
  if (!fs::exists(says)) return "unified";
  const Json json = read_json_file(says);
  const auto found = json.is_object() ? json.find("prompt_template") : json.end();
  if (found == json.end() || !found->is_string()) {
    fail("{}: has no \"prompt_template\", expected a bundled template's name", says.string());
  }
  return found->get<std::string>();
}

void check_date(const PromptSettings& settings, std::span<const std::optional<ChatTemplate>> used) {
  const auto asks = [](const std::optional<ChatTemplate>& chat) { return chat && chat->asks_for_date(); };
  if (settings.date && std::ranges::none_of(used, asks))
    fail_usage("date has no effect: no chat template that is used asks for it");
}

QuestionPrompt choose_prompt(const PromptSettings& settings, const fs::path& directory) {
  QuestionPrompt made{.words = PromptTemplate::find(choose_template(settings.prompt_template, directory)),
                      .chat = {}};
  if (made.words.raw() && settings.chat == Chat::kOn) {
    fail_usage("template {} is the whole prompt: it has no use for the chat template", made.words.name());
  }
  if (!made.words.raw()) made.chat = choose_chat_template(directory, settings.chat, day_in(settings));
  return made;
}

std::string exact_prompt(const QuestionPrompt& prompt, const QaItem& item, QueryPlace place) {
  const std::string text = prompt.words.render(item, place).text;
  if (!prompt.chat) return text;
  return prompt.chat->render({{.role = "user", .content = text}}, GenerationPrompt::kAdd);
}

void check_record(const RecordSettings& record, const SamplerSettings& sampler, const ModelConfig& config,
                  std::string_view model) {
  check_layers(record.layers, config.L);
  const std::optional<Index> most = most_steps(sampler, config);
  if (const std::vector<Index>& steps = record.steps.list; most && !steps.empty() && steps.back() >= *most) {
    fail_usage("step {} is to be recorded, the last of {} is {}", steps.back(), model, *most - 1);
  }
  if (record.experts && !config.experts) fail_usage("record experts has no effect: {} has no experts", model);
  if (record.implicit != Implicit::kEnergy && !config.ssd) {
    fail_usage("implicit {} has no effect: {} has no state space layers", name_of(record.implicit), model);
  }
}

TracingModel::TracingModel(const ModelSettings& settings, const SamplerSettings& sampler,
                           const RecordSettings& record, const PromptSettings& prompt, RunObserver* observer)
    : model_(checked(settings, sampler, record), sink_of(observer)),
      prompt_(choose_prompt(prompt, model_.directory())),
      chat_(choose_chat_template(model_.directory(), prompt.chat, day_in(prompt))) {
  source_.emplace(make_trace_source(model_, sampler, record, prompt_));
  source_->answer_end = prompt.answer_end;
  if (observer != nullptr) source_->cancelled = [observer] { return observer->cancelled(); };
}

TraceSource TracingModel::variant(const SamplerSettings& sampler,
                                  const InterventionSettings* intervention) const {
  TraceSource made = *source_;
  made.sampler = sampler;
  made.intervention = intervention;
  return made;
}

TraceExample TracingModel::example(const QaItem& item, QueryPlace place) const {
  return {.prompt = tokenize_prompt(model_.tokenizer(), prompt_.words.render(item, place),
                                    prompt_.chat ? &*prompt_.chat : nullptr),
          .item = item};
}

TraceExample TracingModel::example(const std::string& prompt) const {
  return plain_example(model_.tokenizer(), prompt, chat_);
}

std::vector<Trace> TracingModel::trace(std::span<const QaItem> items, SampleStreams streams) const {
  std::vector<TraceExample> examples;
  for (const QaItem& item : items) examples.push_back(example(item));
  std::vector<Trace> traces;
  for (TracedSample& sample : trace_batch(*source_, examples, streams))
    traces.push_back(std::move(sample.trace));
  return traces;
}

std::string trace_file_name(const std::string& model, const std::string& id) {
  return file_name_of(model + "-" + id) + ".npz";
}

bool is_trace_of(const Trace& trace, const TraceSource& source, const TraceExample& example) {
  const TraceHeader& made = trace.header;
  const auto prompt = std::span(trace.tokens).first(static_cast<std::size_t>(trace.prompt_length));
  const auto evidence = std::span(trace.evidence).first(prompt.size());
  return made.buoy_version == source.buoy_version && made.model_hash == source.model_hash &&
         made.tokenizer_hash == source.tokenizer_hash && made.settings == source.settings &&
         made.sample == example.item.id && made.task == example.item.task &&
         made.question == example.item.question && made.answers == example.item.answers &&
         std::ranges::equal(prompt, example.prompt.ids) &&
         std::ranges::equal(evidence, example.prompt.layout.evidence) &&
         trace.regions.regions == example.prompt.layout.regions.regions;
}

}  // namespace buoy
