// The state space mixer on all cores: a scan in chunks, its statistics from scans of energies. Holds nothing
// that grows with N².
#pragma once

#include <vector>

#include "buoy/base/thread_pool.h"
#include "buoy/compute/cpu/cpu_ssd_head.h"

namespace buoy {

// A head of a sequence is one task, worked off in an order that depends on its own shape alone. Keeps its
// working memory between calls. One caller at a time.
class CpuSsd {
 public:
  explicit CpuSsd(ThreadPool& pool);
  void run(const SsdArgs& args, const Tensor& out);

 private:
  void average_rows(const SsdArgs& args, Index sequence);

  ThreadPool& pool_;
  std::vector<CpuSsdHead> heads_;                // per thread
  std::vector<std::vector<float>> row_weights_;  // per sequence: [H, rows, N], where row_means is asked for
};

}  // namespace buoy
