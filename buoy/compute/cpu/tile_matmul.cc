#include "buoy/compute/cpu/tile_matmul.h"

#include <algorithm>
#include <cstring>

#include <hwy/targets.h>

#include "buoy/base/error.h"
#include "buoy/base/headroom.h"
#include "buoy/base/random.h"
#include "buoy/compute/host_memory.h"

// Of the OpenMP runtime that oneDNN was built with, which need not be this compiler's own.
extern "C" void omp_set_num_threads(int count);

namespace buoy {
namespace {

using dnnl::memory;
constexpr Index kLadder[] = {TileMatmul::kRows, 16, 4, 1};
constexpr auto kF32 = memory::data_type::f32;

// oneDNN parallelises with OpenMP; our pool already runs one tile per thread.
void stay_on_this_thread() {
  thread_local const bool done = [] {
    omp_set_num_threads(1);
    return true;
  }();
  static_cast<void>(done);
}

// oneDNN's handle on this machine's processor, and each thread's queue of work for it. Neither holds any
// state of ours; making them anew for every tile would cost several percent of a small model's pass.
// MiB. oneDNN compiles its kernels, and writes them where it got no memory for them.
constexpr Index kRoomToCompile = 32;

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& thread_stream() {
  thread_local dnnl::stream stream(cpu_engine());
  return stream;
}

dnnl::primitive_attr caller_owned_scratch() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

std::size_t round_up_64(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

}  // namespace

void limit_instructions(Instructions instructions) {
  const bool avx2 = instructions == Instructions::kAvx2;
  // A second call in the same process is refused by oneDNN, harmlessly: the first limit stays.
  dnnl_set_max_cpu_isa(avx2 ? dnnl_cpu_isa_avx2 : dnnl_cpu_isa_avx512_core);
#if HWY_ARCH_X86
  if (avx2)
    hwy::DisableTargets(~static_cast<std::uint32_t>(HWY_AVX2 | HWY_SSE4 | HWY_SSSE3 | HWY_STATIC_TARGET));
#endif
}

TileMatmul::TileMatmul(Index K, Index n) : PanelMatmul(K, n) {
  stay_on_this_thread();
  memory::desc b({K, n}, kF32, memory::format_tag::any);
  for (const Index rows : kLadder) {
    const memory::desc a({rows, K}, kF32, memory::format_tag::ab), c({rows, n}, kF32, memory::format_tag::ab);
    const dnnl::matmul::primitive_desc description =
        make_matmul(cpu_engine(), a, b, c, caller_owned_scratch());
    if (rungs_.empty()) {
      b = description.weights_desc();
      implementation_ = description.impl_info_str();
    } else if (implementation_ != description.impl_info_str()) {
      continue;
    }
    check_memory_left(kRoomToCompile, "a matrix product");
    rungs_.push_back({rows, description, dnnl::matmul(description)});
    primitive_scratch_bytes_ =
        std::max(primitive_scratch_bytes_, round_up_64(description.scratchpad_desc().get_size()));
  }
  packed_bytes_ = b.get_size();
  scratch_bytes_ = primitive_scratch_bytes_ + static_cast<std::size_t>(kRows * (K + n)) * sizeof(float);
  keep_trustworthy_rungs();
}

void TileMatmul::pack(const float* rows, void* packed) const {
  stay_on_this_thread();
  dnnl::stream& stream = thread_stream();
  const memory from({{K_, n_}, kF32, memory::format_tag::ba}, cpu_engine(), const_cast<float*>(rows));
  memory to(rungs_[0].description.weights_desc(), cpu_engine(), packed);
  dnnl::reorder(from, to).execute(stream, const_cast<memory&>(from), to);
  stream.wait();
}

void TileMatmul::execute(const Rung& rung, const float* a, const void* packed, float* c,
                         void* scratch) const {
  dnnl::stream& stream = thread_stream();
  memory src(rung.description.src_desc(), cpu_engine(), const_cast<float*>(a));
  memory weights(rung.description.weights_desc(), cpu_engine(), const_cast<void*>(packed));
  memory dst(rung.description.dst_desc(), cpu_engine(), c);
  memory pad(rung.description.scratchpad_desc(), cpu_engine(), scratch);
  const dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, src.get()},
                                  {DNNL_ARG_WEIGHTS, weights.get()},
                                  {DNNL_ARG_DST, dst.get()},
                                  {DNNL_ARG_SCRATCHPAD, pad.get()}};
  const dnnl_status_t status = dnnl_primitive_execute(rung.primitive.get(), stream.get(), 4, args);
  check(status == dnnl_success, "oneDNN ran the matmul");
  stream.wait();
}

