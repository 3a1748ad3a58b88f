// Column means of scores, cosines and norms in O(N·D) per head, in double precision.
#pragma once

#include "buoy/compute/attention.h"

namespace buoy {

// Fills score_means, cosine_means and norm_means of head h. Means run over the queries that may see the key.
void measure_qk_means(const AttentionArgs& args, const AttentionSequence& sequence, Index h);

// Fill value_norms with uniform_norm, and key_norms, of one key head.
void measure_value_norms(const AttentionArgs& args, const AttentionSequence& sequence, Index kv);
void measure_key_norms(const AttentionArgs& args, const AttentionSequence& sequence, Index kv);

}  // namespace buoy
