#include "buoy/intervene/dose.h"

#include <algorithm>

namespace buoy {
namespace {

// A dose's name, and what it is divided by.
struct DoseLine {
  const char *quantity, *part;
  Index LayerDose::*per;
};

constexpr std::array<DoseLine, kDoseCount> kDoseLines = {{
    {"dose_keys", "hidden", &LayerDose::reached},
    {"dose_keys", "evidence", &LayerDose::reached},
    {"dose_keys", "pressed", &LayerDose::reached},
    {"dose_keys", "raised", &LayerDose::reached},
    {"dose_bias", "", &LayerDose::biased},
    {"dose_mass", "", &LayerDose::reached},
    {"dose_unsettled", "", &LayerDose::reached},
    {"dose_unmatched", "third", &LayerDose::matched},
    {"dose_unmatched", "region", &LayerDose::matched},
    {"dose_unmatched", "class", &LayerDose::matched},
    {"dose_unmatched", "evidence", &LayerDose::matched},
    {"dose_unmatched", "missing", &LayerDose::matched},
}};

}  // namespace

LayerDose& LayerDose::operator+=(const LayerDose& other) {
  reached += other.reached;
  biased += other.biased;
  matched += other.matched;
  for (std::size_t i = 0; i < amounts.size(); ++i) amounts[i] += other.amounts[i];
  return *this;
}

Measurements dose_measurements(std::span<const LayerDose> layers, std::span<const Dose> named) {
  Measurements made;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    for (const Dose dose : named) {
      const DoseLine& line = kDoseLines[static_cast<std::size_t>(dose)];
      const Index per = layers[l].*line.per;
      if (per == 0) continue;
      made.push_back({.quantity = line.quantity,
                      .layer = static_cast<Index>(l),
                      .part = line.part,
                      .value = layers[l][dose],
                      .weight = static_cast<double>(per)});
    }
  }
  return made;
}

bool is_dose(std::string_view quantity) {
  return quantity.starts_with("dose_");
}

}  // namespace buoy
