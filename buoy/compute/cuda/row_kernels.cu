// Row-wise kernels. All of them are bound by memory, so threads move 16 bytes at a time where rows allow it.
#include "buoy/compute/cuda/device.h"
#include "buoy/compute/cuda/elements.cuh"
#include "buoy/compute/cuda/row_kernels.h"

namespace buoy::cuda {
namespace {

constexpr int kThreads = 256;
constexpr Index kMostBlocks = Index{1} << 30;

unsigned blocks_for(Index items) {
  const Index blocks = divide_up(items, kThreads);
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks < kMostBlocks ? blocks : kMostBlocks);
}

__device__ Index thread_index() {
  return static_cast<Index>(blockIdx.x) * kThreads + threadIdx.x;
}

// Blocks for kernels whose threads have an item of one row each; item_index() counts within the row.
dim3 row_grid(Index rows, Index items) {
  return dim3(static_cast<unsigned>(rows), static_cast<unsigned>(divide_up(items, kThreads)));
}

__device__ int item_index() {
  return static_cast<int>(blockIdx.y * kThreads + threadIdx.x);
}

// One thread converts kWide neighbours.
template <typename From, typename To, int kWide>
__global__ void convert_kernel(ConvertArgs a) {
  const Index r = blockIdx.x, c = static_cast<Index>(item_index()) * kWide;
  if (c >= a.cols) return;
  const Index source = a.source != nullptr ? a.source[r] : a.ids != nullptr ? a.ids[r] : r;
  const Index target = a.target != nullptr ? a.target[r] : r;
  const From* from = static_cast<const From*>(a.from) + source * a.from_stride + c;
  To* to = static_cast<To*>(a.to) + target * a.to_stride + c;
  if constexpr (kWide == kVector) {
    float v[kVector];
    load_vector(from, v);
    store_vector(v, to);
  } else {
    *to = narrowed<To>(widened(*from));
  }
}

template <typename In, typename Out>
__global__ void rms_norm_kernel(RmsNormArgs a) {
  const In* x = static_cast<const In*>(a.x) + blockIdx.x * a.x_stride;
  Out* out = static_cast<Out*>(a.out) + blockIdx.x * a.out_stride;
  const bool vectors = a.cols % kVector == 0 && a.x_stride % kVector == 0 && a.out_stride % kVector == 0;
  constexpr int kHeld = 2;  // vectors a thread keeps from the first look to the second: rows of up to 4096
  float squares = 0, v[kVector], held[kHeld][kVector];
  if (vectors) {
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      const Index c = (i * kThreads + threadIdx.x) * kVector;
      if (c >= a.cols) continue;
      load_vector(x + c, held[i]);
#pragma unroll
      for (float e : held[i]) squares = fmaf(e, e, squares);
    }
    for (Index c = (kHeld * kThreads + threadIdx.x) * kVector; c < a.cols; c += kThreads * kVector) {
      load_vector(x + c, v);
#pragma unroll
      for (float e : v) squares = fmaf(e, e, squares);
    }
  } else {
    for (Index c = threadIdx.x; c < a.cols; c += kThreads)
      squares = fmaf(widened(x[c]), widened(x[c]), squares);
  }
  __shared__ float parts[kThreads / 32];
  squares = warp_sum(squares);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = squares;
  __syncthreads();
  float total = 0;
  for (const float part : parts) total += part;
  const float scale = 1.0f / sqrtf(total / static_cast<float>(a.cols) + a.epsilon);
  if (vectors) {
    const auto finish = [&](float(&values)[kVector], Index c) {
      float w[kVector];
      load_vector(a.weight + c, w);
#pragma unroll
      for (int e = 0; e < kVector; ++e) values[e] = values[e] * scale * w[e];
      store_vector(values, out + c);
    };
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      const Index c = (i * kThreads + threadIdx.x) * kVector;
      if (c < a.cols) finish(held[i], c);
    }
    for (Index c = (kHeld * kThreads + threadIdx.x) * kVector; c < a.cols; c += kThreads * kVector) {
      load_vector(x + c, v);
      finish(v, c);
    }
  } else {
    for (Index c = threadIdx.x; c < a.cols; c += kThreads)
      out[c] = narrowed<Out>(widened(x[c]) * scale * a.weight[c]);
  }
}

// One warp a head.
template <typename T>
__global__ void head_norm_kernel(HeadNormArgs a) {
  const int lane = threadIdx.x % 32, head = static_cast<int>(blockIdx.y) * (kThreads / 32) + threadIdx.x / 32;
  if (head >= a.heads) return;
  T* x = static_cast<T*>(a.x) + static_cast<Index>(blockIdx.x) * a.stride + head * a.D;
  float squares = 0;
  for (int d = lane; d < a.D; d += 32) squares = fmaf(widened(x[d]), widened(x[d]), squares);
  squares = warp_sum(squares);
  const float scale = 1.0f / sqrtf(squares / static_cast<float>(a.D) + a.epsilon);
  for (int d = lane; d < a.D; d += 32) x[d] = narrowed<T>(widened(x[d]) * scale * a.weight[d]);
}

