#include "buoy/decode/generation.h"

#include "buoy/base/cancel.h"
#include "buoy/base/error.h"

namespace buoy {

Generation start_generation(std::span<const TokenId> prompt) {
  if (prompt.empty()) fail("the prompt is empty, expected at least one token id");
  Generation generation;
  generation.tokens.assign(prompt.begin(), prompt.end());
  generation.prompt_length = std::ssize(prompt);
  return generation;
}

Generation start_masked_generation(std::span<const TokenId> prompt, Index masks, TokenId mask) {
  Generation generation = start_generation(prompt);
  for (Index p = 0; p < generation.prompt_length; ++p) {
    if (prompt[static_cast<std::size_t>(p)] == mask) generation.prompt_masks.push_back(p);
  }
  generation.tokens.resize(prompt.size() + static_cast<std::size_t>(masks), mask);
  generation.commit_step.assign(static_cast<std::size_t>(masks), kNotCommitted);
  generation.confidence.assign(static_cast<std::size_t>(masks), 0.0);
  return generation;
}

void commit(Generation& generation, Index position, TokenId token, double confidence) {
  generation.tokens[static_cast<std::size_t>(position)] = token;
  generation.just_committed.push_back(position);
  if (position < generation.prompt_length) return;  // a mask that the prompt itself held
  const auto at = static_cast<std::size_t>(position - generation.prompt_length);
  generation.commit_step[at] = generation.steps - 1;
  generation.confidence[at] = confidence;
}

Tap* begin_pass(GenerationObserver* observer, std::span<const GenerationObserver::Pass> passes) {
  if (observer == nullptr) return nullptr;
  if (observer->cancelled()) throw Cancelled();
  return observer->before_pass(passes);
}

}  // namespace buoy
