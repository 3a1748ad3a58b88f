#include "buoy/compute/cuda/gemm.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>

#include "buoy/base/error.h"
#include "buoy/compute/cuda/row_kernels.h"

namespace buoy::cuda {
namespace {

constexpr Index kYardstickRows = 2048;
constexpr Index kSteps[] = {16, 64, 256, 512, 1024, 2048, 4096, 8192};
constexpr Index kTrialRows = 300;              // no multiple of any tile: rows stand everywhere in one
constexpr Index kTimedBytes = Index{4} << 30;  // of y; larger ones are not timed but take the first
constexpr Index kWorkspace = Index{32} << 20;
constexpr int kProposals = 16, kTimedRuns = 3;

void check_blas(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) fail("cuda: {}: {}", what, cublas_lt().status_string(status));
}

cudaDataType_t data_type(DType dtype) {
  return dtype == DType::kBf16 ? CUDA_R_16BF : CUDA_R_32F;
}

// The largest power of two, at most 16, that divides the bytes of a row: what every row is aligned to.
std::uint32_t alignment(Index cols, DType dtype) {
  std::uint32_t bytes = 16;
  while (cols * size_of(dtype) % bytes != 0) bytes /= 2;
  return bytes;
}

struct Layout {
  cublasLtMatrixLayout_t handle = nullptr;
  Layout(DType dtype, Index rows, Index cols, Index stride) {
    check_blas(cublas_lt().create_layout(&handle, data_type(dtype), static_cast<std::uint64_t>(rows),
                                         static_cast<std::uint64_t>(cols), stride),
               "describe a matrix");
  }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  ~Layout() { cublas_lt().destroy_layout(handle); }
};

template <typename T>
void set(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t name, const T& value) {
  check_blas(cublas_lt().set_product(desc, name, &value, sizeof(value)), "describe a product");
}

template <typename T>
void prefer(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t name, T value) {
  check_blas(cublas_lt().set_preference(preference, name, &value, sizeof(value)), "state a preference");
}

// Split K sums parts of a row in an order of its own.
bool sums_in_order(const cublasLtMatmulAlgo_t& algorithm) {
  std::int32_t parts = 1;
  std::uint32_t scheme = 0;
  std::size_t written = 0;
  cublas_lt().algorithm_attribute(&algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &parts, sizeof(parts),
                                  &written);
  cublas_lt().algorithm_attribute(&algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &scheme, sizeof(scheme),
                                  &written);
  return parts <= 1 && scheme == CUBLASLT_REDUCTION_SCHEME_NONE;
}

// The library's descriptions of a product.
struct Call {
  Layout a, b, d;
  cublasLtMatmulDesc_t product = nullptr;

