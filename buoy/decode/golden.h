// Compares a model with a golden file: logits, attentions, hidden states and generations of another
// implementation.
#pragma once

#include <string>
#include <vector>

#include "buoy/io/npz.h"
#include "buoy/model/model.h"

namespace buoy {

// How far results may be from the golden ones; the one place these numbers stand.
struct GoldenTolerance {
  double logits = 1e-4;      // largest difference ÷ largest golden logit
  double attentions = 1e-4;  // largest difference
  double hidden = 1e-4;      // largest difference ÷ largest golden value
  // Of state space layers, whose attention is implicit: how far a layer's rows are apart on average, half the
  // sum of a row's differences. 0: their numbers are held to `attentions`, as all others.
  double implicit = 0;
};

// A pass in bf16 keeps eight bits of every weight and activation; its tokens may differ where two are close.
// On tests/goldens the weights alone account for 4e-2 to 5e-2 (golden_test.cc), and PyTorch's own bf16 passes
// are 6e-2 to 1.1e-1 off. A trained model is far nearer: 3e-3 to 6e-3 for a pair of 6 million parameters
// (tests/bundled_test.cc). Implicit attention is squares over their sum: where a position's two directions
// cancel, eight bits decide what it keeps to itself, in float64 as well, so that single numbers say nothing
// there (docs/verify.md).
inline constexpr GoldenTolerance kBf16GoldenTolerance{
    .logits = 8e-2, .attentions = 2e-1, .hidden = 4e-2, .implicit = 5e-2};

struct GoldenCheck {
  std::string array;     // its name in the file
  std::string measured;  // "max error 3.1e-07 of 1e-04", "40 of 40 tokens equal"
  bool passed = false;
  bool compared = true;  // false: what was run, or what this model cannot do; `measured` says which
};

// Runs everything the golden file holds and returns one line per array, those that are not compared last.
// Arrays (docs/verify.md):
//   input_ids, logits [T,V], attentions [L,H,T,T], hidden [L+1,T,E], experts and weights [L,T,k], under the
//   model's own mask, in blocks of `block`, or as `mask` says ("full", "causal"); logits_causal [T,V];
//   bd3lm_ids with bd3lm_logits in blocks of bd3lm_block that begin after prompt_ids; mask_id;
//   greedy (prompt + tokens) for causal models; prompt_ids with the generations of masked ones, whose
//   settings stand in their names (golden_name.h), hist_… for Dream, and order_… [gen_length], the step at
//   which each position was written, for LLaDA, A2D and Dream; all at temperature 0.
// A file whose arrays are of another mask than this family's is compared as far as the mask goes: passes run
// under the file's mask, generations are not compared.
// Throws Error for a file that lacks input_ids, has arrays of the wrong shape, or arrays it does not know.
std::vector<GoldenCheck> check_golden(const Model& model, const NpzArrays& golden, const std::string& place,
                                      const GoldenTolerance& tolerance = {});

}  // namespace buoy
