#include "buoy/compute/cuda/parcel.h"

#include <algorithm>
#include <cstring>

#include "buoy/compute/cuda/memory.h"

namespace buoy::cuda {
namespace {

constexpr Index kPage = Index{1} << 20;
constexpr Index kPieceAlignment = 256;

}  // namespace

Parcel::Page::Page(Index bytes) : capacity(bytes), card(allocate_for_good(bytes)) {}

void Parcel::Page::send(cudaStream_t stream) {
  const auto same = std::span(there).first(std::min(there.size(), content.size()));
  if (!std::ranges::equal(content, same)) {
    turn = (turn + 1) % host.size();
    sent[turn].wait();
    std::byte* from = host[turn].reserve(capacity);
    std::memcpy(from, content.data(), content.size());
    check_cuda(cudaMemcpyAsync(card->data(), from, content.size(), cudaMemcpyHostToDevice, stream),
               "send a plan");
    sent[turn].record(stream);
    there = content;
  }
  content.clear();
}

const void* Parcel::add(std::span<const std::byte> bytes) {
  const Index size = std::ssize(bytes);
  for (const Piece& piece : pieces_) {
    if (piece.size != size) continue;
    const std::byte* known = pages_[piece.page]->content.data() + piece.offset;
    if (size == 0 || std::memcmp(known, bytes.data(), bytes.size()) == 0) return address(piece);
  }
  const Index room = (size + kPieceAlignment - 1) / kPieceAlignment * kPieceAlignment;
  const auto page = std::ranges::find_if(pages_, [&](const auto& p) { return p->has_room(room); });
  const auto number = static_cast<std::size_t>(page - pages_.begin());
  if (page == pages_.end()) pages_.push_back(std::make_unique<Page>(std::max(kPage, room)));
  std::vector<std::byte>& content = pages_[number]->content;
  pieces_.push_back({number, std::ssize(content), size});
  content.resize(content.size() + static_cast<std::size_t>(room));
  if (size > 0) std::memcpy(content.data() + pieces_.back().offset, bytes.data(), bytes.size());
  return address(pieces_.back());
}

const void* Parcel::address(const Piece& piece) const {
  return static_cast<const std::byte*>(pages_[piece.page]->card->data()) + piece.offset;
}

void Parcel::send(cudaStream_t stream) {
  for (const auto& page : pages_) page->send(stream);
  pieces_.clear();
}

}  // namespace buoy::cuda
