#include "buoy/engine/trace_source.h"

#include "buoy/base/version.h"
#include "buoy/io/hash.h"
#include "buoy/io/json.h"
#include "buoy/model/fingerprint.h"

namespace buoy {
namespace {

std::string hash_of_text(const std::string& text) {
  Hasher hasher;
  hasher.add(text);
  return hasher.hex();
}

}  // namespace

TraceSource make_trace_source(const LoadedModel& model, const SamplerSettings& sampler,
                              const RecordSettings& record, const QuestionPrompt& prompt) {
  Json described = {{"sampler", to_json(sampler, model.config())},
                    {"template", prompt.words.name()},
                    {"template_hash", hash_of_text(prompt.words.source())},
                    {"chat_template", prompt.chat.has_value()},
                    {"backend", model.backend().name()},
                    {"record", to_json(record)}};
  if (prompt.chat && prompt.chat->asks_for_date()) described["date"] = prompt.chat->date();
  if (model.config().told_family) described["family"] = model.config().family->key;
  return {.model = model.model(),
          .tokenizer = model.tokenizer(),
          .sampler = sampler,
          .record = record,
          .name = model.name(),
          .model_hash = fingerprint_model(model.directory(), Checkpoint::open(model.directory())),
          .tokenizer_hash = fingerprint_tokenizer(model.directory()),
          .buoy_version = std::string(version()),
          .settings = described.dump()};
}

TraceExample plain_example(const Tokenizer& tokenizer, const std::string& prompt,
                           const std::optional<ChatTemplate>& chat) {
  return {.prompt = tokenize_prompt(tokenizer, plain_prompt(prompt), chat ? &*chat : nullptr),
          .item = {.id = "prompt", .question = prompt}};
}

}  // namespace buoy
