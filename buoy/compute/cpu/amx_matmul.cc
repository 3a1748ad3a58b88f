#include "buoy/compute/cpu/amx_matmul.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "buoy/base/error.h"
#include "buoy/compute/host_memory.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#define BUOY_AMX 1
#define BUOY_USES_AMX __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw,avx512vl,avx512dq")))
#endif

namespace buoy {
namespace {

// A tile is 16 rows of 64 bytes: 16×32 bf16 of A; of B 32×16, rows in pairs. Two tiles of A and two of B make
// a block of 32×32.
constexpr Index kTileRows = 16, kTileDepth = 32, kTileBytes = 1024, kStrip = 2 * kTileRows;
constexpr int kParts = 3;  // of a float32
// Tiles along K whose parts of 32 rows, 6 KiB each, stay in the nearest cache while all columns pass by.
constexpr Index kStretch = 8;

std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

float float_of(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// The upper half of a float32, as bf16; what is left of it is exact.
std::uint16_t take_part(float& x) {
  const std::uint32_t upper = bits_of(x) & 0xffff0000u;
  x -= float_of(upper);
  return static_cast<std::uint16_t>(upper >> 16);
}

}  // namespace

#ifdef BUOY_AMX
namespace {

struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// Columns [first, first + depth tiles) of m rows as tiles of their parts: [K tile][part][row tile of two], 0
// past column K. Rows from m on are left as they are: they are summed by themselves, and nobody reads their
// sums.
BUOY_USES_AMX void split_rows(const float* a, Index m, Index K, Index first, Index depth, std::byte* tiles) {
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
  alignas(64) std::uint16_t odd[32];  // the upper halves of two vectors
  for (std::uint16_t i = 0; i < 32; ++i) odd[i] = static_cast<std::uint16_t>(2 * i + 1);
  const __m512i order = _mm512_load_si512(odd);
  for (Index k = first; k < first + depth * kTileDepth; k += kTileDepth, tiles += kParts * 2 * kTileBytes) {
    const Index left = std::clamp<Index>(K - k, 0, kTileDepth);
    const auto mask = static_cast<std::uint32_t>((std::uint64_t{1} << left) - 1);
    for (Index r = 0; r < m; ++r) {  // row after row of a tile lies in line
      const float* from = a + r * K + k;
      std::byte* to = tiles + r * 64;
      __m512 x = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from);
      __m512 y = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask >> 16), from + 16);
      for (int part = 0; part < kParts; ++part, to += 2 * kTileBytes) {
        const __m512i x_high = _mm512_and_si512(_mm512_castps_si512(x), upper);
        const __m512i y_high = _mm512_and_si512(_mm512_castps_si512(y), upper);
        _mm512_store_si512(to, _mm512_permutex2var_epi16(x_high, order, y_high));
        x = _mm512_sub_ps(x, _mm512_castsi512_ps(x_high));
        y = _mm512_sub_ps(y, _mm512_castsi512_ps(y_high));
      }
    }
  }
}

enum class Sums { kFresh, kGoOn };

// One block of 32 rows and 32 columns, or of 16 rows: every element is summed over K in the same order.
// Products of parts that lie below the last bit of a float32 product are left out.
template <int kRowTiles>
BUOY_USES_AMX void multiply_strip(const std::byte* a, const std::byte* b, Index depth, int parts, Sums sums,
                                  float* c, Index c_stride) {
  const auto stride = static_cast<std::size_t>(c_stride) * sizeof(float);
  float* lower = c + kTileRows * c_stride;
  if (sums == Sums::kFresh) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  } else {
    _tile_loadd(0, c, stride);
    _tile_loadd(1, c + kTileRows, stride);
    if constexpr (kRowTiles == 2) {
      _tile_loadd(2, lower, stride);
      _tile_loadd(3, lower + kTileRows, stride);
    }
  }
  for (Index k = 0; k < depth; ++k, a += kParts * 2 * kTileBytes) {
    for (int q = 0; q < parts; ++q, b += 2 * kTileBytes) {
      _tile_loadd(6, b, 64);
      _tile_loadd(7, b + kTileBytes, 64);
      for (int p = 0; p + q < kParts; ++p) {
        const std::byte* rows = a + p * 2 * kTileBytes;
        _tile_loadd(4, rows, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        if constexpr (kRowTiles == 2) {
          _tile_loadd(5, rows + kTileBytes, 64);
          _tile_dpbf16ps(2, 5, 6);
          _tile_dpbf16ps(3, 5, 7);
        }
      }
    }
  }
  _tile_stored(0, c, stride);
  _tile_stored(1, c + kTileRows, stride);
  if constexpr (kRowTiles == 2) {
    _tile_stored(2, lower, stride);
    _tile_stored(3, lower + kTileRows, stride);
  }
}

struct Shape {
  Index K, n, depth, strips;
  int parts;
};

