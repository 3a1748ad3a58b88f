// The card in bf16 against the reference, and its promise of the same bits in any batch, in both types.
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/compute/attention_testing.h"
#include "buoy/compute/card.h"

namespace buoy {
namespace {

using namespace testing_support;

class Cuda : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto problem = cuda_problem()) GTEST_SKIP() << *problem;
  }
};

class CudaTypes : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (const auto problem = cuda_problem()) GTEST_SKIP() << *problem;
    backend_ = cuda_backend(GetParam());
  }
  std::shared_ptr<Backend> backend_;
};

INSTANTIATE_TEST_SUITE_P(Types, CudaTypes, testing::Values(DType::kF32, DType::kBf16),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

void expect_near(std::span<const float> got, std::span<const float> want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], kBf16Tolerance.values * std::max(1.0f, std::abs(want[i])))
        << what << ", element " << i;
  }
}

// Runs `body` on the card in bf16 and on the reference.
template <class Body>
void compare_in_bf16(const std::string& what, const Body& body) {
  expect_near(body(*cuda_backend(DType::kBf16)), body(*make_reference_backend()), what);
}

TEST_F(Cuda, EveryCardThatIsThereOpensAndNoOther) {
  const int cards = count_cards();
  ASSERT_GE(cards, 1);
  EXPECT_NE(make_cuda_backend({.card = cards - 1}), nullptr);
  for (const int missing : {-1, cards}) {
    EXPECT_THROW(make_cuda_backend({.card = missing}), Error) << missing;
  }
  make_cuda_backend({.card = 0});  // the other tests go on with the first one
}

TEST_F(Cuda, Bf16OperationsMatchTheReference) {
  for (const Index K : {1, 7, 56, 192}) {
    for (const Index outputs : {1, 5, 64, 1100}) {
      const HostWeight w(random_floats(outputs * K, 1), {outputs, K}, DType::kBf16);
      const HostWeight bias(random_floats(outputs, 2), {outputs}, DType::kBf16);
      for (const Index M : {1, 3, 85}) {
        const auto x = rounded_to_bf16(random_floats(M * K, 4)),
                   y = rounded_to_bf16(random_floats(M * outputs, 3));
        compare_in_bf16(fmt::format("[{},{}]x[{}]", outputs, K, M), [&](Backend& b) {
          const auto linear = b.make_linear({{w.view}}, {{bias.view}});
          const Tensor to = upload(b, M, outputs, y);
          b.linear(upload(b, M, K, x), *linear, Store::kAdd, to);
          return download(b, to);
        });
      }
    }
  }
  for (const Index n : {1, 7, 64, 200}) {
    const HostWeight weight(random_floats(n, 1), {n}, DType::kBf16);
    const auto x = rounded_to_bf16(random_floats(37 * n, 2));
    compare_in_bf16("rms_norm", [&](Backend& b) {
      const Tensor out = b.allocate_activations(37, n);
      b.rms_norm(upload(b, 37, n, x), b.make_vector(weight.view), 1e-5f, out);
      return download(b, out);
    });
    const auto wide = rounded_to_bf16(random_floats(5 * 2 * n, 3));
    compare_in_bf16("swiglu", [&](Backend& b) {
      const Tensor out = b.allocate_activations(5, n);
      b.swiglu(upload(b, 5, 2 * n, wide), out);
      return download(b, out);
    });
  }
}

// Only the memory of the residual stream is float32; products read it through bf16.
TEST_F(Cuda, ProductsAddToAFloat32Tensor) {
  const HostWeight w(random_floats(64 * 32, 1), {64, 32}, DType::kBf16);
  const auto x = rounded_to_bf16(random_floats(9 * 32, 2)), y = random_floats(9 * 64, 3);
  compare_in_bf16("residual", [&](Backend& b) {
    const auto linear = b.make_linear({{w.view}}, {});
    const Tensor to = b.allocate(9, 64);
    b.upload(y, to);
    b.linear(upload(b, 9, 32, x), *linear, Store::kAdd, to);
    return download(b, to);
  });
}

