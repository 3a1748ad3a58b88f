#include "buoy/model/rope.h"

#include <cmath>
#include <numbers>

namespace buoy {

std::vector<float> rope_frequencies(const ModelConfig& config) {
  std::vector<float> frequencies(static_cast<std::size_t>(config.rotated() / 2));
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    // Rounded to float32 where the public code rounds: at position 8192 the angle would differ otherwise.
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(config.rotated());
    frequencies[i] = 1.0f / static_cast<float>(std::pow(config.rope_theta, double{exponent}));
  }
  if (!config.rope_scaling) return frequencies;
  const RopeScaling& s = *config.rope_scaling;
  const double low_wavelength = static_cast<double>(s.original_context) / s.low_freq_factor;
  const double high_wavelength = static_cast<double>(s.original_context) / s.high_freq_factor;
  for (float& f : frequencies) {
    const float wavelength = static_cast<float>(2 * std::numbers::pi) / f;
    if (wavelength < high_wavelength) continue;
    if (wavelength > low_wavelength) {
      f = f / static_cast<float>(s.factor);
      continue;
    }
    const float smooth =
        (static_cast<float>(s.original_context) / wavelength - static_cast<float>(s.low_freq_factor)) /
        static_cast<float>(s.high_freq_factor - s.low_freq_factor);
    f = (1.0f - smooth) * f / static_cast<float>(s.factor) + smooth * f;
  }
  return frequencies;
}

RopeTable make_rope_table(const ModelConfig& config, Backend& backend) {
  const std::vector<float> frequencies = rope_frequencies(config);
  const std::size_t half = frequencies.size(), positions = static_cast<std::size_t>(config.context);
  std::vector<float> cosines(positions * half), sines(cosines.size());
  for (std::size_t p = 0; p < positions; ++p) {
    for (std::size_t i = 0; i < half; ++i) {
      const float angle = static_cast<float>(p) * frequencies[i];
      cosines[p * half + i] = std::cos(angle);
      sines[p * half + i] = std::sin(angle);
    }
  }
  const Index columns = std::ssize(frequencies);
  RopeTable table{backend.allocate(config.context, columns), backend.allocate(config.context, columns)};
  backend.upload(cosines, table.cosines);
  backend.upload(sines, table.sines);
  return table;
}

}  // namespace buoy
