// The cuda backend: cuBLASLt for projections, own kernels for the rest, everything in one line.
#include "buoy/base/error.h"
#include "buoy/compute/backend.h"
#include "buoy/compute/cuda/cuda_attention.h"
#include "buoy/compute/cuda/cuda_experts.h"
#include "buoy/compute/cuda/cuda_ssd.h"
#include "buoy/compute/cuda/gemm.h"
#include "buoy/compute/cuda/memory.h"
#include "buoy/compute/cuda/row_kernels.h"
#include "buoy/compute/cuda/summary_kernel.h"
#include "buoy/compute/foreign.h"

namespace buoy {
namespace cuda {
namespace {

// Which rows are copied: all in order, or those listed on either side.
struct Rows {
  const Index *source = nullptr, *target = nullptr;
};

class CudaBackend : public Backend {
 public:
  explicit CudaBackend(const CudaOptions& options)
      : device_(open_device(options.card)), type_(options.dtype), queue_(std::make_shared<Queue>()) {
    if (options.kernels == Kernels::kAmpere) device_.major = 8;
    check(type_ == DType::kF32 || type_ == DType::kBf16, "the cuda backend computes in f32 or bf16");
  }
  ~CudaBackend() override {
    try {
      queue_->wait();         // or memory that goes later would start what is left in line
    } catch (const Error&) {  // nobody is left to be told
    }
  }

  std::string_view name() const override { return type_ == DType::kBf16 ? "cuda (bf16)" : "cuda"; }

  Tensor allocate(Index rows, Index cols) override { return pool_.allocate(rows, cols, DType::kF32); }
  Tensor allocate_activations(Index rows, Index cols) override { return pool_.allocate(rows, cols, type_); }

  void upload(std::span<const float> from, const Tensor& to) override {
    check(std::ssize(from) == to.rows() * to.cols(), "upload fits");
    if (to.empty()) return;
    const Tensor packed = allocate(to.rows(), to.cols());
    check_cuda(cudaMemcpyAsync(address(packed), from.data(), from.size_bytes(), cudaMemcpyHostToDevice,
                               queue_->start()),
               "write a tensor");
    copy(packed, to);
    queue_->wait();  // `from` may go away
  }

  void download(const Tensor& from, std::span<float> to) override {
    cuda::download(from, to, pool_, *queue_);
  }

  std::unique_ptr<Linear> make_linear(std::span<const TensorView> weights,
                                      std::span<const TensorView> biases) override {
    auto made = std::make_unique<CudaLinear>();
    made->weights = stack(weights, weights[0].shape[1], type_);
    if (!biases.empty()) {
      made->bias_f32 = stack(biases, 1, DType::kF32);
      made->bias_bf16 = stack(biases, 1, DType::kBf16);
    }
    return made;
  }

  Tensor make_table(const TensorView& table) override {
    check(table.shape.size() == 2, "a table has two dimensions");
    return load({&table, 1}, table.shape[0], table.shape[1], table.dtype);
  }

  Tensor make_vector(const TensorView& vector) override {
    return load({&vector, 1}, 1, element_count(vector.shape), DType::kF32);
  }

  void embed(const Tensor& table, std::span<const TokenId> ids, const Tensor& out) override {
    check(out.rows() == std::ssize(ids) && out.cols() == table.cols(), "embedding shapes fit");
    queue_->add(convert_rows, {.from = address(table),
                               .from_type = table.dtype(),
                               .to = address(out),
                               .to_type = out.dtype(),
                               .rows = out.rows(),
                               .cols = out.cols(),
                               .from_stride = table.stride(),
                               .to_stride = out.stride(),
                               .ids = queue_->send(ids)});
  }

  void rms_norm(const Tensor& x, const Tensor& weight, float epsilon, const Tensor& out) override {
    queue_->add(rms_norm_rows, {.x = address(x),
                                .x_type = x.dtype(),
                                .x_stride = x.stride(),
                                .weight = weight.row<float>(0),
                                .epsilon = epsilon,
                                .out = address(out),
                                .out_type = out.dtype(),
                                .out_stride = out.stride(),
                                .rows = x.rows(),
                                .cols = x.cols()});
  }

  void linear(const Tensor& x, const Linear& weights, Store store, const Tensor& y) override {
    gemms_.run(in_own_type(x), static_cast<const CudaLinear&>(weights), store, y);
  }

  void head_norm(const Tensor& x, const RmsNorm& norm, Index D) override {
    queue_->add(norm_head_rows, {.x = address(x),
                                 .type = x.dtype(),
                                 .stride = x.stride(),
                                 .rows = x.rows(),
                                 .heads = x.cols() / D,
                                 .D = D,
                                 .weight = norm.weight.row<float>(0),
                                 .epsilon = norm.epsilon});
  }

