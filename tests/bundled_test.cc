// The bundled models answer a fixed set through the engine as well as they did when they were trained.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numeric>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "buoy/base/testing.h"
#include "buoy/base/thread_pool.h"
#include "buoy/compute/backend.h"
#include "buoy/decode/autoregressive.h"
#include "buoy/decode/masked_diffusion.h"
#include "buoy/io/file.h"
#include "buoy/io/json.h"
#include "buoy/model/transformer.h"
#include "buoy/text/tokenizer.h"

namespace buoy {
namespace {

constexpr std::size_t kAll = 100;

struct Question {
  std::string prompt, answer;
};

// The prompt of docs/microworld.md.
std::vector<Question> read_questions(const std::string& path) {
  std::vector<Question> questions;
  std::istringstream lines(read_file(path));
  for (std::string line; std::getline(lines, line);) {
    const Json item = parse_json(line, path);
    std::string prompt = "Context:\n";
    int number = 1;
    for (const Json& passage : item["passages"]) {
      prompt += fmt::format("Passage {}: {}\n", number++, passage["text"].get<std::string>());
    }
    prompt += "\nQuestion: " + item["question"].get<std::string>() + "\nShort Answer:";
    questions.push_back({prompt, item["answers"][0]});
  }
  return questions;
}

std::vector<Generation> generate(const Model& model, const std::vector<std::vector<TokenId>>& prompts) {
  constexpr Index kLength = 32, kSteps = 16;  // as the floors were measured
  if (model.config().family->writing == Writing::kAppends) {
    return generate_autoregressive(model, prompts,
                                   {.max_new_tokens = kLength, .stop_ids = model.config().eos_ids});
  }
  return generate_llada(model, prompts, {.gen_length = kLength, .steps = kSteps, .block_length = kLength});
}

// Of the first `count` questions of the set.
Index count_right(const std::string& name, const std::unique_ptr<Backend>& backend, std::size_t count) {
  const std::filesystem::path directory = source_path("models") / name;
  const Transformer model(directory, *backend, {});
  const Tokenizer tokenizer = Tokenizer::load(directory);
  std::vector<Question> questions = read_questions(source_path("data/micro_test.jsonl"));
  EXPECT_EQ(questions.size(), kAll);
  questions.resize(count);
  std::vector<std::vector<TokenId>> prompts;
  for (const Question& q : questions) prompts.push_back(tokenizer.encode(q.prompt, SpecialTokens::kAdd));
  Index right = 0;
  std::size_t i = 0;
  for (const Generation& made : generate(model, prompts)) {
    std::vector<TokenId> answer;
    for (const TokenId id : made.generated()) {
      if (std::ranges::find(model.config().eos_ids, id) != model.config().eos_ids.end()) break;
      answer.push_back(id);
    }
    right += tokenizer.decode(answer, SkipSpecial::kSkip) == " " + questions[i++].answer;
  }
  std::printf("%s on %s: %lld of %zu right\n", name.c_str(), std::string(backend->name()).c_str(),
              static_cast<long long>(right), count);
  return right;
}

// What the engine answered when the models were bundled is in models/*/README.md; a floor leaves room for the
// order of sums on other machines.
constexpr std::size_t kFew = 30;
struct Bundled {
  const char* name;
  Index floor, few_floor;  // of all, of the first thirty
};
constexpr Bundled kBundled[] = {
    {"mini-mdm", 97, 29}, {"mini-arm", 95, 28}, {"mini-ssm", 78, 22}, {"mini-hybrid", 97, 29}};

Index right_on_the_cpu(const std::string& name, std::size_t count) {
  return count_right(name, make_cpu_backend({.threads = available_threads()}), count);
}
TEST(BundledModels, AnswerThirtyQuestionsAsTrained) {
  if (!has_cpu_backend()) GTEST_SKIP() << "this build has no cpu backend";
  for (const Bundled& model : kBundled) EXPECT_GE(right_on_the_cpu(model.name, kFew), model.few_floor);
}
TEST(BundledModels, AnswerTheWholeSetAsTrained) {
  if (!has_cpu_backend()) GTEST_SKIP() << "this build has no cpu backend";
  for (const Bundled& model : kBundled) EXPECT_GE(right_on_the_cpu(model.name, kAll), model.floor);
}

class BundledModelsOnTheCard : public testing::TestWithParam<DType> {};
TEST_P(BundledModelsOnTheCard, AnswerAsTrained) {
  if (const auto problem = cuda_problem()) GTEST_SKIP() << *problem;
  for (const Bundled& model : kBundled)
    EXPECT_GE(count_right(model.name, make_cuda_backend({.dtype = GetParam()}), kAll), model.floor);
}
INSTANTIATE_TEST_SUITE_P(Types, BundledModelsOnTheCard, testing::Values(DType::kF32, DType::kBf16));

// A trained model in bf16 on the card against the same model in float32: all logits of one prompt, with the
// answer still masked where there are masks. (The goldens' weights are random and large; bf16 does them no
// justice, see docs/verify.md.)
TEST(BundledModels, LogitsInBf16AreNearThoseInFloat32) {
  if (const auto problem = cuda_problem()) GTEST_SKIP() << *problem;
  const std::string prompt = read_questions(source_path("data/micro_test.jsonl"))[0].prompt;
  for (const auto& [name, floor, few_floor] : kBundled) {
    const std::filesystem::path directory = source_path("models") / name;
    std::vector<std::vector<float>> logits;
    for (const DType dtype : {DType::kF32, DType::kBf16}) {
      const auto backend = make_cuda_backend({.dtype = dtype});
      const Transformer model(directory, *backend, {});
      std::vector<TokenId> ids = Tokenizer::load(directory).encode(prompt, SpecialTokens::kAdd);
      if (model.config().mask_id) ids.resize(ids.size() + 32, *model.config().mask_id);
      std::vector<Index> rows(ids.size());
      std::iota(rows.begin(), rows.end(), 0);
      const ForwardSequence sequence{.ids = ids, .read_rows = rows};
      const Tensor got = model.forward({&sequence, 1});
      logits.emplace_back(static_cast<std::size_t>(got.rows() * got.cols()));
      backend->download(got, logits.back());
    }
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < logits[0].size(); ++i) {
      worst = std::max(worst, std::abs(double{logits[0][i]} - logits[1][i]));
      largest = std::max(largest, std::abs(double{logits[0][i]}));
    }
    std::printf("%s in bf16: largest error %.1e of the largest logit\n", name, worst / largest);
    EXPECT_LE(worst / largest, 2e-2) << name;
  }
}

}  // namespace
}  // namespace buoy
