// Operations that treat rows one by one: conversion, norms, rotation, gating. Launch only; pointers are the
// card's. Types are float32 or bf16 unless said.
#pragma once

#include <cuda_runtime_api.h>

#include "buoy/base/types.h"

namespace buoy::cuda {

// Row r of `to` ← row source[r] of `from`; without `source` row r, with `ids` row ids[r]. With `target` it
// goes to row target[r].
struct ConvertArgs {
  const void* from;
  DType from_type;  // float16 too
  void* to;
  DType to_type;
  Index rows, cols;
  Index from_stride = 0, to_stride = 0;
  const Index* source = nullptr;
  const TokenId* ids = nullptr;
  const Index* target = nullptr;
};
void convert_rows(const ConvertArgs& args, cudaStream_t stream);

struct RmsNormArgs {
  const void* x;
  DType x_type;
  Index x_stride;
  const float* weight;
  float epsilon;
  void* out;
  DType out_type;
  Index out_stride;
  Index rows, cols;
};
void rms_norm_rows(const RmsNormArgs& args, cudaStream_t stream);

// RMS norm of every head by itself, in place.
struct HeadNormArgs {
  void* x;  // [rows, heads·D]
  DType type;
  Index stride, rows, heads, D;
  const float* weight;  // [D]
  float epsilon;
};
void norm_head_rows(const HeadNormArgs& args, cudaStream_t stream);

// x ← factor · min(max(x, −bound), bound), in place; bound 0: none.
struct ClipArgs {
  void* x;
  DType type;
  Index stride, rows, cols;
  float bound, factor;
};
void clip_rows(const ClipArgs& args, cudaStream_t stream);

struct RopeArgs {
  void* x;  // [rows, heads·D], in place
  DType type;
  Index stride, rows, heads, D, half;  // the first 2·half dimensions of a head are rotated
  const Index* positions;
  const float *cosines, *sines;  // [positions, half]
};
void rope_rows(const RopeArgs& args, cudaStream_t stream);

struct SwigluArgs {
  const void* gate_up;  // [rows, 2F]
  void* out;            // [rows, F]
  DType type;
  Index gate_up_stride, out_stride, rows, F;
};
void swiglu_rows(const SwigluArgs& args, cudaStream_t stream);

// Row targets[r] of out += row r of x (times factors[r]), float32. Stride 0: one row for all.
struct AddRowsArgs {
  const float* x;
  float* out;
  const Index* targets;
  const float* factors;  // or null
  Index x_stride, out_stride, rows, cols;
};
void add_to_rows(const AddRowsArgs& args, cudaStream_t stream);

// conditional ← unconditional + (scale + 1)·(conditional − unconditional), float32.
struct GuideArgs {
  float* conditional;
  const float* unconditional;
  Index conditional_stride, unconditional_stride, rows, cols;
  float scale;
};
void guide_rows(const GuideArgs& args, cudaStream_t stream);

// The plain product for shapes the library has no kernel for: y ← x·Wᵀ (+ bias), or added to y.
struct PlainLinearArgs {
  const void *x, *weights;
  DType type;
  const float* bias;  // or null
  void* y;
  DType y_type;
  Index x_stride, y_stride, rows, inputs, outputs;
  float keep;  // of y: 0 or 1
};
void plain_linear(const PlainLinearArgs& args, cudaStream_t stream);

// Numbers in [-1, 1) that look random, and the number of 16-bit words that differ: for trying out
// algorithms.
void fill_random(void* to, DType type, Index count, unsigned seed, cudaStream_t stream);
void count_differences(const void* a, const void* b, Index bytes, unsigned* count, cudaStream_t stream);

}  // namespace buoy::cuda
