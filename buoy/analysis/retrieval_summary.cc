#include "buoy/analysis/retrieval_summary.h"

#include <algorithm>
#include <array>
#include <set>

namespace buoy {
namespace {

constexpr std::array<double, 2> kThresholds = {0.1, 0.5};
constexpr std::array<Depth, 3> kDepths = {Depth::kShallow, Depth::kDeep, Depth::kAll};

struct Head {
  Index layer;
  Index samples;
  double mean;
  std::vector<double> resampled;  // [kResamples]
};

std::vector<Head> heads_of(const SampleTable& table, const Group& group, const RetrievalScore& score) {
  std::vector<Head> heads;
  const std::vector<Index> chosen = table.select(group), questions = table.questions_of(chosen);
  const Resamples resamples(questions.empty() ? 0 : std::ranges::max(questions) + 1);
  for (const auto& [key, column] : table.columns()) {
    if (key.quantity != score.quantity || key.part != score.part || key.head < 0) continue;
    const DenseColumn numbers = dense(column, chosen);
    const auto mean = ratio_of(numbers.ratios());
    if (!mean) continue;
    heads.push_back({.layer = key.layer,
                     .samples = numbers.n(),
                     .mean = *mean,
                     .resampled = resample(by_question(numbers, questions).ratios(), resamples)});
  }
  return heads;
}

HeadShare share_above(std::span<const Head* const> heads, double threshold) {
  const double count = static_cast<double>(heads.size());
  HeadShare out{.threshold = threshold, .heads = std::ssize(heads)};
  std::vector<double> shares(kResamples);
  for (const Head* head : heads) {
    out.samples = std::max(out.samples, head->samples);
    if (head->mean > threshold) ++out.share;
    for (Index b = 0; b < kResamples; ++b) {
      if (head->resampled[b] > threshold) ++shares[b];
    }
  }
  out.share /= count;
  for (double& share : shares) share /= count;
  out.interval = percentile_interval(std::move(shares), out.share);
  return out;
}

}  // namespace

std::string_view name_of(Depth depth) {
  constexpr std::array<std::string_view, 3> kNames = {"shallow", "deep", "all"};
  return kNames[static_cast<std::size_t>(depth)];
}

std::vector<HeadShare> retrieval_summary(const SampleTable& table, const Group& group,
                                         const RetrievalScore& score) {
  const std::vector<Head> heads = heads_of(table, group, score);
  std::set<Index> layers;
  for (const Head& head : heads) layers.insert(head.layer);
  if (layers.empty()) return {};
  const Index first_deep = *std::next(layers.begin(), std::ssize(layers) / 2);
  std::vector<HeadShare> out;
  for (const Depth depth : kDepths) {
    std::vector<const Head*> there;
    for (const Head& head : heads) {
      const Depth half = head.layer < first_deep ? Depth::kShallow : Depth::kDeep;
      if (depth == Depth::kAll || depth == half) there.push_back(&head);
    }
    if (there.empty()) continue;
    for (const double threshold : kThresholds) {
      out.push_back(share_above(there, threshold));
      out.back().depth = depth;
    }
  }
  return out;
}

}  // namespace buoy
