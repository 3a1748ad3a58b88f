#include "compute/cuda/memory.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "compute/cuda/row_kernels.h"

namespace buoy::cuda {
namespace {

struct LastingBuffer : Buffer {
  explicit LastingBuffer(void* memory) : Buffer(memory) {}
  ~LastingBuffer() override { cudaFree(data()); }
};

}  // namespace

struct Pool::Home {
  std::shared_ptr<Stream> stream;
  cudaMemPool_t pool = nullptr;

  explicit Home(std::shared_ptr<Stream> s) : stream(std::move(s)) {
    cudaMemPoolProps props{};
    props.allocType = cudaMemAllocationTypePinned;
    props.location = {.type = cudaMemLocationTypeDevice, .id = 0};
    check_cuda(cudaMemPoolCreate(&pool, &props), "create a memory pool");
    std::uint64_t keep_all = UINT64_MAX;  // a pass asks for the same sizes again and again
    check_cuda(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_all), "set up a pool");
  }
  ~Home() {
    cudaStreamSynchronize(*stream);
    cudaMemPoolDestroy(pool);
  }

  void* take(Index bytes) {
    void* data = nullptr;
    const auto size = static_cast<std::size_t>(std::max<Index>(bytes, 1));
    check_cuda(cudaMallocFromPoolAsync(&data, size, pool, *stream), "activations");
    return data;
  }

  struct Buffer : buoy::Buffer {
    Buffer(std::shared_ptr<Home> owner, Index bytes) : buoy::Buffer(owner->take(bytes)), home(owner) {}
    ~Buffer() override { cudaFreeAsync(data(), *home->stream); }
    std::shared_ptr<Home> home;
  };
};

Pool::Pool(std::shared_ptr<Stream> stream) : home_(std::make_shared<Home>(std::move(stream))) {}

std::shared_ptr<Buffer> Pool::allocate(Index bytes) {
  return std::make_shared<Home::Buffer>(home_, bytes);
}

Tensor Pool::allocate(Index rows, Index cols, DType dtype) {
  return {allocate(element_count({rows, cols}) * size_of(dtype)), dtype, rows, cols};
}

Index Pool::take_peak_bytes() {
  std::uint64_t peak = 0, zero = 0;
  check_cuda(cudaMemPoolGetAttribute(home_->pool, cudaMemPoolAttrUsedMemHigh, &peak), "read memory use");
  check_cuda(cudaMemPoolSetAttribute(home_->pool, cudaMemPoolAttrUsedMemHigh, &zero), "reset memory use");
  return static_cast<Index>(peak);
}

std::shared_ptr<Buffer> allocate_for_good(Index bytes) {
  void* data = nullptr;
  check_cuda(cudaMalloc(&data, static_cast<std::size_t>(std::max<Index>(bytes, 1))), "weights");
  return std::make_shared<LastingBuffer>(data);
}

std::byte* PinnedMemory::reserve(Index bytes) {
  if (bytes > size_) {
    cudaFreeHost(data_);
    data_ = nullptr;
    void* fresh = nullptr;
    check_cuda(cudaMallocHost(&fresh, static_cast<std::size_t>(bytes)), "host memory for transfers");
    data_ = static_cast<std::byte*>(fresh);
    size_ = bytes;
  }
  return data_;
}

const void* Uploads::get_bytes(std::span<const std::byte> bytes) {
  ++clock_;
  for (Slot& known : slots_) {
    if (known.device == nullptr || !std::ranges::equal(known.content, bytes)) continue;
    known.used = clock_;
    return known.device->data();
  }
  Slot& slot = *std::ranges::min_element(slots_, {}, &Slot::used);  // the one not asked for the longest
  slot.used = clock_;
  slot.sent.wait();  // the host copy may still be on its way
  const Index size = std::ssize(bytes);
  if (slot.device == nullptr || size > slot.capacity) {
    slot.capacity = std::max<Index>(size, Index{1} << 16);
    stream_->wait();  // freeing waits for the device anyway
    slot.device = allocate_for_good(slot.capacity);
  }
  slot.content.assign(bytes.begin(), bytes.end());
  std::byte* host = slot.host.reserve(slot.capacity);
  std::memcpy(host, bytes.data(), bytes.size());
  check_cuda(cudaMemcpyAsync(slot.device->data(), host, bytes.size(), cudaMemcpyHostToDevice, *stream_),
             "send a plan");
  slot.sent.record(*stream_);
  return slot.device->data();
}

void download(const Tensor& from, std::span<float> to, Pool& pool, const Stream& stream) {
  check(std::ssize(to) == from.rows() * from.cols(), "download fits");
  if (from.empty()) return;
  Tensor packed = from;
  if (from.dtype() != DType::kF32 || from.stride() != from.cols()) {
    packed = pool.allocate(from.rows(), from.cols(), DType::kF32);
    convert_rows({.from = address(from),
                  .from_type = from.dtype(),
                  .to = packed.row<float>(0),
                  .to_type = DType::kF32,
                  .rows = from.rows(),
                  .cols = from.cols(),
                  .from_stride = from.stride()},
                 stream);
  }
  check_cuda(
      cudaMemcpyAsync(to.data(), packed.row<float>(0), to.size_bytes(), cudaMemcpyDeviceToHost, stream),
      "read a tensor");
  stream.wait();
}

void WeightLoader::load(const TensorView& from, DType dtype, void* to) {
  const Index width = size_of(from.dtype), count = element_count(from.shape), step = kChunk / width;
  for (Index first = 0; first < count; first += step) {
    const Index elements = std::min(step, count - first);
    const auto bytes = static_cast<std::size_t>(elements * width);
    const std::size_t i = next_;
    next_ = 1 - next_;
    sent_[i].wait();
    std::byte* host = host_[i].reserve(kChunk);
    std::memcpy(host, from.bytes.data() + first * width, bytes);
    std::byte* target = static_cast<std::byte*>(to) + first * size_of(dtype);
    const bool convert = dtype != from.dtype;
    if (convert && raw_[i] == nullptr) raw_[i] = allocate_for_good(kChunk);
    check_cuda(
        cudaMemcpyAsync(convert ? raw_[i]->data() : target, host, bytes, cudaMemcpyHostToDevice, *stream_),
        "send weights");
    if (convert) {
      convert_rows({.from = raw_[i]->data(),
                    .from_type = from.dtype,
                    .to = target,
                    .to_type = dtype,
                    .rows = 1,
                    .cols = elements},
                   *stream_);
    }
    sent_[i].record(*stream_);
  }
}

}  // namespace buoy::cuda
