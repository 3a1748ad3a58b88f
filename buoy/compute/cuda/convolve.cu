// The short convolution before a state space mixer's scan: every column by itself, within its sequence.
#include "buoy/compute/cuda/device.h"
#include "buoy/compute/cuda/elements.cuh"
#include "buoy/compute/cuda/ssd_params.h"

namespace buoy::cuda {
namespace {

constexpr int kThreads = 256;

template <typename T>
__global__ void convolve_kernel(ConvolveArgs a) {
  const Index begin = a.starts[blockIdx.z], end = a.starts[blockIdx.z + 1], row = begin + blockIdx.x;
  const Index c = static_cast<Index>(blockIdx.y) * kThreads + threadIdx.x;
  if (row >= end || c >= a.cols) return;
  float sum = a.bias[c];
  for (Index k = 0; k < a.K; ++k) {
    const Index from = row + k - a.K / 2;
    if (from < begin || from >= end) continue;
    sum = fmaf(a.weight[k * a.cols + c], widened(static_cast<const T*>(a.x)[from * a.x_stride + c]), sum);
  }
  static_cast<T*>(a.out)[row * a.out_stride + c] = narrowed<T>(gated(sum, 1.0f));
}

}  // namespace

void convolve_rows(const ConvolveArgs& args, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(args.longest), static_cast<unsigned>(divide_up(args.cols, kThreads)),
                  static_cast<unsigned>(args.count));
  with_activation_type(
      args.type, [&](auto type) { convolve_kernel<decltype(type)><<<grid, kThreads, 0, stream>>>(args); });
  check_launch("convolution");
}

}  // namespace buoy::cuda
