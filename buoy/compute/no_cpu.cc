// Stands in for compute/cpu in builds without it (BUOY_CPU=OFF).
#include "buoy/base/error.h"
#include "buoy/compute/backend.h"

namespace buoy {

std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& /*options*/) {
  fail("this build has no cpu backend");
}

bool has_cpu_backend() {
  return false;
}

}  // namespace buoy
