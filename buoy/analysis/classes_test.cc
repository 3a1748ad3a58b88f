// Attention by token class, in closed form.
#include "buoy/analysis/classes.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "buoy/analysis/test_support.h"

namespace buoy {
namespace {

constexpr double kTolerance = 1e-5;  // of float32

double positions_of(const Trace& trace, TokenClass token_class) {
  return static_cast<double>(std::ranges::count(trace.classes, token_class));
}

double value(const Trace& trace, const char* quantity, std::string_view part, Index layer = 0) {
  return value_of(classes(trace, {}), {.quantity = quantity, .layer = layer, .part = part});
}

TEST(Classes, UniformAttentionHasLiftOneEverywhere) {
  const Measurements found = classes(uniform_trace(), {});
  Index lifts = 0;
  for (const Measurement& m : found) {
    if (!m.quantity.ends_with("_lift")) continue;
    EXPECT_NEAR(m.value, 1, kTolerance) << m.quantity << " " << m.part;
    ++lifts;
  }
  // Five classes and two kinds on the finished sequence; masks are a sixth class while writing. Three layers.
  EXPECT_EQ(lifts, 3 * (5 + 2 + 6 + 2));
}

TEST(Classes, ShareAndLiftOfAPeakHaveAClosedForm) {
  Trace trace = uniform_trace();
  ASSERT_EQ(trace.classes[7], TokenClass::kContent);
  spike_finished(trace, {7}, 0.4);
  const double content = positions_of(trace, TokenClass::kContent) / 24;
  const double template_share = positions_of(trace, TokenClass::kTemplate) / 24;
  EXPECT_NEAR(value(trace, "class_share", "finished:content"), 0.4 + 0.6 * content, kTolerance);
  EXPECT_NEAR(value(trace, "class_lift", "finished:content"), (0.4 + 0.6 * content) / content, kTolerance);
  EXPECT_NEAR(value(trace, "class_share", "finished:template"), 0.6 * template_share, kTolerance);
  EXPECT_NEAR(value(trace, "content_lift", "finished"), 0.6 + 0.4 / content, kTolerance);
  EXPECT_NEAR(value(trace, "structural_lift", "finished"), 0.6, kTolerance);
  EXPECT_NEAR(value(trace, "anchor_class", "finished:content"), 1, kTolerance);
  EXPECT_EQ(value(trace, "anchor_class", "finished:bos"), 0);
}

TEST(Classes, AnchorsCountByWhatTheyReceive) {
  Trace trace = uniform_trace({.L = 1});
  for (Index h = 0; h < trace.H(); ++h) {
    spike(trace.finished.received, h, trace.N(), {0, 7}, 0.3);
    trace.finished.received[h * trace.N() + 7] -= 0.01F;
  }
  const double bos = 0.3 + 0.4 / 24, content = bos - 0.01;
  EXPECT_NEAR(value(trace, "anchor_class", "finished:bos"), bos / (bos + content), kTolerance);
  EXPECT_NEAR(value(trace, "anchor_class", "finished:content"), content / (bos + content), kTolerance);
}

TEST(Classes, SharesAddUpToOne) {
  Trace trace = uniform_trace({.mask = Mask::kCausal});
  spike_finished(trace, {3}, 0.2);
  for (const char* part : {"finished:", "steps:"}) {
    double total = 0;
    for (const Measurement& m : classes(trace, {})) {
      if (m.quantity == "class_share" && m.layer == 2 && m.part.starts_with(part)) total += m.value;
    }
    EXPECT_NEAR(total, 1, kTolerance);
  }
}

TEST(Classes, AbsentClassHasShareZeroAndNoLift) {
  const Measurements found = classes(uniform_trace(), {});
  EXPECT_EQ(value_of(found, {.quantity = "class_share", .layer = 0, .part = "finished:mask"}), 0);
  EXPECT_FALSE(look_up(found, {.quantity = "class_lift", .layer = 0, .part = "finished:mask"}));
  EXPECT_FALSE(look_up(found, {.quantity = "anchor_class", .layer = 0, .part = "finished:content"}))
      << "uniform attention has no anchors";
}

TEST(Classes, MasksAreMasksUntilTheyAreFilled) {
  const Trace trace =
      uniform_trace();  // commit steps 0 0 1 2 2 3: before steps 0 … 3 there are 6, 4, 3, 1 masks
  EXPECT_NEAR(value(trace, "class_share", "steps:mask"), (6 + 4 + 3 + 1) / 4.0 / 24, kTolerance);
  EXPECT_NEAR(value(trace, "class_share", "steps:eos/pad"), (0 + 0 + 0 + 2) / 4.0 / 24, kTolerance);
}

TEST(Classes, ContrastIsShallowLessDeep) {
  Trace trace = uniform_trace({.L = 7});  // thirds of two layers
  ASSERT_EQ(trace.classes[6], TokenClass::kPunctuation);
  const double structural =
      (positions_of(trace, TokenClass::kPunctuation) + positions_of(trace, TokenClass::kTemplate)) / 24;
  for (Index h = 0; h < trace.H(); ++h)
    spike(trace.finished.received, h, trace.N(), {6}, 0.4);  // layer 0 of 7
  const double lift = 0.6 + 0.4 / structural;
  EXPECT_NEAR(value(trace, "structural_contrast", "finished", -1), (lift + 1) / 2 - 1, kTolerance);
  EXPECT_NEAR(value(trace, "content_contrast", "finished", -1), (0.6 + 1) / 2 - 1, kTolerance);
  EXPECT_NEAR(value(trace, "structural_contrast", "steps", -1), 0, kTolerance);
}

TEST(Classes, OneLayerHasNoContrast) {
  EXPECT_FALSE(
      look_up(classes(uniform_trace({.L = 1}), {}), {.quantity = "content_contrast", .part = "finished"}));
  EXPECT_TRUE(
      look_up(classes(uniform_trace({.L = 2}), {}), {.quantity = "content_contrast", .part = "finished"}));
}

}  // namespace
}  // namespace buoy
