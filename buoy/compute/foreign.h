// Tensors of other libraries: their memory as ours, and their streams in order with ours.
#pragma once

#include <cstdint>

#include "buoy/compute/backend.h"

namespace buoy {

// [rows, cols], row-major, over memory that its owner keeps as long as the tensor is used: of the host for
// the cpu and the reference, of the card for cuda.
Tensor view_foreign(void* data, DType dtype, Index rows, Index cols);

// Makes a card the calling thread's own while it lives, as the backend of that card wants it, and gives the
// thread back the one it had: it may belong to another library, which goes by it. Card -1: does nothing.
// Throws Error where there is no such card.
class OnCard {
 public:
  explicit OnCard(int card);
  OnCard(const OnCard&) = delete;
  OnCard& operator=(const OnCard&) = delete;
  ~OnCard();

 private:
  int before_ = -1;  // -1: nothing to give back
};

// For a cuda backend (check()): what is asked for from here on waits for all that `stream`, a cudaStream_t,
// was given so far; and the other way round, what the stream is given later waits for all that was asked for.
// Neither waits on the host. Throw Error.
void wait_for_stream(Backend& backend, std::uintptr_t stream);
void hold_stream_back(Backend& backend, std::uintptr_t stream);

}  // namespace buoy
