// Which interventions state space layers can be put through.
#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/intervene/intervention.h"
#include "buoy/model/random_model.h"

namespace buoy {
namespace {

std::string ssd_complaint(const char* text, std::vector<Index> layers, const char* shape) {
  InterventionSettings settings = parse_intervention(text).front();
  settings.site.layers = std::move(layers);
  try {
    check_intervention(settings, make_shape(shape), "model");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(SsdInterventions, WhatPressesKeysIsRefusedWithItsReason) {
  for (const char* text : {"pin-anchors=steps", "pin-random=layers", "press-anchors=steps"}) {
    const std::string error = ssd_complaint(text, {}, "mini-ssm");
    EXPECT_NE(error.find("layer 0 of model has a state space mixer"), std::string::npos) << error;
    EXPECT_NE(error.find("no softmax"), std::string::npos) << error;
    EXPECT_EQ(ssd_complaint(text, {}, "mini"), "") << text;
  }
}

TEST(SsdInterventions, LayersWithAttentionMayBePressedInAHybrid) {
  EXPECT_EQ(ssd_complaint("pin-anchors=steps", {3, 7, 11}, "mini-hybrid"), "");
  EXPECT_NE(ssd_complaint("pin-anchors=steps", {3, 4}, "mini-hybrid").find("layer 4"), std::string::npos);
}

TEST(SsdInterventions, KeysMayBeHiddenAndHeadsCut) {
  for (const char* text : {"mask-bos", "mask-anchors=5", "mask-random=5", "cut-heads=3", "cut-random=3"})
    EXPECT_EQ(ssd_complaint(text, {}, "mini-ssm"), "") << text;
}

}  // namespace
}  // namespace buoy
