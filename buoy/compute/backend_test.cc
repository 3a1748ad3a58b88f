// Every operation of every backend against the reference, on awkward shapes.
#include "buoy/compute/backend.h"

#include <algorithm>
#include <cmath>
#include <deque>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "buoy/compute/host_memory.h"
#include "buoy/compute/testing.h"

namespace buoy {
namespace {

using namespace testing_support;

void expect_close(const std::vector<float>& got, const std::vector<float>& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], kF32Tolerance.values * std::max(1.0f, std::abs(want[i])))
        << what << ", element " << i;
  }
}

// Runs `body` on the reference and on every other backend and compares what it returns.
template <class Body>
void compare_backends(const std::string& what, const Body& body) {
  const std::vector<float> want = body(*make_reference_backend());
  for (NamedBackend& b : backends_under_test()) expect_close(body(*b.backend), want, what + " on " + b.name);
}

TEST(Linear, MatchesTheReferenceOnAwkwardShapes) {
  for (const Index K : {1, 7, 56, 192}) {
    for (const Index outputs : {1, 5, 512, 1100}) {
      for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF16}) {
        const HostWeight w(random_floats(outputs * K, 1), {outputs, K}, dtype);
        const HostWeight bias(random_floats(outputs, 2), {outputs}, dtype);
        for (const Index M : {1, 3, 64, 85}) {
          compare_backends(fmt::format("[{},{}]x[{}] {}", outputs, K, M, name_of(dtype)), [&](Backend& b) {
            const auto linear = b.make_linear({{w.view}}, {{bias.view}});
            const Tensor y = upload(b, M, outputs, random_floats(M * outputs, 3));
            b.linear(upload(b, M, K, random_floats(M * K, 4)), *linear, Store::kAdd, y);
            return download(b, y);
          });
        }
      }
    }
  }
}

TEST(Linear, StacksParts) {
  const HostWeight a(random_floats(3 * 10, 1), {3, 10}, DType::kF32),
      c(random_floats(70 * 10, 2), {70, 10}, DType::kBf16);
  compare_backends("stacked", [&](Backend& b) {
    const TensorView parts[] = {a.view, c.view};
    const auto linear = b.make_linear(parts, {});
    EXPECT_EQ(linear->outputs(), 73);
    EXPECT_EQ(linear->inputs(), 10);
    const Tensor y = b.allocate(5, 73);
    b.linear(upload(b, 5, 10, random_floats(50, 3)), *linear, Store::kOverwrite, y);
    return download(b, y);
  });
}

TEST(Linear, ARowsResultDoesNotDependOnItsBatchOrTheThreads) {
  const Index K = 2816, outputs = 130, M = 150;  // K long enough that oneDNN splits it
  const HostWeight w(random_floats(outputs * K, 1), {outputs, K}, DType::kBf16);
  const std::vector<float> x = random_floats(M * K, 2);
  std::vector<float> first;
  for (NamedBackend& b : backends_under_test()) {
    const auto linear = b.backend->make_linear({{w.view}}, {});
    const Tensor y = b.backend->allocate(M, outputs), all = upload(*b.backend, M, K, x);
    b.backend->linear(all, *linear, Store::kOverwrite, y);
    const std::vector<float> together = download(*b.backend, y);
    if (b.name.starts_with("cpu")) {  // across devices bits may differ
      if (first.empty()) first = together;
      EXPECT_EQ(together, first) << b.name;
    }
    for (const Index row : {0, 63, 64, 149}) {
      const Tensor one = b.backend->allocate(1, outputs);
      b.backend->linear(all.row_range(row, 1), *linear, Store::kOverwrite, one);
      const auto begin = together.begin() + row * outputs;
      EXPECT_EQ(download(*b.backend, one), std::vector<float>(begin, begin + outputs))
          << b.name << " row " << row;
    }
  }
}

