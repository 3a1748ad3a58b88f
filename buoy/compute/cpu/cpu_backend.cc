// The cpu backend: oneDNN for projections, SIMD kernels for the rest, rows shared out over a thread pool.
#include <algorithm>
#include <cstring>

#include "buoy/base/error.h"
#include "buoy/base/thread_pool.h"
#include "buoy/compute/backend.h"
#include "buoy/compute/cpu/cpu_attention.h"
#include "buoy/compute/cpu/cpu_linear.h"
#include "buoy/compute/cpu/cpu_ssd.h"
#include "buoy/compute/cpu/kernels.h"
#include "buoy/compute/cpu/tile_matmul.h"
#include "buoy/compute/host_memory.h"
#include "buoy/compute/logits.h"

namespace buoy {
namespace {

// Rows per task of the cheap row-wise operations: large enough that sharing out costs little.
constexpr Index kRowsPerTask = 32;

// Weights of half a layer up to this size stay in a core's cache while tiles pass by.
constexpr Index kCachedWeightBytes = Index{2} << 20;

class CpuBackend : public Backend {
 public:
  explicit CpuBackend(const CpuOptions& options)
      : options_(options),
        pool_(options.threads),
        attention_(pool_),
        ssd_(pool_),
        matmuls_(options.instructions),
        scratch_(static_cast<std::size_t>(pool_.size())) {
    limit_instructions(options.instructions);
  }

  std::string_view name() const override { return "cpu"; }

  Tensor allocate(Index rows, Index cols) override { return memory_.allocate(rows, cols); }

  void upload(std::span<const float> from, const Tensor& to) override {
    check(std::ssize(from) == to.rows() * to.cols(), "upload fits");
    for (Index r = 0; r < to.rows(); ++r)
      std::copy_n(from.data() + r * to.cols(), to.cols(), to.row<float>(r));
  }

