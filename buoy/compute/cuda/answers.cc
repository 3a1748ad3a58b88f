#include "buoy/compute/cuda/answers.h"

namespace buoy::cuda {
namespace {

constexpr Index kStep = 65536;  // bytes of a layer's answers are rounded up to this

}  // namespace

void clear(const Clearing& what, cudaStream_t stream) {
  if (what.bytes == 0) return;
  check_cuda(cudaMemsetAsync(what.memory, 0, static_cast<std::size_t>(what.bytes), stream),
             "clear statistics");
}

const void* AnswerPost::place(const Answers& answers) {
  Clearing clearing{};
  const void* made = place(answers, clearing);
  if (made != nullptr) queue_->add(clear, clearing);
  return made;
}

const void* AnswerPost::place(const Answers& answers, Clearing& clearing) {
  if (answers.pieces.empty()) return nullptr;
  const Index bytes = round_up(answers.block.size(), kStep);
  if (bytes > capacity_) {
    on_card_ = pool_.allocate(bytes);
    capacity_ = bytes;
  }
  clearing = {on_card_->data(), bytes};
  return on_card_->data();
}

void AnswerPost::send(Answers answers) {
  if (answers.pieces.empty()) return;
  pieces_ = std::move(answers.pieces);
  const Index bytes = answers.block.size();
  computed_.record(queue_->start());
  computed_.hold_back(copies_);
  check_cuda(cudaMemcpyAsync(arrived_.reserve(bytes), on_card_->data(), static_cast<std::size_t>(bytes),
                             cudaMemcpyDeviceToHost, copies_),
             "read statistics");
  copied_.record(copies_);
}

void AnswerPost::settle() {
  if (pieces_.empty()) return;
  queue_->start();  // the card goes on meanwhile
  copied_.wait();
  for (const Answers::Piece& piece : pieces_) {
    std::memcpy(piece.to, arrived_.reserve(0) + piece.offset, static_cast<std::size_t>(piece.bytes));
  }
  pieces_.clear();
}

}  // namespace buoy::cuda
