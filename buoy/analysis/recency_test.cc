// Recency attention against matrices of exp(−λ|i−j|) that are written out.
#include "buoy/analysis/recency.h"

#include <numeric>

#include <gtest/gtest.h>

#include "buoy/analysis/null_model.h"
#include "buoy/analysis/test_support.h"

namespace buoy {
namespace {

constexpr double kExact = 1e-12, kOfFloats = 1e-6;

std::vector<Mask> some_masks() {
  return {Mask::kFull,        Mask::kCausal,      Mask::blocks(3),
          Mask::blocks(4, 1), Mask::blocks(2, 1), Mask::blocks(50)};
}

Matrix written_out(const Mask& mask, double lambda, Index N) {
  Matrix A(N, std::vector<double>(N, 0.0));
  for (Index i = 0; i < N; ++i) {
    double total = 0;
    for (Index j = 0; j < N; ++j)
      total += A[i][j] = sees(mask, i, j) ? std::exp(-lambda * static_cast<double>(std::abs(i - j))) : 0;
    for (double& weight : A[i]) weight /= total;
  }
  return A;
}

double entropy_of(const std::vector<double>& row) {
  double sum = 0;
  for (const double a : row) sum -= a > 0 ? a * std::log(a) : 0;
  return sum;
}

double mean_entropy(const Matrix& A) {
  double sum = 0;
  for (const auto& row : A) sum += entropy_of(row);
  return sum / static_cast<double>(A.size());
}

TEST(Recency, IsWhatTheWrittenOutMatrixSays) {
  for (const Mask& mask : some_masks()) {
    for (const Index N : {1, 2, 11}) {
      for (const double lambda : {0.0, 0.01, 0.7, 9.0}) {
        SCOPED_TRACE(name_of(mask) + ", N " + std::to_string(N) + ", λ " + std::to_string(lambda));
        const Matrix A = written_out(mask, lambda, N);
        const Recency got(mask, lambda, N);
        std::vector<std::int8_t> chosen(N, 0);
        std::vector<Index> of(N);
        for (Index i = 0; i < N; ++i) {
          chosen[i] = i % 3 != 1 ? 1 : 0;
          of[i] = i % 4 == 0 ? 2 : 0;  // region 1 has no positions
        }
        const double rows = std::accumulate(chosen.begin(), chosen.end(), 0.0);
        std::vector<double> all(N), some(N), flow(9), lengths(3);
        for (Index i = 0; i < N; ++i) lengths[of[i]] += 1;
        for (Index i = 0; i < N; ++i) {
          EXPECT_NEAR(got.row_entropy(i), entropy_of(A[i]), kExact);
          for (Index j = 0; j < N; ++j) {
            all[j] += A[i][j] / static_cast<double>(N);
            some[j] += chosen[i] * A[i][j] / rows;
            flow[of[i] * 3 + of[j]] += A[i][j] / lengths[of[i]];
          }
          const std::vector<double> row = got.row(i, mask.visible_keys(i, N));
          for (Index j = 0; j < std::ssize(row); ++j) EXPECT_NEAR(row[j], A[i][j], kExact);
        }
        EXPECT_NEAR(got.mean_row_entropy(), mean_entropy(A), kExact);
        const auto near = [](const std::vector<double>& a, const std::vector<double>& b) {
          ASSERT_EQ(a.size(), b.size());
          for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], kExact) << i;
        };
        near(got.received(), all);
        near(got.received(chosen), some);
        near(got.flow(of, 3), flow);
      }
    }
  }
}

TEST(Recency, OfTwoPositionsHasAClosedForm) {
  const double q = std::exp(-0.7);
  const Recency full(Mask::kFull, 0.7, 2), causal(Mask::kCausal, 0.7, 2);
  EXPECT_NEAR(full.received()[0], 0.5, kExact);
  EXPECT_NEAR(causal.received()[0], (1 + q / (1 + q)) / 2, kExact);
  EXPECT_NEAR(causal.mean_row_entropy(), (std::log(1 + q) + 0.7 * q / (1 + q)) / 2, kExact);
}

TEST(Recency, FitGivesTheRowEntropyBack) {
  for (const Mask& mask : some_masks()) {
    for (const Index N : {2, 13, 400}) {
      for (const double lambda : {1e-4, 0.03, 0.5, 6.0}) {
        const double entropy = Recency(mask, lambda, N).mean_row_entropy();
        const double fitted = fit_recency(mask, N, entropy);
        EXPECT_NEAR(Recency(mask, fitted, N).mean_row_entropy(), entropy, 1e-9)
            << name_of(mask) << ", N " << N << ", λ " << lambda;
        if (lambda > 0.01) {
          EXPECT_NEAR(fitted, lambda, 1e-6 * lambda);
        }
      }
      // The right λ of any entropy between the two ends.
      const double half = uniform_row_entropy(mask, N) / 2;
      EXPECT_NEAR(mean_entropy(written_out(mask, fit_recency(mask, N, half), N)), half, 1e-9);
    }
  }
}

TEST(Recency, FitEndsAtUniformAndAtTheSteepest) {
  for (const Mask& mask : some_masks()) {
    const double uniform = uniform_row_entropy(mask, 20);
    EXPECT_EQ(fit_recency(mask, 20, uniform), 0);
    EXPECT_EQ(fit_recency(mask, 20, uniform + 1), 0);
    EXPECT_EQ(fit_recency(mask, 20, 0), kSteepest);
  }
  EXPECT_EQ(fit_recency(Mask::kFull, 1, 0), 0) << "one key: uniform is all there is";
}

