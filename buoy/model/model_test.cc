// Configs, weight checks and the forward pass's promises, on the golden checkpoints and on broken ones.
#include <cmath>
#include <fstream>
#include <numeric>

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/base/testing.h"
#include "buoy/io/file.h"
#include "buoy/io/json.h"
#include "buoy/model/capture.h"
#include "buoy/model/memory.h"
#include "buoy/model/rope.h"
#include "buoy/model/transformer.h"
#include "buoy/model/weights.h"

namespace buoy {
namespace {

const std::filesystem::path kGoldens = source_path("tests/goldens");

// The message of the Error that `body` throws.
template <class Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.what();
  }
  return "(no error)";
}

// A copy of a golden checkpoint to spoil.
class SpoiledModel : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(testing::TempDir()) /
                 (std::string("buoy_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    for (const char* file : {"config.json", "model.safetensors"}) {
      std::filesystem::copy_file(kGoldens / "llada" / file, directory_ / file);
      std::filesystem::permissions(directory_ / file, std::filesystem::perms::owner_write,
                                   std::filesystem::perm_options::add);
    }
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void set_config(const std::string& key, const Json& value) {
    Json config = read_json_file(directory_ / "config.json");
    config[key] = value;
    write_file_atomically(directory_ / "config.json", config.dump());
  }
  std::string load_error() {
    return error_of(
        [&] { Transformer(directory_, *backend_, [&](const std::string& w) { warnings_.push_back(w); }); });
  }

  std::filesystem::path directory_;
  std::unique_ptr<Backend> backend_ = make_reference_backend();
  std::vector<std::string> warnings_;
};

TEST_F(SpoiledModel, UnknownTypeListsTheKnown) {
  set_config("architectures", nullptr);
  set_config("model_type", "mamba");
  EXPECT_NE(
      load_error().find(
          "unknown model_type \"mamba\"; known: llada, Dream, llama, qwen2, qwen3, qwen3_moe, a2d-qwen3"),
      std::string::npos)
      << load_error();
}

TEST_F(SpoiledModel, TheArchitectureCountsBeforeTheType) {
  set_config("model_type", "llama");
  EXPECT_EQ(load_error(), "(no error)");
  EXPECT_EQ(read_model_config(directory_).family->key, "llada");
  set_config("architectures", Json::array({"NovelForCausalLM"}));
  EXPECT_NE(load_error().find("unknown architecture \"NovelForCausalLM\"; known: LLaDAModelLM, DreamModel, "),
            std::string::npos)
      << load_error();
  set_config("architectures", "LLaDAModelLM");
  EXPECT_NE(load_error().find("\"architectures\" is \"LLaDAModelLM\", expected a list of names"),
            std::string::npos);
}

TEST_F(SpoiledModel, UnsupportedSwitchesAreNamed) {
  for (const auto& [key, value] : std::map<std::string, Json>{{"alibi", true},
                                                              {"block_type", "sequential"},
                                                              {"layer_norm_type", "default"},
                                                              {"include_bias", true}}) {
    SetUp();
    set_config(key, value);
    EXPECT_NE(load_error().find("\"" + key + "\" is " + value.dump() + ", only "), std::string::npos);
  }
}

TEST_F(SpoiledModel, ImpossibleSizesAreRefused) {
  set_config("n_heads", 5);
  EXPECT_NE(load_error().find("do not divide"), std::string::npos);
  set_config("n_heads", 0);
  EXPECT_NE(load_error().find("\"n_heads\" is 0, expected 1 to"), std::string::npos);
  set_config("n_heads", -4);
  EXPECT_NE(load_error().find("\"n_heads\" is -4"), std::string::npos);
  set_config("n_heads", 4);
  set_config("n_layers", Index{1} << 28);
  EXPECT_NE(load_error().find("\"n_layers\" is 268435456, expected 1 to 4096"), std::string::npos);
  set_config("n_layers", 3);
  set_config("mask_token_id", 304);
  EXPECT_NE(load_error().find("outside the vocabulary"), std::string::npos);
}