  void download(const Tensor& from, std::span<float> to) override {
    check(std::ssize(to) == from.rows() * from.cols(), "download fits");
    for (Index r = 0; r < from.rows(); ++r)
      std::copy_n(from.row<float>(r), from.cols(), to.data() + r * from.cols());
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

  void head_norm(const Tensor& x, const RmsNorm& norm, Index D) override {
    for_rows(x.rows(), [&](Index r) { norm_heads(norm, x.row<float>(r), x.cols(), D); });
  }

  void clip(const Tensor& x, float bound, float factor) override {
    for_rows(x.rows(), [&](Index r) { clip_row(x.row<float>(r), x.cols(), bound, factor); });
  }

  void rope(const Tensor& x, Index D, std::span<const Index> positions, const RopeTable& table) override {
    const Rotation rotation{table, D, x.cols(), positions};
    for_rows(x.rows(), [&](Index r) { rotate(rotation, r, x.row<float>(r)); });
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

  void scatter_rows(const Tensor& x, std::span<const Index> rows, const Tensor& out) override {
    for_rows(std::ssize(rows), [&](Index r) {
      std::copy_n(x.row<float>(r), x.cols(), out.row<float>(rows[static_cast<std::size_t>(r)]));
    });
  }

  void add_rows(const Tensor& x, std::span<const Index> rows, const Tensor& out) override {
    check(x.rows() == 1 || x.rows() == std::ssize(rows), "a row for each, or one for all");
    for_rows(std::ssize(rows), [&](Index r) {
      add_row(x.row<float>(x.rows() == 1 ? 0 : r), nullptr, out.cols(),
              out.row<float>(rows[static_cast<std::size_t>(r)]));
    });
  }

  void add_scaled_rows(const Tensor& x, std::span<const float> factors, std::span<const Index> rows,
                       const Tensor& out) override {
    check(x.rows() == std::ssize(rows) && factors.size() == rows.size(), "a row and a factor for each");
    for_rows(std::ssize(rows), [&](Index r) {
      const auto number = static_cast<std::size_t>(r);
      add_scaled_row(x.row<float>(r), factors[number], out.cols(), out.row<float>(rows[number]));
    });
  }

  void attention(const AttentionArgs& args, const Tensor& out) override { attention_.run(args, out); }

  void convolve(const Tensor& x, const Convolution& convolution, std::span<const Index> lengths,
                const Tensor& out) override {
    const Index K = convolution.weight.rows();
    std::vector<std::pair<Index, Index>> ends;  // of each row's sequence
    for (const Index T : lengths)
      ends.insert(ends.end(), static_cast<std::size_t>(T), {std::ssize(ends), std::ssize(ends) + T});
    for_rows(x.rows(), [&](Index r) {
      std::vector<const float*> rows, weights;
      const auto [first, last] = ends[static_cast<std::size_t>(r)];
      for (Index k = 0; k < K; ++k) {
        const Index from = r + k - K / 2;
        rows.push_back(from < first || from >= last ? nullptr : x.row<float>(from));
        weights.push_back(convolution.weight.row<float>(k));
      }
      convolve_row(rows.data(), weights.data(), K, convolution.bias.row<float>(0), x.cols(),
                   out.row<float>(r));
    });
  }
  void ssd(const SsdArgs& args, const Tensor& out) override { ssd_.run(args, out); }

  // Small layers are worked off tile by tile, each thread keeping its rows in cache from one end to the
  // other; in large ones the weights would not stay there, and operation by operation is faster. The bits are
  // the same.
  void enter_layer(const LayerInput& layer, const Tensor& x, const Tensor& projected) override {
    const auto& weights = static_cast<const CpuLinear&>(layer.projection);
    if (!stays_in_cache(weights.packed_bytes())) return Backend::enter_layer(layer, x, projected);
    const std::vector<Tensor> normed = tiles(x.cols());
    for_tiles(x.rows(), [&](Index first, Index rows, std::size_t thread) {
      const Tensor to = projected.row_range(first, rows), mine = normed[thread].row_range(0, rows);
      norm_rows(x.row_range(first, rows), layer.norm, mine);
      weights.run_here(mine, Store::kOverwrite, to, scratch_[thread]);
      for (Index r = 0; r < rows; ++r) {
        if (layer.heads) transform_row(*layer.heads, to.row<float>(r), to.cols());
        if (layer.rotation) rotate(*layer.rotation, first + r, to.row<float>(r));
      }
    });
  }

  void leave_layer(const LayerOutput& layer, const Tensor& mixed, const Tensor& x) override {
    const auto* mlp = std::get_if<SwigluMlp>(&layer.feed_forward);
    if (mlp == nullptr) return Backend::leave_layer(layer, mixed, x);
    const auto& o = static_cast<const CpuLinear&>(layer.projection);
    const auto& gate_up = static_cast<const CpuLinear&>(*mlp->gate_up);
    const auto& down = static_cast<const CpuLinear&>(*mlp->down);
    if (o.packed_bytes() == 0 ||
        !stays_in_cache(o.packed_bytes() + gate_up.packed_bytes() + down.packed_bytes())) {
      return Backend::leave_layer(layer, mixed, x);
    }
    const std::vector<Tensor> normed = tiles(x.cols()), wide = tiles(gate_up.outputs()),
                              gated = tiles(down.inputs());
    for_tiles(x.rows(), [&](Index first, Index rows, std::size_t thread) {
      const Tensor mine = x.row_range(first, rows), norm = normed[thread].row_range(0, rows);
      const Tensor up = wide[thread].row_range(0, rows), product = gated[thread].row_range(0, rows);
      o.run_here(mixed.row_range(first, rows), Store::kAdd, mine, scratch_[thread]);
      norm_rows(mine, layer.norm, norm);
      gate_up.run_here(norm, Store::kOverwrite, up, scratch_[thread]);
      for (Index r = 0; r < rows; ++r) {
        const float* gate = up.row<float>(r);
        swiglu_row(gate, gate + product.cols(), product.cols(), product.row<float>(r));
      }
      down.run_here(product, Store::kAdd, mine, scratch_[thread]);
    });
  }

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
  static bool stays_in_cache(Index weight_bytes) {
    return weight_bytes > 0 && weight_bytes <= kCachedWeightBytes;
  }

  static void norm_rows(const Tensor& x, const Norm& norm, const Tensor& out) {
    const auto run = [&](const RmsNorm& rms) {
      for (Index r = 0; r < x.rows(); ++r) {
        rms_norm_row(x.row<float>(r), rms.weight.row<float>(0), x.cols(), rms.epsilon, out.row<float>(r));
      }
    };
    std::visit(run, norm);
  }

  static void norm_heads(const RmsNorm& norm, float* row, Index columns, Index D) {
    for (Index c = 0; c < columns; c += D) {
      rms_norm_row(row + c, norm.weight.row<float>(0), D, norm.epsilon, row + c);
    }
  }

  // As transform_heads(), of one row.
  static void transform_row(const HeadTransform& h, float* row, Index columns) {
    if (h.query_norm != nullptr) norm_heads(*h.query_norm, row, h.query_columns, h.D);
    if (h.key_norm != nullptr) norm_heads(*h.key_norm, row + h.query_columns, h.key_columns, h.D);
    if (h.bound != 0) clip_row(row, columns, h.bound, 1);
    if (h.query_scale != 1) clip_row(row, h.query_columns, 0, h.query_scale);
  }

  // Row `number` of the pass, which lies at `row`.
  static void rotate(const Rotation& rotation, Index number, float* row) {
    const Index position = rotation.positions[static_cast<std::size_t>(number)];
    const RopeTable& table = rotation.table;
    rope_row(row, rotation.columns / rotation.D, rotation.D, table.cosines.cols(),
             table.cosines.row<float>(position), table.sines.row<float>(position));
  }

  // One tile of working memory per thread.
  std::vector<Tensor> tiles(Index cols) {
    std::vector<Tensor> made;
    for (int t = 0; t < pool_.size(); ++t) made.push_back(memory_.allocate(PanelMatmul::kRows, cols));
    return made;
  }

  // body(first row, rows, thread) for tiles of rows: whole ones, or smaller where there are too few for all
  // threads. Heights are made of the rungs that matmuls have.
  template <class Body>
  void for_tiles(Index rows, const Body& body) {
    const Index share = (rows + pool_.size() - 1) / pool_.size(), rung = share > 16 ? 16 : 4;
    const Index height = std::clamp<Index>((share + rung - 1) / rung * rung, rung, PanelMatmul::kRows);
    pool_.run((rows + height - 1) / height, [&](Index task, int thread) {
      body(task * height, std::min(height, rows - task * height), static_cast<std::size_t>(thread));
    });
  }

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
  CpuSsd ssd_;
  PanelMatmuls matmuls_;
  std::vector<std::vector<std::byte>> scratch_;  // per thread, for projections
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options) {
  return std::make_unique<CpuBackend>(options);
}

bool has_cpu_backend() {
  return true;
}

}  // namespace buoy
