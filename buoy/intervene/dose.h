// How much an intervention did: keys, biases and attention, counted layer by layer while it runs.
#pragma once

#include <array>
#include <span>

#include "buoy/analysis/measurement.h"

namespace buoy {

// What is counted. docs/interventions.md, "Dose", says it in words.
enum class Dose {
  kHidden,         // keys hidden
  kEvidence,       // of them, evidence
  kPressed,        // keys held down by a bias
  kRaised,         // keys that were given what those lost
  kBias,           // Σ |bias| of the keys pressed and raised
  kMass,           // attention taken from keys hidden or pressed
  kUnsettled,      // times that the aim was out of reach, and the layer left as it is
  kOtherThird,     // stand-ins in another third of the places,
  kOtherRegion,    // … in another kind of region,
  kOtherClass,     // … of another class of token,
  kOtherEvidence,  // … that are evidence for a key that is none, or the reverse
  kMissing,        // keys for which there was no stand-in at all
};
inline constexpr std::size_t kDoseCount = 12;

// Sums over the passes of one sample, in one layer.
struct LayerDose {
  Index reached = 0;  // times that the layer could be changed
  Index biased = 0;   // keys pressed and raised
  Index matched = 0;  // keys for which a stand-in was sought
  std::array<double, kDoseCount> amounts = {};

  double& operator[](Dose dose) { return amounts[static_cast<std::size_t>(dose)]; }
  double operator[](Dose dose) const { return amounts[static_cast<std::size_t>(dose)]; }
  LayerDose& operator+=(const LayerDose& other);
};

// One sample's doses as numbers of its layers: keys, mass and `unsettled` per pass that reached the layer,
// bias per key that has one, stand-ins per key that was to be matched. Only of what is named; layers that
// were never reached have none.
Measurements dose_measurements(std::span<const LayerDose> layers, std::span<const Dose> named);

// Whether a quantity is a dose.
bool is_dose(std::string_view quantity);

}  // namespace buoy
