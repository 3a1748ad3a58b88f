// A recipe says what its file says, knows every setting by name, and refuses what would change a table in
// silence.
#include "buoy/engine/recipe.h"

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/base/testing.h"
#include "buoy/engine/evaluation.h"
#include "buoy/io/file.h"
#include "buoy/io/json.h"
#include "buoy/io/test_support.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

RunSettings run_of(const Recipe& recipe) {
  RunSettings run;
  run.models = recipe.models;
  run.own = recipe.own;
  run.device.device = Device::kCpu;
  run.places.share = source_path("models").parent_path();
  return run;
}

// What is said of a recipe, as words, or of the run that it asks for.
std::string error_of_recipe(const std::string& text) {
  const TempDir directory;
  write_file_atomically(directory / "r.json", text);
  try {
    const Recipe recipe = read_recipe(directory / "r.json");
    check_own_settings(run_of(recipe));
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

// A recipe of one model with one sampler.
std::string recipe_with(const std::string& model, const Json& sampler) {
  const Json own = {{"model", source_path("models/" + model).string()}, {"sampler", sampler}};
  const Json data = {{"name", "micro"}, {"file", source_path("data/micro_test.jsonl").string()}};
  return Json{{"models", Json::array({own})}, {"data", Json::array({data})}}.dump();
}

TEST(Recipe, OfThePapersTableSaysWhatItsScriptsDo) {
  const Recipe recipe = read_recipe(source_path("recipes/table1.json"));
  ASSERT_EQ(recipe.own.size(), 4U);
  EXPECT_EQ(recipe.own[0].prompt.prompt_template, "attention-floating-llada");
  EXPECT_EQ(recipe.own[0].prompt.answer_end, AnswerEnd::kNone);
  EXPECT_EQ(recipe.own[0].sampler.gen_length, 32);
  EXPECT_EQ(recipe.own[0].sampler.block_length, 32);
  EXPECT_EQ(recipe.own[1].sampler.temperature, 0.2);
  EXPECT_EQ(recipe.own[1].sampler.alg, DreamAlgorithm::kEntropy);
  EXPECT_EQ(recipe.data.size(), 5U);
  EXPECT_EQ(recipe.passages, (std::vector<std::string>{"none", "5"}));
}

TEST(Recipe, RefusesFieldsThatItDoesNotKnow) {
  const auto error = [&](const std::string& from, const std::string& to) {
    std::string text = read_file(source_path("recipes/micro.json"));
    text.replace(text.find(from), from.size(), to);
    return error_of_recipe(text);
  };
  EXPECT_EQ(error("\"about\"", "\"about\""), "nothing was thrown");
  EXPECT_NE(
      error("\"steps\"", "\"step\"").find("model 1: \"sampler\": \"step\" is no setting of the samplers"),
      std::string::npos);
  EXPECT_NE(error("\"template\"", "\"prompt\"").find("\"prompt\" is no field"), std::string::npos);
  EXPECT_NE(error("\"em\"", "\"bleu\"").find("expected em, substring and f1"), std::string::npos);
  EXPECT_NE(error("mini-arm", "mini-mdm").find("model 2: \"mini-mdm\" stands there already"),
            std::string::npos);
}

TEST(Recipe, KnowsEverySettingThatTheCommandLineHas) {
  const Json all = {{"gen_length", 7},
                    {"temperature", 0.25},
                    {"seed", 11},
                    {"steps", 5},
                    {"block_length", 6},
                    {"cache", "delayed"},
                    {"cache_refresh", 3},
                    {"sub_block_length", 2},
                    {"remasking", "random"},
                    {"confidence", "bf16"},
                    {"cfg_scale", 0.75},
                    {"threshold", 0.5},
                    {"logits_eos_inf", true},
                    {"confidence_eos_eot_inf", true},
                    {"alg", "entropy"},
                    {"alg_temp", 0.125},
                    {"eps", 0.0625},
                    {"top_p", 0.875},
                    {"top_k", 4},
                    {"stop_ids", {13, 198}},
                    {"ignore_eos", true}};
  for (const std::string_view name : sampler_setting_names()) EXPECT_TRUE(all.contains(name)) << name;
  const TempDir directory;
  write_file_atomically(directory / "r.json", recipe_with("mini-mdm", all));
  const OwnSettings own = read_recipe(directory / "r.json").own.at(0);
  EXPECT_EQ(own.given.size(), sampler_setting_names().size());
  const SamplerSettings& s = own.sampler;
  EXPECT_EQ(std::tuple(s.gen_length, s.temperature, s.seed, s.steps, s.block_length),
            std::tuple(7, 0.25, 11U, Index{5}, Index{6}));
  EXPECT_EQ(std::tuple(s.cache, s.cache_refresh, s.sub_block_length, s.remasking, s.confidence),
            std::tuple(CacheKind::kDelayed, Index{3}, Index{2}, Remasking::kRandom, ConfidenceType::kBf16));
  EXPECT_EQ(std::tuple(s.cfg_scale, s.threshold, s.logits_eos_inf, s.confidence_eos_eot_inf, s.ignore_eos),
            std::tuple(0.75, 0.5, true, true, true));
  EXPECT_EQ(std::tuple(s.alg, s.alg_temp, s.eps, s.top_p, s.top_k),
            std::tuple(DreamAlgorithm::kEntropy, 0.125, 0.0625, 0.875, Index{4}));
  EXPECT_EQ(s.stop_ids, (std::vector<TokenId>{13, 198}));
}

TEST(Recipe, RefusesASettingThatIsNothingToItsModelByNameOfBoth) {
  EXPECT_EQ(error_of_recipe(recipe_with("mini-mdm", {{"cache", "dual"}})), "nothing was thrown");
  EXPECT_NE(
      error_of_recipe(recipe_with("mini-mdm", {{"cache", "triple"}}))
          .find("model 1: \"sampler\": \"cache\" is \"triple\", expected one of none, prefix, dual, delayed"),
      std::string::npos);
  EXPECT_NE(
      error_of_recipe(recipe_with("mini-arm", {{"cache", "dual"}})).find("mini-arm: cache has no effect on"),
      std::string::npos);
  EXPECT_NE(error_of_recipe(recipe_with("mini-mdm", {{"cache_refresh", 4}}))
                .find("mini-mdm: cache_refresh has no effect without cache"),
            std::string::npos);
  EXPECT_NE(error_of_recipe(recipe_with("mini-mdm", {{"gen_length", 0}})).find("mini-mdm: gen_length is 0"),
            std::string::npos);
}

TEST(Recipe, ItsCacheIsPartOfWhatARunRemembers) {
  const auto described = [](const Json& sampler) {
    const TempDir directory;
    write_file_atomically(directory / "r.json", recipe_with("mini-mdm", sampler));
    const Recipe recipe = read_recipe(directory / "r.json");
    return describe_run(run_of(recipe))["models"];
  };
  EXPECT_TRUE(described({{"steps", 8}}).contains("mini-mdm"));
  const Json exact = described({{"steps", 8}, {"cache", "none"}})["mini-mdm"]["sampler"];
  EXPECT_FALSE(exact.contains("cache"));
  const Json dual = described({{"steps", 8}, {"cache", "dual"}});
  ASSERT_TRUE(dual.contains("mini-mdm (dual cache, approximate)")) << dual.dump();
  EXPECT_EQ(dual["mini-mdm (dual cache, approximate)"]["sampler"]["cache"], "dual");
  const Json refreshed = described({{"steps", 8}, {"cache", "dual"}, {"cache_refresh", 2}});
  EXPECT_EQ(refreshed["mini-mdm (dual cache, approximate)"]["sampler"]["cache_refresh"], 2);
}

TEST(Recipe, TakesOtherFilesForItsDatasetsByName) {
  Recipe recipe = read_recipe(source_path("recipes/micro.json"));
  EXPECT_TRUE(fs::exists(recipe.data[0].string().substr(6))) << recipe.data[0] << " lies beside the recipe";
  replace_data(recipe, {"micro=elsewhere.jsonl"});
  EXPECT_EQ(recipe.data[0], "micro=elsewhere.jsonl");
  EXPECT_THROW(replace_data(recipe, {"other=x.jsonl"}), UsageError);
  EXPECT_THROW(replace_data(recipe, {"x.jsonl"}), UsageError);
}

}  // namespace
}  // namespace buoy
