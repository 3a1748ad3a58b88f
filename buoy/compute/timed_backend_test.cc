// Timing counts what runs and changes nothing.
#include "buoy/compute/timed_backend.h"

#include <gtest/gtest.h>

#include "buoy/compute/testing.h"

namespace buoy {
namespace {

using namespace testing_support;

TEST(TimedBackend, CountsOperationsAndChangesNoResult) {
  const auto inner = make_reference_backend();
  TimedBackend timed(*inner);
  const HostWeight w(random_floats(5 * 3, 1), {5, 3}, DType::kF32);
  const auto run = [&](Backend& b) {
    const auto linear = b.make_linear({{w.view}}, {});
    const Tensor y = b.allocate(2, 5);
    b.linear(upload(b, 2, 3, random_floats(6, 2)), *linear, Store::kOverwrite, y);
    return download(b, y);
  };
  EXPECT_EQ(run(timed), run(*inner));
  run(timed);
  ASSERT_EQ(timed.costs().size(), 1u);
  EXPECT_EQ(timed.costs().begin()->first, "linear 3→5");
  EXPECT_EQ(timed.costs().begin()->second.calls, 2);
  EXPECT_GT(timed.costs().begin()->second.seconds, 0.0);
}

}  // namespace
}  // namespace buoy