TEST_P(CudaTypes, ARowOfAProductHasTheSameBitsInAnyBatch) {
  struct Weight {
    Index outputs, inputs;
  };
  for (const Weight shape : {Weight{512, 2816}, Weight{1000, 256}, Weight{4096, 4096}}) {
    const Index M = 2100;
    const HostWeight w(random_floats(shape.outputs * shape.inputs, 1), {shape.outputs, shape.inputs},
                       DType::kBf16);
    const auto linear = backend_->make_linear({{w.view}}, {});
    const Tensor x = upload(*backend_, M, shape.inputs, random_floats(M * shape.inputs, 2));
    const Tensor all = backend_->allocate(M, shape.outputs);
    backend_->linear(x, *linear, Store::kOverwrite, all);
    for (const Index rows : {1, 2, 15, 63, 150, 500, 1000, 1500}) {
      const Index first = M - rows - 7;
      const Tensor some = backend_->allocate(rows, shape.outputs);
      backend_->linear(x.row_range(first, rows), *linear, Store::kOverwrite, some);
      EXPECT_TRUE(download(*backend_, some) == download(*backend_, all.row_range(first, rows)))
          << rows << " rows of [" << shape.outputs << "," << shape.inputs << "]";
    }
  }
}

class CudaAttention : public testing::TestWithParam<ProblemShape> {
 protected:
  void SetUp() override {
    if (const auto problem = cuda_problem()) GTEST_SKIP() << *problem;
  }
  static Problem rounded_problem() {
    Problem p(GetParam());
    p.q = rounded_to_bf16(p.q);
    p.k = rounded_to_bf16(p.k);
    p.v = rounded_to_bf16(p.v);
    return p;
  }
};

TEST_P(CudaAttention, MatchesTheReferenceInBf16) {
  const Problem p = rounded_problem();
  const Answer want = run(*make_reference_backend(), p, &p.request);
  expect_equal_answers(run(*cuda_backend(DType::kBf16), p, &p.request), want, p, kBf16Tolerance);
  expect_equal_answers(run(*ampere_backend(), p, &p.request), want, p, kBf16Tolerance);
}

TEST_P(CudaAttention, MatchesTheReferenceInBf16UnderAFactorOfItsScores) {
  Problem p = rounded_problem();
  p.factor = 0.3f;
  const Answer want = run(*make_reference_backend(), p, &p.request);
  expect_equal_answers(run(*cuda_backend(DType::kBf16), p, &p.request), want, p, kBf16Tolerance);
  expect_equal_answers(run(*ampere_backend(), p, &p.request), want, p, kBf16Tolerance);
}

TEST_P(CudaAttention, MatchesTheReferenceInBf16UnderBiasAndGain) {
  Problem p = rounded_problem();
  p.bias = random_floats(p.shape.H * p.shape.N, 4);
  for (std::size_t j = 0; j < p.bias.size(); j += 3) p.bias[j] = -kInfinity;
  p.gain = random_floats(p.shape.H, 5);
  const Answer want = run(*make_reference_backend(), p, &p.request);
  expect_equal_answers(run(*cuda_backend(DType::kBf16), p, &p.request), want, p, kBf16Tolerance);
  expect_equal_answers(run(*ampere_backend(), p, &p.request), want, p, kBf16Tolerance);
}

// Groups of neighbours: blocks of queries are copied as a whole.
TEST_P(CudaAttention, MatchesTheReferenceWhereGroupsLieTogether) {
  Problem p = rounded_problem();
  for (Index t = 0; t < p.shape.T; ++t) {
    p.request.query_groups[static_cast<std::size_t>(t)] = static_cast<std::int8_t>(3 * t / p.shape.T);
  }
  const Answer want = run(*make_reference_backend(), p, &p.request);
  expect_equal_answers(run(*cuda_backend(DType::kBf16), p, &p.request), want, p, kBf16Tolerance);
  expect_equal_answers(run(*ampere_backend(), p, &p.request), want, p, kBf16Tolerance);
}

