// Attention on the card: plans a layer for the kernels, runs them, and brings the statistics home.
#pragma once

#include <memory>
#include <vector>

#include "buoy/compute/attention.h"
#include "buoy/compute/cuda/attention_params.h"
#include "buoy/compute/cuda/memory.h"

namespace buoy::cuda {

// One caller at a time.
class CudaAttention {
 public:
  CudaAttention(const Device& device, std::shared_ptr<Queue> queue, Pool& pool)
      : device_(device), queue_(std::move(queue)), pool_(pool) {}

  void run(const AttentionArgs& args, const Tensor& out);
  void settle();

 private:
  // An array of the answer: where it lies in the block on the card and where it belongs.
  struct Piece {
    Index offset, bytes;
    void* to;
  };
  struct Plan;

  static std::size_t number_of(const AttentionArgs& args, const AttentionSequence& s);
  SequenceView describe(const AttentionArgs& args, const AttentionSequence& s, const Tensor& out, Plan& plan);
  static void add_maps(const AttentionArgs& args, const AttentionSequence& s, Plan& plan);
  void add_statistics(const AttentionArgs& args, const AttentionSequence& s, const AttentionView& batch,
                      Plan& plan);
  void place(Plan& plan);
  void run_passes(const AttentionView& view, const Plan& plan);
  void fetch_matrix(AttentionView view, const AttentionSequence& s, SequenceView whole);
  void fetch_states(const AttentionArgs& args, const AttentionSequence& s);
  void send_statistics(std::vector<Piece> pieces, Index bytes);

  Device device_;
  std::shared_ptr<Queue> queue_;
  Stream copies_, aside_{Stream::Priority::kHigh};
  Event computed_, copied_, begun_, attended_, measured_;
  Pool& pool_;
  std::shared_ptr<Buffer> statistics_;  // on the card, used again by every layer
  Index statistics_capacity_ = 0;
  PinnedMemory arrived_;
  std::vector<Piece> pieces_;  // of the call that is not settled yet
};

}  // namespace buoy::cuda
