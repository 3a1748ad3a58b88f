// State space mixers against the matrix written out, against the plain recurrence, and against facts that
// hold for any of them.
#include "buoy/compute/ssd.h"

#include <cmath>
#include <numeric>
#include <optional>

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/compute/attention_testing.h"
#include "buoy/compute/timed_backend.h"

namespace buoy {
namespace {

using namespace testing_support;

struct SsdShapeOf {
  Index N, H, n, P;
  float rate = 0;  // of all a_log; 2 forgets within a few rows, -3 after hundreds
  friend void PrintTo(const SsdShapeOf& s, std::ostream* out) {
    *out << "N" << s.N << " H" << s.H << " n" << s.n << " P" << s.P << " rate " << s.rate;
  }
};

// Random inputs of one shape with everything asked for.
struct SsdProblem {
  SsdShapeOf shape;
  std::vector<float> reads, writes, values, gates, dt_bias, a_log, skip, bias, gain;
  AttentionRequest request;

  explicit SsdProblem(const SsdShapeOf& s) : shape(s) {
    reads = random_floats(s.N * s.H * s.n, 1);
    writes = random_floats(s.N * s.H * s.n, 2);
    values = random_floats(s.N * s.H * s.P, 3);
    gates = random_floats(s.N * 3 * s.H, 4);
    dt_bias = random_floats(2 * s.H, 5);
    a_log = random_floats(2 * s.H, 6);
    skip = random_floats(s.H, 7);
    for (float& x : dt_bias) x -= 2;
    for (float& x : a_log) x += s.rate;
    request.group_count = 3;
    for (Index t = 0; t < s.N; ++t) request.query_groups.push_back(static_cast<std::int8_t>(t / 5 % 4 - 1));
    request.rows = {s.N - 1, 0, s.N / 2};
    request.key_group_count = 2;
    for (Index j = 0; j < s.N; ++j) request.key_groups.push_back(static_cast<std::int8_t>(j % 3 - 1));
    request.row_means = request.output_norms = request.qk_means = request.matrix = request.states = true;
  }

  // The same problem as expect_equal_answers() knows it.
  Problem as_attention() const {
    Problem p({shape.N, shape.N, shape.H, shape.H, shape.n, Mask::kFull});
    p.request = request;
    return p;
  }
};

// Float32 on every backend, as make_vector() gives them.
Tensor upload_weights(Backend& b, const std::vector<float>& values) {
  const Tensor made = b.allocate(1, std::ssize(values));
  b.upload(values, made);
  return made;
}

Answer run(Backend& b, const SsdProblem& p, const AttentionRequest* request) {
  const auto [N, H, n, P, rate] = p.shape;
  Answer answer;
  const SsdWeights weights{.dt_bias = upload_weights(b, p.dt_bias),
                           .a_log = upload_weights(b, p.a_log),
                           .skip = upload_weights(b, p.skip)};
  const AttentionSequence sequence{.first_row = 0,
                                   .T = N,
                                   .k = upload(b, N, H * n, p.writes),
                                   .v = upload(b, N, H * P, p.values),
                                   .key_bias = p.bias,
                                   .head_gain = p.gain,
                                   .request = request,
                                   .stats = &answer.stats};
  const Tensor out = b.allocate_activations(N, H * P);
  b.ssd({.reads = upload(b, N, H * n, p.reads),
         .gates = upload(b, N, 3 * H, p.gates),
         .weights = weights,
         .H = H,
         .n = n,
         .P = P,
         .sequences = {&sequence, 1}},
        out);
  answer.out = download(b, out);
  return answer;
}

// Another backend without its own ssd() and convolve(), as a card is: what they need must travel.
class Foreign : public TimedBackend {
 public:
  Foreign() : TimedBackend(*inner()) {}
  void convolve(const Tensor& x, const Convolution& convolution, std::span<const Index> lengths,
                const Tensor& out) override {
    Backend::convolve(x, convolution, lengths, out);
  }
  void ssd(const SsdArgs& args, const Tensor& out) override { Backend::ssd(args, out); }

