// Memory of the backends that compute on the host.
#pragma once

#include <memory>

#include "compute/tensor.h"
#include "io/tensor_view.h"

namespace buoy {

// Fresh memory, aligned to 64 bytes.
Tensor allocate_on_host(Index rows, Index cols, DType dtype = DType::kF32);

// A tensor over bytes that live elsewhere, e.g. in a mapped file.
Tensor view_on_host(const TensorView& view);

// f32, f16 or bf16 elements as float32.
void widen(const void* from, DType dtype, Index count, float* to);

// [n] of any float type → [1, n] f32.
Tensor widen_vector(const TensorView& vector);

}  // namespace buoy
