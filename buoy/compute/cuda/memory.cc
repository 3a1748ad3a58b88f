#include "buoy/compute/cuda/memory.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "buoy/base/error.h"
#include "buoy/compute/cuda/row_kernels.h"

namespace buoy::cuda {
namespace {

constexpr Index kSpare = Index{64} << 20;  // bytes kept beyond what is in use

struct LastingBuffer : Buffer {
  LastingBuffer(void* memory, std::shared_ptr<Queue> queue) : Buffer(memory), user(std::move(queue)) {}
  ~LastingBuffer() override {
    try {
      if (user != nullptr) user->start();
    } catch (const Error&) {  // whoever asks for the results is told again
    }
    cudaFree(data());
  }
  std::shared_ptr<Queue> user;
};

}  // namespace

struct Pool::Home {
  std::shared_ptr<Queue> queue;
  cudaMemPool_t pool = nullptr;
  // By size, the lowest address last: which of several is handed out must not depend on the order in which
  // they were dropped, or passes would take turns between equal lines.
  std::unordered_map<Index, std::vector<void*>> kept;
  Index kept_bytes = 0, used_bytes = 0, peak_bytes = 0;

  explicit Home(std::shared_ptr<Queue> q) : queue(std::move(q)) {
    cudaMemPoolProps props{};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    check_cuda(cudaGetDevice(&props.location.id), "find the card");
    check_cuda(cudaMemPoolCreate(&pool, &props), "create a memory pool");
    std::uint64_t keep_all = UINT64_MAX;
    check_cuda(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_all), "set up a pool");
  }
  ~Home() {
    cudaDeviceSynchronize();
    cudaMemPoolDestroy(pool);
  }

  void* take(Index bytes) {
    void* data = nullptr;
    if (const auto same = kept.find(bytes); same != kept.end() && !same->second.empty()) {
      data = same->second.back();
      same->second.pop_back();
      kept_bytes -= bytes;
    } else {
      if (kept_bytes > used_bytes + kSpare) release();
      const auto ask = [&] {
        return cudaMallocFromPoolAsync(&data, static_cast<std::size_t>(bytes), pool, queue->stream());
      };
      cudaError_t status = ask();
      if (status == cudaErrorMemoryAllocation && kept_bytes > 0) {
        cudaGetLastError();  // or the next launch would report it
        release();
        status = ask();
      }
      check_cuda(status, "activations");
    }
    used_bytes += bytes;
    peak_bytes = std::max(peak_bytes, used_bytes);
    return data;
  }

  void drop(void* data, Index bytes) {
    std::vector<void*>& same = kept[bytes];
    same.insert(std::ranges::lower_bound(same, data, std::greater<>{}), data);
    kept_bytes += bytes;
    used_bytes -= bytes;
  }

  // Gives back what is kept. Work in line may still use it, so that is started first.
  void release() {
    const cudaStream_t stream = queue->start();
    for (const auto& [size, blocks] : kept) {
      for (void* block : blocks) check_cuda(cudaFreeAsync(block, stream), "give back memory");
    }
    kept.clear();
    kept_bytes = 0;
  }

  struct Buffer : buoy::Buffer {
    Buffer(std::shared_ptr<Home> owner, Index size)
        : buoy::Buffer(owner->take(size)), home(std::move(owner)), bytes(size) {}
    ~Buffer() override { home->drop(data(), bytes); }
    std::shared_ptr<Home> home;
    Index bytes;
  };
};

Pool::Pool(std::shared_ptr<Queue> queue) : home_(std::make_shared<Home>(std::move(queue))) {}

std::shared_ptr<Buffer> Pool::allocate(Index bytes) {
  return std::make_shared<Home::Buffer>(home_, std::max<Index>(bytes, 1));
}

Tensor Pool::allocate(Index rows, Index cols, DType dtype) {
  return {allocate(element_count({rows, cols}) * size_of(dtype)), dtype, rows, cols};
}

Index Pool::take_peak_bytes() {
  return std::exchange(home_->peak_bytes, home_->used_bytes);
}

std::shared_ptr<Buffer> allocate_for_good(Index bytes, std::shared_ptr<Queue> user) {
  void* data = nullptr;
  check_cuda(cudaMalloc(&data, static_cast<std::size_t>(std::max<Index>(bytes, 1))), "weights");
  return std::make_shared<LastingBuffer>(data, std::move(user));
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

void download(const Tensor& from, std::span<float> to, Pool& pool, Queue& queue) {
  check(std::ssize(to) == from.rows() * from.cols(), "download fits");
  if (from.empty()) return;
  Tensor packed = from;
  if (from.dtype() != DType::kF32 || from.stride() != from.cols()) {
    packed = pool.allocate(from.rows(), from.cols(), DType::kF32);
    queue.add(convert_rows, {.from = address(from),
                             .from_type = from.dtype(),
                             .to = packed.row<float>(0),
                             .to_type = DType::kF32,
                             .rows = from.rows(),
                             .cols = from.cols(),
                             .from_stride = from.stride()});
  }
  check_cuda(cudaMemcpyAsync(to.data(), packed.row<float>(0), to.size_bytes(), cudaMemcpyDeviceToHost,
                             queue.start()),
             "read a tensor");
  queue.wait();
}

void WeightLoader::load(const TensorView& from, DType dtype, void* to) {
  const cudaStream_t stream = queue_->start();
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
        cudaMemcpyAsync(convert ? raw_[i]->data() : target, host, bytes, cudaMemcpyHostToDevice, stream),
        "send weights");
    if (convert) {
      convert_rows({.from = raw_[i]->data(),
                    .from_type = from.dtype,
                    .to = target,
                    .to_type = dtype,
                    .rows = 1,
                    .cols = elements},
                   stream);
    }
    sent_[i].record(stream);
  }
}

}  // namespace buoy::cuda