TEST(RmsNorm, MatchesTheReference) {
  for (const Index n : {1, 7, 64, 200}) {
    const HostWeight weight(random_floats(n, 1), {n}, DType::kBf16);
    compare_backends("rms_norm", [&](Backend& b) {
      const Tensor out = b.allocate(37, n);
      b.rms_norm(upload(b, 37, n, random_floats(37 * n, 2)), b.make_vector(weight.view), 1e-5f, out);
      return download(b, out);
    });
  }
}

TEST(Embed, MatchesTheReferenceInEveryDtype) {
  for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF16}) {
    const HostWeight table(random_floats(11 * 6, 1), {11, 6}, dtype);
    compare_backends("embed", [&](Backend& b) {
      const std::vector<TokenId> ids = {10, 0, 3, 3};
      const Tensor out = b.allocate(4, 6);
      b.embed(b.make_table(table.view), ids, out);
      return download(b, out);
    });
  }
}

TEST(Rope, MatchesTheReferenceAndKeepsLengths) {
  for (const Index D : {2, 8, 10, 32, 128}) {
    const std::vector<Index> positions = {0, 5, 2};
    std::vector<float> cosines, sines;
    for (Index i = 0; i < 6 * D / 2; ++i) {
      cosines.push_back(std::cos(static_cast<float>(i)));
      sines.push_back(std::sin(static_cast<float>(i)));
    }
    const std::vector<float> x = random_floats(3 * 2 * D, 1);
    compare_backends("rope", [&](Backend& b) {
      const RopeTable table{upload(b, 6, D / 2, cosines), upload(b, 6, D / 2, sines)};
      const Tensor rows = upload(b, 3, 2 * D, x);
      b.rope(rows, D, positions, table);
      const std::vector<float> rotated = download(b, rows);
      double before = 0, after = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        before += x[i] * x[i];
        after += rotated[i] * rotated[i];
      }
      EXPECT_NEAR(before, after, 1e-3);
      return rotated;
    });
  }
}

TEST(Rope, TurnsOnlyTheFirstDimensionsWhereTheTableIsNarrower) {
  const Index D = 12, half = 4;
  const std::vector<float> turn(static_cast<std::size_t>(2 * half), 0.0f), ones(turn.size(), 1.0f);
  const std::vector<float> x = random_floats(2 * 2 * D, 1);
  const auto rotated = [&](Backend& b) {
    const RopeTable table{upload(b, 2, half, turn), upload(b, 2, half, ones)};  // by a right angle
    const Tensor rows = upload(b, 2, 2 * D, x);
    b.rope(rows, D, std::vector<Index>{1, 0}, table);
    return download(b, rows);
  };
  const std::vector<float> got = rotated(*make_reference_backend());
  for (std::size_t head = 0; head < x.size(); head += 12) {
    for (std::size_t d = 0; d < 4; ++d) {
      EXPECT_EQ(got[head + d], -x[head + d + 4]);
      EXPECT_EQ(got[head + d + 4], x[head + d]);
      EXPECT_EQ(got[head + d + 8], x[head + d + 8]);
    }
  }
  compare_backends("partial rope", rotated);
}

TEST(HeadNorm, IsTheRmsNormOfEveryHead) {
  for (const Index D : {2, 20, 64, 128}) {
    const HostWeight weight(random_floats(D, 1), {D}, DType::kBf16);
    const std::vector<float> x = random_floats(7 * 3 * D, 2);
    const auto normed = [&](Backend& b) {
      const Tensor rows = upload(b, 7, 3 * D, x);
      b.head_norm(rows.col_range(D, 2 * D), {b.make_vector(weight.view), 1e-6f},
                  D);  // all but the first head
      return download(b, rows);
    };
    const std::vector<float> got = normed(*make_reference_backend());
    const auto reference = make_reference_backend();
    for (Index r = 0; r < 7; ++r) {
      for (Index h = 0; h < 3; ++h) {
        const auto first = x.begin() + (r * 3 + h) * D;
        const std::vector<float> head(first, first + D);
        const Tensor out = reference->allocate(1, D);
        reference->rms_norm(upload(*reference, 1, D, head), reference->make_vector(weight.view), 1e-6f, out);
        const auto got_head = got.begin() + (r * 3 + h) * D;
        EXPECT_EQ(std::vector<float>(got_head, got_head + D), h == 0 ? head : download(*reference, out));
      }
    }
    compare_backends("head norm", normed);
  }
}

