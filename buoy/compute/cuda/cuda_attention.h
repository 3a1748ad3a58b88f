// Attention on the card: plans a layer for the kernels, runs them, and brings the statistics home.
#pragma once

#include <memory>
#include <vector>

#include "buoy/compute/attention.h"
#include "buoy/compute/cuda/answers.h"
#include "buoy/compute/cuda/attention_params.h"

namespace buoy::cuda {

// Rows that are looked at closely are rounded up to this: steps of a generation that differ a little are the
// same work.
inline constexpr int kRowStep = 32;

// Fills query_states and key_states, head by head. Waits for them.
void fetch_states(const AttentionArgs& args, const AttentionSequence& s, Pool& pool, Queue& queue);

// One caller at a time.
class CudaAttention {
 public:
  CudaAttention(const Device& device, std::shared_ptr<Queue> queue, Pool& pool)
      : device_(device), queue_(std::move(queue)), pool_(pool), post_(queue_, pool) {}

  void run(const AttentionArgs& args, const Tensor& out);
  void settle() { post_.settle(); }

 private:
  struct Plan;

  static std::size_t number_of(const AttentionArgs& args, const AttentionSequence& s);
  SequenceView describe(const AttentionArgs& args, const AttentionSequence& s, const Tensor& out, Plan& plan);
  static void add_maps(const AttentionArgs& args, const AttentionSequence& s, Plan& plan);
  void add_stretches(const AttentionArgs& args, const AttentionSequence& s, std::vector<GroupBlock>& blocks,
                     Plan& plan);
  void add_statistics(const AttentionArgs& args, const AttentionSequence& s, const AttentionView& batch,
                      Plan& plan);
  void place(Plan& plan);
  void run_passes(const AttentionView& view, const Plan& plan);
  void fetch_matrix(AttentionView view, const AttentionSequence& s, SequenceView whole);

  Device device_;
  std::shared_ptr<Queue> queue_;
  Stream aside_{Stream::Priority::kHigh}, after_{Stream::Priority::kHigh};
  Event begun_, prepared_, attended_, meant_, measured_;
  Pool& pool_;
  AnswerPost post_;
};

}  // namespace buoy::cuda
