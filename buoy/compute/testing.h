// Random tensors and backends for tests of compute.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "buoy/base/random.h"
#include "buoy/compute/backend.h"

namespace buoy::testing_support {

// Uniform in [-1, 1), named by a stream number.
inline std::vector<float> random_floats(Index count, std::uint32_t stream) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(2 * uniform({.seed = 42, .sample = stream}, i) - 1);
  }
  return values;
}

// How far a backend may be from the reference, by the type it computes in; relative for values above 1. The
// one place these numbers stand.
struct Tolerance {
  float values;      // outputs of operations
  float statistics;  // of attention: computed in float32 from bf16 queries and keys
};
inline constexpr Tolerance kF32Tolerance{.values = 1e-5f, .statistics = 1e-5f};
inline constexpr Tolerance kBf16Tolerance{.values = 1.6e-2f, .statistics = 2e-4f};  // two roundings to 8 bits

// Values a bf16 tensor holds exactly.
inline std::vector<float> rounded_to_bf16(std::vector<float> values) {
  for (float& value : values) {
    std::uint32_t word;
    std::memcpy(&word, &value, 4);
    word = (word + 0x8000u) & 0xffff0000u;
    std::memcpy(&value, &word, 4);
  }
  return values;
}

inline Tensor upload(Backend& backend, Index rows, Index cols, const std::vector<float>& values) {
  Tensor tensor = backend.allocate_activations(rows, cols);
  backend.upload(values, tensor);
  return tensor;
}

inline std::vector<float> download(Backend& backend, const Tensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.rows() * tensor.cols()));
  backend.download(tensor, values);
  return values;
}

// A weight in memory as a checkpoint would hold it. bf16 and f16 keep the upper bits only: the exact value is
// what widening the stored bits gives, on every backend alike.
struct HostWeight {
  std::vector<std::byte> bytes;
  TensorView view;

  HostWeight(const std::vector<float>& values, Shape shape, DType dtype) {
    bytes.resize(values.size() * static_cast<std::size_t>(size_of(dtype)));
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::uint32_t word;
      std::memcpy(&word, &values[i], 4);
      if (dtype == DType::kF32) std::memcpy(&bytes[4 * i], &word, 4);
      const auto brain = static_cast<std::uint16_t>(word >> 16);
      const auto half = static_cast<std::uint16_t>((word >> 16 & 0x8000) | (word >> 13 & 0x3ff) | 14u << 10);
      if (dtype == DType::kBf16) std::memcpy(&bytes[2 * i], &brain, 2);
      if (dtype == DType::kF16) std::memcpy(&bytes[2 * i], &half, 2);
    }
    view = {dtype, std::move(shape), bytes};
  }
  HostWeight(const HostWeight&) = delete;
};

struct NamedBackend {
  std::string name;
  std::shared_ptr<Backend> backend;  // shared: opening a card takes longer than a test
};

// The card in float32 and bf16; nothing without one.
inline std::shared_ptr<Backend> cuda_backend(DType dtype) {
  if (cuda_problem()) return nullptr;
  static std::shared_ptr<Backend> f32 = make_cuda_backend({.dtype = DType::kF32});
  static std::shared_ptr<Backend> bf16 = make_cuda_backend({.dtype = DType::kBf16});
  return dtype == DType::kBf16 ? bf16 : f32;
}

// The card in bf16 without Hopper's own instructions.
inline std::shared_ptr<Backend> ampere_backend() {
  static std::shared_ptr<Backend> made =
      make_cuda_backend({.dtype = DType::kBf16, .kernels = Kernels::kAmpere});
  return made;
}

// Every float32 backend that is not the oracle and that this machine can run.
inline std::vector<NamedBackend> backends_under_test() {
  std::vector<NamedBackend> all;
  if (has_cpu_backend()) {
    all.push_back({"cpu, 1 thread", make_cpu_backend({.threads = 1})});
    all.push_back({"cpu, 2 threads", make_cpu_backend({.threads = 2})});
    all.push_back({"cpu, widening as used", make_cpu_backend({.threads = 2, .widen = Widen::kAsUsed})});
  }
  if (const auto cuda = cuda_backend(DType::kF32)) all.push_back({"cuda", cuda});
  return all;
}

}  // namespace buoy::testing_support
