// The contract of a device: memory, weights and the operations of a transformer. One caller at a time per
// backend.
//
// Every operation treats rows independently and in a fixed order of summation, so a row's result depends
// neither on the rows beside it nor on the number of threads.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/compute/attention.h"
#include "buoy/compute/layer.h"
#include "buoy/compute/ssd.h"
#include "buoy/compute/tensor.h"
#include "buoy/io/tensor_view.h"

namespace buoy {

// y = x·Wᵀ overwrites y, or adds to it (the residual stream).
enum class Store { kOverwrite, kAdd };

// What a sampler needs of one row of logits. Probabilities are softmax values in double precision.
struct LogitSummary {
  TokenId best = 0;        // argmax, lowest index on ties
  double probability = 0;  // of best
  double margin = 0;       // best minus second best probability
  double entropy = 0;      // nats
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;

  // Memory. Contents of a fresh tensor are undefined. allocate() gives float32; activations, which pass from
  // operation to operation inside a layer, have the type the backend computes in. Uploads and downloads
  // convert.
  virtual Tensor allocate(Index rows, Index cols) = 0;
  virtual Tensor allocate_activations(Index rows, Index cols) { return allocate(rows, cols); }
  virtual void upload(std::span<const float> from, const Tensor& to) = 0;
  virtual void download(const Tensor& from, std::span<float> to) = 0;

  // Weights. Views must stay valid as long as what is made from them. Parts are stacked: outputs add up.
  virtual std::unique_ptr<Linear> make_linear(std::span<const TensorView> weights,      // each [out, in]
                                              std::span<const TensorView> biases) = 0;  // each [out], or none
  virtual Tensor make_table(const TensorView& table) = 0;    // [V, E], kept in its own dtype
  virtual Tensor make_vector(const TensorView& vector) = 0;  // [n] → [1, n] f32

  // Operations. `out` is allocated by the caller and may not overlap the inputs unless said.
  virtual void embed(const Tensor& table, std::span<const TokenId> ids, const Tensor& out) = 0;
  virtual void rms_norm(const Tensor& x, const Tensor& weight, float epsilon, const Tensor& out) = 0;
  virtual void linear(const Tensor& x, const Linear& weights, Store store, const Tensor& y) = 0;
  // RMS norm of every head of D columns by itself, in place; weight [1, D].
  virtual void head_norm(const Tensor& x, const RmsNorm& norm, Index D) = 0;
  // x ← factor · min(max(x, −bound), bound), in place; bound 0: none.
  virtual void clip(const Tensor& x, float bound, float factor) = 0;
  // Rotates half-split pairs (d, d + R/2) of the first R dimensions of every head in place, R twice the
  // table's columns; positions[r] is the table row for row r of x.
  virtual void rope(const Tensor& x, Index D, std::span<const Index> positions, const RopeTable& table) = 0;
  virtual void swiglu(const Tensor& gate_up, const Tensor& out) = 0;  // [T, 2F] → silu(gate)·up [T, F]
  // Row r of out ← row rows[r] of x; row rows[r] of out ← row r of x.
  virtual void gather_rows(const Tensor& x, std::span<const Index> rows, const Tensor& out) = 0;
  virtual void scatter_rows(const Tensor& x, std::span<const Index> rows, const Tensor& out) = 0;
  // Row rows[r] of out ← itself + row r of x; an x of one row is added to each. Rows are distinct; both are
  // float32, as the residual stream is.
  virtual void add_rows(const Tensor& x, std::span<const Index> rows, const Tensor& out) = 0;
  // The same with row r of x times factors[r].
  virtual void add_scaled_rows(const Tensor& x, std::span<const float> factors, std::span<const Index> rows,
                               const Tensor& out) = 0;
  virtual void attention(const AttentionArgs& args, const Tensor& out) = 0;  // out [ΣT, H·D]
  // out[i] = silu(bias + Σ_k weight[k]·x[i + k − K/2]), column by column; rows beyond the ends of their own
  // sequence count 0. `lengths` are the sequences' rows, one after the other.
  // By default these two run on the host's cores, and what they need and give travels (host_detour.cc): of
  // shapes that a card's kernels do not take.
  virtual void convolve(const Tensor& x, const Convolution& convolution, std::span<const Index> lengths,
                        const Tensor& out);
  virtual void ssd(const SsdArgs& args, const Tensor& out);  // out [ΣT, H·P]
  // Waits for the statistics of an attention() or ssd() with Delivery::kLater.
  virtual void settle() {}

