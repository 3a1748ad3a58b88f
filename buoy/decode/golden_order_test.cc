// The order in which masks are filled, against NumPy's and the public code's.
#include <algorithm>

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/base/testing.h"
#include "buoy/decode/golden.h"
#include "buoy/decode/golden_name.h"
#include "buoy/model/transformer.h"

namespace buoy {
namespace {

const std::filesystem::path kOrders = source_path("tests/goldens/order");

class GoldenOrder : public testing::Test {
 protected:
  std::vector<GoldenCheck> check(const std::filesystem::path& model) {
    const Transformer loaded(model, *backend_, {});
    return check_golden(loaded, golden_, "g");
  }
  GoldenCheck check_of(const std::vector<GoldenCheck>& checks, const std::string& array) {
    const auto found = std::ranges::find(checks, array, &GoldenCheck::array);
    return found == checks.end() ? GoldenCheck{.array = array, .measured = "not there"} : *found;
  }

  std::unique_ptr<Backend> backend_ =
      has_cpu_backend() ? make_cpu_backend({.threads = 1}) : make_reference_backend();
  NpzArrays golden_;
};

// Confidences of the bundled model are so near 1 that the three types of numbers order them in three ways.
TEST_F(GoldenOrder, IsNumPysInEveryTypeOfNumber) {
  golden_ = read_npz(kOrders / "mini-mdm.npz");
  const auto wide = golden_.at("order_f64_s8_g16_b16_cfg0.0").as_integers();
  EXPECT_NE(wide, golden_.at("order_f32_s8_g16_b16_cfg0.0").as_integers());
  EXPECT_NE(wide, golden_.at("order_bf16_s8_g16_b16_cfg0.0").as_integers());
  const auto checks = check(source_path("models/mini-mdm"));
  EXPECT_EQ(std::ranges::count(checks, true, &GoldenCheck::compared), 4);
  for (const GoldenCheck& check : checks) EXPECT_TRUE(check.passed) << check.array << ": " << check.measured;
}

TEST_F(GoldenOrder, InBlocksIsNumPys) {
  golden_ = read_npz(kOrders / "llada.npz");
  const auto checks = check(source_path("tests/goldens/llada"));
  EXPECT_EQ(std::ranges::count(checks, true, &GoldenCheck::compared), 8);
  for (const GoldenCheck& check : checks) EXPECT_TRUE(check.passed) << check.array << ": " << check.measured;
}

TEST_F(GoldenOrder, AWrongOneIsNamed) {
  golden_ = read_npz(kOrders / "llada.npz");
  const std::string name = "order_f64_s16_g16_b16_cfg0.0";  // 3, 12, 5, 9, 8, 1, 0, …
  std::vector<Index> order = golden_.at(name).as_integers();
  std::swap(order[1], order[5]);
  golden_[name] = NpyArray::of(order, {16});
  const auto checks = check(source_path("tests/goldens/llada"));
  EXPECT_EQ(std::ranges::count(checks, false, &GoldenCheck::passed), 1);
  EXPECT_EQ(check_of(checks, name).measured,
            "14 of 16 positions written at the same step, position 1 at 12, expected 1");
}

TEST_F(GoldenOrder, OfFloat32IsNotTakenForFloat64s) {
  golden_ = read_npz(kOrders / "mini-mdm.npz");
  golden_["order_f64_s8_g16_b16_cfg0.0"] = golden_.at("order_f32_s8_g16_b16_cfg0.0");
  for (const char* other : {"bf16", "f32"}) golden_.erase(fmt::format("order_{}_s8_g16_b16_cfg0.0", other));
  golden_.erase("gen_s8_g16_b16_cfg0.0");
  const auto checks = check(source_path("models/mini-mdm"));
  EXPECT_FALSE(check_of(checks, "order_f64_s8_g16_b16_cfg0.0").passed);
}

// hist_ is what Dream's own code had after every step.
TEST_F(GoldenOrder, OfDreamIsThatOfThePublicCodesHistory) {
  const NpzArrays public_code = read_npz(source_path("tests/goldens/dream/golden.npz"));
  const Transformer model(source_path("tests/goldens/dream"), *backend_, {});
  const TokenId mask = *model.config().mask_id;
  golden_ = {{"input_ids", public_code.at("input_ids")}, {"prompt_ids", public_code.at("prompt_ids")}};
  const Index P = public_code.at("prompt_ids").size();
  for (const auto& [name, array] : public_code) {
    if (!name.starts_with("hist_")) continue;
    const std::vector<Index> history = array.as_integers();
    const Index S = array.shape[0], N = array.shape[1];
    std::vector<Index> order(static_cast<std::size_t>(N - P), -1);
    for (Index s = S - 1; s >= 0; --s) {
      for (Index i = P; i < N; ++i) {
        if (history[static_cast<std::size_t>(s * N + i)] != mask) order[static_cast<std::size_t>(i - P)] = s;
      }
    }
    golden_["order_" + name.substr(5)] = NpyArray::of(order, {N - P});
  }
  const auto checks = check_golden(model, golden_, "g");
  EXPECT_GE(std::ranges::count(checks, true, &GoldenCheck::compared), 2);
  for (const GoldenCheck& check : checks) EXPECT_TRUE(check.passed) << check.array << ": " << check.measured;
}

TEST_F(GoldenOrder, IdsThatOnlyLookAlikeInFewerBitsAreRefusedAndForeignNamesQuoted) {
  const std::filesystem::path model = source_path("tests/goldens/llada");
  golden_ = read_npz(model / "golden.npz");
  std::vector<Index> ids = golden_.at("input_ids").as_integers();
  ids[1] += Index{1} << 32;
  golden_["input_ids"] = NpyArray::of(ids, golden_.at("input_ids").shape);
  const auto message = [&] {
    try {
      check(model);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_NE(message().find(fmt::format("\"input_ids\" holds {}, which is no id", ids[1])), std::string::npos)
      << message();
  golden_ = read_npz(model / "golden.npz");
  golden_["new\nline"] = golden_.at("input_ids");  // one that no one knows
  EXPECT_NE(message().find("array \"new\\nline\" is not one"), std::string::npos) << message();
}

TEST_F(GoldenOrder, AFileThatComparesNothingProvesNothing) {
  const std::filesystem::path model = source_path("tests/goldens/llada");
  golden_["input_ids"] = NpyArray::of(std::vector<Index>{1, 2}, {2});
  EXPECT_THROW(check(model), Error);
}

TEST_F(GoldenOrder, OfAnotherLengthOrTypeIsAnError) {
  golden_ = read_npz(kOrders / "llada.npz");
  const NpzArrays whole = golden_;
  golden_["order_f64_s16_g16_b16_cfg0.0"] = NpyArray::of(std::vector<Index>(15, 0), {15});
  EXPECT_THROW(check(source_path("tests/goldens/llada")), Error);
  golden_ = whole;
  golden_["order_f16_s16_g16_b16_cfg0.0"] = golden_.at("order_f64_s16_g16_b16_cfg0.0");
  EXPECT_THROW(check(source_path("tests/goldens/llada")), Error);
}

TEST(GoldenNames, CountWholeThings) {
  EXPECT_EQ(parse_golden_name("gen_s8_g16_b8_cfg1.5")->count("g"), 16);
  EXPECT_EQ(parse_golden_name("order_bf16_s8_g16_b8_cfg0.0")->words, "bf16");
  for (const char* name :
       {"gen_s8_g16.5_b8_cfg0.0", "gen_s8_g1e300_b8_cfg0.0", "gen_s4e9_g4e9_b4e9_cfg0.0"}) {
    EXPECT_FALSE(parse_golden_name(name)) << name;
  }
}

}  // namespace
}  // namespace buoy
