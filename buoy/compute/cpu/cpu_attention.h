// Attention on all cores with its statistics folded on the way; holds strips of rows, never N×N.
#pragma once

#include <utility>
#include <vector>

#include "buoy/base/thread_pool.h"
#include "buoy/compute/attention.h"
#include "buoy/compute/host_memory.h"

namespace buoy {

// Keeps its working memory between calls. One caller at a time.
class CpuAttention {
 public:
  explicit CpuAttention(ThreadPool& pool);
  void run(const AttentionArgs& args, const Tensor& out);

 private:
  // A run of consecutive queries of one head. How a sequence is cut into tasks depends on its own shape
  // alone, so the order in which partial sums merge does too.
  struct Task {
    Index sequence, h;
    Index first, last;                     // queries [first, last)
    std::vector<std::int8_t> groups = {};  // those that its queries belong to
    AlignedFloats columns;                 // [groups, padded N], when asked for
    double output_norms = 0;               // Σ over its queries
  };
  struct Strip;
  struct HeadData;

  void plan(const AttentionArgs& args);
  void pack(const AttentionArgs& args);
  HeadData head_data(const AttentionArgs& args, const Task& task) const;
  void run_task(const AttentionArgs& args, Task& task, const Tensor& out, AlignedFloats& scratch);
  void finish_strip(const Strip& strip, Task& task, const Tensor& out);
  void record_asked_row(const Strip& strip, Index r, float sum, float weighted);
  void keep_asked_rows(const Strip& strip);
  void average_rows(const AttentionArgs& args, Index sequence);
  void merge_head(const AttentionArgs& args, Index sequence, Index h);

  ThreadPool& pool_;
  std::vector<Task> tasks_;
  std::vector<Index> first_task_;  // per sequence
  std::vector<std::vector<std::pair<Index, Index>>>
      asked_;  // per sequence: (query, place in request), sorted
  std::vector<std::vector<std::pair<Index, std::int8_t>>>
      grouped_keys_;                             // per sequence: keys that are in a group, ascending
  std::vector<std::vector<float>> row_weights_;  // per sequence: [H, rows, N], where row_means is asked for
  std::vector<AlignedFloats> packed_;            // per (sequence, key head): keys, then values
  std::vector<AlignedFloats> scratch_;           // per thread
};

}  // namespace buoy
