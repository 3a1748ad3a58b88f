// Heads that copy answer tokens from the evidence, made by hand.
#include "buoy/analysis/retrieval_heads.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "buoy/analysis/retrieval_summary.h"
#include "buoy/analysis/test_support.h"

namespace buoy {
namespace {

constexpr Index kFirstEvidence = 8;  // of the default shape: the gold document begins there

// Answer tokens 0 and 1 are the two evidence tokens, token 2 is a word of its own, then EOS.
Trace answering_trace(const TraceShape& shape = {}) {
  Trace trace = uniform_trace(shape);
  EXPECT_TRUE(trace.evidence[kFirstEvidence] && trace.evidence[kFirstEvidence + 1]);
  for (const Index g : {0, 1}) trace.tokens[trace.prompt_length + g] = trace.tokens[kFirstEvidence + g];
  return trace;
}

void look_at(Trace& trace, Index g, Index l, Index h, Index key) {
  trace.answer.argmax[(g * trace.L() + l) * trace.H() + h] = static_cast<std::int32_t>(key);
}

double score(const Trace& trace, const char* quantity, Index layer, Index head, const char* part = "all") {
  return value_of(retrieval_heads(trace, {}),
                  {.quantity = quantity, .layer = layer, .head = head, .part = part});
}

bool has(const Trace& trace, const char* quantity, const char* part = "all") {
  return look_up(retrieval_heads(trace, {}), {.quantity = quantity, .layer = 0, .head = 0, .part = part});
}

TEST(RetrievalHeads, HeadThatCopiesEveryAnswerTokenHasCopyOne) {
  Trace trace = answering_trace();
  for (const Index g : {0, 1}) look_at(trace, g, 1, 3, kFirstEvidence + g);
  look_at(trace, 0, 2, 0, kFirstEvidence);      // copies one of two
  look_at(trace, 0, 2, 1, kFirstEvidence + 1);  // looks at the wrong evidence token
  EXPECT_EQ(score(trace, "copy", 2, 3), 1);
  EXPECT_EQ(score(trace, "copy_wu", 2, 3), 1);
  EXPECT_EQ(score(trace, "copy", 4, 0), 0.5);
  EXPECT_EQ(score(trace, "copy", 4, 1), 0);
}

TEST(RetrievalHeads, TokenWrittenTwiceCountsOnce) {
  Trace trace = answering_trace();
  trace.tokens[trace.prompt_length + 2] = trace.tokens[kFirstEvidence];
  look_at(trace, 0, 0, 0, kFirstEvidence);
  look_at(trace, 2, 0, 0, kFirstEvidence);
  EXPECT_EQ(score(trace, "copy", 0, 0), 0.5);
}

TEST(RetrievalHeads, SameTokenOutsideTheEvidenceIsNoCopy) {
  Trace trace = answering_trace();
  trace.tokens[15] = trace.tokens[kFirstEvidence];
  look_at(trace, 0, 0, 0, 15);
  EXPECT_EQ(score(trace, "copy", 0, 0), 0);
}

TEST(RetrievalHeads, WuDividesByAllEvidence) {
  Trace trace = answering_trace();
  trace.evidence[10] = trace.evidence[11] = 1;
  for (const Index g : {0, 1}) look_at(trace, g, 0, 0, kFirstEvidence + g);
  EXPECT_EQ(score(trace, "copy_wu", 0, 0), 0.5);
  EXPECT_EQ(score(trace, "copy", 0, 0), 1);
}

TEST(RetrievalHeads, MassIsTheMeanOverAnswerTokensBeforeEos) {
  Trace trace = answering_trace();
  const Index heads = trace.L() * trace.H();
  for (Index g = 0; g < trace.G(); ++g)
    trace.answer.evidence_mass[g * heads] = g < 3 ? 0.3F * static_cast<float>(g) : 1;
  EXPECT_NEAR(score(trace, "mass", 0, 0), 0.3, 1e-6);
  EXPECT_NEAR(score(trace, "lift", 0, 0), 0.3 / (2.0 / 24), 1e-5);
}

TEST(RetrievalHeads, ChanceFollowsWhatACausalRowCanSee) {
  const Trace trace = answering_trace({.mask = Mask::kCausal});
  EXPECT_NEAR(score(trace, "mass", 0, 0), (2.0 / 18 + 2.0 / 19 + 2.0 / 20) / 3, 1e-6);
  EXPECT_NEAR(score(trace, "lift", 0, 0), 1, 1e-6);
}

TEST(RetrievalHeads, PositionsThatWereNeverWrittenAreNoAnswer) {
  Trace trace = answering_trace();
  trace.answer.rows[1] = -1;
  trace.answer.visible[1] = 0;
  look_at(trace, 0, 0, 0, kFirstEvidence);
  EXPECT_EQ(score(trace, "copy", 0, 0), 1);
}

TEST(RetrievalHeads, WhatFollowsTheAnswerIsNoAnswer) {
  Trace trace = answering_trace();
  trace.classes.back() = TokenClass::kContent;  // in the tail
  trace.tokens.back() = trace.tokens[kFirstEvidence];
  look_at(trace, trace.G() - 1, 0, 0, kFirstEvidence);
  EXPECT_EQ(score(trace, "copy", 0, 0), 0);
}

TEST(RetrievalHeads, OnlyWhatIsDefinedIsEmitted) {
  Trace trace = uniform_trace();
  EXPECT_FALSE(has(trace, "copy")) << "no answer token occurs in the evidence";
  EXPECT_TRUE(has(trace, "copy_wu"));
  EXPECT_TRUE(has(trace, "mass"));
  Trace silent = trace;
  std::ranges::fill(silent.answer.rows, -1);
  EXPECT_TRUE(retrieval_heads(silent, {}).empty());
  Trace unread = trace;
  unread.answer = {};
  EXPECT_TRUE(retrieval_heads(unread, {}).empty());
  std::ranges::fill(trace.evidence, std::int8_t{0});
  EXPECT_TRUE(retrieval_heads(trace, {}).empty());
}

TEST(RetrievalHeads, CorrectSamplesAreCountedOnceMore) {
  Trace trace = answering_trace();
  EXPECT_FALSE(has(trace, "copy", "correct"));
  trace.header.correct = false;
  EXPECT_FALSE(has(trace, "copy", "correct"));
  trace.header.correct = true;
  EXPECT_TRUE(has(trace, "copy", "correct"));
}

// Layers 0, 1, 2 with two heads each; scores[layer][head] of one sample.
Measurements scores_of(const std::vector<std::vector<double>>& scores) {
  Measurements out;
  for (Index l = 0; l < std::ssize(scores); ++l) {
    for (Index h = 0; h < std::ssize(scores[l]); ++h) {
      out.push_back({.quantity = "copy", .layer = l, .head = h, .part = "all", .value = scores[l][h]});
    }
  }
  return out;
}

TEST(RetrievalSummary, CountsHeadsAboveTheThresholdsByDepth) {
  SampleTable table;
  for (const char* sample : {"a", "b", "c"}) {
    table.add({.model = "m", .sample = sample}, scores_of({{0, 0.3}, {0.6, 0.6}, {0, 0.1}}));
  }
  const auto found = retrieval_summary(table, {.model = "m"});
  ASSERT_EQ(found.size(), 6U);
  const double expected[] = {0.5, 0,   0.5,
                             0.5, 0.5, 1.0 / 3};  // shallow: layer 0 alone; 0.1 does not exceed 0.1
  const Index heads[] = {2, 2, 4, 4, 6, 6};
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i].share, expected[i], 1e-12) << i;
    EXPECT_EQ(found[i].heads, heads[i]);
    EXPECT_EQ(found[i].samples, 3);
    EXPECT_EQ(found[i].interval.lo, found[i].share) << "samples that agree leave no doubt";
    EXPECT_EQ(found[i].interval.hi, found[i].share);
  }
}

TEST(RetrievalSummary, MeansAreOverSamplesBeforeHeadsAreCounted) {
  SampleTable table;
  table.add({.model = "m", .sample = "a"}, scores_of({{1.0}}));
  table.add({.model = "m", .sample = "b"}, scores_of({{0.1}}));
  const auto found = retrieval_summary(table, {});
  ASSERT_EQ(found.size(), 4U) << "a single layer is deep and has no shallow half";
  EXPECT_EQ(found[3].threshold, 0.5);
  EXPECT_EQ(found[3].share, 1) << "0.55 on average";
  EXPECT_EQ(found[3].interval.lo, 0) << "a quarter of the resamples holds b alone";
  EXPECT_EQ(found[3].interval.hi, 1);
  EXPECT_TRUE(retrieval_summary(table, {}, {.quantity = "mass"}).empty());
}

}  // namespace
}  // namespace buoy