TEST_F(SpoiledModel, ANormCannotHaveAnEpsilonThatMakesItNan) {
  for (const double epsilon : {-1.0, 0.0, 1.0}) {
    set_config("rms_norm_eps", epsilon);
    EXPECT_NE(load_error().find("\"rms_norm_eps\" is "), std::string::npos) << epsilon;
  }
}

TEST_F(SpoiledModel, AllWeightProblemsAreListedAtOnce) {
  set_config("mlp_hidden_size", 128);  // 3 tensors a layer no longer fit
  const std::string error = load_error();
  EXPECT_NE(error.find("9 problems"), std::string::npos) << error;
  EXPECT_NE(error.find("\"model.transformer.blocks.2.up_proj.weight\" is [160,64], expected [128,64]"),
            std::string::npos)
      << error;
}

TEST_F(SpoiledModel, UnusedTensorsAreWarnedAbout) {
  set_config("weight_tying", true);
  EXPECT_EQ(load_error(), "(no error)");
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("model.transformer.ff_out.weight"), std::string::npos);
}

TEST_F(SpoiledModel, NanWeightsAreRefusedByName) {
  std::fstream file(directory_ / "model.safetensors", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-4, std::ios::end);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  file.write(reinterpret_cast<const char*>(&nan), 4);
  file.close();
  EXPECT_NE(load_error().find("\" holds 1 NaN or infinite weights"), std::string::npos) << load_error();
}

TEST_F(SpoiledModel, EosIdsAreTheUnionOfBothConfigs) {
  set_config("eos_token_id", Json::array({7, 1}));
  write_file_atomically(directory_ / "generation_config.json", R"({"eos_token_id": [7, 9]})");
  EXPECT_EQ(read_model_config(directory_).eos_ids, (std::vector<TokenId>{1, 7, 9}));
}

TEST(Nonfinite, AreCountedInEveryDtype) {
  const std::uint16_t bf16[] = {0x7f80, 0xff80, 0x7fc0, 0x3f80}, f16[] = {0x7c00, 0x3c00};
  const auto view = [](DType t, std::span<const std::uint16_t> words) {
    return TensorView{t, {std::ssize(words)}, std::as_bytes(words)};
  };
  EXPECT_EQ(count_nonfinite(view(DType::kBf16, bf16)), 3);
  EXPECT_EQ(count_nonfinite(view(DType::kF16, f16)), 1);
}

class TinyLlada : public testing::Test {
 protected:
  Tensor forward(const std::vector<TokenId>& ids, const std::vector<Index>& rows, Tap* tap = nullptr) {
    const ForwardSequence sequence{.ids = ids, .read_rows = rows};
    return model_.forward({&sequence, 1}, tap);
  }
  std::vector<float> values(const Tensor& t) {
    std::vector<float> all(static_cast<std::size_t>(t.rows() * t.cols()));
    backend_->download(t, all);
    return all;
  }

  std::unique_ptr<Backend> backend_ = make_cpu_backend({.threads = 2});
  Transformer model_{kGoldens / "llada", *backend_, {}};
};

TEST_F(TinyLlada, OnlyRowsThatAreReadReachTheHeadAndTheirBitsDoNotChange) {
  const std::vector<TokenId> ids = {5, 9, 300, 300, 17, 300};
  const std::vector<float> all = values(forward(ids, {0, 1, 2, 3, 4, 5}));
  const Tensor some = forward(ids, {4, 2});
  ASSERT_EQ(some.rows(), 2);
  const std::size_t V = 304;
  const std::vector<float> picked = values(some);
  EXPECT_TRUE(std::equal(picked.begin(), picked.begin() + V, all.begin() + 4 * V));
  EXPECT_TRUE(std::equal(picked.begin() + V, picked.end(), all.begin() + 2 * V));
}

TEST_F(TinyLlada, WatchingChangesNoBit) {
  const std::vector<TokenId> ids = {5, 9, 300, 300, 17, 300};
  CaptureTap tap({.attentions = true, .hidden = true});
  EXPECT_EQ(values(forward(ids, {2, 3}, &tap)), values(forward(ids, {2, 3})));
  EXPECT_EQ(tap.attentions.size(), 3u * 4 * 6 * 6);
  EXPECT_EQ(tap.hidden_states.size(), 4u * 6 * 64);
}

