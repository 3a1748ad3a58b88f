#include "buoy/engine/loaded_model.h"

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/model/memory.h"
#include "buoy/run/tracer.h"

namespace buoy {

LoadedModel::LoadedModel(const ModelSettings& settings, const WarningSink& warnings)
    : found_(find_model(settings.model, settings.places)) {
  const ModelConfig config = read_model_config(found_.directory, settings.family);
  const WeightReport weights = inspect_weights(config, Checkpoint::open(found_.directory));
  backend_ = make_backend(settings.device, weights.bytes,
                          choose_widening(estimate_memory(config, weights, config.context)), warnings);
  device_ = describe_device(*backend_, settings.device) + told_family(config);
  if (Tokenizer::present(found_.directory)) tokenizer_ = Tokenizer::load(found_.directory);
  model_ = load_model(found_.directory, *backend_, warnings, settings.family);
}

std::string told_family(const ModelConfig& config) {
  return config.told_family ? fmt::format("; read as {}, as told", config.family->name) : "";
}

const Tokenizer& LoadedModel::tokenizer() const {
  if (!tokenizer_) fail("{}: has no tokenizer files", found_.directory.string());
  return *tokenizer_;
}

std::vector<TokenId> LoadedModel::encode(const std::string& text, Chat chat) const {
  return encode_prompt(tokenizer(), choose_chat_template(found_.directory, chat), text);
}

std::string LoadedModel::decode(std::span<const TokenId> generated) const {
  return answer_text(tokenizer(), config(), generated);
}

std::optional<ChatTemplate> choose_chat_template(const std::filesystem::path& directory, Chat chat,
                                                 const std::string& date) {
  if (chat == Chat::kOff) return std::nullopt;
  std::optional<ChatTemplate> found = ChatTemplate::load(directory);
  if (!found && chat == Chat::kOn) fail("{}: has no chat template", directory.string());
  if (found) found->set_date(date);
  return found;
}

std::vector<TokenId> encode_prompt(const Tokenizer& tokenizer, const std::optional<ChatTemplate>& chat,
                                   const std::string& text) {
  if (!chat) return tokenizer.encode(text, SpecialTokens::kAdd);
  const Json messages = Json::array({{{"role", "user"}, {"content", text}}});
  return tokenizer.encode(chat->render(messages, GenerationPrompt::kAdd), SpecialTokens::kNone);
}

}  // namespace buoy