 private:
  static Backend* inner() {
    static const std::unique_ptr<Backend> reference = make_reference_backend();
    return reference.get();
  }
};

std::vector<NamedBackend> ssd_backends() {
  std::vector<NamedBackend> all = backends_under_test();
  all.push_back({"by way of the host", std::make_shared<Foreign>()});
  return all;
}

void expect_equal(const Answer& got, const Answer& want, const SsdProblem& p) {
  expect_equal_answers(got, want, p.as_attention());
  expect_close(got.stats.recency_means, want.stats.recency_means, "recency", kF32Tolerance.statistics);
}

class Ssd : public testing::TestWithParam<SsdShapeOf> {};

TEST_P(Ssd, MatchesTheMatrixWrittenOut) {
  for (const Implicit implicit : {Implicit::kEnergy, Implicit::kMagnitude}) {
    SsdProblem p(GetParam());
    p.request.implicit = implicit;
    const Answer want = run(*make_reference_backend(), p, &p.request);
    for (NamedBackend& b : ssd_backends()) {
      SCOPED_TRACE(b.name);
      expect_equal(run(*b.backend, p, &p.request), want, p);
    }
  }
}

TEST_P(Ssd, MatchesItWithKeysHiddenAndHeadsScaled) {
  SsdProblem p(GetParam());
  p.bias.assign(static_cast<std::size_t>(p.shape.H * p.shape.N), 0.0f);
  for (std::size_t j = 0; j < p.bias.size(); j += 3) p.bias[j] = -kInfinity;
  p.gain = random_floats(p.shape.H, 9);
  const Answer want = run(*make_reference_backend(), p, &p.request);
  for (NamedBackend& b : ssd_backends()) {
    SCOPED_TRACE(b.name);
    expect_equal(run(*b.backend, p, &p.request), want, p);
  }
}

// Without whole matrices rows leave out keys that decay has made negligible.
TEST_P(Ssd, RowsAreTheSameWithAndWithoutTheirNegligibleKeys) {
  for (const Implicit implicit : {Implicit::kEnergy, Implicit::kMagnitude}) {
    SsdProblem p(GetParam());
    p.request.implicit = implicit;
    const Answer whole = run(*make_reference_backend(), p, &p.request);
    AttentionRequest rows = p.request;
    rows.matrix = false;
    for (NamedBackend& b : ssd_backends()) {
      SCOPED_TRACE(b.name);
      Answer got = run(*b.backend, p, &rows);
      got.stats.matrix = whole.stats.matrix;
      expect_equal(got, whole, p);
    }
  }
}

TEST_P(Ssd, RecordingChangesNoBitOfTheOutput) {
  const SsdProblem p(GetParam());
  for (NamedBackend& b : ssd_backends())
    EXPECT_EQ(run(*b.backend, p, &p.request).out, run(*b.backend, p, nullptr).out) << b.name;
}

// Of one backend twice, and of the host's with any number of threads.
TEST_P(Ssd, NeitherThreadsNorRunsChangeABit) {
  const SsdProblem p(GetParam());
  std::optional<Answer> of_the_host;
  for (NamedBackend& b : ssd_backends()) {
    SCOPED_TRACE(b.name);
    const Answer one = run(*b.backend, p, &p.request);
    if (b.name != "cuda" && !of_the_host) of_the_host = one;
    const Answer other = b.name == "cuda" ? run(*b.backend, p, &p.request) : *of_the_host;
    EXPECT_EQ(one.out, other.out);
    EXPECT_EQ(one.stats.column_sums, other.stats.column_sums);
    EXPECT_EQ(one.stats.row_means, other.stats.row_means);
    EXPECT_EQ(one.stats.score_means, other.stats.score_means);
  }
}

TEST_P(Ssd, ScoresAreExactlyNormTimesCosineTimesRecency) {
  const SsdProblem p(GetParam());
  for (NamedBackend& b : ssd_backends()) {
    const AttentionStats stats = run(*b.backend, p, &p.request).stats;
    ASSERT_EQ(stats.recency_means.size(), stats.score_means.size());
    for (std::size_t i = 0; i < stats.score_means.size(); ++i) {
      const double product = double{stats.norm_means[i]} * stats.cosine_means[i] * stats.recency_means[i];
      EXPECT_NEAR(stats.score_means[i], product, 1e-5 * product);
      EXPECT_LE(stats.recency_means[i], 1.00001f);
      EXPECT_LE(stats.cosine_means[i], 1.00001f);
    }
  }
}

// What a column receives is its share of rows: all of them together have one each.
TEST_P(Ssd, ColumnSumsOfAllRowsAddUpToTheNumberOfRows) {
  SsdProblem p(GetParam());
  p.request.query_groups.assign(static_cast<std::size_t>(p.shape.N), 0);
  p.request.group_count = 1;
  for (NamedBackend& b : ssd_backends()) {
    const AttentionStats stats = run(*b.backend, p, &p.request).stats;
    for (Index h = 0; h < p.shape.H; ++h) {
      const auto begin = stats.column_sums.begin() + h * p.shape.N;
      EXPECT_NEAR(std::accumulate(begin, begin + p.shape.N, 0.0), static_cast<double>(p.shape.N),
                  1e-5 * static_cast<double>(p.shape.N));
    }
  }
}

// y by the plain recurrence, one state and one position at a time, both ways.
TEST_P(Ssd, IsTheRecurrenceOfAState) {
  const SsdProblem p(GetParam());
  const auto [N, H, n, P, rate] = p.shape;
  std::vector<double> y(static_cast<std::size_t>(N * H * P), 0.0);
  const auto at = [](const std::vector<float>& v, Index i) { return double{v[static_cast<std::size_t>(i)]}; };
  for (Index h = 0; h < H; ++h) {
    for (Index way = 0; way < 2; ++way) {
      std::vector<double> state(static_cast<std::size_t>(n * P), 0.0);
      for (Index step = 0; step < N; ++step) {
        const Index i = way == 0 ? step : N - 1 - step, gate = way * H + h;
        const double dt = std::log1p(std::exp(at(p.gates, i * 3 * H + gate) + at(p.dt_bias, gate)));
        const double a = std::exp(-std::exp(at(p.a_log, gate)) * dt);
        for (Index k = 0; k < n; ++k) {
          for (Index d = 0; d < P; ++d) {
            double& s = state[static_cast<std::size_t>(k * P + d)];
            s *= a;
            y[static_cast<std::size_t>((i * H + h) * P + d)] += at(p.reads, (i * H + h) * n + k) * s;
            s += dt * at(p.writes, (i * H + h) * n + k) * at(p.values, (i * H + h) * P + d);
          }
        }
      }
    }
    for (Index i = 0; i < N; ++i) {
      for (Index d = 0; d < P; ++d) {
        y[static_cast<std::size_t>((i * H + h) * P + d)] +=
            (at(p.gates, i * 3 * H + 2 * H + h) + at(p.skip, h)) * at(p.values, (i * H + h) * P + d);
      }
    }
  }
  std::vector<NamedBackend> all = ssd_backends();
  all.push_back({"reference", make_reference_backend()});
  for (NamedBackend& b : all)
    expect_close(run(*b.backend, p, nullptr).out, std::vector<float>(y.begin(), y.end()), b.name.c_str(),
                 1e-5f);
}

// The last one still remembers the first row at its end: what the cpu backend carries from chunk to chunk
// counts.
INSTANTIATE_TEST_SUITE_P(Shapes, Ssd,
                         testing::Values(SsdShapeOf{1, 1, 2, 2}, SsdShapeOf{7, 2, 6, 8},
                                         SsdShapeOf{96, 1, 8, 5}, SsdShapeOf{97, 2, 32, 32},
                                         SsdShapeOf{211, 3, 10, 16, 2}, SsdShapeOf{300, 1, 32, 32, 3},
                                         SsdShapeOf{310, 2, 6, 8, -3}));

TEST(SsdHiddenKeys, GiveNothingToOthersAndKeepTheirOwnRow) {
  SsdProblem p({150, 2, 6, 8});
  const Index hidden = 40;
  p.bias.assign(150, 0.0f);
  p.bias[hidden] = -kInfinity;
  std::vector<NamedBackend> all = ssd_backends();
  all.push_back({"reference", make_reference_backend()});
  for (NamedBackend& b : all) {
    SCOPED_TRACE(b.name);
    const Answer before = run(*b.backend, p, &p.request);
    SsdProblem other = p;  // what stands at the hidden place changes no other row
    for (Index c = 0; c < 2 * 8; ++c) other.values[static_cast<std::size_t>(hidden * 16 + c)] += 5;
    const Answer after = run(*b.backend, other, &other.request);
    for (Index i = 0; i < 150; ++i) {
      for (Index c = 0; c < 16; ++c) {
        const auto cell = static_cast<std::size_t>(i * 16 + c);
        EXPECT_EQ(before.out[cell] == after.out[cell], i != hidden) << i;
      }
    }
    for (Index i = 0; i < 150; ++i) {  // row i of head 0
      const float weight = before.stats.matrix[static_cast<std::size_t>(i * 150 + hidden)];
      EXPECT_EQ(weight > 0, i == hidden) << i;
    }
  }
}

// A head that forgets gives far keys next to nothing, but ratios of that are measured.
TEST(SsdFarKeys, ReceiveLittleToTheLastDigits) {
  SsdProblem p({300, 1, 8, 8, 0});
  p.request.matrix = false;
  p.request.rows = {0};
  p.request.key_groups.assign(300, -1);
  for (std::size_t j = 100; j < 110; ++j) p.request.key_groups[j] = 0;
  for (std::size_t j = 140; j < 150; ++j) p.request.key_groups[j] = 1;
  p.request.query_groups.assign(300, -1);
  p.request.query_groups[0] = 0;
  p.request.group_count = 1;
  const AttentionStats want = run(*make_reference_backend(), p, &p.request).stats;
  EXPECT_LT(want.key_mass[0], 1e-10f);
  EXPECT_GT(want.key_mass[1], 1e-28f);
  EXPECT_LT(want.key_mass[1], 1e-3f * want.key_mass[0]);
  for (NamedBackend& b : ssd_backends()) {
    SCOPED_TRACE(b.name);
    const AttentionStats got = run(*b.backend, p, &p.request).stats;
    for (std::size_t g = 0; g < 2; ++g) EXPECT_NEAR(got.key_mass[g] / want.key_mass[g], 1, 1e-4);
    for (std::size_t j = 100; j < 150; ++j)
      EXPECT_NEAR(got.column_sums[j] / want.column_sums[j], 1, 1e-4) << j;
  }
}

// Sums and states are float32 and double there too; outputs are rounded once.
TEST(SsdOnTheCard, InBf16IsNearTheReference) {
  const auto card = cuda_backend(DType::kBf16);
  if (card == nullptr) GTEST_SKIP() << "no card";
  for (const SsdShapeOf& shape :
       {SsdShapeOf{7, 2, 6, 8}, SsdShapeOf{211, 3, 32, 32, 2}, SsdShapeOf{310, 2, 16, 8, -3}}) {
    SsdProblem p(shape);
    for (std::vector<float>* values : {&p.reads, &p.writes, &p.values, &p.gates})
      *values = rounded_to_bf16(std::move(*values));
    const Answer got = run(*card, p, &p.request), want = run(*make_reference_backend(), p, &p.request);
    expect_equal_answers(got, want, p.as_attention(), kBf16Tolerance);
  }
}

TEST(SsdBatches, ASequenceKnowsNothingOfItsNeighbours) {
  const SsdProblem p({130, 2, 6, 8});
  for (NamedBackend& b : ssd_backends()) {
    const std::vector<float> alone = run(*b.backend, p, nullptr).out;
    const auto twice = [](std::vector<float> v) {
      const std::vector<float> same = v;
      v.insert(v.end(), same.begin(), same.end());
      return v;
    };
    Backend& backend = *b.backend;
    const SsdWeights weights{.dt_bias = upload(backend, 1, 4, p.dt_bias),
                             .a_log = upload(backend, 1, 4, p.a_log),
                             .skip = upload(backend, 1, 2, p.skip)};
    const Tensor k = upload(backend, 260, 12, twice(p.writes)), v = upload(backend, 260, 16, twice(p.values));
    const AttentionSequence sequences[] = {
        {.first_row = 0, .T = 130, .k = k.row_range(0, 130), .v = v.row_range(0, 130)},
        {.first_row = 130, .T = 130, .k = k.row_range(130, 130), .v = v.row_range(130, 130)}};
    const Tensor out = backend.allocate_activations(260, 16);
    backend.ssd({.reads = upload(backend, 260, 12, twice(p.reads)),
                 .gates = upload(backend, 260, 6, twice(p.gates)),
                 .weights = weights,
                 .H = 2,
                 .n = 6,
                 .P = 8,
                 .sequences = sequences},
                out);
    EXPECT_EQ(download(backend, out), twice(alone)) << b.name;
  }
}

TEST(SsdBadInput, AGateThatIsNotFiniteIsSeen) {
  SsdProblem p({130, 2, 6, 8});
  p.gates[3] = std::nanf("");  // row 0, head 1, backward
  std::vector<NamedBackend> all = ssd_backends();
  all.push_back({"reference", make_reference_backend()});
  for (NamedBackend& b : all) {
    const Answer got = run(*b.backend, p, &p.request);
    EXPECT_NE(first_nonfinite(got.stats), "") << b.name;
    EXPECT_TRUE(std::isfinite(got.out[0])) << b.name;
    EXPECT_TRUE(std::isnan(got.out[8])) << b.name;
  }
}

TEST(SsdBadInput, ABiasThatIsNotAllOrNothingIsRefusedWithItsReason) {
  SsdProblem p({5, 1, 2, 2});
  p.bias = {0, 0, -1.5f, 0, 0};
  try {
    run(*make_reference_backend(), p, nullptr);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("no softmax to press or raise"), std::string::npos)
        << error.what();
  }
}

TEST(Convolution, IsCentredAndEndsWithItsSequence) {
  const Index K = 5, columns = 19, lengths[] = {1, 4, 23};
  const std::vector<float> x = random_floats(28 * columns, 1), w = random_floats(K * columns, 2),
                           bias = random_floats(columns, 3);
  std::vector<NamedBackend> all = ssd_backends();
  all.push_back({"reference", make_reference_backend()});
  std::vector<double> want;
  Index first = 0;
  for (const Index T : lengths) {
    for (Index i = 0; i < T; ++i) {
      for (Index c = 0; c < columns; ++c) {
        double sum = bias[static_cast<std::size_t>(c)];
        for (Index k = -2; k <= 2; ++k) {
          if (i + k < 0 || i + k >= T) continue;
          sum += double{w[static_cast<std::size_t>((k + 2) * columns + c)]} *
                 x[static_cast<std::size_t>((first + i + k) * columns + c)];
        }
        want.push_back(sum / (1 + std::exp(-sum)));
      }
    }
    first += T;
  }
  for (NamedBackend& b : all) {
    const Tensor out = b.backend->allocate_activations(28, columns);
    b.backend->convolve(upload(*b.backend, 28, columns, x),
                        {upload(*b.backend, K, columns, w), upload(*b.backend, 1, columns, bias)}, lengths,
                        out);
    expect_close(download(*b.backend, out), std::vector<float>(want.begin(), want.end()), b.name.c_str(),
                 1e-5f);
  }
}

}  // namespace
}  // namespace buoy
