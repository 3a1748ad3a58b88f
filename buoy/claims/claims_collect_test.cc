// Claims from traces, through the analyses: attention without any preference but for one sink supports that
// sink and nothing else.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "buoy/analysis/test_support.h"
#include "buoy/claims/claims.h"
#include "buoy/run/collect.h"

namespace buoy {
namespace {

constexpr Index kAnchor = 9;

// Their steps are uniform, without anchors to follow and keys to rank; they have one task, and say nothing of
// the change of keys.
const std::set<std::string_view> kWithoutGround = {
    "anchors-shift-right",  "floating-layers",      "floating-steps", "heads-stable",
    "mask-queries-suffice", "proxy-names-keys",     "question-fades", "saliency-stable",
    "sink-wanders",         "sinks-move",           "task-anchors",   "keys-change-deep",
    "settles-after-commit", "attended-keys-settled"};

// Uniform attention but for one anchor that is the same in every layer, whose lead is all due to the length
// of its key, and heads that all copy alike.
Trace plain_trace(const Mask& mask, Index sample) {
  TraceShape shape{.mask = mask, .gold = sample % 3 + 1};
  Trace trace = uniform_trace(shape);
  trace.header.model = mask == Mask::kFull ? "mdm" : "arm";
  trace.header.sample = fmt::to_string(sample);
  trace.header.question = fmt::format("question {}?", sample);
  spike_finished(trace, {kAnchor}, sample % 2 == 0 ? 0.3 : 0.32);
  const Index L = trace.L(), H = trace.H(), Hkv = trace.Hkv(), N = trace.N();
  for (Index row = 0; row < L * Hkv; ++row)
    trace.finished.key_norms[static_cast<std::size_t>(row * N + kAnchor)] = 9;
  for (Index head = 0; head < L * H; ++head) {
    const Index row = head / H * Hkv + head % H * Hkv / H;
    for (Index j = 0; j < N; ++j) {
      trace.finished.score_means[static_cast<std::size_t>(head * N + j)] =
          trace.finished.key_norms[static_cast<std::size_t>(row * N + j)];
    }
  }
  const auto evidence = std::ranges::find(trace.evidence, 1) - trace.evidence.begin();
  trace.tokens[static_cast<std::size_t>(evidence)] =
      trace.tokens[static_cast<std::size_t>(trace.prompt_length)];
  for (Index head = 0; head < L * H; ++head) {
    trace.answer.argmax[static_cast<std::size_t>(head)] = static_cast<std::int32_t>(evidence);
  }
  return trace;
}

TEST(Claims, AttentionToOneSinkSupportsThatSinkAlone) {
  StudyResult study;
  for (const Analysis& analysis : analyses()) study.options.analyses.push_back(&analysis);
  for (Index sample = 0; sample < 30; ++sample) {
    collect(study, plain_trace(Mask::kFull, sample), "d");
    collect(study, plain_trace(Mask::kCausal, sample), "d");
  }
  Evidence evidence;
  for (const StudiedModel& model : study.models) evidence.models.push_back({model.name, model.writing});
  evidence.analyses = &study.table;
  evidence.by_gold = &study.by_gold;
  for (const ClaimResult& r : judge(evidence)) {
    const bool attention =
        r.claim->source == ClaimSource::kAnalyses || r.claim->source == ClaimSource::kByGold;
    if (!attention || kWithoutGround.contains(r.claim->id)) {
      EXPECT_EQ(r.verdict, Verdict::kNotMeasured) << r.claim->id;
      continue;
    }
    if (r.claim->id == "sinks-exist") {
      EXPECT_EQ(r.verdict, Verdict::kSupported) << "the one anchor is one";
      continue;
    }
    // Gold stands in a third of the places each, and locality compares the first with the last where neither
    // is gold.
    const bool of_a_third = r.claim->source == ClaimSource::kByGold || r.claim->id == "locality";
    EXPECT_EQ(r.questions, of_a_third ? 10 : 30) << r.claim->id << ": " << r.note;
    const bool same = r.note.starts_with("all questions say the same: no spread to judge by");
    EXPECT_TRUE(r.verdict == Verdict::kNotSupported || same)
        << r.claim->id << ": " << r.excess << " [" << r.lo << ", " << r.hi << "], " << r.note;
    if (r.claim->id == "retrieval-deep") {
      EXPECT_NEAR(r.value, 2.0 / 3, 1e-9) << "two of three layers";
    }
    if (r.claim->id == "deep-angle") {
      EXPECT_NEAR(r.value, -1, 1e-6) << "length explains all";
    }
    if (r.claim->source == ClaimSource::kByGold) {
      EXPECT_NEAR(r.excess, 0, 1e-4) << r.claim->id;
    }
  }
}

}  // namespace
}  // namespace buoy
