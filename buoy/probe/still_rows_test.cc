// What is recorded with the rows held still, and the mass of writing rows, against whole attention matrices.
#include <algorithm>

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/probe/kept_rows.h"
#include "buoy/probe/test_support.h"

namespace buoy {
namespace {

constexpr double kNear = 1e-5;

// Three passes over two blocks, each over other tokens; positions 9 to 13 are generated.
struct StillRun {
  explicit StillRun(const std::string& name) : subject(name) {
    subject.tokens.insert(subject.tokens.end(), {5, 6});
    for (Index t = 0; t < 4; ++t) {
      tokens.push_back(subject.tokens);
      for (Index p = 9 + t; p < 14; ++p) tokens.back()[at(p)] = 40;
    }
    const Index shift = subject.config().family->logit_shift;
    for (const std::vector<Index>& open :
         {std::vector<Index>{9, 10, 11}, {9, 11}, {12, 13}, {13}}) {  // the third pass begins a block
      read.emplace_back();
      for (const Index p : open) read.back().push_back(p - shift);
    }
  }

  Trace record(const RecordSettings& settings) {
    Recorder recorder(subject.config(), settings, subject.layout);
    const std::vector<std::vector<Index>> committed = {{10}, {9, 11}, {12}, {13}};
    for (Index t = 0; t < 4; ++t) {
      subject.tokens = tokens[at(t)];
      recorder.begin_pass({.step = t, .tokens = subject.tokens, .read_rows = read[at(t)]});
      subject.pass(recorder, 0, 14);
      recorder.end_pass(committed[at(t)]);
    }
    recorder.begin_finished(subject.tokens, {});
    subject.pass(recorder, 0, 14);
    Trace trace = recorder.take();
    complete(trace);
    trace.commit_step = {1, 0, 1, 2, 3};
    return trace;
  }

  // Row `row` of pass t in a layer, averaged over heads.
  std::vector<double> row_of(Index t, Index layer, Index row) {
    subject.tokens = tokens[at(t)];
    const std::vector<float> A = subject.matrices(14, layer);
    const Index H = subject.config().H;
    std::vector<double> mean(14);
    for (Index h = 0; h < H; ++h) {
      for (Index j = 0; j < 14; ++j) mean[at(j)] += A[at((h * 14 + row) * 14 + j)] / static_cast<double>(H);
    }
    return mean;
  }
  std::vector<double> mean_of(Index t, Index layer, const std::vector<Index>& rows) {
    std::vector<double> mean(14);
    for (const Index row : rows) {
      const std::vector<double> one = row_of(t, layer, row);
      for (Index j = 0; j < 14; ++j) mean[at(j)] += one[at(j)] / static_cast<double>(rows.size());
    }
    return mean;
  }