TEST(Clip, BoundsThenScales) {
  const std::vector<float> x = {-3, -0.5f, 0, 0.25f, 8, -8, 1, 2, 3};
  const auto clipped = [&](float bound, float factor) {
    return [&x, bound, factor](Backend& b) {
      const Tensor rows = upload(b, 1, 9, x);
      b.clip(rows, bound, factor);
      return download(b, rows);
    };
  };
  EXPECT_EQ(clipped(1, 1)(*make_reference_backend()),
            (std::vector<float>{-1, -0.5f, 0, 0.25f, 1, -1, 1, 1, 1}));
  EXPECT_EQ(clipped(0, 2)(*make_reference_backend()),
            (std::vector<float>{-6, -1, 0, 0.5f, 16, -16, 2, 4, 6}));
  compare_backends("clip", clipped(1, 1));
  compare_backends("scale", clipped(0, 2));
  compare_backends("clip and scale", clipped(2, 0.5f));
}

TEST(AddScaledRows, AddsEachRowTimesItsFactor) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6}, out = {10, 10, 20, 20, 30, 30, 40, 40};
  const auto added = [&](Backend& b) {
    const Tensor to = upload(b, 4, 2, out);
    b.add_scaled_rows(upload(b, 3, 2, x), std::vector<float>{2, 0, -1}, std::vector<Index>{3, 0, 1}, to);
    return download(b, to);
  };
  EXPECT_EQ(added(*make_reference_backend()), (std::vector<float>{10, 10, 15, 14, 30, 30, 42, 44}));
  compare_backends("scaled rows", added);
}

// A layer of experts against the sum written out: every expert over every row, weighed by what it was given.
TEST(Experts, AreTheWeightedSumOfThoseThatRowsGoTo) {
  const Index E = 6, F = 5, count = 7, T = 9;
  std::deque<HostWeight> gates, ups, downs;  // they stay where they are
  for (int e = 0; e <= count; ++e) {         // the last is shared by all
    gates.emplace_back(random_floats(F * E, 10 + e), Shape{F, E}, DType::kF32);
    ups.emplace_back(random_floats(F * E, 30 + e), Shape{F, E}, DType::kF32);
    downs.emplace_back(random_floats(E * F, 50 + e), Shape{E, F}, DType::kF32);
  }
  const HostWeight router(random_floats(count * E, 3), {count, E}, DType::kF32);
  const std::vector<float> x = random_floats(T * E, 4);
  const RouterRule rule{.kind = RouterKind::kSigmoid, .active = 3, .normalize = true, .scale = 2.5f};
  const auto mlp = [&](Backend& b, std::size_t e) {
    const TensorView gate_up[] = {gates[e].view, ups[e].view}, down[] = {downs[e].view};
    return SwigluMlp{b.make_linear(gate_up, {}), b.make_linear(down, {})};
  };
  Routing routing;
  const auto fed = [&](Backend& b) {
    Experts experts{.router = b.make_linear({{router.view}}, {}),
                    .bias = std::vector<float>(7, 0.0f),
                    .rule = rule,
                    .experts = {},
                    .shared = mlp(b, 7)};
    for (std::size_t e = 0; e < 7; ++e) experts.experts.push_back(mlp(b, e));
    const Tensor normed = b.allocate_activations(T, E), out = upload(b, T, E, std::vector<float>(54, 1.0f));
    b.upload(x, normed);
    b.feed(experts, normed, &routing, out);
    return download(b, out);
  };
  const auto reference = make_reference_backend();
  const std::vector<float> got = fed(*reference);
  ASSERT_EQ(routing.experts.size(), 27u);
  std::vector<float> want(54, 1.0f);
  for (std::size_t e = 0; e < 8; ++e) {
    const Tensor one = upload(*reference, T, E, std::vector<float>(54, 0.0f));
    reference->feed(mlp(*reference, e), upload(*reference, T, E, x), one);
    const std::vector<float> values = download(*reference, one);
    for (std::size_t r = 0; r < 9; ++r) {
      float weight = e == 7 ? 1.0f : 0.0f;
      for (std::size_t i = 3 * r; i < 3 * r + 3; ++i) {
        if (routing.experts[i] == static_cast<std::int32_t>(e)) weight = routing.weights[i];
      }
      for (std::size_t c = 0; c < 6; ++c) want[r * 6 + c] += weight * values[r * 6 + c];
    }
  }
  expect_close(got, want, "experts");
  compare_backends("experts", fed);
}