// Notes the layers in the order in which their statistics come.
struct NotingTap : Tap {
  AttentionRequest request;
  bool may_repeat;
  std::vector<Index> layers;
  std::vector<float> sums;

  explicit NotingTap(Index tokens, bool repeat) : may_repeat(repeat) {
    request.query_groups.assign(static_cast<std::size_t>(tokens), 0);
    request.group_count = 1;
  }
  Plan plan(Index, Index) override { return {.request = &request}; }
  Next measured(Index layer, Index, const AttentionStats& stats) override {
    layers.push_back(layer);
    sums.insert(sums.end(), stats.column_sums.begin(), stats.column_sums.end());
    return Next::kGoOn;
  }
  bool may_ask_again() const override { return may_repeat; }
};

TEST_F(TinyLlada, ATapThatNeverAsksAgainIsHandedTheSameStatisticsInOrder) {
  const std::vector<TokenId> ids = {5, 9, 300, 300, 17, 300};
  NotingTap at_once(6, true), later(6, false);
  EXPECT_EQ(values(forward(ids, {2, 3}, &at_once)), values(forward(ids, {2, 3}, &later)));
  EXPECT_EQ(later.layers, (std::vector<Index>{0, 1, 2}));
  EXPECT_EQ(later.layers, at_once.layers);
  EXPECT_EQ(later.sums, at_once.sums);
}

TEST_F(TinyLlada, BadIdsAndLengthsAreRefused) {
  EXPECT_EQ(error_of([&] {
              forward({1, 2, 304}, {0});
            }),
            "token id 304 at position 2 is outside the vocabulary of 304");
  EXPECT_EQ(error_of([&] {
              forward({1, -1}, {0});
            }),
            "token id -1 at position 1 is outside the vocabulary of 304");
  EXPECT_EQ(error_of([&] { forward(std::vector<TokenId>(513, 1), {0}); }),
            "the sequence has 513 tokens, more than the model's context of 512");
  EXPECT_EQ(error_of([&] { forward({}, {}); }), "the sequence is empty, expected at least one token id");
}

// A tap that hides key 1 the first time and, seeing the result, asks for plain attention in layer 1.
class SecondThoughts : public Tap {
 public:
  SecondThoughts() {
    request_.query_groups.assign(6, 0);
    request_.group_count = 1;
    bias_.assign(6, 0.0f);
    bias_[1] = -std::numeric_limits<float>::infinity();
  }
  Plan plan(Index layer, Index) override {
    ++plans;
    if (layer == 1 && asked_again_) return {.request = &request_};
    return {.request = &request_, .key_bias = bias_};
  }
  Next measured(Index layer, Index, const AttentionStats& stats) override {
    received.push_back(stats.column_sums[1]);
    if (layer == 1 && !asked_again_) {
      asked_again_ = true;
      return Next::kAgain;
    }
    return Next::kGoOn;
  }
  std::vector<float> received;
  int plans = 0;

 private:
  AttentionRequest request_;
  std::vector<float> bias_;
  bool asked_again_ = false;
};

TEST_F(TinyLlada, ATapMayChangeAttentionAndAskAgain) {
  SecondThoughts tap;
  forward({5, 9, 300, 300, 17, 300}, {2}, &tap);
  EXPECT_EQ(tap.plans, 4);
  ASSERT_EQ(tap.received.size(), 4u);
  EXPECT_EQ(tap.received[0], 0.0f);
  EXPECT_EQ(tap.received[1], 0.0f);
  EXPECT_GT(tap.received[2], 0.0f);
  EXPECT_EQ(tap.received[3], 0.0f);
}

// Adds rows at one depth of the first sequence.
struct AddingTap : Tap {
  Index depth = 0;
  std::vector<float> values;
  std::vector<Index> rows;

  Addition add(Index at, Index sequence) override {
    if (at != depth || sequence != 0) return {};
    return {.values = values, .rows = rows};
  }
};

