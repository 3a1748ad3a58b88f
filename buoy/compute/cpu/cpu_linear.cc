#include "buoy/compute/cpu/cpu_linear.h"

#include <algorithm>

#include "buoy/base/error.h"
#include "buoy/compute/cpu/amx_matmul.h"
#include "buoy/compute/cpu/kernels.h"
#include "buoy/compute/cpu/tile_matmul.h"
#include "buoy/compute/host_memory.h"

namespace buoy {
namespace {

// A panel of about 1 MiB stays in a core's cache while the rows pass by. Rows of 2048 bytes or a multiple put
// the lines that oneDNN's AVX2 kernel reads next to each other into few sets of that cache: 512 columns run
// at 61 %, 1024 at 45 % of the speed of their neighbours, 256 at 94 % (measured for K = 192 to 2816; AVX-512
// does not mind). The widths follow from the shape alone, so a model gives the same bits on every start.
Index panel_width(Index K, Index outputs) {
  const auto slow = [](Index width, Index columns) { return width > 0 && width % columns == 0; };
  const Index widest = std::clamp<Index>((Index{1} << 18) / K / 64 * 64, 64, 960);
  const Index count = std::max((outputs + widest - 1) / widest, Index{slow(outputs, 512) ? 2 : 1});
  if (count == 1) return outputs;
  Index width = (outputs / count + 63) / 64 * 64;
  while (width < widest && (slow(width, 256) || slow(outputs % width, 512))) width += 64;
  return width;
}

// The same for AMX, which has no such habits: as wide as fits, since every panel splits the rows anew.
Index amx_panel_width(Index K, Index outputs, int parts) {
  const Index widest = std::max<Index>(64, (Index{1} << 19) / (K * parts) / 64 * 64);
  const Index count = (outputs + widest - 1) / widest;
  return (outputs / count + 63) / 64 * 64;
}

std::size_t round_up_64(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

// First address of a 64-byte line inside a buffer that was made 64 bytes larger for this.
std::byte* align_64(std::byte* p) {
  return reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(p) + 63) / 64 * 64);
}

}  // namespace

int PanelMatmuls::amx_parts(DType weights) const {
  const int parts = AmxMatmul::parts_of(weights);
  return parts > 0 && instructions_ == Instructions::kBest && has_amx() ? parts : 0;
}

std::shared_ptr<const PanelMatmul> PanelMatmuls::get(Index K, Index n, int amx_parts) {
  auto& found = made_[{K, n, amx_parts}];
  if (!found && amx_parts > 0) found = std::make_shared<AmxMatmul>(K, n, amx_parts);
  if (!found) found = std::make_shared<TileMatmul>(K, n);
  return found;
}

CpuLinear::CpuLinear(std::span<const TensorView> weights, std::span<const TensorView> biases,
                     Widen widen_mode, PanelMatmuls& matmuls, ThreadPool& pool)
    : K_(weights[0].shape[1]), parts_(weights.begin(), weights.end()) {
  for (const TensorView& part : weights) outputs_ += part.shape[0];
  for (const TensorView& part : biases) {
    const std::size_t old = bias_.size();
    bias_.resize(old + static_cast<std::size_t>(part.shape[0]));
    widen(part.bytes.data(), part.dtype, part.shape[0], bias_.data() + old);
  }
  check(bias_.empty() || std::ssize(bias_) == outputs_, "biases match the weights");
  int parts = matmuls.amx_parts(parts_[0].dtype);
  for (const TensorView& part : parts_) parts = matmuls.amx_parts(part.dtype) == parts ? parts : 0;
  const Index width = parts > 0 ? amx_panel_width(K_, outputs_, parts) : panel_width(K_, outputs_);
  for (Index first = 0; first < outputs_; first += width) {
    const Index n = std::min(width, outputs_ - first);
    panels_.push_back({first, n, matmuls.get(K_, n, parts), {}});
  }
  if (widen_mode == Widen::kAsUsed) return;
  pool.run(std::ssize(panels_), [&](Index p, int) {
    Panel& panel = panels_[static_cast<std::size_t>(p)];
    const Tensor rows = allocate_on_host(panel.n, K_);
    widen_rows(panel.first, panel.n, rows.row<float>(0));
    panel.packed = allocate_on_host(1, static_cast<Index>(panel.matmul->packed_bytes()), DType::kU8);
    panel.matmul->pack(rows.row<float>(0), panel.packed.row<std::byte>(0));
  });
}

