// Small arrays on their way to the card: ids, positions, plans.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "buoy/compute/cuda/device.h"
#include "buoy/compute/cuda/pinned.h"
#include "buoy/compute/tensor.h"

namespace buoy::cuda {

// Collects arrays and sends them together. Equal arrays are sent once, and nothing is sent that lies there
// from the last time. The same sizes in the same order get the same addresses.
class Parcel {
 public:
  // Where the bytes will lie on the card from send() to the send() after it.
  const void* add(std::span<const std::byte> bytes);
  // Sends what was added and begins anew.
  void send(cudaStream_t stream);

 private:
  struct Page {
    explicit Page(Index bytes);
    bool has_room(Index bytes) const { return std::ssize(content) + bytes <= capacity; }
    void send(cudaStream_t stream);

    Index capacity;
    std::shared_ptr<Buffer> card;
    std::vector<std::byte> content, there;  // what is to be on the card, and what is
    std::array<PinnedMemory, 3> host;       // a copy may wait behind work while the next is made ready
    std::array<Event, 3> sent;
    std::size_t turn = 0;
  };
  struct Piece {
    std::size_t page;
    Index offset, size;
  };
  const void* address(const Piece& piece) const;

  std::vector<std::unique_ptr<Page>> pages_;
  std::vector<Piece> pieces_;
};

}  // namespace buoy::cuda
