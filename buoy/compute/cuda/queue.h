// The line of work for the card. Operations wait in it until someone needs a result; a line that comes again
// runs as a CUDA graph: one launch instead of hundreds.
#pragma once

#include <functional>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "buoy/compute/cuda/device.h"
#include "buoy/compute/cuda/parcel.h"

namespace buoy::cuda {

// A line that was recorded.
class Graph {
 public:
  Graph() = default;
  Graph(Graph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(graph_, other.graph_);
    return *this;
  }
  ~Graph() {
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
  }

  // What `body` starts on the stream, recorded instead of run.
  static Graph record(cudaStream_t stream, const std::function<void()>& body);
  bool empty() const { return graph_ == nullptr; }
  void launch(cudaStream_t stream) const;

 private:
  cudaGraphExec_t graph_ = nullptr;
};

// One caller at a time. Work and memory come in the order in which they were asked for, so memory may be
// reused as soon as it was dropped, even by operations of the same line.
class Queue {
 public:
  // `launch` starts the operation; all it depends on stands in `args` and in the memory they point to.
  template <class Args>
  void add(void (*launch)(const Args&, cudaStream_t), const std::type_identity_t<Args>& args) {
    static_assert(std::is_trivially_copyable_v<Args> && alignof(Args) <= kAlignment);
    Args copy = args;
#if __has_builtin(__builtin_clear_padding)
    __builtin_clear_padding(&copy);  // lines are compared byte by byte
#endif
    const auto start = [](Launch any, const void* bytes, cudaStream_t stream) {
      reinterpret_cast<void (*)(const Args&, cudaStream_t)>(any)(*static_cast<const Args*>(bytes), stream);
    };
    append({start, reinterpret_cast<Launch>(launch), sizeof(Args)}, &copy);
  }

  // Where on the card the values will be for the operations of this line.
  template <typename T>
  const T* send(std::span<const T> values) {
    return static_cast<const T*>(parcel_.add(std::as_bytes(values)));
  }

  // Starts everything in line. What is put on the stream directly comes after it.
  cudaStream_t start();
  void wait();
  // The stream as it is, for what only later work must see: allocations.
  cudaStream_t stream() const {
    return stream_;
  }
  // How many lines ran as graphs.
  Index replays() const {
    return replays_;
  }

 private:
  static constexpr std::size_t kAlignment = 16;
  using Launch = void (*)();
  struct Step {  // followed by its arguments
    void (*start)(Launch, const void*, cudaStream_t);
    Launch launch;
    std::size_t size;
  };
  using Line = std::vector<std::byte>;
  struct Known {
    Line line;
    Graph graph;  // empty until the line comes a second time
    Index used = 0;
  };

  void append(const Step& step, const void* args);
  static void run(const Line& line, cudaStream_t stream);
  void run_or_replay(const Line& line);
  void forget_oldest();

  Stream stream_;
  Parcel parcel_;
  Line line_, running_;
  int steps_ = 0;
  std::unordered_map<std::size_t, Known> known_;  // by hash
  Index clock_ = 0, replays_ = 0;
};

}  // namespace buoy::cuda