TEST(Swiglu, MatchesTheReferenceForLargeInputsToo) {
  for (const Index F : {1, 9, 64, 100}) {
    std::vector<float> x = random_floats(5 * 2 * F, 1);
    for (float& v : x) v *= 100;
    compare_backends("swiglu", [&](Backend& b) {
      const Tensor out = b.allocate(5, F);
      b.swiglu(upload(b, 5, 2 * F, x), out);
      return download(b, out);
    });
  }
}

TEST(Rows, AreGatheredScatteredAndGuided) {
  compare_backends("rows", [&](Backend& b) {
    const Tensor x = upload(b, 6, 4, random_floats(24, 1)), out = b.allocate(3, 4), copy = b.allocate(6, 4);
    const std::vector<Index> rows = {5, 0, 0};
    b.gather_rows(x, rows, out);
    b.scatter_rows(x, std::vector<Index>{3, 1, 0, 5, 4, 2}, copy);
    b.guide(copy, upload(b, 6, 4, random_floats(24, 2)), 1.5f);
    std::vector<float> all = download(b, out);
    for (const float v : download(b, copy)) all.push_back(v);
    return all;
  });
}

TEST(Rows, AreAddedToThoseThatAreNamed) {
  for (const Index n : {1, 7, 64, 200}) {
    compare_backends("add_rows", [&](Backend& b) {
      const Tensor out = upload(b, 50, n, random_floats(50 * n, 1));
      std::vector<Index> some;
      for (Index r = 49; r >= 0; r -= 3) some.push_back(r);
      const Index count = std::ssize(some);
      b.add_rows(upload(b, count, n, random_floats(count * n, 2)), some, out);
      b.add_rows(upload(b, 1, n, random_floats(n, 3)), std::vector<Index>{4, 0, 49}, out);
      b.add_rows(upload(b, 1, n, random_floats(n, 4)), {}, out);
      return download(b, out);
    });
  }
}

TEST(Rows, OfWhichOneIsAddedChangeByTheSumAndTheOthersNotAtAll) {
  std::vector<NamedBackend> all = backends_under_test();
  all.push_back({"reference", make_reference_backend()});
  for (NamedBackend& b : all) {
    const Tensor out = upload(*b.backend, 3, 2, {1, 2, 3, 4, 5, 6});
    b.backend->add_rows(upload(*b.backend, 2, 2, {0.5f, 0.25f, -8, 1}), std::vector<Index>{2, 0}, out);
    EXPECT_EQ(download(*b.backend, out), (std::vector<float>{-7, 3, 3, 4, 5.5f, 6.25f})) << b.name;
  }
}

