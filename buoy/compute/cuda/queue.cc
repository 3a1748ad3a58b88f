#include "buoy/compute/cuda/queue.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace buoy::cuda {
namespace {

constexpr int kFewest = 4;          // steps that are worth a graph
constexpr std::size_t kMost = 256;  // lines that are remembered: a recorded pass of a large model has 66

// Steps and their arguments begin at addresses that any of them may have.
constexpr std::size_t padded(std::size_t size, std::size_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

std::size_t hash_of(std::span<const std::byte> bytes) {
  return std::hash<std::string_view>{}({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

Graph Graph::record(cudaStream_t stream, const std::function<void()>& body) {
  cudaGraph_t steps = nullptr;
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "begin a graph");
  try {
    body();
  } catch (...) {
    cudaStreamEndCapture(stream, &steps);
    if (steps != nullptr) cudaGraphDestroy(steps);
    cudaGetLastError();
    throw;
  }
  check_cuda(cudaStreamEndCapture(stream, &steps), "end a graph");
  Graph made;
  const cudaError_t status = cudaGraphInstantiate(&made.graph_, steps, 0);
  cudaGraphDestroy(steps);
  check_cuda(status, "make a graph");
  return made;
}

void Graph::launch(cudaStream_t stream) const {
  check_cuda(cudaGraphLaunch(graph_, stream), "start a graph");
}

void Queue::append(const Step& step, const void* args) {
  const std::size_t at = line_.size(), header = padded(sizeof(Step), kAlignment);
  line_.resize(at + header + padded(step.size, kAlignment));
  std::memcpy(line_.data() + at, &step, sizeof(step));
  std::memcpy(line_.data() + at + header, args, step.size);
  ++steps_;
}

cudaStream_t Queue::start() {
  if (line_.empty()) return stream_;
  const int steps = std::exchange(steps_, 0);
  running_.swap(line_);
  line_.clear();
  parcel_.send(stream_);
  if (steps < kFewest) {
    run(running_, stream_);
  } else {
    run_or_replay(running_);
  }
  return stream_;
}

void Queue::wait() {
  start();
  stream_.wait();
}

void Queue::run(const Line& line, cudaStream_t stream) {
  for (std::size_t at = 0; at < line.size();) {
    Step step;
    std::memcpy(&step, line.data() + at, sizeof(step));
    at += padded(sizeof(Step), kAlignment);
    step.start(step.launch, line.data() + at, stream);
    at += padded(step.size, kAlignment);
  }
}

// The first time a line runs as it is: most shapes come once, and kernels must have been loaded before they
// can be recorded.
void Queue::run_or_replay(const Line& line) {
  const std::size_t hash = hash_of(line);
  const auto found = known_.find(hash);
  if (found == known_.end() || found->second.line != line) {
    run(line, stream_);
    if (found == known_.end() && known_.size() == kMost) forget_oldest();
    known_.insert_or_assign(hash, Known{.line = line, .used = ++clock_});
    return;
  }
  Known& known = found->second;
  known.used = ++clock_;
  if (known.graph.empty()) known.graph = Graph::record(stream_, [&] { run(line, stream_); });
  known.graph.launch(stream_);
  ++replays_;
}

void Queue::forget_oldest() {
  const auto used = [](const auto& entry) { return entry.second.used; };
  known_.erase(std::ranges::min_element(known_, {}, used));
}

}  // namespace buoy::cuda
