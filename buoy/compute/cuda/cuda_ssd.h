// State space mixers on the card: plans a layer for the kernels, runs them, and brings the statistics home.
#pragma once

#include <memory>
#include <vector>

#include "buoy/compute/cuda/answers.h"
#include "buoy/compute/cuda/attention_params.h"
#include "buoy/compute/cuda/ssd_params.h"
#include "buoy/compute/ssd.h"

namespace buoy::cuda {

// One caller at a time.
class CudaSsd {
 public:
  CudaSsd(std::shared_ptr<Queue> queue, Pool& pool)
      : queue_(std::move(queue)), pool_(pool), post_(queue_, pool) {}

  void run(const SsdArgs& args, const Tensor& out);
  void settle() { post_.settle(); }
  void convolve(const Tensor& x, const Convolution& convolution, std::span<const Index> lengths,
                const Tensor& out);

 private:
  struct Plan;

  void describe(const SsdArgs& args, const AttentionSequence& s, const Tensor& out, Plan& plan);
  void add_columns(const SsdArgs& args, const AttentionSequence& s, Plan& plan);
  void add_rows(const SsdArgs& args, const AttentionSequence& s, Plan& plan);
  void add_norms(const SsdArgs& args, const AttentionSequence& s, Plan& plan);
  void place(Plan& plan);
  void fetch_matrix(SsdView view, const AttentionSequence& s, SsdSequence whole);

  std::shared_ptr<Queue> queue_;
  Pool& pool_;
  AnswerPost post_;
};

}  // namespace buoy::cuda