  void clip(const Tensor& x, float bound, float factor) override {
    queue_->add(clip_rows, {.x = address(x),
                            .type = x.dtype(),
                            .stride = x.stride(),
                            .rows = x.rows(),
                            .cols = x.cols(),
                            .bound = bound,
                            .factor = factor});
  }

  void rope(const Tensor& x, Index D, std::span<const Index> positions, const RopeTable& table) override {
    queue_->add(rope_rows, {.x = address(x),
                            .type = x.dtype(),
                            .stride = x.stride(),
                            .rows = x.rows(),
                            .heads = x.cols() / D,
                            .D = D,
                            .half = table.cosines.cols(),
                            .positions = queue_->send(positions),
                            .cosines = table.cosines.row<float>(0),
                            .sines = table.sines.row<float>(0)});
  }

  void swiglu(const Tensor& gate_up, const Tensor& out) override {
    check(gate_up.dtype() == out.dtype() && gate_up.cols() == 2 * out.cols(), "swiglu halves its input");
    queue_->add(swiglu_rows, {.gate_up = address(gate_up),
                              .out = address(out),
                              .type = out.dtype(),
                              .gate_up_stride = gate_up.stride(),
                              .out_stride = out.stride(),
                              .rows = out.rows(),
                              .F = out.cols()});
  }

  void gather_rows(const Tensor& x, std::span<const Index> rows, const Tensor& out) override {
    check(out.rows() == std::ssize(rows) && out.cols() == x.cols(), "gathered shapes fit");
    if (!rows.empty()) copy(x, out, {.source = queue_->send(rows)});
  }

  void scatter_rows(const Tensor& x, std::span<const Index> rows, const Tensor& out) override {
    check(x.rows() == std::ssize(rows) && out.cols() == x.cols(), "scattered shapes fit");
    if (!rows.empty()) copy(x, out, {.target = queue_->send(rows)});
  }

  void add_rows(const Tensor& x, std::span<const Index> rows, const Tensor& out) override {
    add_rows(x, {}, rows, out);
  }

  void add_scaled_rows(const Tensor& x, std::span<const float> factors, std::span<const Index> rows,
                       const Tensor& out) override {
    check(x.rows() == std::ssize(rows) && factors.size() == rows.size(), "a row and a factor for each");
    add_rows(x, factors, rows, out);
  }

  void add_rows(const Tensor& x, std::span<const float> factors, std::span<const Index> rows,
                const Tensor& out) {
    check(x.rows() == 1 || x.rows() == std::ssize(rows), "a row for each, or one for all");
    check(x.dtype() == DType::kF32 && out.dtype() == DType::kF32 && x.cols() == out.cols(),
          "rows are added in float32");
    if (rows.empty()) return;
    queue_->add(add_to_rows, {.x = x.row<float>(0),
                              .out = out.row<float>(0),
                              .targets = queue_->send(rows),
                              .factors = factors.empty() ? nullptr : queue_->send(factors),
                              .x_stride = x.rows() == 1 ? 0 : x.stride(),
                              .out_stride = out.stride(),
                              .rows = std::ssize(rows),
                              .cols = out.cols()});
  }

  // In bf16 all experts are worked on at once; in float32 one after the other.
  void leave_layer(const LayerOutput& layer, const Tensor& mixed, const Tensor& x) override {
    const auto* all = std::get_if<Experts>(&layer.feed_forward);
    if (all == nullptr || x.empty() || !CudaExperts::can_run(*all, type_, x)) {
      return Backend::leave_layer(layer, mixed, x);
    }
    linear(mixed, layer.projection, Store::kAdd, x);
    const Tensor normed = allocate_activations(x.rows(), x.cols());
    normalize(layer.norm, x, normed);
    const Tensor scores = allocate(x.rows(), all->router->outputs());
    linear(normed, *all->router, Store::kOverwrite, scores);
    experts_.run(*all, scores, normed, layer.routing, x);
    if (all->shared) feed(*all->shared, normed, x);
  }

  void attention(const AttentionArgs& args, const Tensor& out) override { attention_.run(args, out); }
  void convolve(const Tensor& x, const Convolution& convolution, std::span<const Index> lengths,
                const Tensor& out) override {
    ssd_.convolve(x, convolution, lengths, out);
  }
  void ssd(const SsdArgs& args, const Tensor& out) override {
    ssd_fits(args.n, args.P) ? ssd_.run(args, out) : Backend::ssd(args, out);  // else by way of the host
  }
  void settle() override {
    attention_.settle();
    ssd_.settle();
  }

