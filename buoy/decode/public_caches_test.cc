// Approximate caches against what Fast-dLLM's and dKV-Cache's own code generates from the same checkpoints:
// tokens, the steps that write them, and confidences (tests/goldens/README.md says how they were made).
#include <gtest/gtest.h>

#include "buoy/base/testing.h"
#include "buoy/decode/sampler.h"
#include "buoy/io/json.h"
#include "buoy/model/transformer.h"

namespace buoy {
namespace {

// Of confidences, relative: both sides compute in float32.
constexpr double kConfidenceTolerance = 1e-4;

SamplerSettings settings_of(const JsonObject& run) {
  SamplerSettings settings{.gen_length = run.integer("gen_length")};
  settings.cache = parse_cache_kind(run.string("cache"));
  settings.cache_refresh = run.integer("refresh");
  if (run.has("steps")) settings.steps = run.integer("steps");
  if (run.has("block_length")) settings.block_length = run.integer("block_length");
  if (run.has("threshold")) settings.threshold = run.number("threshold");
  if (run.has("alg")) settings.alg = parse_dream_algorithm(run.string("alg"));
  return settings;
}

void compare_runs(const std::string& name, std::size_t at_least) {
  const Json all = read_json_file(source_path("tests/goldens/caches/public.json"));
  const auto backend = has_cpu_backend() ? make_cpu_backend({.threads = 1}) : make_reference_backend();
  const Transformer model(source_path("tests/goldens") / name, *backend, {});
  std::size_t compared = 0;
  for (const Json& row : all) {
    if (row["model"] != name) continue;
    ++compared;
    const std::vector<std::vector<TokenId>> prompts = {row["prompt"].get<std::vector<TokenId>>()};
    const Generation made = generate(model, prompts, settings_of(JsonObject(row, "public.json")))[0];
    const std::vector<TokenId> ids(made.generated().begin(), made.generated().end());
    EXPECT_EQ(ids, row["ids"].get<std::vector<TokenId>>()) << row.dump();
    EXPECT_EQ(made.commit_step, row["commit_step"].get<std::vector<Index>>()) << row.dump();
    for (std::size_t p = 0; p < made.confidence.size(); ++p) {
      const double expected = row["confidence"][p].get<double>();
      EXPECT_NEAR(made.confidence[p], expected, kConfidenceTolerance * std::abs(expected))
          << "position " << p << " of " << row.dump();
    }
  }
  EXPECT_GE(compared, at_least) << name;
}

// 32 runs of Fast-dLLM's prefix and dual cache, with and without a threshold, 24 of dKV-Cache's.
TEST(PublicCaches, OfLladaAreTheirTokensStepsAndConfidences) {
  compare_runs("llada", 56);
}

// 16 of Fast-dLLM's model, 36 of dKV-Cache's code with shift_type="un_right".
TEST(PublicCaches, OfDreamAreTheirTokensStepsAndConfidences) {
  compare_runs("dream", 52);
}

}  // namespace
}  // namespace buoy
