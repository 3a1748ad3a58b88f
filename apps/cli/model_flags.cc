#include "apps/cli/model_flags.h"

#include <algorithm>
#include <charconv>

#include "apps/cli/environment.h"
#include "buoy/base/error.h"

namespace buoy {

void ModelFlags::add_to(Verb& verb) {
  verb.option("-m,--model", &model,
              "Checkpoint directory, bundled model, or Hub name (ORG/NAME) in the local Hugging Face cache");
  verb.option("--family", &family, "What the model is, whatever its config.json says")
      .choices(family_keys())
      .hide_default();
  add_device_to(verb);
}

void ModelFlags::add_device_to(Verb& verb) {
  verb.option("--device", &device,
              "Where to compute: auto (cuda when there is a card), cpu, cuda or reference (slow, exact)")
      .choices({"auto", "cpu", "cuda", "reference"});
  verb.option("--dtype", &dtype,
              "Number type: f32, bf16 (cuda only), or auto: bf16 for models above 4 GiB on cuda")
      .choices({"auto", "f32", "bf16"});
  verb.option("--threads", &threads, "Threads of the cpu; default all cores. Results do not depend on it")
      .between(1, 1024)
      .hide_default();
}

DeviceSettings ModelFlags::device_settings() const {
  return {.device = parse_device(device), .dtype = parse_compute_type(dtype), .threads = threads};
}

ModelSettings ModelFlags::settings() const {
  return {.model = model, .device = device_settings(), .places = command_places(), .family = family};
}

LoadedModel load(const ModelFlags& flags) {
  LoadedModel loaded(flags.settings(), print_warning);
  print_note(fmt::format("{} on {}", loaded.name(), loaded.device()));
  return loaded;
}

std::vector<TokenId> parse_ids(const std::string& text, std::string_view flag) {
  std::vector<TokenId> ids;
  bool expects = true;  // an id, at the begin and behind a comma
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(", \n\t", at), text.size());
    if (end > at) {
      TokenId id = 0;
      const auto [rest, error] = std::from_chars(text.data() + at, text.data() + end, id);
      if (error != std::errc{} || rest != text.data() + end) {
        fail_usage("{}: \"{}\" is not a token id", flag, text.substr(at, end - at));
      }
      ids.push_back(id);
      expects = false;
    }
    if (end < text.size() && text[end] == ',') {
      if (expects) fail_usage("{}: no token id stands before a comma, expected ids such as 1,2,3", flag);
      expects = true;
    }
    at = end + 1;
  }
  if (ids.empty()) fail_usage("{} is empty, expected token ids such as 1,2,3", flag);
  if (expects) fail_usage("{} ends with a comma, expected ids such as 1,2,3", flag);
  return ids;
}

}  // namespace buoy