// Halves of a layer, made of parts that are small enough to be fused, against the same operation by
// operation.
TEST(Layers, AreTheirPartsOneAfterTheOther) {
  const Index E = 24, Q = 32, F = 20, T = 37, D = 8;
  const HostWeight norm(random_floats(E, 1), {E}, DType::kF32),
      in(random_floats(Q * E, 2), {Q, E}, DType::kBf16), back(random_floats(E * Q, 3), {E, Q}, DType::kBf16),
      up(random_floats(2 * F * E, 4), {2 * F, E}, DType::kBf16),
      down(random_floats(E * F, 5), {E, F}, DType::kBf16);
  std::vector<Index> positions;
  for (Index t = 0; t < T; ++t) positions.push_back(t * 7 % 11);
  const HostWeight head(random_floats(D, 9), {D}, DType::kF32);
  for (const auto& kind : {std::pair{true, false}, {false, false}, {true, true}}) {
    const bool rotated = kind.first, scaled = kind.second;
    const auto run_layer = [&](Backend& b, bool fused) {
      const Norm rms = RmsNorm{b.make_vector(norm.view), 1e-5f};
      const FeedForward mlp = SwigluMlp{b.make_linear({{up.view}}, {}), b.make_linear({{down.view}}, {})};
      const auto projection = b.make_linear({{in.view}}, {}), output = b.make_linear({{back.view}}, {});
      const RopeTable table{upload(b, 11, D / 2, random_floats(11 * D / 2, 6)),
                            upload(b, 11, D / 2, random_floats(11 * D / 2, 7))};
      const Tensor x = upload(b, T, E, random_floats(T * E, 8)), mid = b.allocate_activations(T, Q);
      std::optional<Rotation> rotation;
      if (rotated) rotation.emplace(Rotation{table, D, 16, positions});
      const RmsNorm queries{b.make_vector(head.view), 1e-6f}, keys{b.make_vector(head.view), 1e-3f};
      std::optional<HeadTransform> heads;
      if (!rotated || scaled) {
        heads = HeadTransform{.query_norm = &queries,
                              .key_norm = &keys,
                              .bound = 1.5f,
                              .query_scale = scaled ? 0.5f : 1.0f,
                              .D = D,
                              .query_columns = 8,
                              .key_columns = 8};
      }
      const LayerInput enter{rms, *projection, heads, rotation};
      const LayerOutput leave{*output, rms, mlp};
      fused ? b.enter_layer(enter, x, mid) : b.Backend::enter_layer(enter, x, mid);
      fused ? b.leave_layer(leave, mid, x) : b.Backend::leave_layer(leave, mid, x);
      std::vector<float> all = download(b, mid);
      for (const float v : download(b, x)) all.push_back(v);
      return all;
    };
    const auto oracle = make_reference_backend();
    const std::vector<float> want = run_layer(*oracle, false);
    for (NamedBackend& b : backends_under_test()) {
      const std::vector<float> fused = run_layer(*b.backend, true);
      EXPECT_EQ(fused, run_layer(*b.backend, false)) << b.name;
      expect_close(fused, want, "layer on " + b.name);
    }
  }
}

TEST(Summarize, GivesTheClosedFormOfAKnownRow) {
  const float inf = std::numeric_limits<float>::infinity();
  for (NamedBackend& b : backends_under_test()) {
    // Probabilities 1/2, 1/4, 1/4 and a hidden token; then a tie.
    const Tensor logits = upload(
        *b.backend, 2, 4, {std::log(0.25f), std::log(0.5f), -inf, std::log(0.25f), 3.0f, 1.0f, 3.0f, -2.0f});
    const std::vector<LogitSummary> rows = b.backend->summarize(logits);
    EXPECT_EQ(rows[0].best, 1);
    EXPECT_NEAR(rows[0].probability, 0.5, 1e-6);
    EXPECT_NEAR(rows[0].margin, 0.25, 1e-6);
    EXPECT_NEAR(rows[0].entropy, 1.5 * std::log(2.0), 1e-6);
    EXPECT_EQ(rows[1].best, 0);
    EXPECT_NEAR(rows[1].margin, 0.0, 1e-12);
  }
}

