#include "buoy/compute/cuda/cublas_lt.h"

#include <string>

#include <dlfcn.h>

#include "buoy/base/error.h"

namespace buoy::cuda {
namespace {

// Where the loader looks, then where the toolkit was when we were built.
void* open_library() {
  const std::string name = fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR);
  for (const std::string& path : {name, fmt::format("{}/{}", BUOY_CUDA_LIBRARY_DIR, name)}) {
    if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  const char* reason = dlerror();
  fail("cuda: {} was not found: {}", name, reason == nullptr ? "no reason given" : reason);
}

CublasLt load() {
  void* library = open_library();
  CublasLt lt{};
  const auto find = [&](auto& function, const char* name) {
    void* symbol = dlsym(library, name);
    if (symbol == nullptr) fail("cuda: cuBLASLt has no function {}", name);
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(symbol);
  };
  find(lt.create, "cublasLtCreate");
  find(lt.destroy, "cublasLtDestroy");
  find(lt.status_string, "cublasLtGetStatusString");
  find(lt.create_layout, "cublasLtMatrixLayoutCreate");
  find(lt.destroy_layout, "cublasLtMatrixLayoutDestroy");
  find(lt.create_product, "cublasLtMatmulDescCreate");
  find(lt.destroy_product, "cublasLtMatmulDescDestroy");
  find(lt.set_product, "cublasLtMatmulDescSetAttribute");
  find(lt.create_preference, "cublasLtMatmulPreferenceCreate");
  find(lt.destroy_preference, "cublasLtMatmulPreferenceDestroy");
  find(lt.set_preference, "cublasLtMatmulPreferenceSetAttribute");
  find(lt.propose, "cublasLtMatmulAlgoGetHeuristic");
  find(lt.algorithm_attribute, "cublasLtMatmulAlgoConfigGetAttribute");
  find(lt.multiply, "cublasLtMatmul");
  return lt;
}

}  // namespace

const CublasLt& cublas_lt() {
  static const CublasLt kLibrary = load();
  return kLibrary;
}

}  // namespace buoy::cuda
