// Averages the rows that are looked at closely over heads, in order: only the means go home.
#include "buoy/compute/cuda/attention_device.cuh"

namespace buoy::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void row_means_kernel(AttentionView view) {
  const SequenceView& s = view.sequences[blockIdx.z];
  const int r = blockIdx.x, j = blockIdx.y * kThreads + threadIdx.x;
  if (s.row_means == nullptr || r >= s.R || j >= s.N) return;
  float sum = 0;
  for (int h = 0; h < view.H; ++h) sum += s.matrix[(static_cast<Index>(h) * s.R + r) * s.N + j];
  s.row_means[static_cast<Index>(r) * s.N + j] = sum / static_cast<float>(view.H);
}

}  // namespace

void run_row_means(const AttentionView& view, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(view.most_rows),
                  static_cast<unsigned>(divide_up(view.most_keys, kThreads)),
                  static_cast<unsigned>(view.count));
  row_means_kernel<<<grid, kThreads, 0, stream>>>(view);
  check_launch("row means");
}

}  // namespace buoy::cuda
