// Regions, settings, folds and the recorder, against closed forms and whole attention matrices.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/probe/fold.h"
#include "buoy/probe/test_support.h"

namespace buoy {
namespace {

constexpr double kTolerance = 1e-5;

TEST(StepChoice, UnderstandsAllEveryAndLists) {
  EXPECT_TRUE(parse_steps("all").contains(17));
  const StepChoice every = parse_steps("every:4");
  EXPECT_TRUE(every.contains(8));
  EXPECT_FALSE(every.contains(9));
  const StepChoice list = parse_steps("7,0,3-4");
  EXPECT_EQ(list.list, (std::vector<Index>{0, 3, 4, 7}));
  for (const char* bad : {"", "every:0", "every:x", "1,,2", "-1", "4-2"}) {
    EXPECT_THROW(parse_steps(bad), UsageError) << bad;
  }
}

TEST(Layers, AreCheckedAgainstTheModel) {
  EXPECT_TRUE(parse_layers("all", 4).empty());
  EXPECT_EQ(parse_layers("3,1", 4), (std::vector<Index>{1, 3}));
  EXPECT_THROW(parse_layers("4", 4), UsageError);
}

TEST(Regions, MustCoverEveryPositionOnce) {
  const std::vector<Region> regions = {{.kind = RegionKind::kQuery}, {.kind = RegionKind::kAnswer}};
  const auto map = [&](std::vector<RegionSpan> spans) {
    return RegionMap::from_spans(regions, spans, 4, "t");
  };
  const std::vector<RegionSpan> good = {{0, 3, 0}, {3, 4, 1}};
  EXPECT_EQ(map(good).spans(), good);
  EXPECT_EQ(map(good).lengths(), (std::vector<Index>{3, 1}));
  EXPECT_THROW(map({{0, 3, 0}}), Error);             // too short
  EXPECT_THROW(map({{0, 2, 0}, {3, 4, 1}}), Error);  // a gap
  EXPECT_THROW(map({{0, 3, 0}, {2, 4, 1}}), Error);  // an overlap
  EXPECT_THROW(map({{0, 3, 0}, {2, 3, 1}}), Error);  // one that is as long as what is missing
  EXPECT_THROW(map({{0, 4, 2}}), Error);             // no such region
  EXPECT_THROW(map({{0, 5, 0}}), Error);             // too long
}

// What a matrix says, computed by adding it up.
struct Summed {
  std::vector<double> received, read;  // [N]
  std::vector<double> flow;            // [R, R]
};
Summed add_up(const std::vector<float>& A, Index H, Index N, std::span<const Index> region_of, Index R,
              std::span<const Index> read_rows) {
  Summed s{std::vector<double>(at(N)), std::vector<double>(at(N)), std::vector<double>(at(R * R))};
  std::vector<double> rows(at(R));
  for (Index i = 0; i < N; ++i) rows[at(region_of[at(i)])] += 1;
  for (Index h = 0; h < H; ++h) {
    for (Index i = 0; i < N; ++i) {
      const bool read = std::ranges::find(read_rows, i) != read_rows.end();
      for (Index j = 0; j < N; ++j) {
        const double a = A[at((h * N + i) * N + j)] / static_cast<double>(H);
        s.received[at(j)] += a / static_cast<double>(N);
        if (read) s.read[at(j)] += a / static_cast<double>(std::ssize(read_rows));
        s.flow[at(region_of[at(i)] * R + region_of[at(j)])] += a / rows[at(region_of[at(i)])];
      }
    }
  }
  return s;
}

template <typename Got>
void expect_near(std::span<const Got> got, const std::vector<double>& want, const char* what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], kTolerance) << what << " " << i;
}

