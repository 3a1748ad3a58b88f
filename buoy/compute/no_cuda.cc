// Stands in for compute/cuda in builds without it (BUOY_CUDA=OFF, or no toolkit).
#include "buoy/base/error.h"
#include "buoy/compute/backend.h"
#include "buoy/compute/card.h"
#include "buoy/compute/foreign.h"

namespace buoy {

std::optional<std::string> cuda_problem(int /*card*/) {
  return "this build has no CUDA backend; use cpu";
}

std::optional<Card> find_card() {
  return std::nullopt;
}

int count_cards() {
  return 0;
}

std::unique_ptr<Backend> make_cuda_backend(const CudaOptions& /*options*/) {
  fail("{}", *cuda_problem());
}

OnCard::OnCard(int card) {
  if (card >= 0) fail("{}", *cuda_problem());
}

OnCard::~OnCard() = default;

void wait_for_stream(Backend& /*backend*/, std::uintptr_t /*stream*/) {
  fail("{}", *cuda_problem());
}

void hold_stream_back(Backend& /*backend*/, std::uintptr_t /*stream*/) {
  fail("{}", *cuda_problem());
}

}  // namespace buoy