  explicit Call(const Product& p)
      : a(p.type, p.inputs, p.outputs, p.inputs),
        b(p.type, p.inputs, p.rows, p.inputs),
        d(p.y_type, p.outputs, p.rows, p.outputs) {
    check_blas(cublas_lt().create_product(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describe a product");
    set(product, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    if (p.bias == nullptr) return;
    set(product, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(product, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<std::int32_t>(data_type(p.y_type)));
    set(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() { cublas_lt().destroy_product(product); }
};

cublasStatus_t multiply(const Product& p, cudaStream_t stream) {
  const Call call(p);
  const float one = 1;
  return cublas_lt().multiply(p.handle, call.product, &one, p.weights, call.a.handle, p.x, call.b.handle,
                              &p.keep, p.y, call.d.handle, p.y, call.d.handle, &p.algorithm, p.workspace,
                              static_cast<std::size_t>(kWorkspace), stream);
}

void run_product(const Product& p, cudaStream_t stream) {
  check_blas(multiply(p, stream), "start a product");
}

}  // namespace

Gemms::Gemms(std::shared_ptr<Queue> queue, Pool& pool)
    : queue_(std::move(queue)), pool_(pool), workspace_(allocate_for_good(kWorkspace)) {
  check_blas(cublas_lt().create(&handle_), "open cuBLASLt");
}

Gemms::~Gemms() {
  cublas_lt().destroy(handle_);
}

void Gemms::run(const Tensor& x, const CudaLinear& w, Store store, const Tensor& y) {
  check(x.cols() == w.inputs() && y.cols() == w.outputs() && x.rows() == y.rows(), "linear shapes fit");
  check(x.dtype() == w.weights.dtype(), "activations have the weights' type");
  check(x.stride() == x.cols() && y.stride() == y.cols(), "linear reads and writes whole rows");
  if (y.empty()) return;
  if (const cublasLtMatmulAlgo_t* algorithm = choose(w, y.dtype(), x.rows())) {
    queue_->add(run_product, product(w, *algorithm, x, store, y));
    return;
  }
  queue_->add(plain_linear, {.x = address(x),
                             .weights = address(w.weights),
                             .type = x.dtype(),
                             .bias = w.bias_f32.empty() ? nullptr : w.bias_f32.row<float>(0),
                             .y = address(y),
                             .y_type = y.dtype(),
                             .x_stride = x.stride(),
                             .y_stride = y.stride(),
                             .rows = x.rows(),
                             .inputs = w.inputs(),
                             .outputs = w.outputs(),
                             .keep = store == Store::kAdd ? 1.0f : 0.0f});
}

Product Gemms::product(const CudaLinear& w, const cublasLtMatmulAlgo_t& algorithm, const Tensor& x,
                       Store store, const Tensor& y) const {
  const Tensor& bias = y.dtype() == DType::kBf16 ? w.bias_bf16 : w.bias_f32;
  return {.handle = handle_,
          .algorithm = algorithm,
          .type = w.weights.dtype(),
          .y_type = y.dtype(),
          .rows = x.rows(),
          .inputs = w.inputs(),
          .outputs = w.outputs(),
          .weights = address(w.weights),
          .x = address(x),
          .bias = bias.empty() ? nullptr : address(bias),
          .y = address(y),
          .workspace = workspace_->data(),
          .keep = store == Store::kAdd ? 1.0f : 0.0f};
}

const cublasLtMatmulAlgo_t* Gemms::choose(const CudaLinear& w, DType y_type, Index rows) {
  const auto* step = std::ranges::lower_bound(kSteps, rows);
  const Index padded = step == std::end(kSteps) ? *(step - 1) : *step;
  const Key key{w.inputs(), w.outputs(), y_type, !w.bias_f32.empty(), padded};
  auto found = chosen_.find(key);
  if (found == chosen_.end()) found = chosen_.emplace(key, try_out(w, y_type, padded)).first;
  return found->second ? &*found->second : nullptr;
}

// The fastest algorithm that gives the yardstick's bits; nothing when the library has none for this shape.
std::optional<cublasLtMatmulAlgo_t> Gemms::try_out(const CudaLinear& w, DType y_type, Index rows) {
  const Tensor x = pool_.allocate(kTrialRows, w.inputs(), w.weights.dtype());
  const Tensor want = pool_.allocate(kTrialRows, w.outputs(), y_type);
  const Tensor got = pool_.allocate(kTrialRows, w.outputs(), y_type);
  fill_random(address(x), x.dtype(), kTrialRows * w.inputs(), 7, queue_->start());

  std::optional<cublasLtMatmulAlgo_t> yardstick;
  for (const cublasLtMatmulAlgo_t& algorithm : proposals(w, y_type, kYardstickRows)) {
    if (!try_once(w, algorithm, x, want)) continue;
    yardstick = algorithm;
    break;
  }
  if (!yardstick) return std::nullopt;

  std::vector<cublasLtMatmulAlgo_t> same;
  for (const cublasLtMatmulAlgo_t& algorithm : proposals(w, y_type, rows)) {
    if (!try_once(w, algorithm, x, got)) continue;
    if (same_bits(want, got)) same.push_back(algorithm);
  }
  if (same.empty()) return yardstick;
  return fastest(same, w, y_type, rows);
}

bool Gemms::same_bits(const Tensor& want, const Tensor& got) {
  const std::shared_ptr<Buffer> differences = pool_.allocate(sizeof(unsigned));
  const cudaStream_t stream = queue_->start();
  unsigned count = 0;
  check_cuda(cudaMemsetAsync(differences->data(), 0, sizeof(count), stream), "clear a counter");
  count_differences(address(want), address(got), want.rows() * want.cols() * size_of(want.dtype()),
                    static_cast<unsigned*>(differences->data()), stream);
  check_cuda(cudaMemcpyAsync(&count, differences->data(), sizeof(count), cudaMemcpyDeviceToHost, stream),
             "read a counter");
  queue_->wait();
  return count == 0;
}

cublasLtMatmulAlgo_t Gemms::fastest(std::span<const cublasLtMatmulAlgo_t> algorithms, const CudaLinear& w,
                                    DType y_type, Index rows) {
  if (algorithms.size() == 1 || rows * w.outputs() * size_of(y_type) > kTimedBytes) return algorithms[0];
  const Tensor x = pool_.allocate(rows, w.inputs(), w.weights.dtype());
  const Tensor y = pool_.allocate(rows, w.outputs(), y_type);
  fill_random(address(x), x.dtype(), rows * w.inputs(), 7, queue_->start());
  double best_time = std::numeric_limits<double>::infinity();
  cublasLtMatmulAlgo_t best = algorithms[0];
  for (const cublasLtMatmulAlgo_t& algorithm : algorithms) {
    if (!try_once(w, algorithm, x, y)) continue;  // warms up, too
    queue_->wait();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kTimedRuns; ++i) try_once(w, algorithm, x, y);
    queue_->wait();
    const double time = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (time < best_time) {
      best_time = time;
      best = algorithm;
    }
  }
  return best;
}

// What the library proposes for a shape, best first, without those that split K.
std::vector<cublasLtMatmulAlgo_t> Gemms::proposals(const CudaLinear& w, DType y_type, Index rows) {
  const Tensor& bias = y_type == DType::kBf16 ? w.bias_bf16 : w.bias_f32;
  const Call call({.type = w.weights.dtype(),
                   .y_type = y_type,
                   .rows = rows,
                   .inputs = w.inputs(),
                   .outputs = w.outputs(),
                   .bias = bias.empty() ? nullptr : address(bias)});
  cublasLtMatmulPreference_t preference = nullptr;
  check_blas(cublas_lt().create_preference(&preference), "state a preference");
  const std::uint32_t in = alignment(w.inputs(), w.weights.dtype());
  const std::uint32_t out = alignment(w.outputs(), y_type);
  prefer(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(kWorkspace));
  prefer(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
         std::uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE});
  prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, in);
  prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, in);
  prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, out);
  prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, out);
  std::array<cublasLtMatmulHeuristicResult_t, kProposals> results{};
  int count = 0;
  const cublasStatus_t status =
      cublas_lt().propose(handle_, call.product, call.a.handle, call.b.handle, call.d.handle, call.d.handle,
                          preference, kProposals, results.data(), &count);
  cublas_lt().destroy_preference(preference);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  check_blas(status, "choose an algorithm");
  std::vector<cublasLtMatmulAlgo_t> usable;
  for (const auto& result : std::span(results).first(static_cast<std::size_t>(count))) {
    if (result.state == CUBLAS_STATUS_SUCCESS && sums_in_order(result.algo)) usable.push_back(result.algo);
  }
  return usable;
}

// False when the algorithm cannot do this.
bool Gemms::try_once(const CudaLinear& w, const cublasLtMatmulAlgo_t& algorithm, const Tensor& x,
                     const Tensor& y) {
  const cublasStatus_t status = multiply(product(w, algorithm, x, Store::kOverwrite, y), queue_->start());
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return false;
  check_blas(status, "start a product");
  return true;
}

}  // namespace buoy::cuda
