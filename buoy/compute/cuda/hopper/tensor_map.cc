#include "buoy/compute/cuda/hopper/tensor_map.h"

#include <cstring>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "buoy/base/error.h"
#include "buoy/compute/cuda/device.h"
#include "buoy/compute/cuda/memory.h"

namespace buoy::cuda {
namespace {

// The driver's function, found at run time: the library it lives in is there only where a card is.
using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                            const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                            CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

Encode find_encode() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result{};
  check_cuda(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault,
                                              &result),
             "find the copy engine");
  if (result != cudaDriverEntryPointSuccess) fail("cuda: the driver has no tensor copies");
  return reinterpret_cast<Encode>(function);
}

}  // namespace

TensorMap describe_for_copies(const Tensor& tensor, int rows) {
  static const Encode kEncode = find_encode();
  check(tensor.dtype() == DType::kBf16, "tensor copies move bf16");
  const cuuint64_t extents[] = {static_cast<cuuint64_t>(tensor.cols()),
                                static_cast<cuuint64_t>(tensor.rows())};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(tensor.stride() * size_of(tensor.dtype()))};
  const cuuint32_t box[] = {kBoxColumns, static_cast<cuuint32_t>(rows)}, steps[] = {1, 1};
  CUtensorMap map;
  const CUresult status =
      kEncode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, address(tensor), extents, strides, box, steps,
              CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
              CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS) fail("cuda: describe a tensor for copies: error {}", static_cast<int>(status));
  static_assert(sizeof(CUtensorMap) == sizeof(TensorMap));
  TensorMap made;
  std::memcpy(&made, &map, sizeof(made));
  return made;
}

}  // namespace buoy::cuda
