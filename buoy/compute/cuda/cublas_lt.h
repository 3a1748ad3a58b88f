// cuBLASLt, opened when it is first needed. It is half a gigabyte: a command that stays on the cpu should
// neither wait for it nor fail where it is missing.
#pragma once

#include <cublasLt.h>

namespace buoy::cuda {

// The functions of the library that we call.
struct CublasLt {
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtDestroy) destroy;
  decltype(&cublasLtGetStatusString) status_string;
  decltype(&cublasLtMatrixLayoutCreate) create_layout;
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout;
  decltype(&cublasLtMatmulDescCreate) create_product;
  decltype(&cublasLtMatmulDescDestroy) destroy_product;
  decltype(&cublasLtMatmulDescSetAttribute) set_product;
  decltype(&cublasLtMatmulPreferenceCreate) create_preference;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference;
  decltype(&cublasLtMatmulAlgoGetHeuristic) propose;
  decltype(&cublasLtMatmulAlgoConfigGetAttribute) algorithm_attribute;
  decltype(&cublasLtMatmul) multiply;
};

// Throws Error when the library is not there.
const CublasLt& cublas_lt();

}  // namespace buoy::cuda
