// One block a row: the two largest logits first, then the sums in double precision, in a fixed order.
#include "buoy/compute/cuda/device.h"
#include "buoy/compute/cuda/summary_kernel.h"

namespace buoy::cuda {
namespace {

constexpr int kThreads = 256;

// The largest logit with its lowest index, and the second largest.
struct Top {
  float best, second;
  Index index;
};

__device__ Top merge(const Top& a, const Top& b) {
  const bool a_leads = a.best > b.best || (a.best == b.best && a.index < b.index);
  const Top &lead = a_leads ? a : b, &other = a_leads ? b : a;
  return {lead.best, fmaxf(lead.second, other.best), lead.index};
}

__global__ void summarize_kernel(const float* all, Index stride, Index V, RowSummary* out) {
  const float* logits = all + blockIdx.x * stride;
  const float nothing = -INFINITY;
  Top top{nothing, nothing, V};
  for (Index i = threadIdx.x; i < V; i += kThreads) {
    const float x = logits[i];
    if (x > top.best) {
      top = {x, top.best, i};
    } else if (x > top.second) {
      top.second = x;
    }
  }
  __shared__ Top tops[kThreads];
  __shared__ double totals[kThreads], weighted[kThreads];
  tops[threadIdx.x] = top;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) tops[threadIdx.x] = merge(tops[threadIdx.x], tops[threadIdx.x + half]);
    __syncthreads();
  }
  const float best = tops[0].best;
  double total = 0, product = 0;
  for (Index i = threadIdx.x; i < V; i += kThreads) {
    const double x = static_cast<double>(logits[i]) - best;
    if (x < -745.0) continue;  // exp underflows to 0
    const double e = exp(x);
    total += e;
    product += e * x;
  }
  totals[threadIdx.x] = total;
  weighted[threadIdx.x] = product;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      totals[threadIdx.x] += totals[threadIdx.x + half];
      weighted[threadIdx.x] += weighted[threadIdx.x + half];
    }
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  out[blockIdx.x] = {.probability = 1.0 / totals[0],
                     .margin = (1.0 - exp(static_cast<double>(tops[0].second) - best)) / totals[0],
                     .entropy = log(totals[0]) - weighted[0] / totals[0],
                     .best = tops[0].index < V ? tops[0].index : 0};
}

}  // namespace

void summarize_rows(const float* logits, Index stride, Index rows, Index V, RowSummary* out,
                    cudaStream_t stream) {
  if (rows == 0) return;
  summarize_kernel<<<static_cast<unsigned>(rows), kThreads, 0, stream>>>(logits, stride, V, out);
  check_launch("summarize logits");
}

}  // namespace buoy::cuda
