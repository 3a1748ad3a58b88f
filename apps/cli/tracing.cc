#include "apps/cli/tracing.h"

#include <algorithm>
#include <cctype>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/model/fingerprint.h"

namespace buoy {
namespace {

std::string name_of_directory(const std::filesystem::path& directory) {
  const std::filesystem::path whole = std::filesystem::weakly_canonical(directory);
  return whole.filename().string();
}

// The bundled models were trained on one form of prompt and know no other.
std::string choose_template(const std::string& wanted, const std::filesystem::path& directory) {
  if (wanted != "auto") return wanted;
  const std::filesystem::path bundled = std::filesystem::path(BUOY_SOURCE_DIR) / "models";
  std::error_code none;
  return std::filesystem::equivalent(directory.parent_path(), bundled, none) ? "micro" : "unified";
}

GenerateBatch generator(const Model& model, const SamplerFlags& sampler) {
  return [&model, sampler](std::span<const std::vector<TokenId>> prompts, GenerationObserver* observer,
                           SampleStreams streams) {
    return generate(model, prompts, sampler, observer, streams);
  };
}

}  // namespace

void RecordFlags::add_to(CLI::App& verb) {
  const std::string group = "Recording";
  verb.add_option("--record", statistics, "What of every step: received, flow, answer, qk, or none")
      ->delimiter(',')
      ->check(CLI::IsMember({"received", "flow", "answer", "qk", "none"}))
      ->capture_default_str()
      ->group(group);
  verb.add_option("--record-steps", steps, "all, every:4, or a list such as 0,3,7")
      ->capture_default_str()
      ->group(group);
  verb.add_option("--layers", layers, "all, or a list such as 0,4-7")->capture_default_str()->group(group);
  verb.add_flag("--per-head", per_head, "Keep the received attention of every head at every step")
      ->group(group);
}

RecordSettings RecordFlags::settings(Index layers_of_model) const {
  const auto wants = [&](const char* name) {
    return std::ranges::find(statistics, name) != statistics.end();
  };
  if (wants("none") && statistics.size() > 1) fail_usage("--record none stands alone");
  if (per_head && !wants("received")) fail_usage("--per-head has no effect without --record received");
  return {.steps = parse_steps(steps),
          .layers = parse_layers(layers, layers_of_model),
          .heads = per_head ? HeadDetail::kPerHead : HeadDetail::kAveraged,
          .received = wants("received"),
          .flow = wants("flow"),
          .answer_rows = wants("answer"),
          .qk = wants("qk")};
}

void DataFlags::add_to(CLI::App& verb) {
  std::string names;
  for (const BundledTemplate& b : bundled_templates()) names += fmt::format("{}, ", b.name);
  verb.add_option(
          "--template", prompt_template,
          fmt::format("Prompt template: {}or a file; auto: micro for the bundled models, else unified",
                      names))
      ->capture_default_str();
  std::string formats;
  for (Index f = 0; f < kDatasetFormatCount; ++f)
    formats += fmt::format("{}, ", name_of(static_cast<DatasetFormat>(f)));
  verb.add_option("--format", format,
                  fmt::format("Format of the datasets: {}or auto: told from each file", formats))
      ->capture_default_str();
  verb.add_option("--limit", limit, "At most this many items of a dataset; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb.add_option("--batch-size", batch_size, "Examples that run together; no result depends on it")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
}

DatasetOptions DataFlags::reading() const {
  return {.format = format == "auto" ? std::nullopt : std::optional(dataset_format_named(format)),
          .limit = limit > 0 ? std::optional(limit) : std::nullopt};
}

std::vector<NamedItems> read_data(const std::vector<std::string>& given, const DataFlags& flags) {
  std::vector<std::filesystem::path> paths(given.begin(), given.end());
  if (paths.empty()) paths = {std::filesystem::path(BUOY_SOURCE_DIR) / "data" / "micro_test.jsonl"};
  std::vector<NamedItems> data;
  for (const std::filesystem::path& path : paths) {
    const std::string name = path.stem().string();
    if (std::ranges::find(data, name, &NamedItems::name) != data.end()) {
      fail_usage("--data: two datasets are called {}", name);
    }
    data.push_back({name, path, read_dataset(path, flags.reading(), print_warning)});
  }
  return data;
}

TracingModel::TracingModel(const EngineOptions& options, const SamplerFlags& sampler,
                           const RecordFlags& record, const DataFlags& data)
    : directory_(find_model(options.model)) {
  if (!Tokenizer::present(directory_))
    fail("{}: has no tokenizer files, which a trace needs", directory_.string());
  tokenizer_ = Tokenizer::load(directory_);
  template_ = PromptTemplate::find(choose_template(data.prompt_template, directory_));
  const RecordSettings settings = record.settings(read_model_config(directory_).L);
  if (!template_->raw()) chat_ = ChatTemplate::load(directory_);
  engine_ = open_engine(options);
  const Model& model = *engine_.model;
  const Json described = {{"sampler", sampler.to_json(model.config())},
                          {"template", template_->name()},
                          {"chat_template", chat_.has_value()},
                          {"backend", engine_.backend->name()},
                          {"record", to_json(settings)}};
  source_.emplace(TraceSource{.model = model,
                              .tokenizer = *tokenizer_,
                              .generate = generator(model, sampler),
                              .record = settings,
                              .name = name_of_directory(directory_),
                              .model_hash = fingerprint_model(directory_, Checkpoint::open(directory_)),
                              .tokenizer_hash = fingerprint_tokenizer(directory_),
                              .buoy_version = BUOY_VERSION,
                              .settings = described.dump()});
}

TraceSource TracingModel::variant(const SamplerFlags& sampler,
                                  const InterventionSettings* intervention) const {
  TraceSource made = *source_;
  made.generate = generator(*engine_.model, sampler);
  made.intervention = intervention;
  return made;
}

TraceExample TracingModel::example(const QaItem& item, QueryPlace place) const {
  return {.prompt = tokenize_prompt(*tokenizer_, template_->render(item, place), chat_ ? &*chat_ : nullptr),
          .item = item};
}

TraceExample TracingModel::example(const std::string& prompt) const {
  return {.prompt = tokenize_prompt(*tokenizer_, plain_prompt(prompt), chat_ ? &*chat_ : nullptr),
          .item = {.id = "prompt", .question = prompt}};
}

std::string trace_file_name(const std::string& model, const std::string& id) {
  std::string name = model + "-" + id;
  for (char& c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_';
    if (!plain) c = '_';
  }
  return name + ".npz";
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

std::vector<Trace> TracingModel::trace(std::span<const QaItem> items, SampleStreams streams) const {
  std::vector<TraceExample> examples;
  for (const QaItem& item : items) examples.push_back(example(item));
  std::vector<Trace> traces;
  for (TracedSample& sample : trace_batch(*source_, examples, streams))
    traces.push_back(std::move(sample.trace));
  return traces;
}

}  // namespace buoy
