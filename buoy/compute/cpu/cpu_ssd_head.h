// One head of one sequence of the cpu's state space mixer, from its gates to its output and statistics.
#pragma once

#include <array>
#include <vector>

#include "buoy/compute/cpu/ssd_kernels.h"
#include "buoy/compute/host_memory.h"
#include "buoy/compute/ssd.h"

namespace buoy {

// Rows of a chunk: inside it M is written out, between chunks a state is carried. A multiple of the panels
// in which keys are packed.
inline constexpr Index kSsdChunk = 96;

// Used again and again by one thread: run() sets everything.
class CpuSsdHead {
 public:
  // `row_weights` [rows, N] is filled where row_means is asked for.
  void run(const SsdArgs& args, const AttentionSequence& s, Index h, const Tensor& out, float* row_weights);

 private:
  // Scales of one direction. Between chunks, what position j wrote is read at i with
  // write[j]·carries·read[i].
  struct Sweep {
    AlignedFloats step;               // [N + padding] Δ
    std::vector<double> reach;        // [N + 1 + padding]
    std::vector<double> read, write;  // [N]
    std::vector<double> carry;        // [chunks] over a whole chunk
    SsdLane from(Index first) const { return {step.data() + first, reach.data() + first}; }
  };
  enum Direction { kForward, kBackward };
  struct Chunk {
    Index number, first, count;
  };

  void load(const SsdArgs& args, const AttentionSequence& s, Index h);
  void load_sweep(const SsdDirection& from, Direction direction);
  std::vector<Chunk> chunks(Direction order) const;
  void carry_states(Direction direction);
  void run_chunk(const Chunk& chunk);
  void store(const Tensor& out);

  // Statistics (cpu_ssd_stats.cc).
  void record(float* row_weights);
  std::vector<std::int8_t> plan_slots();
  void add_columns_inside(const std::vector<std::int8_t>& slots);
  void add_columns_between(Direction direction, const std::vector<std::int8_t>& slots);
  void store_columns();
  void measure_columns();
  void record_rows(float* row_weights);
  struct Strip;
  void fill_strip(Strip& strip);
  void record_row(const Strip& strip, Index r, float* row_weights);
  std::pair<Index, Index> window(Index i) const;
  double norm_of(const AlignedFloats& rows, Index i) const;

  const SsdArgs* args_ = nullptr;
  const AttentionSequence* s_ = nullptr;
  Index h_ = 0, N_ = 0, n_ = 0, P_ = 0, width_ = 0;  // width of a padded value
  std::array<Sweep, 2> sweeps_;
  std::vector<float> diagonal_;
  AlignedFloats C_, B_;    // [N, n]
  AlignedFloats keys_;     // B in panels
  AlignedFloats values_;   // [N, width]
  AlignedFloats outputs_;  // [N, width]
  AlignedFloats weights_;  // [kSsdChunk, stride] of M
  AlignedFloats scratch_;
  bool energies_ = false;       // whether the energies below are wanted
  std::vector<double> energy_;  // [N] ρ, the sum of a row's squares
  AlignedFloats squares_;       // [N, kSsdChunk] of the chunk's own columns
  Index slots_ = 0;
  std::vector<double> columns_;  // [slots, N]
  std::vector<float> strip_;
  double largest_key_ = 0;  // ‖B_j‖·Δ_j
};

}  // namespace buoy