// Only the first queries are measured: under a causal mask whole blocks of keys are seen by none of them.
TEST_P(CudaAttention, KeysThatNoMeasuredQuerySeesReceiveNothing) {
  Problem p = rounded_problem();
  for (Index t = 3; t < p.shape.T; ++t) p.request.query_groups[static_cast<std::size_t>(t)] = -1;
  const Answer want = run(*make_reference_backend(), p, &p.request);
  expect_equal_answers(run(*cuda_backend(DType::kBf16), p, &p.request), want, p, kBf16Tolerance);
}

TEST_P(CudaAttention, RecordingChangesNoBitAndRunsRepeat) {
  const Problem p = rounded_problem();
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    const Answer first = run(*cuda_backend(dtype), p, &p.request);
    const Answer second = run(*cuda_backend(dtype), p, &p.request);
    EXPECT_EQ(first.out, run(*cuda_backend(dtype), p, nullptr).out);
    EXPECT_EQ(first.stats.column_sums, second.stats.column_sums);
    EXPECT_EQ(first.stats.entropy, second.stats.entropy);
    EXPECT_EQ(first.stats.score_means, second.stats.score_means);
  }
}

TEST_P(CudaAttention, RowsThatSeeNothingGiveZeroInBf16) {
  Problem p = rounded_problem();
  p.bias.assign(static_cast<std::size_t>(p.shape.N), -kInfinity);
  const Answer got = run(*cuda_backend(DType::kBf16), p, &p.request);
  for (const float x : got.out) ASSERT_EQ(x, 0.0f);
  for (const float x : got.stats.column_sums) ASSERT_EQ(x, 0.0f);
  for (const float x : got.stats.entropy) ASSERT_EQ(x, 0.0f);
  for (const std::int32_t j : got.stats.argmax) ASSERT_EQ(j, -1);
}

