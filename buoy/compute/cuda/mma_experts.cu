// Products of experts on tensor cores as Ampere has them: a block multiplies up to 64 slots of an expert by
// 128 of its outputs, 64 columns of the summands at a time; the next ones arrive meanwhile.
#include "buoy/compute/cuda/experts.cuh"
#include "buoy/compute/cuda/mma.cuh"

namespace buoy::cuda {
namespace {

constexpr int kThreads = 128, kRows = kMmaTileRows, kColumns = 128, kDepth = 64, kStages = 3;
constexpr int kHalf = kColumns / 2, kChunks = kDepth / kVector;

struct Shared {
  uint4 rows[kStages][kRows * kChunks];
  uint4 weights[kStages][kColumns * kChunks];
  int source[kRows];  // where a slot's summands lie; -1: nowhere
};

// On the way up the first half of a block's columns are gates, the second the factors beside them; on the way
// down they are neighbours.
enum class Way { kUp, kDown };

struct Product {
  const Bf16 *x, *weights;
  int inputs, outputs;  // of gates alone, on the way up
  int first;            // output
};

template <Way way>
__device__ int weight_row(const Product& p, int r) {
  const int output = way == Way::kUp ? p.first + r % kHalf : p.first + r;
  if (output >= p.outputs) return -1;
  return way == Way::kUp && r >= kHalf ? p.outputs + output : output;
}

template <Way way>
__device__ void load_step(const Product& p, int step, Shared& shared) {
  const int stage = step % kStages;
  const auto copy = [&](uint4* to, const Bf16* from, int r, int row) {
    const int c = threadIdx.x % kChunks, at = step * kDepth + c * kVector;
    const bool there = row >= 0 && at < p.inputs;
    copy_chunk(to + chunk_at<kDepth>(r, c), from + (there ? static_cast<Index>(row) * p.inputs + at : 0),
               there);
  };
#pragma unroll
  for (int r = threadIdx.x / kChunks; r < kRows; r += kThreads / kChunks) {
    copy(shared.rows[stage], p.x, r, shared.source[r]);
  }
#pragma unroll
  for (int r = threadIdx.x / kChunks; r < kColumns; r += kThreads / kChunks) {
    copy(shared.weights[stage], p.weights, r, weight_row<way>(p, r));
  }
}

// A warp has 32 rows and twice 32 columns: the same ones of both halves.
using Sums = float[2][8][4];

__device__ int own_column(int n) {
  return n / 4 * kHalf + threadIdx.x / 32 % 2 * 32 + n % 4 * 8;
}

__device__ void multiply_step(const uint4* rows, const uint4* weights, Sums& sums) {
  const int lane = threadIdx.x % 32, first_row = threadIdx.x / 64 * 32, matrix = lane / 8;
#pragma unroll
  for (int step = 0; step < kDepth / 16; ++step) {
    unsigned left[2][4];
    load_left<kDepth>(rows, first_row, step, left[0]);
    load_left<kDepth>(rows, first_row + 16, step, left[1]);
#pragma unroll
    for (int n = 0; n < 8; n += 2) {
      unsigned b[4];
      load_matrices(
          weights + chunk_at<kDepth>(own_column(n) + matrix / 2 * 8 + lane % 8, 2 * step + matrix % 2), b);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        multiply_add(sums[i][n], left[i], b[0], b[1]);
        multiply_add(sums[i][n + 1], left[i], b[2], b[3]);
      }
    }
  }
}

template <Way way>
__device__ void store(const ExpertTile& tile, const Product& p, const Sums& sums, Bf16* to) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int r = threadIdx.x / 64 * 32 + 16 * i + 8 * half + lane / 4;
      if (r >= tile.rows) continue;
      Bf16* row = to + static_cast<Index>(tile.first + r) * p.outputs;
#pragma unroll
      for (int n = 0; n < (way == Way::kUp ? 4 : 8); ++n) {
        const int column = p.first + own_column(n) + 2 * (lane % 4);
        if (column >= p.outputs) continue;
        float a = sums[i][n][2 * half], b = sums[i][n][2 * half + 1];
        if constexpr (way == Way::kUp) {
          a = gated(a, sums[i][n + 4][2 * half]);
          b = gated(b, sums[i][n + 4][2 * half + 1]);
        }
        *reinterpret_cast<unsigned*>(row + column) = pack_bf16(a, b);
      }
    }
  }
}

template <Way way>
__global__ void __launch_bounds__(kThreads) experts_kernel(ExpertView view, int stretches) {
  extern __shared__ uint4 memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  ExpertTask task;
  if (!find_task(view, stretches, task)) return;
  const ExpertTile& tile = task.tile;
  const ExpertWeights weights = view.weights[tile.expert];
  const bool up = way == Way::kUp;
  const Product p{static_cast<const Bf16*>(up ? view.normed : view.gated),
                  static_cast<const Bf16*>(up ? weights.gate_up : weights.down), up ? view.E : view.F,
                  up ? view.F : view.E, task.stretch * (up ? kHalf : kColumns)};
  if (threadIdx.x < kRows) {
    const int r = threadIdx.x, slot = tile.first + r;
    shared.source[r] = r >= tile.rows ? -1 : up ? view.slot_row[slot] : slot;
  }
  __syncthreads();
  const int steps = (p.inputs + kDepth - 1) / kDepth;
  for (int step = 0; step < kStages - 1; ++step) {
    if (step < steps) load_step<way>(p, step, shared);
    close_copies();
  }
  Sums sums = {};
  for (int step = 0; step < steps; ++step) {
    wait_copies<kStages - 2>();
    __syncthreads();  // this step's tiles have come, and nobody reads those of the one before
    if (step + kStages - 1 < steps) load_step<way>(p, step + kStages - 1, shared);
    close_copies();
    multiply_step(shared.rows[step % kStages], shared.weights[step % kStages], sums);
  }
  store<way>(tile, p, sums, static_cast<Bf16*>(up ? view.gated : view.out));
}

template <Way way>
void run(const ExpertView& view, int outputs, int columns, cudaStream_t stream) {
  const Index stretches = divide_up(outputs, columns);
  allow_shared(experts_kernel<way>, sizeof(Shared));
  experts_kernel<way>
      <<<static_cast<unsigned>(view.most_tiles() * stretches), kThreads, sizeof(Shared), stream>>>(
          view, static_cast<int>(stretches));
  check_launch("experts");
}

}  // namespace

void run_mma_experts(const ExpertView& view, cudaStream_t stream) {
  run<Way::kUp>(view, view.F, kHalf, stream);
  run<Way::kDown>(view, view.E, kColumns, stream);
}

}  // namespace buoy::cuda
