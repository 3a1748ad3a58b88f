#include "buoy/compute/ssd.h"

#include <cmath>
#include <limits>

#include "buoy/base/error.h"

namespace buoy {
namespace {

double softplus(double x) {
  return x > 30 ? x : std::log1p(std::exp(x));
}

bool hides(const AttentionSequence& s, Index h, Index j) {
  if (s.key_bias.empty()) return false;
  const Index N = s.k.rows();
  return s.key_bias[static_cast<std::size_t>(std::ssize(s.key_bias) == N ? j : h * N + j)] != 0;
}

}  // namespace

AttentionArgs SsdArgs::as_attention() const {
  return {.q = reads, .H = H, .Hkv = H, .D = n, .sequences = sequences, .delivery = delivery};
}

void check_ssd(const SsdArgs& args, const Tensor& out) {
  const Index H = args.H, rows = args.reads.rows();
  check(H > 0 && args.n > 0 && args.P > 0, "a state space mixer has heads, states and values");
  check(args.reads.cols() == H * args.n, "C is [T, H·n]");
  check(args.gates.rows() == rows && args.gates.cols() == 3 * H, "gates are [T, 3·H]");
  check(out.rows() == rows && out.cols() == H * args.P, "y is [T, H·P]");
  check(args.weights.dt_bias.cols() == 2 * H && args.weights.a_log.cols() == 2 * H &&
            args.weights.skip.cols() == H,
        "a state space mixer's weights are of its heads");
  const AttentionArgs as_attention = args.as_attention();
  for (const AttentionSequence& s : args.sequences) {
    check(mask_of(as_attention, s) == Mask::kFull && s.k.rows() == s.T && s.first_position == 0,
          "a state space mixer sees its whole sequence");
    check(s.v.rows() == s.T && s.v.cols() == H * args.P, "v is [N, H·P]");
    for (const float bias : s.key_bias) {
      if (bias == 0 || bias == -std::numeric_limits<float>::infinity()) continue;
      fail(
          "a state space mixer can hide a key (a bias of -inf), but there is no softmax to press or raise "
          "one in: got a bias of {}",
          bias);
    }
    // Its own shape is checked above: attention's values are as wide as its keys.
    AttentionSequence same = s;
    same.v = s.k;
    AttentionArgs one = as_attention;
    one.sequences = {&same, 1};
    check_attention(one, args.reads);
  }
}

void prepare_ssd_stats(const SsdArgs& args, const AttentionSequence& s) {
  prepare_stats(args.as_attention(), s);
  if (s.request->qk_means) s.stats->recency_means.assign(s.stats->score_means.size(), 0.0f);
}

SsdHead make_ssd_head(const SsdArgs& args, const AttentionSequence& s, Index h) {
  const auto N = static_cast<std::size_t>(s.T);
  SsdHead head;
  for (SsdDirection* direction : {&head.forward, &head.backward}) {
    direction->step.resize(N);
    direction->reach.resize(N + 1);
  }
  head.diagonal.resize(N);
  const float* bias = args.weights.dt_bias.row<float>(0);
  const float* logs = args.weights.a_log.row<float>(0);
  const double rates[] = {std::exp(double{logs[h]}), std::exp(double{logs[args.H + h]})};
  double sums[] = {0, 0};
  for (std::size_t i = 0; i < N; ++i) {
    const float* gates = args.gates.row<float>(s.first_row + static_cast<Index>(i));
    const double forward = softplus(double{gates[h]} + bias[h]);
    const double backward = softplus(double{gates[args.H + h]} + bias[args.H + h]);
    const bool hidden = hides(s, h, static_cast<Index>(i));
    head.forward.step[i] = hidden ? 0 : forward;
    head.backward.step[i] = hidden ? 0 : backward;
    sums[0] += rates[0] * forward;
    head.forward.reach[i] = sums[0];
    head.backward.reach[i] = sums[1];
    sums[1] -= rates[1] * backward;
    head.diagonal[i] = double{gates[2 * args.H + h]} + args.weights.skip.row<float>(0)[h];
    head.finite =
        head.finite && std::isfinite(sums[0]) && std::isfinite(sums[1]) && std::isfinite(head.diagonal[i]);
  }
  head.forward.reach[N] = sums[0];
  head.backward.reach[N] = sums[1];
  return head;
}

void fill_ssd_column(const SsdColumn& c, Index h, Index j, Index N, AttentionStats& stats) {
  const auto at = static_cast<std::size_t>(h * N + j);
  const double rows = static_cast<double>(N);
  const double length = std::sqrt(c.key * c.steps), query = std::sqrt(c.queries / rows);
  const double score = std::sqrt(c.energy / rows), norm = length * query;
  const double recency = c.steps * c.queries > 0 ? std::sqrt(c.reached / (c.steps * c.queries)) : 0;
  stats.score_means[at] = static_cast<float>(score);
  stats.norm_means[at] = static_cast<float>(norm);
  stats.recency_means[at] = static_cast<float>(recency);
  stats.cosine_means[at] = static_cast<float>(norm * recency > 0 ? score / (norm * recency) : 0);
  stats.key_norms[at] = static_cast<float>(length);
}

}  // namespace buoy
