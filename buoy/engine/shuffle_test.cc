// The shuffled twin of a checkpoint: the same numbers elsewhere, an ordinary model, and never in another's
// place.
#include "buoy/engine/shuffle.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/base/testing.h"
#include "buoy/decode/golden.h"
#include "buoy/engine/loaded_model.h"
#include "buoy/io/file.h"
#include "buoy/io/safetensors.h"
#include "buoy/io/test_support.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

const fs::path kOriginal = source_path("tests/goldens/llada");

// A tensor's entries as bytes, in ascending order.
std::vector<std::string> entries(const TensorView& tensor) {
  const auto size = static_cast<std::size_t>(size_of(tensor.dtype));
  std::vector<std::string> out;
  for (std::size_t at = 0; at < tensor.bytes.size(); at += size) {
    out.emplace_back(reinterpret_cast<const char*>(tensor.bytes.data()) + at, size);
  }
  std::ranges::sort(out);
  return out;
}

bool same_bytes(const TensorView& a, const TensorView& b) {
  return std::ranges::equal(a.bytes, b.bytes);
}

TEST(Shuffle, KeepsEveryMatrixsNumbersAndEveryVector) {
  const TempDir directory;
  shuffle_model(kOriginal, 1, directory / "twin");
  const Checkpoint before = Checkpoint::open(kOriginal), after = Checkpoint::open(directory / "twin");
  ASSERT_EQ(before.tensors().size(), after.tensors().size());
  Index matrices = 0, vectors = 0;
  for (const auto& [name, tensor] : before.tensors()) {
    const TensorView* twin = after.find(name);
    ASSERT_NE(twin, nullptr) << name;
    EXPECT_EQ(twin->shape, tensor.shape) << name;
    EXPECT_EQ(twin->dtype, tensor.dtype) << name;
    EXPECT_EQ(entries(*twin), entries(tensor)) << name;
    EXPECT_EQ(same_bytes(*twin, tensor), tensor.shape.size() < 2) << name;
    ++(tensor.shape.size() < 2 ? vectors : matrices);
  }
  EXPECT_GT(matrices, 0);
  EXPECT_GT(vectors, 0);
}

TEST(Shuffle, IsDecidedByTheSeed) {
  const TempDir directory;
  shuffle_model(kOriginal, 1, directory / "one");
  shuffle_model(kOriginal, 1, directory / "again");
  shuffle_model(kOriginal, 2, directory / "two");
  const std::string one = read_file(directory / "one/model.safetensors");
  EXPECT_EQ(one, read_file(directory / "again/model.safetensors"));
  EXPECT_NE(one, read_file(directory / "two/model.safetensors"));
}

TEST(Shuffle, MovesEntriesFarAndWithoutPreference) {
  const TempDir directory;
  shuffle_model(kOriginal, 1, directory / "twin");
  const Checkpoint before = Checkpoint::open(kOriginal), after = Checkpoint::open(directory / "twin");
  for (const auto& [name, tensor] : before.tensors()) {
    if (tensor.shape.size() < 2 || tensor.dtype != DType::kF32) continue;
    const auto n = static_cast<double>(tensor.bytes.size() / 4);
    double xy = 0, xx = 0;  // correlation with what stood there
    for (std::size_t at = 0; at < tensor.bytes.size(); at += 4) {
      float x = 0, y = 0;
      std::memcpy(&x, tensor.bytes.data() + at, 4);
      std::memcpy(&y, after.find(name)->bytes.data() + at, 4);
      xy += double{x} * y;
      xx += double{x} * x;
    }
    EXPECT_LT(std::abs(xy / xx), 5 / std::sqrt(n)) << name;
  }
}

TEST(Shuffle, TheTwinIsAnOrdinaryModelThatMissesTheGolden) {
  const TempDir directory;
  shuffle_model(kOriginal, 1, directory / "llada-shuffled-1");
  const LoadedModel twin({.model = (directory / "llada-shuffled-1").string(),
                          .device = {.device = Device::kCpu, .threads = 1},
                          .places = {}});
  EXPECT_EQ(twin.name(), "llada-shuffled-1");
  const std::string golden = (kOriginal / "golden.npz").string();
  const auto checks = check_golden(twin.model(), read_npz(golden), golden, {});
  EXPECT_TRUE(std::ranges::any_of(checks, [](const GoldenCheck& c) { return !c.passed; }));
}

TEST(Shuffle, CopiesWhatABundledModelNeeds) {
  const TempDir directory;
  shuffle_model(source_path("models/mini-arm"), 3, directory / "twin");
  for (const char* name : {"config.json", "tokenizer.json", "tokenizer_config.json", "buoy.json"}) {
    EXPECT_EQ(read_file(directory / "twin" / name), read_file(source_path("models/mini-arm") / name)) << name;
  }
  EXPECT_FALSE(fs::exists(directory / "twin/README.md")) << "that speaks of the trained model";
}

TEST(Shuffle, NeverTakesAnothersPlaceAndLeavesNothingBehind) {
  const TempDir directory;
  fs::create_directory(directory / "taken");
  EXPECT_THROW(shuffle_model(kOriginal, 1, directory / "taken"), Error);
  EXPECT_TRUE(fs::is_empty(directory / "taken"));
  EXPECT_THROW(shuffle_model(directory / "taken", 1, directory / "twin"), Error) << "no checkpoint";
  EXPECT_FALSE(fs::exists(directory / "twin"));
  EXPECT_EQ(std::distance(fs::directory_iterator(directory.path()), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace buoy