TEST(Recorder, AgreesWithTheMaterialisedMatrixOfAMaskedModel) {
  const Subject subject("llada");
  const Trace trace = record_masked(subject, {.heads = HeadDetail::kPerHead});
  check_trace(trace, "recorded");
  const Index L = trace.L(), N = 12, R = trace.R(), H = trace.H();
  const std::vector<Index> open = {0, 1, 2, 2, 2, 1, 3, 3, 1, 4, 4, 4},
                           done = {0, 1, 2, 2, 2, 1, 3, 3, 1, 4, 4, 5};
  EXPECT_EQ(trace.regions.of, done);  // the EOS at 10 ends the answer; 11 is tail
  for (Index l = 0; l < L; ++l) {
    const std::vector<float> A = subject.matrices(N, l);
    const auto row = [&](const std::vector<float>& all, Index t, Index width) {
      return std::span(all).subspan(at((t * L + l) * width), at(width));
    };
    const Summed first = add_up(A, H, N, open, R, std::vector<Index>{9, 10, 11});
    expect_near(row(trace.steps.received, 0, N), first.received, "received");
    expect_near(row(trace.steps.received_read, 0, N), first.read, "received_read");
    expect_near(row(trace.steps.flow, 0, R * R), first.flow, "flow");
    const Summed second = add_up(A, H, N, open, R, std::vector<Index>{10});
    expect_near(row(trace.steps.received_read, 1, N), second.read, "received_read");
    expect_near(row(trace.finished.flow, 0, R * R), add_up(A, H, N, done, R, {}).flow, "finished flow");
    for (Index h = 0; h < H; ++h) {
      const std::vector<float> head(A.begin() + h * N * N, A.begin() + (h + 1) * N * N);
      const Summed alone = add_up(head, 1, N, open, R, {});
      expect_near(row(trace.steps.received_heads, 0, H * N).subspan(at(h * N), at(N)), alone.received,
                  "head");
      expect_near(row(trace.finished.received, 0, H * N).subspan(at(h * N), at(N)), alone.received,
                  "finished");
      for (Index g = 0; g < 3; ++g) {
        const float* a = head.data() + (9 + g) * N;
        const std::size_t cell = at((g * L + l) * H + h);
        const Index best = std::max_element(a, a + N) - a;
        EXPECT_EQ(trace.answer.argmax[cell], best);
        EXPECT_NEAR(trace.answer.weight[cell], a[best], kTolerance);
        EXPECT_NEAR(trace.answer.evidence_mass[cell], a[6] + a[7], kTolerance);
      }
      double entropy = 0;
      for (Index i = 0; i < N * N; ++i) {
        const double a = head[at(i)];
        if (a > 0) entropy -= a * std::log(a) / static_cast<double>(N);
      }
      EXPECT_NEAR(trace.finished.row_entropy[at(l * H + h)], entropy, kTolerance * 3);
    }
  }
  EXPECT_EQ(trace.answer.rows, (std::vector<Index>{9, 10, 11}));
  EXPECT_EQ(trace.answer.visible, (std::vector<Index>{12, 12, 12}));
}

// The rows of a causal model come in pieces; together they say what one pass over everything says.
TEST(Recorder, AddsUpThePiecesOfACachedGeneration) {
  const Subject subject("llama-gqa");
  const Index N = 12, H = subject.config().H;
  Recorder recorder(subject.config(), {.heads = HeadDetail::kPerHead}, subject.layout);
  KvCache cache = subject.model.make_cache(N);
  for (Index step = 0; step < 3; ++step) {
    const Index length = 9 + step, first = step == 0 ? 0 : length - 1, last = length - 1;
    recorder.begin_pass({.step = step,
                         .tokens = std::span(subject.tokens).first(at(length)),
                         .first_row = first,
                         .read_rows = {&last, 1}});
    subject.pass(recorder, first, length, &cache);
    recorder.end_pass(std::vector<Index>{length});
  }
  recorder.begin_finished(subject.tokens, {});
  subject.pass(recorder, 0, N);
  Trace trace = recorder.take();
  complete(trace);
  check_trace(trace, "recorded");
  EXPECT_EQ(trace.steps.lengths, (std::vector<Index>{9, 10, 11}));
  EXPECT_EQ(trace.answer.rows, (std::vector<Index>{8, 9, 10}));
  EXPECT_EQ(trace.answer.visible, (std::vector<Index>{9, 10, 11}));
  for (Index l = 0; l < trace.L(); ++l) {
    for (Index t = 0; t < 3; ++t) {
      const Index n = 9 + t;
      const std::vector<float> A = subject.matrices(n, l);
      std::vector<Index> open(subject.layout.regions.of);
      open.resize(at(n), 4);
      const Summed want = add_up(A, H, n, open, trace.R(), std::vector<Index>{n - 1});
      const auto row = [&](const std::vector<float>& all, Index width) {
        return std::span(all).subspan(at((t * trace.L() + l) * width), at(width));
      };
      expect_near(row(trace.steps.received, N).first(at(n)), want.received, "received");
      expect_near(row(trace.steps.received_read, N).first(at(n)), want.read, "read");
      expect_near(row(trace.steps.flow, trace.R() * trace.R()), want.flow, "flow");
      for (Index j = n; j < N; ++j) EXPECT_EQ(row(trace.steps.received, N)[at(j)], 0.0f);
    }
  }
  // QK means of the last step are those of a single pass over its eleven tokens.
  Recorder whole(subject.config(), {}, subject.layout);
  const Index last = 10;
  whole.begin_pass({.tokens = std::span(subject.tokens).first(11), .read_rows = {&last, 1}});
  subject.pass(whole, 0, 11);
  whole.end_pass(std::vector<Index>{11});
  whole.begin_finished(subject.tokens, {});
  subject.pass(whole, 0, N);
  const Trace single = whole.take();
  const Index row = trace.L() * N;
  for (Index i = 0; i < row; ++i) {
    const double scale = std::max(1.0, std::abs(double{single.steps.score_means[at(i)]}));
    EXPECT_NEAR(trace.steps.score_means[at(2 * row + i)], single.steps.score_means[at(i)], 1e-5 * scale);
    EXPECT_NEAR(trace.steps.cosine_means[at(2 * row + i)], single.steps.cosine_means[at(i)], 1e-5);
    EXPECT_NEAR(trace.steps.received[at(2 * row + i)], single.steps.received[at(i)], 1e-6);
  }
}

