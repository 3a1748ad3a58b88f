// Where a model computes and in which type.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "buoy/base/log.h"
#include "buoy/compute/backend.h"

namespace buoy {

enum class Device { kAuto, kCpu, kCuda, kReference };
enum class ComputeType { kAuto, kF32, kBf16 };

struct DeviceSettings {
  Device device = Device::kAuto;  // kAuto: the card where there is one, else the cpu
  ComputeType dtype = ComputeType::kAuto;
  int threads = 0;     // of the cpu; 0: all that are available
  int local_rank = 0;  // of this process among those of the job on this machine: they share out its cards
};

// "auto", "cpu", "cuda", "reference"; "auto", "f32", "bf16". Throw UsageError listing them.
Device parse_device(std::string_view name);
ComputeType parse_compute_type(std::string_view name);

// Above this many bytes of weights kAuto means bf16 on a card, the type such weights were published in.
inline constexpr Index kLargeModel = Index{4} << 30;

// Throws UsageError for settings that contradict each other, and Error for what this build or machine does
// not have. Where kAuto takes the card, threads have no effect: a warning says so.
std::unique_ptr<Backend> make_backend(const DeviceSettings& settings, Index weight_bytes,
                                      Widen widen = Widen::kOnce, const WarningSink& warnings = {});

// What decides the bits of a result: "cpu", "cuda" or "reference", and "f32" or "bf16".
struct DeviceClass {
  std::string device, dtype;
};
// What make_backend() would take, without making it. Throws Error for a card that is not there.
DeviceClass device_class(const DeviceSettings& settings, Index weight_bytes);

// "cpu, f32, 2 threads", "NVIDIA H200, bf16": what a run says before it begins.
std::string describe_device(const Backend& backend, const DeviceSettings& settings);

}  // namespace buoy