// Every head of a trace sharpened to a row entropy of its own.
Trace sharpened(const TraceShape& shape) {
  Trace trace = uniform_trace(shape);
  for (std::size_t i = 0; i < trace.finished.row_entropy.size(); ++i)
    trace.finished.row_entropy[i] *= 0.3F + 0.1F * static_cast<float>(i % 5);
  return trace;
}

class RecencyNull : public testing::TestWithParam<Mask> {};

TEST_P(RecencyNull, IsFoldedFromTheWrittenOutMatrices) {
  const Trace trace = sharpened({.N = 24, .L = 2, .mask = GetParam()});
  const std::optional<Trace> made = recency_trace(trace);
  ASSERT_TRUE(made);
  check_trace(*made, "recency");
  const Index N = trace.N(), L = trace.L(), H = trace.H(), R = trace.R(),
              answer = trace.regions.find(RegionKind::kAnswer);
  std::vector<Index> open = trace.regions.of;
  std::fill(open.begin() + trace.prompt_length, open.end(), answer);
  for (Index l = 0; l < L; ++l) {
    std::vector<double> lambdas;
    for (Index h = 0; h < H; ++h) {
      lambdas.push_back(fit_recency(GetParam(), N, trace.finished.row_entropy[l * H + h]));
      const Matrix A = written_out(GetParam(), lambdas[h], N);
      EXPECT_NEAR(made->finished.row_entropy[l * H + h], trace.finished.row_entropy[l * H + h], kOfFloats);
      for (Index j = 0; j < N; ++j) {
        double mean = 0;
        for (Index i = 0; i < N; ++i) mean += A[i][j] / static_cast<double>(N);
        EXPECT_NEAR(made->finished.received[(l * H + h) * N + j], mean, kOfFloats);
      }
      for (Index g = 0; g < trace.G(); ++g) {
        const std::vector<double>& row = A[trace.answer.rows[g]];
        const Index cell = (g * L + l) * H + h;
        EXPECT_EQ(made->answer.argmax[cell], trace.answer.rows[g]) << "it looks at itself most";
        EXPECT_NEAR(made->answer.weight[cell], row[trace.answer.rows[g]], kOfFloats);
        EXPECT_NEAR(made->answer.entropy[cell], entropy_of(row), kOfFloats);
        EXPECT_NEAR(made->answer.evidence_mass[cell],
                    std::inner_product(row.begin(), row.end(), trace.evidence.begin(), 0.0), kOfFloats);
      }
    }
    for (Index g = 0; g < trace.G(); ++g) {
      std::vector<double> mass(R);
      for (const double lambda : lambdas) {
        const Matrix A = written_out(GetParam(), lambda, N);
        for (Index j = 0; j < N; ++j) mass[open[j]] += A[trace.answer.rows[g]][j] / static_cast<double>(H);
      }
      for (Index b = 0; b < R; ++b)
        EXPECT_NEAR(made->answer.region_mass[(g * L + l) * R + b], mass[b], kOfFloats);
    }
    for (Index t = 0; t < trace.S(); ++t) {
      const Index n = trace.steps.lengths[t], row = t * L + l;
      std::vector<double> all(N), read(N), next(N);
      double reading = 0, reading_next = 0;
      for (Index i = 0; i < n; ++i) {
        reading += trace.steps.read[t * N + i];
        if (t + 1 < trace.S()) reading_next += trace.steps.read[(t + 1) * N + i];
      }
      for (const double lambda : lambdas) {
        const Matrix A = written_out(GetParam(), lambda, n);
        for (Index i = 0; i < n; ++i) {
          for (Index j = 0; j < n; ++j) {
            const double a = A[i][j] / static_cast<double>(H);
            all[j] += a / static_cast<double>(n);
            read[j] += trace.steps.read[t * N + i] * a / reading;
            if (reading_next > 0) next[j] += trace.steps.read[(t + 1) * N + i] * a / reading_next;
          }
        }
      }
      for (Index j = 0; j < N; ++j) {
        EXPECT_NEAR(made->steps.received[row * N + j], all[j], kOfFloats);
        EXPECT_NEAR(made->steps.received_read[row * N + j], read[j], kOfFloats);
        if (trace.steps.received_staying.empty()) continue;
        EXPECT_NEAR(made->steps.received_frozen[row * N + j], read[j], kOfFloats);
        EXPECT_NEAR(made->steps.received_staying[row * N + j], next[j], kOfFloats);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Masks, RecencyNull, testing::Values(Mask::kFull, Mask::kCausal, Mask::blocks(4, 2)));

TEST(RecencyNullOfUniformAttention, IsTheUniformNull) {
  for (const Mask& mask : {Mask::kFull, Mask::kCausal}) {
    Trace trace = uniform_trace({.mask = mask});
    for (float& entropy : trace.finished.row_entropy) entropy += 1e-3F;  // never short of it by rounding
    const Trace recency = *recency_trace(trace), uniform = null_trace(trace);
    for (std::size_t i = 0; i < uniform.steps.received.size(); ++i)
      ASSERT_NEAR(recency.steps.received[i], uniform.steps.received[i], kOfFloats);
    for (std::size_t i = 0; i < uniform.steps.flow.size(); ++i)
      ASSERT_NEAR(recency.steps.flow[i], uniform.steps.flow[i], kOfFloats);
    for (std::size_t i = 0; i < uniform.finished.flow.size(); ++i)
      ASSERT_NEAR(recency.finished.flow[i], uniform.finished.flow[i], kOfFloats);
    EXPECT_EQ(recency.answer.argmax, uniform.answer.argmax);
  }
}

TEST(RecencyNullOfAnOldTrace, IsNothing) {
  Trace old = uniform_trace();
  old.steps.read.clear();
  EXPECT_FALSE(recency_trace(old));
}

}  // namespace
}  // namespace buoy
