#include "buoy/compute/attention.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "buoy/base/error.h"
#include "buoy/base/finite.h"

namespace buoy {
namespace {

bool groups_fit(std::span<const std::int8_t> groups, Index length, int count) {
  if (std::ssize(groups) != length || count < 1 || count > kMaxGroups) return false;
  return std::ranges::all_of(groups, [&](int g) { return g >= -1 && g < count; });
}

void check_request(const AttentionArgs& args, const AttentionSequence& s) {
  const AttentionRequest& want = *s.request;
  const Index N = s.k.rows();
  check(s.stats != nullptr, "a request has a place for its answer");
  check(want.query_groups.empty() || groups_fit(want.query_groups, s.T, want.group_count),
        "query groups fit");
  check(want.key_groups.empty() || groups_fit(want.key_groups, N, want.key_group_count), "key groups fit");
  check(std::ranges::all_of(want.rows, [&](Index r) { return r >= 0 && r < s.T; }), "asked rows are queries");
  check(!want.matrix || args.H * s.T * N <= kMaxMatrixElements, "a full matrix stays under its limit");
}

}  // namespace

void check_attention(const AttentionArgs& args, const Tensor& out) {
  const Index width = args.H * args.D;
  check(args.factor > 0 && std::isfinite(args.factor), "scores keep their order");
  check(args.D > 0 && args.D % 2 == 0 && args.Hkv > 0 && args.H % args.Hkv == 0, "head counts divide");
  check(args.q.cols() == width && out.cols() == width && out.rows() == args.q.rows(),
        "q and out are [T, H·D]");
  for (const AttentionSequence& s : args.sequences) {
    const Index N = s.k.rows();
    check(s.first_row >= 0 && s.T >= 0 && s.first_row + s.T <= args.q.rows(), "queries lie inside q");
    check(s.k.cols() == args.Hkv * args.D && s.v.cols() == s.k.cols() && s.v.rows() == N,
          "k and v are [N, Hkv·D]");
    check(mask_of(args, s) == Mask::kFull || (s.first_position >= 0 && s.first_position + s.T <= N),
          "queries are keys");
    const Index bias = std::ssize(s.key_bias);
    check(bias == 0 || bias == N || bias == args.H * N, "key bias is [N] or [H, N]");
    check(s.head_gain.empty() || std::ssize(s.head_gain) == args.H, "head gain is [H]");
    if (s.request != nullptr) check_request(args, s);
  }
}

void prepare_stats(const AttentionArgs& args, const AttentionSequence& s) {
  const AttentionRequest& want = *s.request;
  const Index N = s.k.rows(), R = std::ssize(want.rows);
  AttentionStats& stats = *s.stats;
  // Memory that is already there is used again: for a layer after the first it is.
  const auto size = [](std::vector<float>& array, bool asked, Index count) {
    array.assign(asked ? static_cast<std::size_t>(count) : 0, 0.0f);
  };
  size(stats.column_sums, !want.query_groups.empty(), args.H * want.group_count * N);
  stats.argmax.assign(static_cast<std::size_t>(args.H * R), -1);
  size(stats.max_weight, true, args.H * R);
  size(stats.entropy, true, args.H * R);
  size(stats.key_mass, !want.key_groups.empty(), args.H * R * want.key_group_count);
  size(stats.row_means, want.row_means, R * N);
  size(stats.mean_output_norm, want.output_norms, args.H);
  size(stats.uniform_norm, want.output_norms, args.Hkv);
  size(stats.value_norms, want.output_norms, args.Hkv * N);
  size(stats.score_means, want.qk_means, args.H * N);
  size(stats.cosine_means, want.qk_means, args.H * N);
  size(stats.norm_means, want.qk_means, args.H * N);
  size(stats.key_norms, want.qk_means, args.Hkv * N);
  stats.recency_means.clear();
  size(stats.matrix, want.matrix, args.H * s.T * N);
  size(stats.query_states, want.states, args.H * s.T * args.D);
  size(stats.key_states, want.states, args.Hkv * N * args.D);
}

std::string_view first_nonfinite(const AttentionStats& stats) {
  const std::pair<std::string_view, const std::vector<float>*> arrays[] = {
      {"column_sums", &stats.column_sums},
      {"max_weight", &stats.max_weight},
      {"entropy", &stats.entropy},
      {"key_mass", &stats.key_mass},
      {"row_means", &stats.row_means},
      {"mean_output_norm", &stats.mean_output_norm},
      {"uniform_norm", &stats.uniform_norm},
      {"value_norms", &stats.value_norms},
      {"score_means", &stats.score_means},
      {"cosine_means", &stats.cosine_means},
      {"norm_means", &stats.norm_means},
      {"key_norms", &stats.key_norms},
      {"recency_means", &stats.recency_means},
      {"matrix", &stats.matrix},
      {"query_states", &stats.query_states},
      {"key_states", &stats.key_states}};
  for (const auto& [name, array] : arrays) {
    if (!all_finite(*array)) return name;
  }
  return {};
}

void copy_states(const AttentionArgs& args, const AttentionSequence& s) {
  const auto copy_heads = [&](const Tensor& from, Index first_row, Index rows, Index heads, float* to) {
    for (Index h = 0; h < heads; ++h) {
      for (Index r = 0; r < rows; ++r) {
        to = std::copy_n(from.row<float>(first_row + r) + h * args.D, args.D, to);
      }
    }
  };
  copy_heads(args.q, s.first_row, s.T, args.H, s.stats->query_states.data());
  copy_heads(s.k, 0, s.k.rows(), args.Hkv, s.stats->key_states.data());
}

Mask mask_of(const AttentionArgs& args, const AttentionSequence& sequence) {
  return sequence.mask.value_or(args.mask);
}

Index visible_keys(const AttentionArgs& args, const AttentionSequence& sequence, Index t) {
  return mask_of(args, sequence).visible_keys(sequence.first_position + t, sequence.k.rows());
}

Index first_query_seeing(const AttentionArgs& args, const AttentionSequence& sequence, Index j) {
  return std::max<Index>(0, mask_of(args, sequence).first_position_seeing(j) - sequence.first_position);
}

}  // namespace buoy
