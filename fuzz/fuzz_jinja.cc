// Any bytes as a chat template: it renders valid UTF-8 or throws Error, within bounded time and memory.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/text/chat_template.h"
#include "buoy/text/utf8.h"

// A hundredth of what a template may take: of inputs that use up two million steps the sanitizers do ten a
// minute, and nothing else would be tried. The room's tests use them up.
constexpr buoy::Index kMostSteps = 20000;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using buoy::Json;
  static const Json messages = {{{"role", "system"}, {"content", " Be é. "}},
                                {{"role", "user"}, {"content", "Hi"}, {"n", 3}, {"tags", {"a", "b"}}},
                                {{"role", "assistant"}, {"content", ""}, {"real", 1.5}, {"none", nullptr}}};
  static const Json tokens = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  try {
    const buoy::ChatTemplate chat = buoy::ChatTemplate::parse(source, tokens, "fuzz");
    const std::string text = chat.render(messages, buoy::GenerationPrompt::kAdd,
                                         {.variables = nullptr, .now = std::tm{}, .most_steps = kMostSteps});
    if (buoy::find_invalid_utf8(text)) std::abort();
  } catch (const buoy::Error& error) {
    if (std::strchr(error.what(), '\n') != nullptr) std::abort();  // an error is one line
  }
  return 0;
}
