// Audits of caches: nothing where nothing is kept, and numbers that were planted come back.
#include <cmath>

#include <gtest/gtest.h>

#include "buoy/base/error.h"
#include "buoy/base/testing.h"
#include "buoy/io/json.h"
#include "buoy/model/transformer.h"
#include "buoy/run/audit_table.h"
#include "buoy/run/cache_replay.h"

namespace buoy {
namespace {

const std::vector<TokenId> kAuditPrompt = {11, 12, 13, 14, 15, 16, 17};

// The passes of an exact run of the golden, 8 tokens in blocks of 4.
std::vector<LoggedPass> logged(const Model& model) {
  SamplerSettings settings{.gen_length = 8};
  settings.block_length = 4;
  PassLog log(4, 0, {});
  generate(model, {&kAuditPrompt, 1}, settings, &log);
  return log.passes();
}

TEST(PassLog, KnowsTheBlockAndWhichOfItsPassesItIs) {
  const auto backend = make_reference_backend();
  const Transformer model(source_path("tests/goldens/llada"), *backend, {});
  const std::vector<LoggedPass> passes = logged(model);
  ASSERT_EQ(passes.size(), 8u);
  for (Index i = 0; i < 8; ++i) {
    const LoggedPass& pass = passes[static_cast<std::size_t>(i)];
    EXPECT_EQ(pass.place.start, i < 4 ? 7 : 11) << i;
    EXPECT_EQ(pass.place.end, i < 4 ? 11 : 15) << i;
    EXPECT_EQ(pass.place.pass, i % 4);
    EXPECT_EQ(std::ssize(pass.read_rows), 4 - i % 4);
    EXPECT_EQ(pass.committed.size(), i == 0 ? 0u : 1u);
  }
}

TEST(Replay, FindsNothingWhereEveryPassComputesEverything) {
  const auto backend = make_reference_backend();
  const Transformer model(source_path("tests/goldens/llada"), *backend, {});
  const CacheOptions caches[] = {{}, {.kind = CacheKind::kDual, .refresh = 1}};
  for (const ReplayedCache& made : replay(model, logged(model), caches, {})) {
    ASSERT_EQ(made.steps.size(), 8u);
    for (const AuditStep& s : made.steps) {
      EXPECT_EQ(s.kl, 0);
      EXPECT_EQ(s.agree, 1);
      EXPECT_EQ(s.stale_share, 0);
      EXPECT_EQ(s.exposure, 0);
      EXPECT_EQ(s.rows, 15);
    }
    EXPECT_TRUE(made.changes.empty());
  }
}

TEST(Replay, FindsWhatIsStaleBetweenTwoRefreshes) {
  const auto backend = make_reference_backend();
  const Transformer model(source_path("tests/goldens/llada"), *backend, {});
  const CacheOptions dual[] = {{.kind = CacheKind::kDual}};
  const ReplayedCache made = replay(model, logged(model), dual, {})[0];
  for (const AuditStep& s : made.steps) {
    const bool whole = s.pass == 0;
    EXPECT_EQ(s.kl == 0, whole) << s.step;
    EXPECT_EQ(s.age, s.pass);
    EXPECT_EQ(s.rows, whole ? 15 : 4);
    EXPECT_DOUBLE_EQ(s.stale_share, whole ? 0 : 11.0 / 15);
    EXPECT_EQ(s.stale_mass > 0 && s.stale_mass < 1, !whole);
    EXPECT_EQ(s.exposure > 0, !whole);
  }
  // Layer 0 of prompt and masks: a key there is of its own token alone, which has not changed.
  for (const auto& [kind, sum] : made.changes) {
    EXPECT_EQ(sum.key_distance == 0, kind.layer == 0) << kind.layer << ' ' << kind.part;
    EXPECT_EQ(sum.value_distance == 0, kind.layer == 0) << kind.layer << ' ' << kind.part;
  }
  EXPECT_TRUE(made.changes.contains({2, "prompt 1"}));
  EXPECT_TRUE(made.changes.contains({2, "mask 3–4"}));
  EXPECT_TRUE(made.changes.contains({2, "written 5–8"}));
}

TEST(SinceBins, ArePowersOfTwo) {
  const std::pair<Index, const char*> cases[] = {{1, "1"},   {2, "2"},   {3, "3–4"}, {4, "3–4"},
                                                 {5, "5–8"}, {8, "5–8"}, {9, "9–16"}};
  for (const auto& [n, bin] : cases) EXPECT_EQ(since_bin(n), bin);
}

TEST(AuditedCaches, AreReadAndWritten) {
  EXPECT_EQ(parse_audited_cache("delayed=4").refresh, 4);
  EXPECT_FALSE(parse_audited_cache("dual").refresh);
  for (const char* text : {"dual", "delayed=4", "prefix=0", "none"}) {
    EXPECT_EQ(parse_audited_cache(text).name(), text);
  }
  for (const char* text : {"both", "dual=", "dual=x", "dual=-1", "dual=4x", "none=2", ""}) {
    EXPECT_THROW(parse_audited_cache(text), UsageError) << text;
  }
}

TEST(RankCorrelation, IsSpearmans) {
  const std::vector<double> x = {1, 2, 3, 4, 5}, up = {1, 4, 9, 16, 25}, down = {5, 4, 3, 2, 1};
  EXPECT_DOUBLE_EQ(*rank_correlation(x, up), 1);
  EXPECT_DOUBLE_EQ(*rank_correlation(x, down), -1);
  // 1 − 6·Σd² ÷ (n(n² − 1)) = 1 − 6·4 ÷ 120
  EXPECT_DOUBLE_EQ(*rank_correlation(x, std::vector<double>{2, 1, 4, 3, 5}), 0.8);
  // With ties: ranks 1.5, 1.5, 3, 4 against 1, 2, 3, 4: 4.5 ÷ √(4.5·5)
  EXPECT_NEAR(*rank_correlation(std::vector<double>{7, 7, 8, 9}, std::vector<double>{1, 2, 3, 4}),
              4.5 / std::sqrt(22.5), 1e-12);
  EXPECT_FALSE(rank_correlation(x, std::vector<double>(5, 1.0)));
  EXPECT_FALSE(rank_correlation(std::vector<double>{1, 2, 3}, std::vector<double>{1, 2, 3}));
}

// Questions whose divergence at a pass is `kl`, and whose exposure is `exposure`.
AuditResult planted_audit(const std::function<double(Index q, Index s)>& kl,
                          const std::function<double(Index q, Index s)>& exposure) {
  std::vector<AuditedQuestion> questions;
  for (Index q = 0; q < 12; ++q) {
    CacheAudit one{.cache = "dual", .numbers = {}, .steps = {}};
    for (Index s = 0; s < 9; ++s) {
      one.steps.push_back({.step = s, .pass = s, .age = s, .stale_share = s == 0 ? 0 : 0.5});
      one.steps.back().kl = kl(q, s);
      one.steps.back().exposure = exposure(q, s);
    }
    one.numbers.push_back({.quantity = "em", .value = q < 6 ? 1.0 : 0.0});
    QuestionAudit audit{.exact = {{.quantity = "em", .value = q < 9 ? 1.0 : 0.0}}, .caches = {one}};
    questions.push_back({"data", std::to_string(q), std::move(audit)});
  }
  return make_audit_result("model", {"dual"}, std::move(questions));
}

// Numbers between 0 and 1 that no pass and no question explains.
double scattered(Index q, Index s) {
  const double x = std::sin(static_cast<double>(q * 37 + s * 101 + 11)) * 43758.5453;
  return x - std::floor(x);
}

TEST(AuditResult, FindsWhatDivergenceGoesWith) {
  const AuditResult found = planted_audit(scattered, scattered);
  const AuditSummaries& s = found.summaries.at("dual");
  EXPECT_DOUBLE_EQ(s.find("rho", "exposure")->mean, 1);
  EXPECT_LT(std::abs(*s.find("rho", "exposure")->null), 0.3);
  EXPECT_GT(*s.find("rho_beyond", "exposure")->lo, 0.5);
  EXPECT_EQ(s.find("rho", "mass"), nullptr) << "it is constant";
}

TEST(AuditResult, FindsNothingBeyondTheNumberOfThePass) {
  const auto trend = [](Index, Index s) { return static_cast<double>(s); };
  const AuditResult made = planted_audit(trend, trend);
  const AuditSummaries& s = made.summaries.at("dual");
  EXPECT_DOUBLE_EQ(s.find("rho", "exposure")->mean, 1);
  EXPECT_DOUBLE_EQ(*s.find("rho", "exposure")->null, 1);
  EXPECT_DOUBLE_EQ(s.find("rho_beyond", "exposure")->mean, 0);
}

TEST(AuditResult, PairsScoresWithTheExactRun) {
  const AuditResult made = planted_audit(scattered, scattered);
  const auto change = made.summaries.at("dual").change_of("em");
  ASSERT_TRUE(change);
  EXPECT_DOUBLE_EQ(change->mean, -0.25);
  EXPECT_LT(*change->lo, -0.25);
  EXPECT_FALSE(made.summaries.at(std::string(kExactRun)).change_of("em"));
}

TEST(QuestionAudits, ComeBackFromJson) {
  const QuestionAudit audit = planted_audit(scattered, scattered).questions[3].audit;
  const QuestionAudit again = question_audit_from_json(to_json(audit), "here");
  EXPECT_EQ(to_json(again).dump(), to_json(audit).dump());
  EXPECT_EQ(again.caches[0].steps[4].kl, scattered(3, 4));
  EXPECT_THROW(question_audit_from_json(Json::object(), "here"), Error);
}

}  // namespace
}  // namespace buoy
