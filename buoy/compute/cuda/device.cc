#include "buoy/compute/cuda/device.h"

#include "buoy/base/error.h"
#include "buoy/compute/backend.h"
#include "buoy/compute/card.h"
#include "buoy/compute/foreign.h"

namespace buoy {
namespace {

constexpr int kOldestMajor = 8;  // Ampere: the first with bfloat16 on its tensor cores

}  // namespace

std::optional<std::string> cuda_problem(int number) {
  int driver = 0, runtime = 0, cards = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  if (driver == 0) return "no NVIDIA driver was found";
  const auto version = [](int v) { return fmt::format("{}.{}", v / 1000, v % 1000 / 10); };
  if (driver / 1000 < runtime / 1000) {
    return fmt::format("the NVIDIA driver knows CUDA {}, expected {} or newer", version(driver),
                       version(runtime));
  }
  const cudaError_t status = cudaGetDeviceCount(&cards);
  if (status != cudaSuccess || cards == 0) {
    cudaGetLastError();
    return fmt::format("no NVIDIA card was found ({})", cudaGetErrorString(status));
  }
  if (number < 0 || number >= cards) {
    return fmt::format("NVIDIA card {} was asked for, expected one from 0 to {}", number, cards - 1);
  }
  cudaDeviceProp card{};
  if (cudaGetDeviceProperties(&card, number) != cudaSuccess) return "the NVIDIA card does not answer";
  if (card.major < kOldestMajor) {
    return fmt::format("{} has compute capability {}.{}, expected {}.0 or newer", card.name, card.major,
                       card.minor, kOldestMajor);
  }
  return std::nullopt;
}

std::optional<Card> find_card() {
  if (cuda_problem()) return std::nullopt;
  cudaDeviceProp properties{};
  std::size_t free = 0, total = 0;
  cuda::check_cuda(cudaGetDeviceProperties(&properties, 0), "read the card's properties");
  cuda::check_cuda(cudaMemGetInfo(&free, &total), "read the card's memory");
  return Card{properties.name, static_cast<Index>(free), static_cast<Index>(total)};
}

int count_cards() {
  int cards = 0;
  if (cudaGetDeviceCount(&cards) == cudaSuccess) return cards;
  cudaGetLastError();
  return 0;
}

OnCard::OnCard(int card) {
  if (card < 0) return;
  int now = 0;
  cuda::check_cuda(cudaGetDevice(&now), "find the thread's card");
  if (now == card) return;
  cuda::check_cuda(cudaSetDevice(card), "turn to a card");
  before_ = now;
}

OnCard::~OnCard() {
  if (before_ >= 0) cudaSetDevice(before_);
}

namespace cuda {

void check_cuda(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  if (status == cudaErrorMemoryAllocation) {
    std::size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    fail("cuda: out of memory ({}): {:.1f} of {:.1f} GiB are free", what, static_cast<double>(free) / 0x1p30,
         static_cast<double>(total) / 0x1p30);
  }
  fail("cuda: {}: {}", what, cudaGetErrorString(status));
}

void check_launch(const char* kernel) {
  check_cuda(cudaGetLastError(), kernel);
}

Stream::Stream(Priority priority) {
  int lowest = 0, highest = 0;
  check_cuda(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "read stream priorities");
  check_cuda(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking,
                                          priority == Priority::kHigh ? highest : lowest),
             "create a stream");
}

Device open_device(int number) {
  if (const auto problem = cuda_problem(number)) fail("cuda: {}", *problem);
  check_cuda(cudaSetDevice(number), "open the card");
  cudaDeviceProp card{};
  check_cuda(cudaGetDeviceProperties(&card, number), "read the card's properties");
  return {.major = card.major, .minor = card.minor};
}

}  // namespace cuda
}  // namespace buoy
