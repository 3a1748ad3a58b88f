// A model ready to use: found, loaded on a device, with its tokenizer and chat template where it has them.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "buoy/engine/device.h"
#include "buoy/engine/places.h"
#include "buoy/model/model.h"
#include "buoy/text/chat_template.h"
#include "buoy/text/tokenizer.h"

namespace buoy {

// Which model, and where it computes.
struct ModelSettings {
  std::string model = "mini-mdm";  // see find_model()
  DeviceSettings device;
  Places places = places_beside_program();
  std::string family;  // a key of family_keys(): what it is, whatever config.json says; empty: as that says
};

// Whether text goes through the model's chat template: kAuto where the model has one.
enum class Chat { kAuto, kOn, kOff };

// One caller at a time, as its backend. May be moved.
class LoadedModel {
 public:
  // Throws Error listing every problem of the checkpoint at once, and UsageError for a device or type that
  // makes no sense.
  explicit LoadedModel(const ModelSettings& settings, const WarningSink& warnings = {});

  const std::string& name() const { return found_.name; }
  const std::filesystem::path& directory() const { return found_.directory; }
  const ModelConfig& config() const { return model_->config(); }
  const Model& model() const { return *model_; }
  Backend& backend() const { return *backend_; }
  // "cpu, f32, 2 threads"; with "; read as Open-dCoder, as told" where the user said what the model is.
  std::string device() const { return device_; }

  // Throws Error when the checkpoint has no tokenizer files.
  const Tokenizer& tokenizer() const;
  const std::optional<Tokenizer>& find_tokenizer() const { return tokenizer_; }

  // Token ids of a text: as one user message in the chat template, or with the special tokens that the
  // tokenizer adds (BOS). Throws Error without tokenizer, and for kOn without a chat template.
  std::vector<TokenId> encode(const std::string& text, Chat chat = Chat::kAuto) const;

  // What was generated, up to the first EOS, without special tokens.
  std::string decode(std::span<const TokenId> generated) const;

 private:
  FoundModel found_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Model> model_;
  std::optional<Tokenizer> tokenizer_;
  std::string device_;
};

// "; read as Open-dCoder, as told" where the user said what a model is; else nothing.
std::string told_family(const ModelConfig& config);

// The chat template that `chat` asks for, on that date; nothing where none is to be used. Throws Error for
// kOn where the model has none.
std::optional<ChatTemplate> choose_chat_template(const std::filesystem::path& directory, Chat chat,
                                                 const std::string& date = std::string(kDefaultDate));

// As LoadedModel::encode(), without loading the weights.
std::vector<TokenId> encode_prompt(const Tokenizer& tokenizer, const std::optional<ChatTemplate>& chat,
                                   const std::string& text);

}  // namespace buoy
