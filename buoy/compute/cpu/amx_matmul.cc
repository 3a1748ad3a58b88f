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

// Rows of float32 as tiles of their parts: [K tile][part][row tile of two], rows and columns past the last
// are 0.
BUOY_USES_AMX void split_rows(const float* a, Index m, Index K, Index depth, std::byte* tiles) {
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
  for (Index r = 0; r < kStrip; ++r) {
    std::byte* row = tiles + r / kTileRows * kTileBytes + r % kTileRows * 64;
    for (Index k = 0; k < depth * kTileDepth; k += 16) {
      const Index count = r < m ? std::clamp<Index>(K - k, 0, 16) : 0;
      const auto mask = static_cast<__mmask16>((1u << count) - 1);
      __m512 x = _mm512_maskz_loadu_ps(mask, a + std::min(r, m - 1) * K + std::min(k, K - 1));
      std::byte* to = row + k / kTileDepth * kParts * 2 * kTileBytes + k % kTileDepth * 2;
      for (int part = 0; part < kParts; ++part, to += 2 * kTileBytes) {
        const __m512i high = _mm512_and_si512(_mm512_castps_si512(x), upper);
        x = _mm512_sub_ps(x, _mm512_castsi512_ps(high));
        // Masks of all ones: without a mask GCC 12 warns of its own header.
        const __m512i shifted = _mm512_maskz_srli_epi32(0xffff, high, 16);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_maskz_cvtepi32_epi16(0xffff, shifted));
      }
    }
  }
}

// One block of 32 rows and 32 columns, or of 16 rows: every element is summed over K in the same order.
// Products of parts that lie below the last bit of a float32 product are left out.
template <int kRowTiles>
BUOY_USES_AMX void multiply_strip(const std::byte* a, const std::byte* b, Index depth, int parts, float* c,
                                  Index c_bytes) {
  _tile_zero(0);
  _tile_zero(1);
  if constexpr (kRowTiles == 2) {
    _tile_zero(2);
    _tile_zero(3);
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
  const auto stride = static_cast<std::size_t>(c_bytes);
  _tile_stored(0, c, stride);
  _tile_stored(1, c + kTileRows, stride);
  if constexpr (kRowTiles == 2) {
    float* lower = c + kTileRows * c_bytes / Index{sizeof(float)};
    _tile_stored(2, lower, stride);
    _tile_stored(3, lower + kTileRows, stride);
  }
}

BUOY_USES_AMX void multiply(const float* a, Index m, Index K, Index n, Index depth, Index strips, int parts,
                            const std::byte* b, float* c, std::byte* scratch) {
  const TileConfig config;
  _tile_loadconfig(&config);
  auto* block = reinterpret_cast<float*>(scratch);  // [32, 32] for what is not whole
  std::byte* tiles = scratch + kStrip * kStrip * Index{sizeof(float)};
  for (Index first = 0; first < m; first += kStrip) {
    const Index rows = std::min(kStrip, m - first);
    split_rows(a + first * K, rows, K, depth, tiles);
    for (Index s = 0; s < strips; ++s) {
      const std::byte* panel = b + s * depth * parts * 2 * kTileBytes;
      const Index columns = std::min(kStrip, n - s * kStrip);
      float* to = c + first * n + s * kStrip;
      const bool whole = columns == kStrip && rows % kTileRows == 0;
      float* target = whole ? to : block;
      const Index bytes = (whole ? n : kStrip) * Index{sizeof(float)};
      if (rows > kTileRows) {
        multiply_strip<2>(tiles, panel, depth, parts, target, bytes);
      } else {
        multiply_strip<1>(tiles, panel, depth, parts, target, bytes);
      }
      for (Index r = 0; !whole && r < rows; ++r) std::copy_n(block + r * kStrip, columns, to + r * n);
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
  multiply(a, m, K_, n_, depth_, strips_, parts_, static_cast<const std::byte*>(packed), c,
           static_cast<std::byte*>(scratch));
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
  return static_cast<std::size_t>(kStrip * kStrip * Index{sizeof(float)} + depth_ * kParts * 2 * kTileBytes);
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