  void guide(const Tensor& conditional, const Tensor& unconditional, float scale) override {
    queue_->add(guide_rows, {.conditional = conditional.row<float>(0),
                             .unconditional = unconditional.row<float>(0),
                             .conditional_stride = conditional.stride(),
                             .unconditional_stride = unconditional.stride(),
                             .rows = conditional.rows(),
                             .cols = conditional.cols(),
                             .scale = scale});
  }

  std::vector<LogitSummary> summarize(const Tensor& logits) override {
    std::vector<RowSummary> rows(static_cast<std::size_t>(logits.rows()));
    const std::size_t bytes = rows.size() * sizeof(RowSummary);
    const std::shared_ptr<Buffer> on_card = pool_.allocate(static_cast<Index>(bytes));
    const cudaStream_t stream = queue_->start();
    summarize_rows(logits.row<float>(0), logits.stride(), logits.rows(), logits.cols(),
                   static_cast<RowSummary*>(on_card->data()), stream);
    check_cuda(cudaMemcpyAsync(rows.data(), on_card->data(), bytes, cudaMemcpyDeviceToHost, stream),
               "read summaries");
    queue_->wait();
    std::vector<LogitSummary> all;
    for (const RowSummary& r : rows) {
      all.push_back({.best = static_cast<TokenId>(r.best),
                     .probability = r.probability,
                     .margin = r.margin,
                     .entropy = r.entropy});
    }
    return all;
  }

  void wait_for(cudaStream_t stream) {
    theirs_.record(stream);
    theirs_.hold_back(queue_->start());
  }
  void hold_back(cudaStream_t stream) {
    ours_.record(queue_->start());
    ours_.hold_back(stream);
  }

  void milestone() override { queue_->start(); }
  void synchronize() override { queue_->wait(); }
  Index take_peak_bytes() override { return pool_.take_peak_bytes(); }

 private:
  // Parts one below the other, each a whole number of rows.
  Tensor stack(std::span<const TensorView> parts, Index cols, DType dtype) {
    Index elements = 0;
    for (const TensorView& part : parts) elements += element_count(part.shape);
    return load(parts, elements / cols, cols, dtype);
  }

  Tensor load(std::span<const TensorView> parts, Index rows, Index cols, DType dtype) {
    const Tensor to(allocate_for_good(rows * cols * size_of(dtype), queue_), dtype, rows, cols);
    Index offset = 0;
    for (const TensorView& part : parts) {
      loader_.load(part, dtype, static_cast<std::byte*>(address(to)) + offset * size_of(dtype));
      offset += element_count(part.shape);
    }
    return to;
  }

  // `out` may have another type.
  void copy(const Tensor& x, const Tensor& out, const Rows& rows = {}) {
    if (out.empty()) return;
    queue_->add(convert_rows, {.from = address(x),
                               .from_type = x.dtype(),
                               .to = address(out),
                               .to_type = out.dtype(),
                               .rows = rows.target != nullptr ? x.rows() : out.rows(),
                               .cols = out.cols(),
                               .from_stride = x.stride(),
                               .to_stride = out.stride(),
                               .source = rows.source,
                               .target = rows.target});
  }

  // Products read the weights' type: float32 tensors are narrowed first where it is bf16.
  Tensor in_own_type(const Tensor& x) {
    if (x.dtype() == type_) return x;
    const Tensor narrowed = allocate_activations(x.rows(), x.cols());
    copy(x, narrowed);
    return narrowed;
  }

  Device device_;
  DType type_;
  std::shared_ptr<Queue> queue_;
  Pool pool_{queue_};
  WeightLoader loader_{queue_};
  Gemms gemms_{queue_, pool_};
  CudaAttention attention_{device_, queue_, pool_};
  CudaSsd ssd_{queue_, pool_};
  CudaExperts experts_{device_, queue_, pool_};
  Event theirs_, ours_;  // between our stream and another library's
};

CudaBackend& as_cuda(Backend& backend) {
  auto* const cuda = dynamic_cast<CudaBackend*>(&backend);
  check(cuda != nullptr, "streams are of the cuda backend");
  return *cuda;
}

}  // namespace
}  // namespace cuda

std::unique_ptr<Backend> make_cuda_backend(const CudaOptions& options) {
  return std::make_unique<cuda::CudaBackend>(options);
}

void wait_for_stream(Backend& backend, std::uintptr_t stream) {
  cuda::as_cuda(backend).wait_for(reinterpret_cast<cudaStream_t>(stream));
}

void hold_stream_back(Backend& backend, std::uintptr_t stream) {
  cuda::as_cuda(backend).hold_back(reinterpret_cast<cudaStream_t>(stream));
}

}  // namespace buoy
