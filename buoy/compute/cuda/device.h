// The card: calls whose failure becomes one clear line, and streams and events that clean up after
// themselves.
#pragma once

#include <cuda_runtime_api.h>

namespace buoy::cuda {

// Throws Error with `what` and CUDA's own words unless the call succeeded; out of memory has a line of its
// own.
void check_cuda(cudaError_t status, const char* what);

// Stands after every launch: throws Error naming the kernel when it could not start.
void check_launch(const char* kernel);

// What the kernels must know of the card.
struct Device {
  int major = 0, minor = 0;
};

// Picks the card of that number for the calling thread and reads it off. Throws Error when there is none or
// it is too old.
Device open_device(int number);

class Event {
 public:
  Event() { check_cuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "create an event"); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }
  operator cudaEvent_t() const { return event_; }  // NOLINT(google-explicit-constructor): it is one
  void record(cudaStream_t stream) { check_cuda(cudaEventRecord(event_, stream), "record an event"); }
  void wait() { check_cuda(cudaEventSynchronize(event_), "compute"); }
  void hold_back(cudaStream_t stream) { check_cuda(cudaStreamWaitEvent(stream, event_), "order streams"); }

 private:
  cudaEvent_t event_ = nullptr;
};

class Stream {
 public:
  // Among kernels that wait for room, those of higher priority come first.
  enum class Priority { kNormal, kHigh };
  explicit Stream(Priority priority = Priority::kNormal);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(stream_); }
  operator cudaStream_t() const { return stream_; }  // NOLINT(google-explicit-constructor): it is one
  void wait() const { check_cuda(cudaStreamSynchronize(stream_), "compute"); }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace buoy::cuda
