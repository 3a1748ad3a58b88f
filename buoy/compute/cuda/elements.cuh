// Elements of the three float types as float32, one at a time or eight (16 bytes of bf16) at once.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "buoy/base/types.h"

namespace buoy::cuda {

using Bf16 = __nv_bfloat16;

inline constexpr int kVector = 8;

__device__ inline float widened(float x) {
  return x;
}
__device__ inline float widened(Bf16 x) {
  return __bfloat162float(x);
}
__device__ inline float widened(__half x) {
  return __half2float(x);
}

template <typename T>
__device__ inline T narrowed(float x) {
  if constexpr (sizeof(T) == 4) {
    return x;
  } else {
    return __float2bfloat16_rn(x);
  }
}

// Eight neighbours; `from` must be aligned to 16 bytes.
__device__ inline void load_vector(const float* from, float (&to)[kVector]) {
  const float4 a = reinterpret_cast<const float4*>(from)[0], b = reinterpret_cast<const float4*>(from)[1];
  to[0] = a.x, to[1] = a.y, to[2] = a.z, to[3] = a.w, to[4] = b.x, to[5] = b.y, to[6] = b.z, to[7] = b.w;
}

__device__ inline void load_vector(const Bf16* from, float (&to)[kVector]) {
  const uint4 words = *reinterpret_cast<const uint4*>(from);
  const unsigned parts[] = {words.x, words.y, words.z, words.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {  // a bf16 is the upper half of a float
    to[2 * i] = __uint_as_float(parts[i] << 16);
    to[2 * i + 1] = __uint_as_float(parts[i] & 0xffff0000u);
  }
}

__device__ inline void load_vector(const __half* from, float (&to)[kVector]) {
  const uint4 words = *reinterpret_cast<const uint4*>(from);
  const unsigned parts[] = {words.x, words.y, words.z, words.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 pair = __half22float2(*reinterpret_cast<const __half2*>(&parts[i]));
    to[2 * i] = pair.x;
    to[2 * i + 1] = pair.y;
  }
}

__device__ inline void store_vector(const float (&from)[kVector], float* to) {
  reinterpret_cast<float4*>(to)[0] = make_float4(from[0], from[1], from[2], from[3]);
  reinterpret_cast<float4*>(to)[1] = make_float4(from[4], from[5], from[6], from[7]);
}

__device__ inline unsigned pack_bf16(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const unsigned*>(&pair);
}

__device__ inline void store_vector(const float (&from)[kVector], Bf16* to) {
  *reinterpret_cast<uint4*>(to) = make_uint4(pack_bf16(from[0], from[1]), pack_bf16(from[2], from[3]),
                                             pack_bf16(from[4], from[5]), pack_bf16(from[6], from[7]));
}

// silu(gate)·up.
__device__ inline float gated(float gate, float up) {
  return gate / (1.0f + expf(-gate)) * up;
}

// Sum over a warp, the same order in every lane.
__device__ inline float warp_sum(float x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(~0u, x, step);
  return x;
}

// body(T{}) for the C++ type of a weight or activation.
template <class Body>
void with_type(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::kBf16:
      return body(Bf16{});
    case DType::kF16:
      return body(__half{});
    default:
      return body(float{});
  }
}

// The same for activations, which are float32 or bf16.
template <class Body>
void with_activation_type(DType dtype, const Body& body) {
  dtype == DType::kBf16 ? body(Bf16{}) : body(float{});
}

inline Index divide_up(Index a, Index b) {
  return (a + b - 1) / b;
}

}  // namespace buoy::cuda
