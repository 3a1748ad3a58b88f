#include "buoy/compute/host_memory.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include "buoy/base/error.h"
#include "buoy/io/half.h"

namespace buoy {
namespace {

constexpr std::align_val_t kAlignment{64};

class OwnedBuffer : public Buffer {
 public:
  explicit OwnedBuffer(void* memory) : Buffer(memory) {}
  ~OwnedBuffer() override { ::operator delete(data(), kAlignment); }
};

class BorrowedBuffer : public Buffer {
 public:
  explicit BorrowedBuffer(const void* bytes) : Buffer(const_cast<void*>(bytes)) {}
};

void* allocate_bytes(Index bytes) {
  try {
    return ::operator new(static_cast<std::size_t>(bytes), kAlignment);
  } catch (const std::bad_alloc&) {
    fail("out of memory: {:.1f} GiB more were needed", static_cast<double>(bytes) / 0x1p30);
  }
}

}  // namespace

// Blocks that no tensor uses, oldest first.
struct HostPool::Shelf {
  struct Block {
    void* data;
    Index bytes;
  };
  std::vector<Block> blocks;
  Index used = 0, most_used = 0, kept = 0;

  ~Shelf() {
    for (const Block& block : blocks) ::operator delete(block.data, kAlignment);
  }

  void* take(Index bytes) {
    used += bytes;
    most_used = std::max(most_used, used);
    const auto it =
        std::find_if(blocks.rbegin(), blocks.rend(), [&](const Block& b) { return b.bytes == bytes; });
    if (it == blocks.rend()) return allocate_bytes(bytes);
    void* data = it->data;
    blocks.erase(std::next(it).base());
    kept -= bytes;
    return data;
  }

  void put_back(void* data, Index bytes) {
    used -= bytes;
    kept += bytes;
    blocks.push_back({data, bytes});
    while (used + kept > most_used) {
      ::operator delete(blocks.front().data, kAlignment);
      kept -= blocks.front().bytes;
      blocks.erase(blocks.begin());
    }
  }

  struct Buffer : buoy::Buffer {
    Buffer(std::shared_ptr<Shelf> home, Index size)
        : buoy::Buffer(home->take(size)), shelf(std::move(home)), bytes(size) {}
    ~Buffer() override { shelf->put_back(data(), bytes); }
    std::shared_ptr<Shelf> shelf;
    Index bytes;
  };
};

HostPool::HostPool() : shelf_(std::make_shared<Shelf>()) {}

Tensor HostPool::allocate(Index rows, Index cols) {
  const Index bytes = element_count({rows, cols}) * size_of(DType::kF32);
  return {std::make_shared<Shelf::Buffer>(shelf_, bytes), DType::kF32, rows, cols};
}

Tensor allocate_on_host(Index rows, Index cols, DType dtype) {
  const Index bytes = element_count({rows, cols}) * size_of(dtype);
  return {std::make_shared<OwnedBuffer>(allocate_bytes(bytes)), dtype, rows, cols};
}

Tensor view_on_host(const TensorView& view) {
  check(view.shape.size() == 2, "a table has two dimensions");
  return {std::make_shared<BorrowedBuffer>(view.bytes.data()), view.dtype, view.shape[0], view.shape[1]};
}

void widen(const void* from, DType dtype, Index count, float* to) {
  const auto n = static_cast<std::size_t>(count);
  if (dtype == DType::kF32) {
    std::memcpy(to, from, n * sizeof(float));
    return;
  }
  check(dtype == DType::kBf16 || dtype == DType::kF16, "weights are float32, float16 or bfloat16");
  // A file may place weights at odd addresses, so elements are copied out before they are looked at.
  const auto* bytes = static_cast<const unsigned char*>(from);
  const auto half = [&](std::size_t i) {
    std::uint16_t bits;
    std::memcpy(&bits, bytes + 2 * i, 2);
    return bits;
  };
  if (dtype == DType::kBf16) {
    for (std::size_t i = 0; i < n; ++i) to[i] = widen_bf16(half(i));
  } else {
    for (std::size_t i = 0; i < n; ++i) to[i] = widen_f16(half(i));
  }
}

Tensor widen_vector(const TensorView& vector) {
  const Index n = element_count(vector.shape);
  Tensor out = allocate_on_host(1, n);
  widen(vector.bytes.data(), vector.dtype, n, out.row<float>(0));
  return out;
}

}  // namespace buoy
