// Running sums of one layer's attention, from which received attention, flow and QK means are read off.
#pragma once

#include <span>
#include <vector>

#include "buoy/compute/attention.h"
#include "buoy/probe/record_settings.h"

namespace buoy {

// The rows that are summed together: those of one region, apart from those of it that are read.
struct QueryGroup {
  Index region = 0;
  bool read = false;
};

// The shape of a pass that is folded.
struct FoldPass {
  Mask mask;
  Index H = 0;
  Index first_row = 0, T = 0;        // queries of this pass
  std::span<const Index> region_of;  // [N]
  Index R = 0;
  std::span<const QueryGroup> groups;
  Index read_rows = 0;
};

// Sums over all rows since the last clear(): passes add rows to one another where PassRows says so, else each
// starts anew. One thread.
class LayerFold {
 public:
  void clear();
  void add(const FoldPass& pass, const RecordSettings& settings, const AttentionStats& stats);

  // What the sums say after the pass that was added last. Appended to `out`, as many values as the shape
  // says.
  void append_received(std::vector<float>& out) const;        // [N]
  void append_received_read(std::vector<float>& out) const;   // [N]
  void append_received_heads(std::vector<float>& out) const;  // [H, N]
  void append_flow(std::vector<float>& out) const;            // [R, R]
  enum class Mean { kScore, kCosine, kNorm };
  void append_mean(Mean mean, std::vector<float>& out) const;  // [N]

 private:
  void add_columns(const FoldPass& pass, HeadDetail detail, const AttentionStats& stats);
  void add_means(const FoldPass& pass, const AttentionStats& stats);

  Index H_ = 0, N_ = 0, R_ = 0, rows_ = 0, read_rows_ = 0;
  std::vector<double> all_, read_;                // [N] summed over heads
  std::vector<std::vector<double>> heads_;        // [H][N]
  std::vector<double> flow_, region_rows_;        // [R, R], [R]
  std::vector<double> score_, cosine_, product_;  // [N] summed over heads and queries
  std::vector<Index> seen_;                       // [N] queries that saw the key
};

}  // namespace buoy
