// The cpu backend: oneDNN for projections, SIMD kernels for the rest, rows shared out over a thread pool.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/thread_pool.h"
#include "compute/backend.h"
#include "compute/cpu/cpu_attention.h"
#include "compute/cpu/cpu_linear.h"
#include "compute/cpu/kernels.h"
#include "compute/host_memory.h"
#include "compute/logits.h"

namespace buoy {
namespace {

// Rows per task of the cheap row-wise operations: large enough that sharing out costs little.
constexpr Index kRowsPerTask = 32;

class CpuBackend : public Backend {
 public:
  explicit CpuBackend(const CpuOptions& options)
      : options_(options), pool_(options.threads), attention_(pool_), scratch_(static_cast<std::size_t>(pool_.size())) {
    limit_instructions(options.instructions);
  }

  std::string_view name() const override { return "cpu"; }

  Tensor allocate(Index rows, Index cols) override { return memory_.allocate(rows, cols); }

  void upload(std::span<const float> from, const Tensor& to) override {
    check(std::ssize(from) == to.rows() * to.cols(), "upload fits");
    for (Index r = 0; r < to.rows(); ++r) std::copy_n(from.data() + r * to.cols(), to.cols(), to.row<float>(r));
  }

  void download(const Tensor& from, std::span<float> to) override {
    check(std::ssize(to) == from.rows() * from.cols(), "download fits");
    for (Index r = 0; r < from.rows(); ++r) std::copy_n(from.row<float>(r), from.cols(), to.data() + r * from.cols());
  }

  std::unique_ptr<Linear> make_linear(std::span<const TensorView> weights,
                                      std::span<const TensorView> biases) override {
    return std::make_unique<CpuLinear>(weights, biases, options_.widen, matmuls_, pool_);
  }

  Tensor make_table(const TensorView& table) override { return view_on_host(table); }
  Tensor make_vector(const TensorView& vector) override { return widen_vector(vector); }

  void embed(const Tensor& table, std::span<const TokenId> ids, const Tensor& out) override {
    const Index bytes = table.cols() * size_of(table.dtype());
    for_rows(std::ssize(ids), [&](Index r) {
      const char* row = table.row<const char>(0) + ids[static_cast<std::size_t>(r)] * bytes;
      widen(row, table.dtype(), table.cols(), out.row<float>(r));
    });
  }

  void rms_norm(const Tensor& x, const Tensor& weight, float epsilon, const Tensor& out) override {
    for_rows(x.rows(), [&](Index r) {
      rms_norm_row(x.row<float>(r), weight.row<float>(0), x.cols(), epsilon, out.row<float>(r));
    });
  }

  void linear(const Tensor& x, const Linear& weights, Store store, const Tensor& y) override {
    static_cast<const CpuLinear&>(weights).run(x, store, y, pool_, scratch_);
  }

  void rope(const Tensor& x, Index D, std::span<const Index> positions, const RopeTable& table) override {
    for_rows(x.rows(), [&](Index r) {
      const Index position = positions[static_cast<std::size_t>(r)];
      rope_row(x.row<float>(r), x.cols() / D, D, table.cosines.row<float>(position), table.sines.row<float>(position));
    });
  }

  void swiglu(const Tensor& gate_up, const Tensor& out) override {
    for_rows(out.rows(), [&](Index r) {
      const float* gate = gate_up.row<float>(r);
      swiglu_row(gate, gate + out.cols(), out.cols(), out.row<float>(r));
    });
  }

  void gather_rows(const Tensor& x, std::span<const Index> rows, const Tensor& out) override {
    for_rows(std::ssize(rows), [&](Index r) {
      std::copy_n(x.row<float>(rows[static_cast<std::size_t>(r)]), x.cols(), out.row<float>(r));
    });
  }

  void copy_rows(const Tensor& x, const Tensor& out) override {
    for_rows(x.rows(), [&](Index r) { std::copy_n(x.row<float>(r), x.cols(), out.row<float>(r)); });
  }

  void attention(const AttentionArgs& args, const Tensor& out) override { attention_.run(args, out); }

  void guide(const Tensor& conditional, const Tensor& unconditional, float scale) override {
    for_rows(conditional.rows(), [&](Index r) { guide_row(conditional, unconditional, scale, r); });
  }

  std::vector<LogitSummary> summarize(const Tensor& logits) override {
    std::vector<LogitSummary> all(static_cast<std::size_t>(logits.rows()));
    pool_.run(logits.rows(), [&](Index r, int) {
      all[static_cast<std::size_t>(r)] =
          summarize_row({logits.row<float>(r), static_cast<std::size_t>(logits.cols())});
    });
    return all;
  }

 private:
  template <class Body>
  void for_rows(Index rows, const Body& body) {
    pool_.run((rows + kRowsPerTask - 1) / kRowsPerTask, [&](Index task, int) {
      const Index last = std::min(rows, (task + 1) * kRowsPerTask);
      for (Index r = task * kRowsPerTask; r < last; ++r) body(r);
    });
  }

  CpuOptions options_;
  HostPool memory_;
  ThreadPool pool_;
  CpuAttention attention_;
  TileMatmuls matmuls_;
  std::vector<std::vector<std::byte>> scratch_;  // per thread, for projections
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options) { return std::make_unique<CpuBackend>(options); }

}  // namespace buoy
