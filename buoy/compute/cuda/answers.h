// The arrays of a layer on their way to the card and back: plans go there in one piece, answers come home in
// one.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "buoy/compute/cuda/memory.h"

namespace buoy::cuda {

template <typename T>
T round_up(T value, T step) {
  return (value + step - 1) / step * step;
}

// A block of arrays that is laid out before it has an address: until relocate(), pointers into it are
// offsets. Offset 0 is never used, so a null pointer stays one.
class Block {
 public:
  template <typename T>
  T* reserve(Index count) {
    const Index at = size_;
    size_ = round_up(size_ + count * Index{sizeof(T)}, kAlignment);
    return reinterpret_cast<T*>(at);
  }
  Index size() const { return size_; }

 private:
  static constexpr Index kAlignment = 256;  // bytes
  Index size_ = kAlignment;
};

template <typename T>
Index offset_of(const T* pointer) {
  return reinterpret_cast<Index>(pointer);
}

template <typename T>
void relocate(T*& pointer, const void* base) {
  if (pointer != nullptr) pointer = reinterpret_cast<T*>(reinterpret_cast<Index>(base) + offset_of(pointer));
}

// Arrays of the host in one block, so that a layer's plan travels at once.
struct Inputs {
  Block block;
  std::vector<std::byte> bytes;

  template <typename T>
  const T* add(std::span<const T> values) {
    const T* place = block.reserve<T>(std::ssize(values));
    bytes.resize(static_cast<std::size_t>(block.size()));
    if (!values.empty()) std::memcpy(bytes.data() + offset_of(place), values.data(), values.size_bytes());
    return place;
  }

  // Where the block will be on the card for the operations in line; null when it is empty.
  const void* send(Queue& queue) const {
    return bytes.empty() ? nullptr : queue.send(std::span<const std::byte>(bytes));
  }
};

// What a call is to bring home: where each array lies in the block on the card, and where it belongs.
struct Answers {
  struct Piece {
    Index offset, bytes;
    void* to;
  };
  Block block;
  std::vector<Piece> pieces;

  // Room on the card for an array, if it was asked for; more than it needs where `room` is more, so that
  // steps that differ a little are the same work.
  template <typename T>
  T* add(std::vector<T>& array, Index room = 0) {
    if (array.empty()) return nullptr;
    T* place = block.reserve<T>(std::max(room, std::ssize(array)));
    pieces.push_back({offset_of(place), std::ssize(array) * Index{sizeof(T)}, array.data()});
    return place;
  }
};

// What is to be zeroed before answers are written: some are only added to, or not written at all.
struct Clearing {
  void* memory;
  Index bytes;
};
void clear(const Clearing& what, cudaStream_t stream);

// Keeps the block of one kind of operation on the card, used again by every layer, and brings it home. One
// call at a time: it must be settled before the next is placed.
class AnswerPost {
 public:
  AnswerPost(std::shared_ptr<Queue> queue, Pool& pool) : queue_(std::move(queue)), pool_(pool) {}

  // Room for the answers, zeroed in its turn; null when there are none.
  const void* place(const Answers& answers);
  // The same, to be zeroed by the caller.
  const void* place(const Answers& answers, Clearing& clearing);
  // Starts the copy home on a stream of its own: the next kernels need not wait for it.
  void send(Answers answers);
  // Waits for what was sent; the arrays are filled then.
  void settle();

 private:
  std::shared_ptr<Queue> queue_;
  Pool& pool_;
  Stream copies_;
  Event computed_, copied_;
  std::shared_ptr<Buffer> on_card_;
  Index capacity_ = 0;
  PinnedMemory arrived_;
  std::vector<Answers::Piece> pieces_;  // of the call that is not settled yet
};

}  // namespace buoy::cuda