  // A norm of whatever kind.
  void normalize(const Norm& norm, const Tensor& x, const Tensor& out);
  void transform_heads(const HeadTransform& heads, const Tensor& projected);
  // x += what the rows of `normed` come to; `routing`, if there is one, says which experts they went to. Each
  // expert sees its own rows only, so a pass costs what the active experts cost.
  void feed(const SwigluMlp& mlp, const Tensor& normed, const Tensor& x);
  void feed(const Experts& experts, const Tensor& normed, Routing* routing, const Tensor& x);

  // The halves of a layer, around what mixes its rows. By default they are made of the operations above, part
  // by part; a backend may fuse the parts it knows.
  virtual void enter_layer(const LayerInput& layer, const Tensor& x, const Tensor& projected);
  virtual void leave_layer(const LayerOutput& layer, const Tensor& mixed, const Tensor& x);

  // Classifier-free guidance, in place: conditional ← unconditional + (scale + 1)·(conditional −
  // unconditional).
  virtual void guide(const Tensor& conditional, const Tensor& unconditional, float scale) = 0;
  virtual std::vector<LogitSummary> summarize(const Tensor& logits) = 0;  // [rows, V]

  // Says that the work up to here comes again in every step, and what follows may not (the number of rows
  // that are read changes). Changes no result.
  virtual void milestone() {}

  // For timing: waits until everything asked for has been computed.
  virtual void synchronize() {}
  // Most bytes of tensors and scratch, weights apart, in use at once since the last call; 0: not counted.
  virtual Index take_peak_bytes() { return 0; }

 private:
  Backend& host();
  std::unique_ptr<Backend> host_;  // made when it is first needed
};

// Plain loops with sums in double precision: the oracle the other backends are tested against.
std::unique_ptr<Backend> make_reference_backend();

// bf16 and f16 weights are made ready either once, at load (4 bytes a weight in memory, 2 of bf16 where there
// is AMX; fastest), or block by block each time they are used (nothing kept, slower for few rows). The
// results are the same to the bit.
enum class Widen { kOnce, kAsUsed };

// Instruction sets: the best this machine has, or at most AVX-512 or AVX2 (so that tests can stand in for
// smaller machines).
enum class Instructions { kBest, kAvx512, kAvx2 };

struct CpuOptions {
  int threads = 1;
  Widen widen = Widen::kOnce;
  Instructions instructions = Instructions::kBest;  // the first backend of a process decides
};

// oneDNN and SIMD on all cores. Throws Error when this build has none.
std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options);
bool has_cpu_backend();

// Kernels: the best for this card, or at most Ampere's (so that tests can stand in for older cards).
enum class Kernels { kBest, kAmpere };

struct CudaOptions {
  DType dtype = DType::kF32;  // of weights and activations: kF32 or kBf16
  int card = 0;               // by number; a thread computes on one card
  Kernels kernels = Kernels::kBest;
};

// Own kernels and cuBLASLt on an NVIDIA card. Throws Error with cuda_problem()'s line.
std::unique_ptr<Backend> make_cuda_backend(const CudaOptions& options);

// Why make_cuda_backend() would fail on that card (not built in, no card, too old), as one line; nothing when
// it would not.
std::optional<std::string> cuda_problem(int card = 0);

}  // namespace buoy
