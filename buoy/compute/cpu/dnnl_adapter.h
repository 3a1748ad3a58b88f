// The few calls of oneDNN whose form changed between 2.6 (Debian 12) and 3.x.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

namespace buoy {

inline dnnl::matmul::primitive_desc make_matmul(const dnnl::engine& engine, const dnnl::memory::desc& a,
                                                const dnnl::memory::desc& b, const dnnl::memory::desc& c,
                                                const dnnl::primitive_attr& attributes) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, a, b, c, attributes};
#else
  return {dnnl::matmul::desc(a, b, c), attributes, engine};
#endif
}

}  // namespace buoy
