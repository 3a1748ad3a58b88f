// Models whose layers have state space mixers: what is refused, what a tap sees and changes, memory.
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/base/testing.h"
#include "buoy/io/json.h"
#include "buoy/model/capture.h"
#include "buoy/model/memory.h"
#include "buoy/model/random_model.h"
#include "buoy/model/transformer.h"
#include "buoy/model/weights.h"

namespace buoy {
namespace {

const std::filesystem::path kSsdGoldens = source_path("tests/goldens");

std::string ssd_refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    return e.what();
  }
  return "(no error)";
}

// The hybrid golden, to be spoilt: its config as JSON, its tensors one by one.
class SsdModel : public testing::Test {
 protected:
  SsdModel() {
    std::ifstream file(directory_ / "config.json");
    config_ = Json::parse(file);
  }

  std::string refuses_config(const std::string& key, const Json& value) {
    Json changed = config_;
    changed[key] = value;
    if (value.is_null()) changed.erase(key);
    return ssd_refusal([&] { parse_model_config(changed, {}, "config.json"); });
  }

  // A copy of the checkpoint with one tensor's name, or its bytes, changed; and the complaint on opening it.
  std::string refuses_weights(const std::string& from, const std::string& to,
                              const std::function<void(char*)>& spoil = {}) {
    const std::filesystem::path copy =
        std::filesystem::path(testing::TempDir()) /
        (std::string("buoy_ssd_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(copy);
    std::filesystem::create_directories(copy);
    std::filesystem::copy_file(directory_ / "config.json", copy / "config.json");
    std::ifstream file(directory_ / "model.safetensors", std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), {});
    std::uint64_t size = 0;
    std::memcpy(&size, bytes.data(), 8);
    const Json header = Json::parse(bytes.substr(8, size));
    const std::size_t name = bytes.find('"' + from + '"');
    EXPECT_NE(name, std::string::npos) << from;
    EXPECT_EQ(from.size(), to.size());
    bytes.replace(name + 1, to.size(), to);
    if (spoil) spoil(bytes.data() + 8 + size + header[from]["data_offsets"][0].get<std::size_t>());
    std::ofstream(copy / "model.safetensors", std::ios::binary) << bytes;
    const auto backend = make_reference_backend();
    const std::string error = ssd_refusal([&] { Transformer(copy, *backend, {}); });
    std::filesystem::remove_all(copy);
    return error;
  }

  static void expect_in(const std::string& part, const std::string& text) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }

  std::filesystem::path directory_ = kSsdGoldens / "ssd-hybrid";
  Json config_;
};

TEST_F(SsdModel, LayersAreAsTheConfigSays) {
  const ModelConfig config = read_model_config(directory_);
  EXPECT_EQ(config.family->key, "buoy-ssd-mdm");
  EXPECT_EQ(config.layer(0).mixer, MixerKind::kSsd);
  EXPECT_EQ(config.layer(1).mixer, MixerKind::kAttention);
  EXPECT_EQ(config.mlp(0), 36);
  EXPECT_EQ(config.mlp(1), 40);
  EXPECT_EQ(config.mask, Mask::kFull);
  EXPECT_EQ(config.mask_id, 2);
}

TEST_F(SsdModel, SizesThatDoNotFitAreRefusedByName) {
  expect_in("\"state_size\" is 0", refuses_config("state_size", 0));
  expect_in("\"state_size\" is 7, expected an even number", refuses_config("state_size", 7));
  expect_in("\"state_size\"", refuses_config("state_size", nullptr));
  expect_in("\"conv_kernel\" is 4, expected an odd number", refuses_config("conv_kernel", 4));
  expect_in("\"ssd_intermediate_size\"", refuses_config("ssd_intermediate_size", nullptr));
  expect_in("\"layer_types\" is missing", refuses_config("layer_types", nullptr));
  expect_in("has 2 names, expected one for each of the 3 layers",
            refuses_config("layer_types", Json::array({"ssd", "ssd"})));
  expect_in("holds \"mamba\" for layer 1",
            refuses_config("layer_types", Json::array({"ssd", "mamba", "ssd"})));
  expect_in("share nothing", refuses_config("num_key_value_heads", 2));
}

// The checkpoint's own shapes decide: another state, or another list of layers, does not fit it.
TEST_F(SsdModel, AConfigThatIsNotTheCheckpointsIsRefusedTensorByTensor) {
  const Checkpoint checkpoint = Checkpoint::open(directory_);
  const auto problems = [&](const std::string& key, const Json& value) {
    Json changed = config_;
    changed[key] = value;
    return ssd_refusal([&] { verify_weights(parse_model_config(changed, {}, "c"), checkpoint, "here", {}); });
  };
  const std::string state = problems("state_size", 8);
  expect_in("\"model.layers.0.mixer.in_proj.weight\" is [88,32], expected [104,32]", state);
  const std::string swapped = problems("layer_types", Json::array({"ssd", "ssd", "ssd"}));
  expect_in("\"model.layers.1.mixer.in_proj.weight\" is missing", swapped);
  expect_in("\"model.layers.1.self_attn.q_proj.weight\" is there, but its layer's mixer has no such tensor",
            swapped);
}

TEST_F(SsdModel, MissingAndExtraMixerTensorsAreRefusedByName) {
  const std::string error = refuses_weights("model.layers.2.mixer.A_log", "model.layers.2.mixer.B_log");
  expect_in("\"model.layers.2.mixer.A_log\" is missing", error);
  expect_in("\"model.layers.2.mixer.B_log\" is there, but its layer's mixer has no such tensor", error);
}

