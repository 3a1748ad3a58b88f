#include "buoy/engine/device.h"

#include <algorithm>
#include <array>
#include <optional>

#include "buoy/base/enum_names.h"
#include "buoy/base/error.h"
#include "buoy/base/thread_pool.h"
#include "buoy/compute/card.h"

namespace buoy {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 4> kDevices = {"auto", "cpu", "cuda", "reference"};
constexpr std::array<std::string_view, 3> kTypes = {"auto", "f32", "bf16"};

// The number of the card, when it is asked for, or when nothing else is and it is there.
std::optional<int> choose_card(const DeviceSettings& settings) {
  const int card = settings.local_rank % std::max(1, count_cards());
  if (settings.device == Device::kCuda) {
    if (const auto problem = cuda_problem(card)) fail("device cuda: {}", *problem);
    return card;
  }
  if (settings.device != Device::kAuto || cuda_problem(card)) return std::nullopt;
  return card;
}

bool takes_bf16(const DeviceSettings& settings, Index weight_bytes) {
  return settings.dtype == ComputeType::kBf16 ||
         (settings.dtype == ComputeType::kAuto && weight_bytes > kLargeModel);
}

int threads_of(const DeviceSettings& settings) {
  return settings.threads == 0 ? available_threads() : settings.threads;
}

}  // namespace

Device parse_device(std::string_view name) {
  return enum_named<Device>(kDevices, name, "device");
}

ComputeType parse_compute_type(std::string_view name) {
  return enum_named<ComputeType>(kTypes, name, "dtype");
}

std::unique_ptr<Backend> make_backend(const DeviceSettings& settings, Index weight_bytes, Widen widen,
                                      const WarningSink& warnings) {
  if (const std::optional<int> card = choose_card(settings)) {
    if (settings.threads != 0) {
      if (settings.device == Device::kCuda) fail_usage("threads have no effect on device cuda");
      warn(warnings, "threads have no effect on the card that was found; device cpu computes without it");
    }
    return make_cuda_backend(
        {.dtype = takes_bf16(settings, weight_bytes) ? DType::kBf16 : DType::kF32, .card = *card});
  }
  const bool reference = settings.device == Device::kReference;
  if (settings.dtype == ComputeType::kBf16) {
    fail_usage("dtype bf16 needs device cuda, and the {} computes in f32", reference ? "reference" : "cpu");
  }
  if (reference) {
    if (settings.threads != 0) fail_usage("threads have no effect on device reference, which uses one");
    return make_reference_backend();
  }
  return make_cpu_backend({.threads = threads_of(settings), .widen = widen});
}

DeviceClass device_class(const DeviceSettings& settings, Index weight_bytes) {
  if (choose_card(settings)) return {"cuda", takes_bf16(settings, weight_bytes) ? "bf16" : "f32"};
  return {settings.device == Device::kReference ? "reference" : "cpu", "f32"};
}

std::string describe_device(const Backend& backend, const DeviceSettings& settings) {
  const std::string_view name = backend.name();
  if (name == "cpu") {
    const int threads = threads_of(settings);
    return fmt::format("cpu, f32, {} thread{}", threads, threads == 1 ? "" : "s");
  }
  if (!name.starts_with("cuda")) return fmt::format("{}, f32, 1 thread", name);
  const std::optional<Card> card = find_card();
  return fmt::format("{}, {}", card ? card->name : "cuda", name.ends_with("(bf16)") ? "bf16" : "f32");
}

}  // namespace buoy
