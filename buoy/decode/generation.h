// One sample being generated: all the state that changes while a model writes.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "buoy/base/types.h"
#include "buoy/model/family.h"
#include "buoy/model/tap.h"

namespace buoy {

inline constexpr Index kNotCommitted = -1;

struct Generation {
  std::vector<TokenId> tokens;  // prompt, then generated positions (masks until committed)
  Index prompt_length = 0;
  std::vector<Index> prompt_masks;    // positions of masks that the prompt itself holds: they are filled too
  Mask mask;                          // what the rows of its passes see
  std::vector<Index> commit_step;     // per generated position, counted from 0; kNotCommitted while open
  std::vector<double> confidence;     // per generated position, what the sampler gave when it committed
  Index steps = 0;                    // forward passes so far
  std::vector<Index> just_committed;  // positions in tokens, by the last step

  std::span<const TokenId> generated() const {
    return std::span(tokens).subspan(static_cast<std::size_t>(prompt_length));
  }
};

// Starts a generation: the prompt followed by `masks` copies of `mask`. Throws Error when the prompt is
// empty.
Generation start_masked_generation(std::span<const TokenId> prompt, Index masks, TokenId mask);
// The same of a model that appends.
Generation start_generation(std::span<const TokenId> prompt);

// Writes a token and notes when (the step whose pass ran last) and how surely.
void commit(Generation& generation, Index position, TokenId token, double confidence);

// A token proposed for a position that may be filled, and how sure the sampler is of it.
struct Proposal {
  Index position = 0;
  TokenId token = 0;
  double confidence = 0;
};

// What who steers a generation changes between two steps.
struct StepChange {
  struct Written {
    Index position = 0;
    TokenId token = 0;
    friend bool operator==(const Written&, const Written&) = default;
  };
  std::vector<Written> write = {};  // generated positions that hold these tokens from here on
  std::vector<Index> remask = {};   // generated positions that are masks again
  std::optional<Index> steps_left =
      {};  // passes for all that is left, where a sampler counts them; at least 1
  bool empty() const { return write.empty() && remask.empty() && !steps_left; }
  friend bool operator==(const StepChange&, const StepChange&) = default;
};

// Writes and masks again. What is written so was committed by no step. `mask` is empty for a model that
// appends. Throws UsageError for positions in [0, first) or from `end` on, for ids outside a vocabulary of V
// and for masks where there are none.
struct ChangeLimits {
  Index first = 0, end = 0, V = 0;
  std::optional<TokenId> mask = {};
};
void apply_change(const StepChange& change, const ChangeLimits& limits, Generation& generation);

// Which stream of random draws each sample of a batch uses: first, first + 1, …, or one named for each. A
// sample with the same stream gives the same result in any batch.
class SampleStreams {
 public:
  SampleStreams(Index first = 0) : first_(first) {}
  SampleStreams(std::span<const Index> each) : each_(each) {}

  std::uint32_t of(Index number) const {
    return static_cast<std::uint32_t>(each_.empty() ? first_ + number
                                                    : each_[static_cast<std::size_t>(number)]);
  }

 private:
  Index first_ = 0;
  std::span<const Index> each_;
};

// Watches a batch being generated. Samples are numbered as the prompts were given.
class GenerationObserver {
 public:
  virtual ~GenerationObserver() = default;

  // One sample's part of the pass that is about to run, before tokens change.
  struct Pass {
    Index sample;
    const Generation* generation;
    std::span<const TokenId> tokens;        // what there is to see: in block families up to the block's end
    std::span<const Index> read_positions;  // positions in tokens whose rows' logits are read
    Index first_row = 0;                    // rows before it stand as earlier passes left them
    PassRows rows = PassRows::kAnew;        // kAddUp: its rows stand from now on
  };
  // Called before every pass; the returned tap (may be null) sees it. Its sequences are numbered as `passes`;
  // under classifier-free guidance the unconditional halves follow, numbered from passes.size() on.
  virtual Tap* before_pass(std::span<const Pass> /*passes*/) { return nullptr; }

  // True promises that its taps change nothing. What earlier passes kept is then used though someone watches:
  // in block families a pass has the rows of the block at hand alone, and before a block is begun
  // before_standing() may watch those of finished ones that no step has, once each.
  virtual bool only_watches() const { return false; }
  virtual Tap* before_standing(std::span<const Pass> /*passes*/) { return nullptr; }

  // Called after a sample's step, when tokens, commit_step and steps are up to date.
  virtual void after_step(Index /*sample*/, const Generation& /*generation*/) {}

  // Asked before every step what is to be changed before it; by LLaDA's and Dream's samplers once more after
  // the last. May be asked more than once with the same number of steps; each answer counts.
  virtual StepChange before_step(Index /*sample*/, const Generation& /*generation*/) { return {}; }

  // Told what a pass proposes for the positions that it may fill, before any is committed.
  virtual void proposed(Index /*sample*/, std::span<const Proposal> /*proposals*/) {}

  // Asked before every pass. True: the generation ends there, with Cancelled.
  virtual bool cancelled() const { return false; }
};

// What every sampler does before a pass: asks whether to go on, and who watches. Throws Cancelled. `observer`
// may be null, and so may the tap.
Tap* begin_pass(GenerationObserver* observer, std::span<const GenerationObserver::Pass> passes);

}  // namespace buoy