// Rows under a mask of blocks that come in two passes: each key's means run over the queries that saw it.
TEST(Fold, CountsTheQueriesThatSawEachKeyUnderAnyMask) {
  for (const Mask& mask : {Mask::kFull, Mask::kCausal, Mask::blocks(3, 1), Mask::blocks(4, 2)}) {
    const Index N = 11, cut = 6, H = 2;
    const std::vector<Index> region_of(at(N), 0);
    const auto score = [](Index h, Index i, Index j) {
      return static_cast<double>((h * 5 + i * 3 + j * 7) % 11);
    };
    std::vector<double> total(at(N)), seen(at(N));
    LayerFold fold;
    for (const auto& [first, last] : {std::pair<Index, Index>{0, cut}, {cut, N}}) {
      AttentionStats stats;  // of the keys up to `last`, as a cache has them
      for (Index h = 0; h < H; ++h) {
        for (Index j = 0; j < last; ++j) {
          double sum = 0, count = 0;
          for (Index i = first; i < last; ++i) {
            if (mask.block() > 0 && (j + mask.offset()) / mask.block() > (i + mask.offset()) / mask.block())
              continue;
            sum += score(h, i, j);
            count += 1;
          }
          total[at(j)] += sum;
          seen[at(j)] += count;
          stats.score_means.push_back(static_cast<float>(count > 0 ? sum / count : 0));
        }
      }
      stats.cosine_means = stats.norm_means = stats.score_means;
      fold.add({.mask = mask,
                .H = H,
                .first_row = first,
                .T = last - first,
                .region_of = std::span(region_of).first(at(last)),
                .R = 1,
                .groups = {}},
               {}, stats);
    }
    std::vector<float> means;
    fold.append_mean(LayerFold::Mean::kScore, means);
    ASSERT_EQ(std::ssize(means), N);
    for (Index j = 0; j < N; ++j)
      EXPECT_NEAR(means[at(j)], total[at(j)] / seen[at(j)], kTolerance) << name_of(mask) << " key " << j;
  }
}

TEST(Recorder, KeepsOnlyWhatWasAskedFor) {
  const Subject subject("llada");
  RecordSettings settings;
  settings.steps = parse_steps("1");
  settings.layers = {1};
  settings.flow = settings.qk = false;
  const Trace trace = record_masked(subject, settings);
  check_trace(trace, "recorded");
  EXPECT_EQ(trace.steps.steps, (std::vector<Index>{1}));
  EXPECT_EQ(trace.layers, (std::vector<Index>{1}));
  EXPECT_TRUE(trace.steps.flow.empty() && trace.steps.score_means.empty() &&
              trace.steps.received_heads.empty());
  EXPECT_EQ(trace.answer.rows, (std::vector<Index>{9, 10, 11}));  // watched at every step
  const Trace all = record_masked(subject, {});
  const std::size_t N = 12, L = at(all.L());
  for (std::size_t j = 0; j < N; ++j) EXPECT_EQ(trace.steps.received[j], all.steps.received[(L + 1) * N + j]);
}

