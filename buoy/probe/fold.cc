#include "buoy/probe/fold.h"

#include <algorithm>

#include "buoy/base/at.h"

namespace buoy {
namespace {

void append_scaled(std::span<const double> values, double scale, std::vector<float>& out) {
  for (const double value : values) out.push_back(static_cast<float>(value * scale));
}

}  // namespace

void LayerFold::clear() {
  *this = {};
}

void LayerFold::add(const FoldPass& pass, const RecordSettings& settings, const AttentionStats& stats) {
  H_ = pass.H;
  N_ = std::ssize(pass.region_of);
  R_ = pass.R;
  rows_ += pass.T;
  read_rows_ = pass.read_rows;
  all_.resize(at(N_));
  flow_.resize(at(R_ * R_));
  region_rows_.resize(at(R_));
  for (Index t = 0; t < pass.T; ++t) region_rows_[at(pass.region_of[at(pass.first_row + t)])] += 1;
  if (!stats.column_sums.empty()) add_columns(pass, settings.heads, stats);
  if (!stats.score_means.empty()) add_means(pass, stats);
}

void LayerFold::add_columns(const FoldPass& pass, HeadDetail detail, const AttentionStats& stats) {
  const Index groups = std::ssize(pass.groups);
  read_.assign(at(N_), 0.0);
  if (detail == HeadDetail::kPerHead) {
    heads_.resize(at(H_));
    for (auto& head : heads_) head.resize(at(N_));
  }
  std::vector<double> sums(at(N_));
  for (Index g = 0; g < groups; ++g) {
    std::ranges::fill(sums, 0.0);
    for (Index h = 0; h < H_; ++h) {
      const float* column = stats.column_sums.data() + (h * groups + g) * N_;
      for (Index j = 0; j < N_; ++j) sums[at(j)] += column[j];
      if (detail != HeadDetail::kPerHead) continue;
      for (Index j = 0; j < N_; ++j) heads_[at(h)][at(j)] += column[j];
    }
    double* flow = flow_.data() + pass.groups[at(g)].region * R_;
    for (Index j = 0; j < N_; ++j) {
      all_[at(j)] += sums[at(j)];
      flow[pass.region_of[at(j)]] += sums[at(j)];
    }
    if (!pass.groups[at(g)].read) continue;
    for (Index j = 0; j < N_; ++j) read_[at(j)] += sums[at(j)];
  }
}

void LayerFold::add_means(const FoldPass& pass, const AttentionStats& stats) {
  score_.resize(at(N_));
  cosine_.resize(at(N_));
  product_.resize(at(N_));
  seen_.resize(at(N_));
  std::vector<Index> queries;  // [N] of this pass that see the key
  for (Index j = 0; j < N_; ++j) {
    const Index hidden = pass.mask.first_position_seeing(j) - pass.first_row;
    queries.push_back(pass.T - std::clamp<Index>(hidden, 0, pass.T));
    seen_[at(j)] += queries.back();
  }
  for (Index h = 0; h < H_; ++h) {
    for (Index j = 0; j < N_; ++j) {
      const double count = static_cast<double>(queries[at(j)]);
      score_[at(j)] += count * stats.score_means[at(h * N_ + j)];
      cosine_[at(j)] += count * stats.cosine_means[at(h * N_ + j)];
      product_[at(j)] += count * stats.norm_means[at(h * N_ + j)];
    }
  }
}

void LayerFold::append_received(std::vector<float>& out) const {
  append_scaled(all_, 1.0 / static_cast<double>(H_ * rows_), out);
}

void LayerFold::append_received_read(std::vector<float>& out) const {
  append_scaled(read_, 1.0 / static_cast<double>(H_ * std::max<Index>(1, read_rows_)), out);
}

void LayerFold::append_received_heads(std::vector<float>& out) const {
  for (const auto& head : heads_) append_scaled(head, 1.0 / static_cast<double>(rows_), out);
}

void LayerFold::append_flow(std::vector<float>& out) const {
  for (Index a = 0; a < R_; ++a) {
    const double rows = region_rows_[at(a)];
    append_scaled(std::span(flow_).subspan(at(a * R_), at(R_)),
                  rows > 0 ? 1.0 / (static_cast<double>(H_) * rows) : 0.0, out);
  }
}

void LayerFold::append_mean(Mean mean, std::vector<float>& out) const {
  const std::vector<double>& sums = mean == Mean::kScore    ? score_
                                    : mean == Mean::kCosine ? cosine_
                                                            : product_;
  for (Index j = 0; j < N_; ++j) {
    const Index count = H_ * std::max<Index>(1, seen_[at(j)]);
    out.push_back(static_cast<float>(sums[at(j)] / static_cast<double>(count)));
  }
}

}  // namespace buoy