void CpuLinear::widen_rows(Index first, Index count, float* to) const {
  for (const TensorView& part : parts_) {
    const Index rows = part.shape[0];
    const Index begin = std::max<Index>(0, first), end = std::min(rows, first + count);
    if (begin < end) {
      widen(part.bytes.data() + begin * K_ * size_of(part.dtype), part.dtype, (end - begin) * K_, to);
      to += (end - begin) * K_;
      count -= end - begin;
      first = end;
    }
    first -= rows;
  }
}

std::size_t CpuLinear::scratch_bytes(const Panel& panel) const {
  const auto tile = static_cast<std::size_t>(PanelMatmul::kRows * panel.n) * sizeof(float);
  const auto rows = static_cast<std::size_t>(panel.n * K_) * sizeof(float);
  const std::size_t repack =
      panel.packed.empty() ? round_up_64(panel.matmul->packed_bytes()) + round_up_64(rows) : 0;
  return 64 + round_up_64(panel.matmul->scratch_bytes()) + round_up_64(tile) + repack;
}

void CpuLinear::run_rows(const Panel& panel, const void* packed, const Tensor& x, Index first, Index last,
                         Store store, const Tensor& y, std::byte* scratch) const {
  auto* tile = reinterpret_cast<float*>(scratch + round_up_64(panel.matmul->scratch_bytes()));
  const float* bias = bias_.empty() ? nullptr : bias_.data() + panel.first;
  const bool in_place = store == Store::kOverwrite && bias == nullptr && panel.n == y.stride();
  for (Index row = first; row < last; row += PanelMatmul::kRows) {
    const Index m = std::min(PanelMatmul::kRows, last - row);
    panel.matmul->run(x.row<float>(row), m, packed, in_place ? y.row<float>(row) : tile, scratch);
    if (in_place) continue;
    for (Index r = 0; r < m; ++r) {
      float* to = y.row<float>(row + r) + panel.first;
      if (store == Store::kAdd) {
        add_row(tile + r * panel.n, bias, panel.n, to);
      } else {
        store_row(tile + r * panel.n, bias, panel.n, to);
      }
    }
  }
}

void CpuLinear::run(const Tensor& x, Store store, const Tensor& y, ThreadPool& pool,
                    std::vector<std::vector<std::byte>>& scratch) const {
  check(x.cols() == K_ && x.stride() == K_ && y.cols() == outputs_ && x.rows() == y.rows(),
        "linear shapes fit");
  const bool repack = panels_[0].packed.empty();
  // Packed panels are cut by rows too; a panel that has to be packed first is packed once, for all rows.
  const Index cuts =
      repack ? 1 : std::max<Index>(1, (x.rows() + PanelMatmul::kRows - 1) / PanelMatmul::kRows);
  pool.run(std::ssize(panels_) * cuts, [&](Index task, int thread) {
    const Panel& panel = panels_[static_cast<std::size_t>(task / cuts)];
    std::vector<std::byte>& mine = scratch[static_cast<std::size_t>(thread)];
    mine.resize(std::max(mine.size(), scratch_bytes(panel)));
    std::byte* base = align_64(mine.data());
    if (!repack) {
      const Index first = task % cuts * PanelMatmul::kRows;
      run_rows(panel, panel.packed.row<std::byte>(0), x, first,
               std::min(x.rows(), first + PanelMatmul::kRows), store, y, base);
      return;
    }
    const auto tile = static_cast<std::size_t>(PanelMatmul::kRows * panel.n) * sizeof(float);
    std::byte* packed = base + round_up_64(panel.matmul->scratch_bytes()) + round_up_64(tile);
    auto* rows = reinterpret_cast<float*>(packed + round_up_64(panel.matmul->packed_bytes()));
    widen_rows(panel.first, panel.n, rows);
    panel.matmul->pack(rows, packed);
    run_rows(panel, packed, x, 0, x.rows(), store, y, base);
  });
}

void CpuLinear::run_here(const Tensor& x, Store store, const Tensor& y,
                         std::vector<std::byte>& scratch) const {
  for (const Panel& panel : panels_) {
    scratch.resize(std::max(scratch.size(), scratch_bytes(panel)));
    run_rows(panel, panel.packed.row<std::byte>(0), x, 0, x.rows(), store, y, align_64(scratch.data()));
  }
}

Index CpuLinear::packed_bytes() const {
  Index bytes = 0;
  for (const Panel& panel : panels_) bytes += panel.packed.cols();
  return bytes;
}

}  // namespace buoy