// Of every type of weights: bf16 and f16 take AMX's tiles where there are any, float32 never does.
TEST(Instructions, AllSetsGiveTheSameAnswersWithinTolerance) {
  if (!has_cpu_backend()) GTEST_SKIP() << "this build has no cpu backend";
  const auto oracle = make_reference_backend();
  for (const Instructions set : {Instructions::kBest, Instructions::kAvx512, Instructions::kAvx2}) {
    const auto backend = make_cpu_backend({.threads = 2, .instructions = set});
    for (const DType type : {DType::kBf16, DType::kF16, DType::kF32}) {
      SCOPED_TRACE(fmt::format("set {}, type {}", static_cast<int>(set), static_cast<int>(type)));
      const HostWeight w(random_floats(100 * 300, 1), {100, 300}, type);
      std::vector<std::vector<float>> results;
      for (Backend* b : {backend.get(), oracle.get()}) {
        const auto linear = b->make_linear({{w.view}}, {});
        const Tensor y = b->allocate(70, 100), x = upload(*b, 70, 300, random_floats(70 * 300, 2));
        b->linear(x, *linear, Store::kOverwrite, y);
        results.push_back(download(*b, y));
      }
      expect_close(results[0], results[1], "product");
    }
  }
}

// In tiles of any number of rows, and at their edges.
TEST(Instructions, ARowsBitsDependOnNothingBesideIt) {
  if (!has_cpu_backend()) GTEST_SKIP() << "this build has no cpu backend";
  for (const DType type : {DType::kBf16, DType::kF16}) {
    for (const auto& [K, n] : {std::pair<Index, Index>{1, 1}, {33, 31}, {192, 64}, {300, 130}}) {
      const auto backend = make_cpu_backend({.threads = 1});
      const HostWeight w(random_floats(n * K, 1), {n, K}, type);
      const auto linear = backend->make_linear({{w.view}}, {});
      const Tensor x = upload(*backend, 70, K, random_floats(70 * K, 2)), y = backend->allocate(70, n);
      backend->linear(x, *linear, Store::kOverwrite, y);
      const std::vector<float> all = download(*backend, y);
      for (const Index rows : {1, 2, 15, 16, 17, 31, 32, 33, 69}) {
        const Tensor last = backend->allocate(rows, n);
        backend->linear(x.row_range(70 - rows, rows), *linear, Store::kOverwrite, last);
        const std::span<const float> want = std::span(all).last(static_cast<std::size_t>(rows * n));
        EXPECT_TRUE(std::ranges::equal(download(*backend, last), want)) << K << " " << n << " " << rows;
      }
    }
  }
}

// What AMX splits is put together again: numbers with all of a float32's digits, against weights of all of a
// f16's.
TEST(Instructions, NoDigitOfARowOrAWeightIsLost) {
  if (!has_cpu_backend()) GTEST_SKIP() << "this build has no cpu backend";
  const auto backend = make_cpu_backend({.threads = 1});
  for (const DType type : {DType::kBf16, DType::kF16}) {
    const HostWeight w(random_floats(64, 3), {64, 1}, type);
    const std::vector<float> x = random_floats(32, 4);
    std::vector<float> weights(64);
    widen(w.bytes.data(), type, 64, weights.data());
    const auto linear = backend->make_linear({{w.view}}, {});
    const Tensor y = backend->allocate(32, 64);
    backend->linear(upload(*backend, 32, 1, x), *linear, Store::kOverwrite, y);
    const std::vector<float> got = download(*backend, y);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double want = double{x[i / 64]} * weights[i % 64];
      EXPECT_NEAR(got[i], want, 2.5e-7 * std::abs(want)) << i;  // sums of parts are rounded, to 2^-24 each
    }
  }
}

}  // namespace
}  // namespace buoy