TEST_F(SsdModel, DecaysThatAreNotFiniteAreRefusedByName) {
  const auto with = [&](float value) {
    return refuses_weights("model.layers.0.mixer.A_log", "model.layers.0.mixer.A_log",
                           [=](char* bytes) { std::memcpy(bytes + 4, &value, 4); });
  };
  expect_in("\"model.layers.0.mixer.A_log\" holds 1 NaN", with(std::nanf("")));
  expect_in("\"model.layers.0.mixer.A_log\" holds 100: exp(100) is no finite decay", with(100.0f));
  EXPECT_EQ(with(2.0f), "(no error)");
}

TEST_F(SsdModel, AMaskIsRefused) {
  const auto backend = make_reference_backend();
  const Transformer model(directory_, *backend, {});
  const std::vector<TokenId> ids = {0, 5, 6};
  const Index row = 0;
  const ForwardSequence causal{.ids = ids, .read_rows = {&row, 1}, .mask = Mask::kCausal};
  expect_in("a mask (causal) has no meaning", ssd_refusal([&] { model.forward({&causal, 1}); }));
}

// A sequence's logits and statistics on the cpu, alone and between others, watched and not.
TEST_F(SsdModel, NeitherBatchNorRecordingNorThreadsChangeABit) {
  if (!has_cpu_backend()) GTEST_SKIP();
  std::vector<TokenId> ids, other;
  for (TokenId i = 0; i < 130; ++i) ids.push_back((i * 37 + 5) % 96);
  for (TokenId i = 0; i < 50; ++i) other.push_back((i * 11 + 3) % 96);
  std::vector<Index> rows(ids.size()), few = {3};
  std::iota(rows.begin(), rows.end(), Index{0});
  std::vector<std::vector<float>> seen;
  for (const int threads : {1, 2}) {
    const auto backend = make_cpu_backend({.threads = threads});
    const Transformer model(directory_, *backend, {});
    const auto logits = [&](std::span<const ForwardSequence> batch, Tap* tap, Index first) {
      const Tensor made = model.forward(batch, tap);
      std::vector<float> all(static_cast<std::size_t>(made.rows() * made.cols()));
      backend->download(made, all);
      const auto begin = all.begin() + first * made.cols();
      return std::vector<float>(begin, begin + std::ssize(ids) * made.cols());
    };
    const ForwardSequence mine{.ids = ids, .read_rows = rows}, theirs{.ids = other, .read_rows = few};
    const ForwardSequence together[] = {theirs, mine, theirs};
    CaptureTap tap({.attentions = true, .hidden = false});
    seen.push_back(logits({&mine, 1}, nullptr, 0));
    seen.push_back(logits({&mine, 1}, &tap, 0));
    seen.push_back(logits(together, nullptr, 1));
  }
  for (const std::vector<float>& each : seen) EXPECT_EQ(each, seen[0]);
}

TEST_F(SsdModel, AHeadThatIsCutGivesNothing) {
  struct Cut : Tap {
    std::vector<float> gain = {1, 0, 1, 1};
    Plan plan(Index layer, Index) override {
      return layer == 0 ? Plan{.request = nullptr, .key_bias = {}, .head_gain = gain} : Plan{};
    }
  } tap;
  const auto backend = make_reference_backend();
  const Transformer model(directory_, *backend, {});
  const std::vector<TokenId> ids = {0, 5, 6, 9, 2};
  const Index row = 4;
  const ForwardSequence sequence{.ids = ids, .read_rows = {&row, 1}};
  const auto run = [&](Tap* with) {
    const Tensor made = model.forward({&sequence, 1}, with);
    std::vector<float> all(static_cast<std::size_t>(made.cols()));
    backend->download(made, all);
    return all;
  };
  const std::vector<float> plain = run(nullptr);
  EXPECT_NE(run(&tap), plain);
  tap.gain[1] = 1;
  EXPECT_EQ(run(&tap), plain);
}

TEST_F(SsdModel, NamedShapesHaveTheParametersOfTheTwins) {
  const auto parameters = [](const char* name) {
    Index sum = 0;
    for (const ExpectedTensor& tensor : expected_tensors(make_shape(name)))
      sum += element_count(tensor.shape);
    return sum;
  };
  EXPECT_EQ(parameters("mini"), 4376480);
  EXPECT_EQ(parameters("mini-ssm"), 4361420);
  EXPECT_EQ(parameters("mini-hybrid"), 4365185);
  EXPECT_EQ(make_shape("mini-hybrid").layer(3).mixer, MixerKind::kAttention);
  EXPECT_EQ(make_shape("mini-hybrid").layer(4).mixer, MixerKind::kSsd);
}

// What every weight takes in float32, counted a second time from the list of tensors.
TEST_F(SsdModel, MemoryCountsEveryProjection) {
  const ModelConfig config = read_model_config(directory_);
  Index projections = 0;
  for (const ExpectedTensor& tensor : expected_tensors(config)) {
    if (tensor.shape.size() == 2 && tensor.name.find("embed") == std::string::npos)
      projections += element_count(tensor.shape);
  }
  EXPECT_EQ(estimate_memory(config, {}, 10).widened_bytes, 4 * projections);
}

}  // namespace
}  // namespace buoy