template <typename T>
__global__ void clip_kernel(ClipArgs a) {
  const int c = item_index();
  if (c >= a.cols) return;
  T* x = static_cast<T*>(a.x) + static_cast<Index>(blockIdx.x) * a.stride + c;
  float value = widened(*x);
  if (a.bound != 0) value = fminf(fmaxf(value, -a.bound), a.bound);
  *x = narrowed<T>(value * a.factor);
}

// One thread rotates kWide neighbouring pairs of one head.
template <typename T, int kWide>
__global__ void rope_kernel(RopeArgs a) {
  const int half = static_cast<int>(a.half), groups = half / kWide, i = item_index();
  if (i >= a.heads * groups) return;
  const int d = i % groups * kWide, head = i / groups;
  const Index r = blockIdx.x;
  T* low = static_cast<T*>(a.x) + r * a.stride + head * a.D + d;
  T* high = low + half;
  const Index at = a.positions[r] * half + d;
  if constexpr (kWide == kVector) {
    float x[kVector], y[kVector], c[kVector], s[kVector];
    load_vector(low, x);
    load_vector(high, y);
    load_vector(a.cosines + at, c);
    load_vector(a.sines + at, s);
#pragma unroll
    for (int e = 0; e < kVector; ++e) {
      const float first = x[e] * c[e] - y[e] * s[e];
      y[e] = y[e] * c[e] + x[e] * s[e];
      x[e] = first;
    }
    store_vector(x, low);
    store_vector(y, high);
  } else {
    const float x = widened(*low), y = widened(*high), c = a.cosines[at], s = a.sines[at];
    *low = narrowed<T>(x * c - y * s);
    *high = narrowed<T>(y * c + x * s);
  }
}

template <typename T, int kWide>
__global__ void swiglu_kernel(SwigluArgs a) {
  const Index r = blockIdx.x, c = static_cast<Index>(item_index()) * kWide;
  if (c >= a.F) return;
  const T* gate = static_cast<const T*>(a.gate_up) + r * a.gate_up_stride + c;
  T* out = static_cast<T*>(a.out) + r * a.out_stride + c;
  if constexpr (kWide == kVector) {
    float g[kVector], u[kVector];
    load_vector(gate, g);
    load_vector(gate + a.F, u);
#pragma unroll
    for (int e = 0; e < kVector; ++e) g[e] = gated(g[e], u[e]);
    store_vector(g, out);
  } else {
    *out = narrowed<T>(gated(widened(*gate), widened(gate[a.F])));
  }
}

// Rounded after every step, as the host's code is.
__global__ void add_rows_kernel(AddRowsArgs a) {
  const Index i = thread_index();
  if (i >= a.rows * a.cols) return;
  const Index r = i / a.cols, c = i % a.cols;
  float* out = a.out + a.targets[r] * a.out_stride + c;
  const float x = a.x[r * a.x_stride + c];
  *out = __fadd_rn(*out, a.factors != nullptr ? __fmul_rn(a.factors[r], x) : x);
}

__global__ void guide_kernel(GuideArgs a) {
  const Index i = thread_index();
  if (i >= a.rows * a.cols) return;
  const Index r = i / a.cols, c = i % a.cols;
  float* conditional = a.conditional + r * a.conditional_stride + c;
  const float u = a.unconditional[r * a.unconditional_stride + c];
  *conditional = __fadd_rn(u, __fmul_rn(__fadd_rn(a.scale, 1.0f), __fsub_rn(*conditional, u)));
}

template <typename T, typename Y>
__global__ void plain_linear_kernel(PlainLinearArgs a) {
  const Index i = thread_index();
  if (i >= a.rows * a.outputs) return;
  const Index r = i / a.outputs, o = i % a.outputs;
  const T *x = static_cast<const T*>(a.x) + r * a.x_stride,
          *w = static_cast<const T*>(a.weights) + o * a.inputs;
  Y* y = static_cast<Y*>(a.y) + r * a.y_stride + o;
  float sum = 0;
  for (Index c = 0; c < a.inputs; ++c) sum = fmaf(widened(x[c]), widened(w[c]), sum);
  if (a.bias != nullptr) sum += a.bias[o];
  if (a.keep != 0) sum += widened(*y);
  *y = narrowed<Y>(sum);
}

template <typename T>
__global__ void random_kernel(T* to, Index count, unsigned seed) {
  const Index i = thread_index();
  if (i >= count) return;
  unsigned x = static_cast<unsigned>(i) * 2654435761u + seed * 40503u + 1;
  x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu, x ^= x >> 16;
  to[i] = narrowed<T>(static_cast<float>(x) * 0x1p-31f - 1.0f);
}

__global__ void difference_kernel(const unsigned short* a, const unsigned short* b, Index count,
                                  unsigned* differences) {
  const Index i = thread_index();
  if (i < count && a[i] != b[i]) atomicAdd(differences, 1u);
}

}  // namespace