TEST_F(TinyLlada, AddingZeroChangesNoBit) {
  const std::vector<TokenId> ids = {5, 9, 300, 300, 17, 300};
  const std::vector<float> plain = values(forward(ids, {2, 5}));
  for (Index depth = 0; depth <= 3; ++depth) {
    AddingTap tap;
    tap.depth = depth;
    for (const std::size_t count : {1u, 6u}) {
      tap.values.assign(64 * count, 0.0f);
      EXPECT_EQ(values(forward(ids, {2, 5}, &tap)), plain) << "depth " << depth << ", rows " << count;
    }
  }
}

// Activation patching: at any depth, one run's residual stream plus the difference is the other's.
TEST_F(TinyLlada, AddingTheDifferenceOfTwoRunsTurnsTheOneIntoTheOther) {
  const std::vector<TokenId> one = {5, 9, 300, 300, 17, 300}, other = {8, 41, 300, 2, 300, 60};
  CaptureTap from({.hidden = true}), to({.hidden = true});
  forward(one, {0}, &from);
  const std::vector<float> want = values(forward(other, {4, 1}, &to)), without = values(forward(one, {4, 1}));
  for (Index depth = 0; depth < 3; ++depth) {
    AddingTap tap;
    tap.depth = depth;
    for (std::size_t i = 0; i < 6 * 64; ++i) {
      const std::size_t cell = static_cast<std::size_t>(depth) * 6 * 64 + i;
      tap.values.push_back(to.hidden_states[cell] - from.hidden_states[cell]);
    }
    const std::vector<float> got = values(forward(one, {4, 1}, &tap));
    ASSERT_EQ(got.size(), want.size());
    double moved = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_NEAR(got[i], want[i], 1e-5 * std::max(1.0f, std::abs(want[i])))
          << "depth " << depth << ", " << i;
      moved = std::max(moved, std::abs(double{want[i]} - without[i]));
    }
    EXPECT_GT(moved, 0.1);  // the two runs do differ
  }
}

// The same vector for some rows, row by row, and with every row kept to the end, are one and the same.
TEST_F(TinyLlada, AVectorForSomeRowsIsAddedToThoseRowsAlone) {
  const std::vector<TokenId> ids = {5, 9, 300, 300, 17, 300};
  std::vector<float> vector;
  for (Index e = 0; e < 64; ++e) vector.push_back(0.25f * static_cast<float>(e % 7) - 0.5f);
  for (Index depth = 0; depth <= 3; ++depth) {
    AddingTap one;
    one.depth = depth;
    one.values = vector;
    one.rows = {1, 4};
    AddingTap each = one;
    each.values.insert(each.values.end(), vector.begin(), vector.end());
    struct Watching : AddingTap {
      explicit Watching(const AddingTap& tap) : AddingTap(tap) {}
      bool wants_hidden() const override { return true; }
    } watching(one);
    const std::vector<float> got = values(forward(ids, {4, 2}, &one));
    EXPECT_EQ(got, values(forward(ids, {4, 2}, &each))) << depth;
    EXPECT_EQ(got, values(forward(ids, {4, 2}, &watching))) << depth;
    const std::vector<float> plain = values(forward(ids, {4, 2}));
    const auto half = static_cast<Index>(plain.size() / 2);
    EXPECT_FALSE(std::equal(got.begin(), got.begin() + half, plain.begin())) << depth;
    // After the last layer no row hears of another: row 2, to which nothing is added, stays as it was.
    EXPECT_EQ(std::equal(got.begin() + half, got.end(), plain.begin() + half), depth == 3) << depth;
  }
}

TEST_F(TinyLlada, WhatIsAddedToOneSequenceLeavesTheOthersAlone) {
  const std::vector<TokenId> ids = {5, 9, 300, 300, 17, 300}, other = {8, 41, 300};
  const std::vector<Index> rows = {2};
  const auto both = [&](Tap* tap) {
    const ForwardSequence sequences[] = {{.ids = ids, .read_rows = rows}, {.ids = other, .read_rows = rows}};
    return values(model_.forward(sequences, tap));
  };
  AddingTap tap;
  tap.depth = 1;
  tap.values.assign(64, 0.5f);
  const std::vector<float> plain = both(nullptr), changed = both(&tap);
  EXPECT_FALSE(std::equal(plain.begin(), plain.begin() + 304, changed.begin()));
  EXPECT_TRUE(std::equal(plain.begin() + 304, plain.end(), changed.begin() + 304));
}

