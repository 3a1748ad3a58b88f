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

void apply_change(const StepChange& change, const ChangeLimits& limits, Generation& generation) {
  const auto open_again = [&](Index position, TokenId token) {
    if (position < limits.first || position >= limits.end) {
      fail_usage("position {} cannot be changed, expected {} to {}", position, limits.first, limits.end - 1);
    }
    const auto at = static_cast<std::size_t>(position - generation.prompt_length);
    generation.tokens[static_cast<std::size_t>(position)] = token;
    generation.commit_step[at] = kNotCommitted;
    generation.confidence[at] = 0;
  };
  for (const auto& [position, token] : change.write) {
    if (token < 0 || token >= limits.V || token == limits.mask)
      fail_usage("token {} cannot be written, expected one of the vocabulary of {}", token, limits.V);
    open_again(position, token);
  }
  if (!change.remask.empty() && !limits.mask) fail_usage("a model that appends has no masks to put back");
  for (const Index position : change.remask) open_again(position, *limits.mask);
  if (change.steps_left && *change.steps_left < 1)
    fail_usage("steps_left is {}, expected at least 1", *change.steps_left);
}

Tap* begin_pass(GenerationObserver* observer, std::span<const GenerationObserver::Pass> passes) {
  if (observer == nullptr) return nullptr;
  if (observer->cancelled()) throw Cancelled();
  return observer->before_pass(passes);
}

}  // namespace buoy
