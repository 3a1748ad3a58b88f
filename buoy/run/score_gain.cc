#include "buoy/run/score_gain.h"

#include <algorithm>

#include "buoy/analysis/bootstrap.h"

namespace buoy {
namespace {

// Sums over the items of each column and of each question in it.
struct GainSums {
  std::vector<double> sum, count;                // [columns]
  std::vector<std::vector<double>> by_question;  // [columns][questions]
  std::vector<std::vector<double>> weight;
};

GainSums sums_of(const std::vector<ItemGain>& gains, const std::vector<Index>& column,
                 const std::vector<Index>& question, Index columns, Index questions, int score) {
  const auto C = static_cast<std::size_t>(columns), Q = static_cast<std::size_t>(questions);
  GainSums sums{.sum = std::vector<double>(C),
                .count = std::vector<double>(C),
                .by_question = std::vector(C, std::vector<double>(Q)),
                .weight = std::vector(C, std::vector<double>(Q))};
  for (std::size_t i = 0; i < gains.size(); ++i) {
    const auto c = static_cast<std::size_t>(column[i]), q = static_cast<std::size_t>(question[i]);
    sums.sum[c] += gains[i].value[score];
    sums.count[c] += 1;
    sums.by_question[c][q] += gains[i].value[score];
    sums.weight[c][q] += 1;
  }
  return sums;
}

// Σ share · column mean, with the influence of each question on it to first order.
void add_estimate(const GainSums& sums, const std::vector<double>& share, const Resamples& resamples,
                  int score, ScoreGain& gain) {
  const Index Q = resamples.n();
  double estimate = 0;
  std::vector<double> influence(static_cast<std::size_t>(Q));
  for (std::size_t c = 0; c < share.size(); ++c) {
    if (share[c] == 0) continue;
    const double mean = sums.sum[c] / sums.count[c];
    estimate += share[c] * mean;
    const double scale = share[c] * static_cast<double>(Q) / sums.count[c];
    for (std::size_t q = 0; q < influence.size(); ++q) {
      influence[q] += scale * (sums.by_question[c][q] - mean * sums.weight[c][q]);
    }
  }
  const Interval interval = Studentised(estimate, influence, resamples).interval();
  gain.mean[score] = estimate;
  gain.low[score] = interval.lo;
  gain.high[score] = interval.hi;
}

std::vector<Index> numbered(const std::vector<ItemGain>& gains, std::string ItemGain::*name,
                            std::vector<std::string>& names) {
  std::map<std::string, Index> numbers;
  for (std::size_t i = 0; i < names.size(); ++i) numbers[names[i]] = static_cast<Index>(i);
  std::vector<Index> of;
  for (const ItemGain& gain : gains) {
    const auto [at, is_new] = numbers.try_emplace(gain.*name, std::ssize(names));
    if (is_new) names.push_back(gain.*name);
    of.push_back(at->second);
  }
  return of;
}

}  // namespace

ColumnGains column_gains(const std::vector<ItemGain>& gains, const std::vector<std::string>& columns) {
  ColumnGains made;
  made.columns.resize(columns.size());
  if (gains.empty()) return made;
  std::vector<std::string> column_names = columns, question_names;
  const std::vector<Index> column = numbered(gains, &ItemGain::column, column_names),
                           question = numbered(gains, &ItemGain::question, question_names);
  const Index C = std::ssize(column_names);
  const Resamples resamples(std::ssize(question_names));
  const auto n = std::ssize(gains);
  made.cells = made.items = ScoreGain{.n = n};
  for (int score = 0; score < 3; ++score) {
    const GainSums sums = sums_of(gains, column, question, C, resamples.n(), score);
    const auto filled =
        static_cast<double>(std::ranges::count_if(sums.count, [](double k) { return k > 0; }));
    std::vector<double> cells(sums.count.size()), items(sums.count.size());
    for (std::size_t c = 0; c < sums.count.size(); ++c) {
      cells[c] = sums.count[c] > 0 ? 1 / filled : 0;
      items[c] = sums.count[c] / static_cast<double>(n);
      if (c >= columns.size() || sums.count[c] == 0) continue;
      std::vector<double> one(sums.count.size());
      one[c] = 1;
      if (!made.columns[c]) made.columns[c] = ScoreGain{.n = static_cast<Index>(sums.count[c])};
      add_estimate(sums, one, resamples, score, *made.columns[c]);
    }
    add_estimate(sums, cells, resamples, score, *made.cells);
    add_estimate(sums, items, resamples, score, *made.items);
  }
  return made;
}

}  // namespace buoy
