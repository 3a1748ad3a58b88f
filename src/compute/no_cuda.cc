// Stands in for compute/cuda in builds without it (BUOY_CUDA=OFF, or no toolkit).
#include "base/error.h"
#include "compute/backend.h"

namespace buoy {

std::optional<std::string> cuda_problem() {
  return "this build has no CUDA backend; use cpu";
}

std::unique_ptr<Backend> make_cuda_backend(const CudaOptions& /*options*/) {
  fail("{}", *cuda_problem());
}

}  // namespace buoy