TEST_F(TinyLlada, WhatIsAddedMustFit) {
  AddingTap tap;
  tap.values.assign(65, 0.0f);
  EXPECT_THROW(forward({5, 9, 300}, {2}, &tap), InternalError);
  tap.values.assign(2 * 64, 0.0f);
  tap.rows = {1, 1};
  EXPECT_THROW(forward({5, 9, 300}, {2}, &tap), InternalError);
  tap.rows = {1, 3};
  EXPECT_THROW(forward({5, 9, 300}, {2}, &tap), InternalError);
}

// Keeps where the rows of every sequence went, layer by layer.
struct ExpertsTap : Tap {
  bool wants_routing() const override { return true; }
  void routed(Index layer, Index sequence, const RoutedRows& r) override {
    seen.push_back({layer, sequence, {r.experts.begin(), r.experts.end()}, {r.rows.begin(), r.rows.end()}});
  }
  struct Seen {
    Index layer, sequence;
    std::vector<std::int32_t> experts;
    std::vector<Index> rows;
  };
  std::vector<Seen> seen;
};

TEST(ExpertsTap, SeesEverySequenceAndInTheLastLayerTheRowsThatAreRead) {
  const auto backend = make_reference_backend();
  const Transformer model(kGoldens / "llada-moe", *backend, {});
  const std::vector<TokenId> first = {5, 9, 301, 7}, second = {11, 12, 13};
  const std::vector<Index> rows = {3, 1}, one = {0};
  const ForwardSequence both[] = {{.ids = first, .read_rows = rows}, {.ids = second, .read_rows = one}};
  ExpertsTap together, alone;
  model.forward(both, &together);
  model.forward({&both[1], 1}, &alone);
  ASSERT_EQ(together.seen.size(), 6u);
  ASSERT_EQ(alone.seen.size(), 3u);
  for (std::size_t l = 0; l < 3; ++l) {
    const ExpertsTap::Seen &of_first = together.seen[2 * l], &of_second = together.seen[2 * l + 1];
    EXPECT_EQ(of_first.layer, static_cast<Index>(l));
    EXPECT_EQ(of_second.sequence, 1);
    EXPECT_EQ(of_first.experts.size(), 4u * (l == 2 ? 2 : 4));
    EXPECT_EQ(of_first.rows, l == 2 ? rows : std::vector<Index>{});
    EXPECT_EQ(of_second.experts, alone.seen[l].experts);
  }
}

TEST(KvCache, PiecewiseEqualsWhole) {
  const auto backend = make_reference_backend();
  const Transformer model(kGoldens / "llama-gqa", *backend, {});
  const std::vector<TokenId> ids = {22, 112, 197, 37, 270};
  const std::vector<Index> last = {4}, zero = {0};
  const ForwardSequence whole{.ids = ids, .read_rows = last};
  std::vector<float> want(288), got(288);
  backend->download(model.forward({&whole, 1}), want);
  KvCache cache = model.make_cache(5);
  Tensor logits;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const ForwardSequence piece{.ids = std::span(ids).subspan(i, 1), .read_rows = zero, .cache = &cache};
    logits = model.forward({&piece, 1});
  }
  backend->download(logits, got);
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5);
  EXPECT_EQ(cache.length, 5);
}

TEST(Memory, WidensOnceOnlyWhereItFits) {
  const ModelConfig config = read_model_config(kGoldens / "llada");
  const WeightReport weights = inspect_weights(config, Checkpoint::open(kGoldens / "llada"));
  MemoryNeeds needs = estimate_memory(config, weights, 100);
  EXPECT_EQ(needs.mapped_bytes, 4 * weights.parameters);
  EXPECT_EQ(choose_widening(needs), Widen::kOnce);
  needs.widened_bytes = physical_memory();
  EXPECT_EQ(choose_widening(needs), Widen::kAsUsed);
}

}  // namespace
}  // namespace buoy