// A sequence alone, and behind another of another length: not a bit may change.
TEST_P(CudaAttention, ASequencesAnswerDoesNotDependOnItsBatchInBf16) {
  const Problem p = rounded_problem();
  Backend& b = *cuda_backend(DType::kBf16);
  const Answer alone = run(b, p, &p.request);
  const ProblemShape& s = p.shape;
  Problem other({19, s.mask == Mask::kFull ? 70 : 23, s.H, s.Hkv, s.D, s.mask});
  std::vector<float> q = other.q;
  q.insert(q.end(), p.q.begin(), p.q.end());
  Answer first, second;
  std::vector<AttentionSequence> sequences;
  const auto add = [&](const Problem& problem, Index row, Answer& answer) {
    const ProblemShape& shape = problem.shape;
    sequences.push_back({.first_row = row,
                         .T = shape.T,
                         .k = upload(b, shape.N, shape.Hkv * shape.D, problem.k),
                         .v = upload(b, shape.N, shape.Hkv * shape.D, problem.v),
                         .first_position = shape.mask == Mask::kFull ? 0 : shape.N - shape.T - shape.after,
                         .request = &problem.request,
                         .stats = &answer.stats});
  };
  add(other, 0, first);
  add(p, other.shape.T, second);
  const Index rows = other.shape.T + s.T, width = s.H * s.D;
  const Tensor out = b.allocate_activations(rows, width);
  b.attention({.q = upload(b, rows, width, q),
               .H = s.H,
               .Hkv = s.Hkv,
               .D = s.D,
               .mask = s.mask,
               .sequences = sequences},
              out);
  EXPECT_EQ(download(b, out.row_range(other.shape.T, s.T)), alone.out);
  EXPECT_EQ(second.stats.column_sums, alone.stats.column_sums);
  EXPECT_EQ(second.stats.key_mass, alone.stats.key_mass);
  EXPECT_EQ(second.stats.cosine_means, alone.stats.cosine_means);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, CudaAttention,
    testing::Values(
        ProblemShape{1, 1, 1, 1, 32, Mask::kFull}, ProblemShape{2, 2, 2, 1, 64, Mask::kCausal},
        ProblemShape{1, 45, 6, 6, 128, Mask::kCausal}, ProblemShape{5, 77, 4, 2, 64, Mask::kCausal},
        ProblemShape{100, 33, 3, 3, 32, Mask::kFull}, ProblemShape{97, 97, 2, 2, 128, Mask::kCausal},
        ProblemShape{130, 130, 6, 3, 64, Mask::kFull}, ProblemShape{64, 128, 2, 1, 128, Mask::kFull},
        ProblemShape{257, 257, 4, 2, 128, Mask::kFull}, ProblemShape{300, 300, 2, 1, 32, Mask::kCausal},
        ProblemShape{640, 640, 2, 2, 128, Mask::kFull}, ProblemShape{515, 700, 2, 1, 128, Mask::kCausal},
        ProblemShape{900, 900, 2, 1, 64, Mask::kCausal}, ProblemShape{31, 31, 4, 2, 24, Mask::kCausal},
        ProblemShape{70, 70, 2, 2, 8, Mask::kFull}, ProblemShape{40, 90, 2, 1, 256, Mask::kFull},
        ProblemShape{129, 129, 2, 1, 80, Mask::kCausal},
        // Blocks that end inside and outside tiles, shorter and longer than one, and keys after the queries.
        ProblemShape{300, 300, 2, 1, 32, Mask::blocks(4, 1)},
        ProblemShape{515, 515, 2, 1, 64, Mask::blocks(32)},
        ProblemShape{700, 700, 2, 1, 128, Mask::blocks(32, 5)},
        ProblemShape{400, 900, 2, 2, 128, Mask::blocks(200, 33)},
        ProblemShape{64, 640, 4, 2, 128, Mask::blocks(32), 32},
        ProblemShape{97, 97, 2, 1, 80, Mask::blocks(24, 7)},
        // So many queries that pass 2 shares them out among several owners of the same keys.
        ProblemShape{1500, 1500, 2, 1, 64, Mask::kFull}, ProblemShape{2100, 2100, 2, 1, 64, Mask::kCausal},
        ProblemShape{2100, 2100, 1, 1, 128, Mask::blocks(32, 5)},
        ProblemShape{1400, 2000, 2, 2, 128, Mask::blocks(200, 33), 70}));

// What a cache of finished blocks stands on: a block's queries by themselves have the bits of a whole pass.
TEST_P(CudaTypes, TheLastBlocksQueriesAloneGiveTheBitsOfTheWholePass) {
  for (const Index D : {24, 32, 64, 128}) {
    const Mask mask = Mask::blocks(32, 3);
    const Problem whole({413, 413, 4, 2, D, mask});
    const std::vector<float> all = run(*backend_, whole, nullptr).out;
    for (const Index T : {32, 64, 160}) {
      Problem last = whole;  // 413 = 13 · 32 − 3
      last.shape.T = T;
      last.q.erase(last.q.begin(), last.q.end() - T * 4 * D);
      last.request = {};
      EXPECT_EQ(run(*backend_, last, nullptr).out, std::vector<float>(all.end() - T * 4 * D, all.end()))
          << "D " << D << ", T " << T;
    }
  }
}

// And the card goes on working afterwards.
TEST_F(Cuda, MoreThanTheCardHoldsIsOneClearError) {
  Backend& b = *cuda_backend(DType::kF32);
  try {
    const Tensor huge = b.allocate(Index{1} << 24, Index{1} << 20);
    FAIL() << "64 TiB were handed out";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("cuda: out of memory"), std::string::npos) << e.what();
  }
  EXPECT_EQ(download(b, upload(b, 1, 2, {1.0f, 2.0f})), (std::vector<float>{1.0f, 2.0f}));
}

}  // namespace
}  // namespace buoy