  Subject subject;
  std::vector<std::vector<TokenId>> tokens;  // before each pass
  std::vector<std::vector<Index>> read;
};

void expect_row(const std::vector<float>& array, Index row, const std::vector<double>& want,
                const std::string& what) {
  const Index n = std::ssize(want);
  ASSERT_LE((row + 1) * n, std::ssize(array)) << what;
  for (Index j = 0; j < n; ++j) ASSERT_NEAR(array[at(row * n + j)], want[at(j)], kNear) << what << " " << j;
}

class StillRows : public testing::TestWithParam<const char*> {};

TEST_P(StillRows, AreWhatTheWrittenOutMatricesSay) {
  StillRun run(GetParam());
  const Trace trace = run.record({});
  check_trace(trace, "recorded");
  const Index L = trace.L();
  const std::vector<double> none(14, 0.0);
  for (Index t = 0; t < 4; ++t) {
    for (Index j = 0; j < 14; ++j) {
      const bool read = std::ranges::find(run.read[at(t)], j) != run.read[at(t)].end();
      EXPECT_EQ(trace.steps.read[at(t * 14 + j)], read ? 1 : 0);
    }
    for (Index l = 0; l < L; ++l) {
      const std::string what = "step " + std::to_string(t) + ", layer " + std::to_string(l);
      const bool followed = t == 0 || t == 2;
      expect_row(trace.steps.received_staying, t * L + l,
                 followed ? run.mean_of(t, l, run.read[at(t + 1)]) : none, "staying " + what);
      expect_row(trace.steps.received_frozen, t * L + l, run.mean_of(0, l, run.read[at(t)]),
                 "frozen " + what);
      expect_row(trace.steps.received_read, t * L + l, run.mean_of(t, l, run.read[at(t)]), "read " + what);
    }
  }
  // What changed is attention: over the same rows the first two passes differ.
  double apart = 0;
  for (Index j = 0; j < 14; ++j)
    apart += std::abs(trace.steps.received_staying[at(j)] - trace.steps.received_read[at(L * 14 + j)]);
  EXPECT_GT(apart, 10 * kNear);
}

TEST_P(StillRows, FollowTheRecordedStepsAlone) {
  StillRun run(GetParam());
  RecordSettings settings;
  settings.steps = parse_steps("1,3");
  settings.layers = {1};
  settings.answer_rows = false;
  const Trace trace = run.record(settings);
  check_trace(trace, "recorded");
  EXPECT_TRUE(trace.answer.region_mass.empty());
  expect_row(trace.steps.received_staying, 0, std::vector<double>(14, 0.0), "no row of 1 is read at 3");
  expect_row(trace.steps.received_frozen, 1, run.mean_of(1, 1, run.read[3]), "frozen at the first recorded");
}

TEST_P(StillRows, WritingRowsSplitTheirMassByRegion) {
  StillRun run(GetParam());
  const Trace trace = run.record({});
  const Index L = trace.L(), R = trace.R();
  std::vector<Index> open = run.subject.layout.regions.of;
  open.resize(14, trace.regions.find(RegionKind::kAnswer));
  for (Index g = 0; g < 5; ++g) {
    for (Index l = 0; l < L; ++l) {
      const std::vector<double> row = run.row_of(trace.commit_step[at(g)], l, trace.answer.rows[at(g)]);
      std::vector<double> mass(at(R));
      for (Index j = 0; j < 14; ++j) mass[at(open[at(j)])] += row[at(j)];
      expect_row(trace.answer.region_mass, g * L + l, mass, "position " + std::to_string(g));
      double evidence = 0;
      for (Index h = 0; h < trace.H(); ++h)
        evidence += trace.answer.evidence_mass[at((g * L + l) * trace.H() + h)];
      EXPECT_NEAR(evidence / static_cast<double>(trace.H()), row[6] + row[7], kNear);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, StillRows, testing::Values("llada", "dream"));

TEST(StillRowsOfACausalModel, AreNotRecorded) {
  const Subject subject("llama-gqa");
  Recorder recorder(subject.config(), {}, subject.layout);
  const Index last = 10;
  recorder.begin_pass({.tokens = std::span(subject.tokens).first(11), .read_rows = {&last, 1}});
  subject.pass(recorder, 0, 11);
  recorder.end_pass(std::vector<Index>{11});
  recorder.begin_finished(subject.tokens, {});
  subject.pass(recorder, 0, 12);
  Trace trace = recorder.take();
  complete(trace);
  check_trace(trace, "recorded");
  EXPECT_TRUE(trace.steps.received_staying.empty() && trace.steps.received_frozen.empty());
  EXPECT_EQ(std::ssize(trace.steps.read), 12);
  EXPECT_EQ(std::ranges::count(trace.steps.read, 1), 1);
  EXPECT_EQ(trace.steps.read[10], 1);
  const std::vector<float>& mass = trace.answer.region_mass;
  EXPECT_EQ(std::ssize(mass), 3 * trace.L() * trace.R());
  EXPECT_EQ(std::ranges::count_if(mass, [](float x) { return x != 0; }) > 0, true);
}

TEST(KeptRows, HaveOnlyWhatWasKept) {
  KeptRows rows;
  rows.begin({4, 2}, 2);
  rows.keep(std::vector<Index>{2, 3, 4}, std::vector<float>{1, 0, 9, 9, 0, 1});
  EXPECT_TRUE(rows.has(std::vector<Index>{2, 4}));
  EXPECT_FALSE(rows.has(std::vector<Index>{3}));
  EXPECT_FALSE(rows.has({}));
  std::vector<float> mean;
  rows.append_mean(0, std::vector<Index>{4}, mean);
  rows.append_mean(0, std::vector<Index>{2, 4}, mean);
  rows.append_mean(0, std::vector<Index>{2, 3}, mean);
  EXPECT_EQ(mean, (std::vector<float>{0, 1, 0.5F, 0.5F, 0, 0}));
  EXPECT_THROW(rows.keep(std::vector<Index>{2}, std::vector<float>{1, 0}), InternalError);
}

TEST(WritingSteps, CommitATokenOfTheAnswerUpToItsEos) {
  const Subject subject("llada");
  Trace trace = record_masked(subject, {});  // position 10 ends the answer
  trace.commit_step = {0, 0, 1};
  EXPECT_TRUE(is_writing(trace, 0));
  EXPECT_FALSE(is_writing(trace, 1));  // only what follows the EOS
  EXPECT_EQ(writing_steps(trace), 1);
  trace.commit_step = {0, 1, 1};  // the EOS itself belongs to the answer
  EXPECT_EQ(writing_steps(trace), 2);
  trace.steps.steps = {5, 9};  // recorded passes have numbers of their own
  EXPECT_EQ(writing_steps(trace), 0);
}

TEST(Recorder, RefusesMoreEvidenceThanKeysCanBeToldApartBy) {
  Subject subject("llada");
  RegionMap& map = subject.layout.regions;
  for (Index d = 3; d < 26; ++d) map.regions.push_back({.kind = RegionKind::kDocument, .document = d});
  ASSERT_EQ(map.count(), 29);
  map.of = {0, 1, 2, 2, 3, 3, 6, 7, 8};
  subject.layout.evidence = {0, 0, 1, 0, 1, 1, 1, 0, 0};  // of three regions
  EXPECT_NO_THROW(Recorder(subject.config(), {}, subject.layout));
  subject.layout.evidence[7] = 1;
  EXPECT_THROW(Recorder(subject.config(), {}, subject.layout), Error);
}

}  // namespace
}  // namespace buoy
