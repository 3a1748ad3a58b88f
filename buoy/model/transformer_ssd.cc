// A layer with a state space mixer: projection, convolution, scan, norm.
#include "buoy/model/transformer.h"

namespace buoy {

Tensor Transformer::scan(Index l, const StateSpace& mixer, const Tensor& x, Batch& batch, Tap* tap) const {
  const Index H = config_.H, P = config_.D, n = config_.ssd->n, rows = x.rows();
  const Index V = H * P, S = H * n;  // columns of the values, of B and of C
  if (batch.gated.empty()) {
    batch.gated = backend_.allocate_activations(rows, V + 2 * S + 3 * H);
    batch.convolved = backend_.allocate_activations(rows, V + 2 * S);
    batch.mixed = backend_.allocate_activations(rows, V);
  }
  backend_.enter_layer(
      {layers_[static_cast<std::size_t>(l)].mixer_norm, *mixer.projection, std::nullopt, std::nullopt}, x,
      batch.gated);
  std::vector<Index> lengths;
  std::vector<AttentionSequence> parts;
  for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
    const Index T = std::ssize(batch.sequences[i].ids);
    const Tensor mine = batch.convolved.row_range(batch.first_row[i], T);
    lengths.push_back(T);
    parts.push_back(
        {.first_row = batch.first_row[i], .T = T, .k = mine.col_range(V, S), .v = mine.col_range(0, V)});
  }
  backend_.convolve(batch.gated.col_range(0, V + 2 * S), mixer.convolution, lengths, batch.convolved);
  SsdArgs args{.reads = batch.convolved.col_range(V + S, S),
               .gates = batch.gated.col_range(V + 2 * S, 3 * H),
               .weights = mixer.weights,
               .H = H,
               .n = n,
               .P = P};
  const auto round = [&](std::span<const AttentionSequence> sequences, Delivery delivery) {
    args.sequences = sequences;
    args.delivery = delivery;
    backend_.ssd(args, batch.attended);
  };
  run_rounds(l, parts, round, batch, tap);
  backend_.rms_norm(batch.attended, mixer.norm.weight, mixer.norm.epsilon, batch.mixed);
  return batch.mixed;
}

}  // namespace buoy