void convert_rows(const ConvertArgs& given, cudaStream_t stream) {
  ConvertArgs a = given;
  if (a.rows * a.cols == 0) return;
  if (a.from_stride == 0) a.from_stride = a.cols;
  if (a.to_stride == 0) a.to_stride = a.cols;
  const auto aligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  const bool vectors = a.cols % kVector == 0 && a.from_stride % kVector == 0 && a.to_stride % kVector == 0 &&
                       aligned(a.from) && aligned(a.to);
  with_type(a.from_type, [&](auto from) {
    with_activation_type(a.to_type, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      if (vectors) {
        convert_kernel<From, To, kVector><<<row_grid(a.rows, a.cols / kVector), kThreads, 0, stream>>>(a);
      } else {
        convert_kernel<From, To, 1><<<row_grid(a.rows, a.cols), kThreads, 0, stream>>>(a);
      }
    });
  });
  check_launch("convert rows");
}

void rms_norm_rows(const RmsNormArgs& a, cudaStream_t stream) {
  if (a.rows == 0) return;
  with_activation_type(a.x_type, [&](auto in) {
    with_activation_type(a.out_type, [&](auto out) {
      rms_norm_kernel<decltype(in), decltype(out)><<<static_cast<unsigned>(a.rows), kThreads, 0, stream>>>(a);
    });
  });
  check_launch("rms norm");
}

void norm_head_rows(const HeadNormArgs& a, cudaStream_t stream) {
  if (a.rows * a.heads == 0) return;
  const dim3 grid(static_cast<unsigned>(a.rows), static_cast<unsigned>(divide_up(a.heads, kThreads / 32)));
  with_activation_type(
      a.type, [&](auto type) { head_norm_kernel<decltype(type)><<<grid, kThreads, 0, stream>>>(a); });
  check_launch("head norm");
}

void clip_rows(const ClipArgs& a, cudaStream_t stream) {
  if (a.rows * a.cols == 0) return;
  with_activation_type(a.type, [&](auto type) {
    clip_kernel<decltype(type)><<<row_grid(a.rows, a.cols), kThreads, 0, stream>>>(a);
  });
  check_launch("clip");
}

void rope_rows(const RopeArgs& a, cudaStream_t stream) {
  const Index pairs = a.heads * a.half;  // of a row
  if (a.rows * pairs == 0) return;
  const bool vectors = a.half % kVector == 0 && a.D % kVector == 0 && a.stride % kVector == 0;
  with_activation_type(a.type, [&](auto type) {
    using T = decltype(type);
    if (vectors) {
      rope_kernel<T, kVector><<<row_grid(a.rows, pairs / kVector), kThreads, 0, stream>>>(a);
    } else {
      rope_kernel<T, 1><<<row_grid(a.rows, pairs), kThreads, 0, stream>>>(a);
    }
  });
  check_launch("rope");
}

void swiglu_rows(const SwigluArgs& a, cudaStream_t stream) {
  if (a.rows * a.F == 0) return;
  const bool vectors = a.F % kVector == 0 && a.gate_up_stride % kVector == 0 && a.out_stride % kVector == 0;
  with_activation_type(a.type, [&](auto type) {
    using T = decltype(type);
    if (vectors) {
      swiglu_kernel<T, kVector><<<row_grid(a.rows, a.F / kVector), kThreads, 0, stream>>>(a);
    } else {
      swiglu_kernel<T, 1><<<row_grid(a.rows, a.F), kThreads, 0, stream>>>(a);
    }
  });
  check_launch("swiglu");
}

void add_to_rows(const AddRowsArgs& a, cudaStream_t stream) {
  if (a.rows * a.cols == 0) return;
  add_rows_kernel<<<blocks_for(a.rows * a.cols), kThreads, 0, stream>>>(a);
  check_launch("add rows");
}

void guide_rows(const GuideArgs& a, cudaStream_t stream) {
  if (a.rows * a.cols == 0) return;
  guide_kernel<<<blocks_for(a.rows * a.cols), kThreads, 0, stream>>>(a);
  check_launch("guidance");
}

void plain_linear(const PlainLinearArgs& a, cudaStream_t stream) {
  if (a.rows * a.outputs == 0) return;
  with_activation_type(a.type, [&](auto type) {
    with_activation_type(a.y_type, [&](auto y) {
      plain_linear_kernel<decltype(type), decltype(y)>
          <<<blocks_for(a.rows * a.outputs), kThreads, 0, stream>>>(a);
    });
  });
  check_launch("plain linear");
}

void fill_random(void* to, DType type, Index count, unsigned seed, cudaStream_t stream) {
  with_activation_type(type, [&](auto t) {
    using T = decltype(t);
    random_kernel<T><<<blocks_for(count), kThreads, 0, stream>>>(static_cast<T*>(to), count, seed);
  });
  check_launch("random numbers");
}

void count_differences(const void* a, const void* b, Index bytes, unsigned* count, cudaStream_t stream) {
  difference_kernel<<<blocks_for(bytes / 2), kThreads, 0, stream>>>(
      static_cast<const unsigned short*>(a), static_cast<const unsigned short*>(b), bytes / 2, count);
  check_launch("compare");
}

}  // namespace buoy::cuda
