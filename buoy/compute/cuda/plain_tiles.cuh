// Tiles of 64 queries by 64 keys in float32 for any head size: the path of float32 and of unusual heads.
#pragma once

#include "buoy/compute/cuda/attention_device.cuh"

namespace buoy::cuda {

// 16 × 16 threads; thread (tx, ty) owns queries ty + 16·i and keys tx + 16·j, so that neighbouring threads
// read neighbouring rows, which the padding puts into different banks.
inline constexpr int kTile = 64, kSide = 16, kOwn = kTile / kSide;

// DP: head size rounded up; the rest is zero.
template <int DP>
struct PlainShared {
  static constexpr int kRow = DP + 4;
  float queries[kTile][kRow];
  float keys[kTile][kRow];
  float weights[kTile][kTile + 4];
};

// Rows first.. of a head into shared memory; source(r) < 0: zeros.
template <int DP, typename T, class Source>
__device__ void load_tile(float (*tile)[DP + 4], const T* head, Index stride, int D, const Source& source) {
  for (int i = threadIdx.x; i < kTile * DP; i += kSide * kSide) {
    const int r = i / DP, d = i % DP, row = source(r);
    tile[r][d] = row >= 0 && d < D ? widened(head[row * stride + d]) : 0.0f;
  }
}

template <int DP>
__device__ void score_tile(const PlainShared<DP>& shared, float (&scores)[kOwn][kOwn]) {
  const int tx = threadIdx.x % kSide, ty = threadIdx.x / kSide;
#pragma unroll
  for (auto& row : scores) {
#pragma unroll
    for (float& s : row) s = 0;
  }
#pragma unroll 4
  for (int d = 0; d < DP; d += 4) {
    float4 q[kOwn], k[kOwn];
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      q[i] = *reinterpret_cast<const float4*>(&shared.queries[ty + kSide * i][d]);
      k[i] = *reinterpret_cast<const float4*>(&shared.keys[tx + kSide * i][d]);
    }
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
#pragma unroll
      for (int j = 0; j < kOwn; ++j) {
        float& s = scores[i][j];
        s = fmaf(q[i].x, k[j].x, s);
        s = fmaf(q[i].y, k[j].y, s);
        s = fmaf(q[i].z, k[j].z, s);
        s = fmaf(q[i].w, k[j].w, s);
      }
    }
  }
}

// launch(T{}, integral_constant DP) for the view's type and head size.
template <class Launch>
void with_plain_shape(const AttentionView& view, const Launch& launch) {
  with_activation_type(view.type, [&](auto type) {
    if (view.D <= 32) return launch(type, std::integral_constant<int, 32>{});
    if (view.D <= 64) return launch(type, std::integral_constant<int, 64>{});
    if (view.D <= 128) return launch(type, std::integral_constant<int, 128>{});
    return launch(type, std::integral_constant<int, 256>{});
  });
}

}  // namespace buoy::cuda