void TileMatmul::run_padded(const Rung& rung, const float* a, Index m, const void* packed, float* c,
                            void* scratch) const {
  auto* padded_a = reinterpret_cast<float*>(static_cast<char*>(scratch) + primitive_scratch_bytes_);
  float* padded_c = padded_a + kRows * K_;
  std::memcpy(padded_a, a, static_cast<std::size_t>(m * K_) * sizeof(float));
  std::memset(padded_a + m * K_, 0, static_cast<std::size_t>((rung.rows - m) * K_) * sizeof(float));
  execute(rung, padded_a, packed, padded_c, scratch);
  std::memcpy(c, padded_c, static_cast<std::size_t>(m * n_) * sizeof(float));
}

void TileMatmul::run(const float* a, Index m, const void* packed, float* c, void* scratch) const {
  stay_on_this_thread();
  for (std::size_t r = 0; r < rungs_.size() && m > 0; ++r) {
    while (m >= rungs_[r].rows) {
      execute(rungs_[r], a, packed, c, scratch);
      a += rungs_[r].rows * K_;
      c += rungs_[r].rows * n_;
      m -= rungs_[r].rows;
    }
  }
  if (m > 0) run_padded(rungs_.back(), a, m, packed, c, scratch);
}

// Runs one tile of random numbers through every rung and, rows reversed, through the largest one again.
void TileMatmul::keep_trustworthy_rungs() {
  const auto cells = [](Index count) { return static_cast<std::size_t>(count); };
  std::vector<float> a(cells(kRows * K_)), reversed(a.size()), b(cells(n_ * K_));
  const auto draw = [](std::uint32_t stream, std::size_t i) {
    return static_cast<float>(uniform({.seed = 1, .sample = stream}, i)) - 0.5f;
  };
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = draw(0, i);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = draw(1, i);
  for (Index r = 0; r < kRows; ++r)
    std::copy_n(&a[cells(r * K_)], K_, &reversed[cells((kRows - 1 - r) * K_)]);
  const Tensor packed = allocate_on_host(1, static_cast<Index>(packed_bytes_), DType::kU8);
  const Tensor scratch = allocate_on_host(1, static_cast<Index>(scratch_bytes_), DType::kU8);
  void *w = packed.row<char>(0), *s = scratch.row<char>(0);
  pack(b.data(), w);

  std::vector<float> expected(cells(kRows * n_)), got(expected.size());
  execute(rungs_[0], a.data(), w, expected.data(), s);
  execute(rungs_[0], reversed.data(), w, got.data(), s);
  const auto row_bytes = cells(n_) * sizeof(float);
  for (Index r = 0; r < kRows; ++r) {
    check(std::memcmp(&expected[cells(r * n_)], &got[cells((kRows - 1 - r) * n_)], row_bytes) == 0,
          "oneDNN gives a row the same result wherever it stands in a tile");
  }
  std::erase_if(rungs_, [&](const Rung& rung) {
    if (rung.rows == kRows) return false;
    for (const Index first : {Index{0}, kRows / 2 - 1, kRows - rung.rows}) {
      execute(rung, &a[cells(first * K_)], w, got.data(), s);
      if (std::memcmp(&expected[cells(first * n_)], got.data(), row_bytes * cells(rung.rows)) != 0)
        return true;
    }
    return false;
  });
}

}  // namespace buoy