// Masks of the prompt at 1 and 3 are read and filled like those of the answer.
TEST(Recorder, AMaskThatThePromptHeldIsReadAndIsNoPartOfTheAnswer) {
  const Subject subject("llada");
  Recorder recorder(subject.config(), {}, subject.layout);
  const std::vector<Index> read = {1, 3, 9, 10, 11};
  recorder.begin_pass({.tokens = subject.tokens, .read_rows = read});
  subject.pass(recorder, 0, 12);
  recorder.end_pass(std::vector<Index>{10, 1, 3, 9});
  recorder.begin_finished(subject.tokens, {});
  subject.pass(recorder, 0, 12);
  Trace trace = recorder.take();
  complete(trace);
  check_trace(trace, "recorded");
  EXPECT_EQ(trace.answer.rows, (std::vector<Index>{9, 10, -1}));
  const std::vector<Index> open = {0, 1, 2, 2, 2, 1, 3, 3, 1, 4, 4, 4};
  for (Index l = 0; l < trace.L(); ++l) {
    const Summed want = add_up(subject.matrices(12, l), trace.H(), 12, open, trace.R(), read);
    expect_near(std::span<const float>(trace.steps.received_read).subspan(at(l * 12), 12), want.read,
                "received_read");
    expect_near(
        std::span<const float>(trace.steps.flow).subspan(at(l * trace.R() * trace.R()), want.flow.size()),
        want.flow, "flow");
  }
}

TEST(Recorder, ARowThatDecidesTwoPositionsCountsOnce) {
  const Subject subject("dream");
  Recorder recorder(subject.config(), {}, subject.layout);
  const std::vector<Index> read = {0, 0, 8, 9, 10};  // positions 0, 1 and the three that are generated
  recorder.begin_pass({.tokens = subject.tokens, .read_rows = read});
  subject.pass(recorder, 0, 12);
  recorder.end_pass(std::vector<Index>{0, 1, 9, 10, 11});
  recorder.begin_finished(subject.tokens, {});
  subject.pass(recorder, 0, 12);
  Trace trace = recorder.take();
  complete(trace);
  check_trace(trace, "recorded");
  EXPECT_EQ(trace.answer.rows, (std::vector<Index>{8, 9, 10}));
  const std::vector<Index> open = {0, 1, 2, 2, 2, 1, 3, 3, 1, 4, 4, 4};
  const Summed want =
      add_up(subject.matrices(12, 0), trace.H(), 12, open, trace.R(), std::vector<Index>{0, 8, 9, 10});
  expect_near(std::span<const float>(trace.steps.received_read).first(12), want.read, "received_read");
}

TEST(Recorder, RefusesMasksInMoreRegionsThanAttentionCanTellApart) {
  Subject subject("llada");
  RegionMap& map = subject.layout.regions;
  map.of.clear();
  std::vector<Index> read;
  for (Index d = 0; d < 20; ++d) {  // of each document one position is read and one is not
    map.regions.push_back({.kind = RegionKind::kDocument, .document = d + 3});
    map.of.insert(map.of.end(), 2, map.count() - 1);
    read.push_back(2 * d);
  }
  subject.layout.evidence.assign(map.of.size(), 0);
  Recorder recorder(subject.config(), {}, subject.layout);
  const std::vector<TokenId> tokens(41, 1);
  EXPECT_THROW(recorder.begin_pass({.tokens = tokens, .read_rows = read}), Error);
}

TEST(Recorder, RefusesMoreRegionsThanAttentionCanTellApart) {
  Subject subject("llada");
  for (Index d = 3; d < 40; ++d)
    subject.layout.regions.regions.push_back({.kind = RegionKind::kDocument, .document = d});
  EXPECT_THROW(Recorder(subject.config(), {}, subject.layout), Error);
}

}  // namespace
}  // namespace buoy