// `sums` [strips, 32, 32] take what cannot go to c at once: blocks at the edges, and all where K has several
// stretches.
BUOY_USES_AMX void multiply(const float* a, Index m, const Shape& shape, const std::byte* b, float* c,
                            float* sums, std::byte* tiles) {
  const Index K = shape.K, n = shape.n, depth = shape.depth, strips = shape.strips;
  const int parts = shape.parts;
  const TileConfig config;
  _tile_loadconfig(&config);
  for (Index first = 0; first < m; first += kStrip) {
    const Index rows = std::min(kStrip, m - first);
    const auto goes_to_c = [&](Index s) {
      return depth <= kStretch && rows % kTileRows == 0 && (s + 1) * kStrip <= n;
    };
    for (Index k = 0; k < depth; k += kStretch) {
      const Index stretch = std::min(kStretch, depth - k);
      split_rows(a + first * K, rows, K, k * kTileDepth, stretch, tiles);
      for (Index s = 0; s < strips; ++s) {
        const std::byte* panel = b + (s * depth + k) * parts * 2 * kTileBytes;
        float* to = goes_to_c(s) ? c + first * n + s * kStrip : sums + s * kStrip * kStrip;
        const Index stride = goes_to_c(s) ? n : kStrip;
        const Sums start = k == 0 ? Sums::kFresh : Sums::kGoOn;
        if (rows > kTileRows) {
          multiply_strip<2>(tiles, panel, stretch, parts, start, to, stride);
        } else {
          multiply_strip<1>(tiles, panel, stretch, parts, start, to, stride);
        }
      }
    }
    for (Index s = 0; s < strips; ++s) {
      if (goes_to_c(s)) continue;
      const float* from = sums + s * kStrip * kStrip;
      for (Index r = 0; r < rows; ++r) {
        std::copy_n(from + r * kStrip, std::min(kStrip, n - s * kStrip), c + (first + r) * n + s * kStrip);
      }
    }
  }
  _tile_release();
}

bool is_offered() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24, kAvx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
  if ((d & (kBf16 | kTile)) != (kBf16 | kTile) || (b & kAvx512) != kAvx512) return false;
  constexpr int kAskPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kAskPermission, kTileData) == 0;
}

// Small whole numbers have one right answer.
bool multiplies_rightly() {
  constexpr Index K = 37, n = 35, m = 33;
  const AmxMatmul matmul(K, n, 2);
  std::vector<float> a(m * K), b(n * K), c(m * n);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i * 7919 % 2003) - 1001;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i * 104729 % 61) - 30;
  const Tensor packed = allocate_on_host(1, static_cast<Index>(matmul.packed_bytes()), DType::kU8);
  const Tensor scratch = allocate_on_host(1, static_cast<Index>(matmul.scratch_bytes()), DType::kU8);
  matmul.pack(b.data(), packed.row<std::byte>(0));
  matmul.run(a.data(), m, packed.row<std::byte>(0), c.data(), scratch.row<std::byte>(0));
  for (std::size_t r = 0; r < m; ++r) {
    for (std::size_t column = 0; column < n; ++column) {
      double sum = 0;
      for (std::size_t k = 0; k < K; ++k) sum += double{a[r * K + k]} * b[column * K + k];
      if (c[r * n + column] != static_cast<float>(sum)) return false;
    }
  }
  return true;
}

}  // namespace

bool has_amx() {
  static const bool usable = is_offered() && multiplies_rightly();
  return usable;
}

void AmxMatmul::run(const float* a, Index m, const void* packed, float* c, void* scratch) const {
  auto* sums = static_cast<float*>(scratch);
  multiply(a, m, {K_, n_, depth_, strips_, parts_}, static_cast<const std::byte*>(packed), c, sums,
           reinterpret_cast<std::byte*>(sums + strips_ * kStrip * kStrip));
}

#else

bool has_amx() {
  return false;
}

void AmxMatmul::run(const float*, Index, const void*, float*, void*) const {
  check(false, "AMX runs where it is");
}

#endif

int AmxMatmul::parts_of(DType weights) {
  return weights == DType::kBf16 ? 1 : weights == DType::kF16 ? 2 : 0;
}

AmxMatmul::AmxMatmul(Index K, Index n, int parts)
    : PanelMatmul(K, n),
      depth_((K + kTileDepth - 1) / kTileDepth),
      strips_((n + kStrip - 1) / kStrip),
      parts_(parts) {}

std::size_t AmxMatmul::packed_bytes() const {
  return static_cast<std::size_t>(strips_ * depth_ * parts_ * 2 * kTileBytes);
}

std::size_t AmxMatmul::scratch_bytes() const {
  return static_cast<std::size_t>(strips_ * kStrip * kStrip * Index{sizeof(float)} +
                                  std::min(kStretch, depth_) * kParts * 2 * kTileBytes);
}

// [strip][K tile][part][tile of two][pair of K][column][of the pair].
void AmxMatmul::pack(const float* rows, void* packed) const {
  std::memset(packed, 0, packed_bytes());
  auto* const to = static_cast<std::uint16_t*>(packed);
  constexpr Index kCells = kTileBytes / 2;
  for (Index column = 0; column < n_; ++column) {
    const Index strip = column / kStrip, tile = column % kStrip / kTileRows;
    for (Index k = 0; k < K_; ++k) {
      float x = rows[column * K_ + k];
      std::uint16_t* cell = to + ((strip * depth_ + k / kTileDepth) * parts_ * 2 + tile) * kCells +
                            (k % kTileDepth / 2 * kTileRows + column % kTileRows) * 2 + k % 2;
      for (int part = 0; part < parts_; ++part) cell[part * 2 * kCells] = take_part(x);
    }
  }
}

}  // namespace buoy
