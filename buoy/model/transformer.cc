#include "buoy/model/transformer.h"

#include <numeric>

#include "buoy/base/error.h"
#include "buoy/model/rope.h"
#include "buoy/model/weights.h"

namespace buoy {

// What a pass knows about its rows, and the activations it reuses from layer to layer.
struct Transformer::Batch {
  std::span<const ForwardSequence> sequences;
  std::vector<TokenId> ids;      // of all sequences, one after the other
  std::vector<Index> first_row;  // per sequence
  std::vector<Index> positions;  // per row
  std::vector<Index> read_rows;  // rows of the batch whose logits are wanted
  Tensor qkv, attended;
  std::vector<AttentionSequence> measured;  // the round of attention whose statistics are in `stats`
  std::vector<AttentionStats> stats;
};

Transformer::Transformer(const std::filesystem::path& directory, Backend& backend,
                         const WarningSink& warnings)
    : config_(read_model_config(directory)), checkpoint_(Checkpoint::open(directory)), backend_(backend) {
  verify_weights(config_, *checkpoint_, directory.string(), warnings);
  load([this](std::string_view name) { return *checkpoint_->find(name); });
}

Transformer::Transformer(const ModelConfig& config, const TensorFinder& find, Backend& backend)
    : config_(config), backend_(backend) {
  load(find);
}

void Transformer::load(const TensorFinder& find) {
  const WeightNames& names = config_.family->weights;
  const TensorView embedding = find(names.embedding);
  embedding_ = backend_.make_table(embedding);
  for (Index l = 0; l < config_.L; ++l) layers_.push_back(load_layer(l, find));
  final_norm_ = backend_.make_vector(find(names.final_norm));
  head_ = backend_.make_linear({{config_.tied ? embedding : find(names.head)}}, {});
  rope_ = make_rope_table(config_, backend_);
}

Transformer::Layer Transformer::load_layer(Index l, const TensorFinder& find) const {
  const WeightNames& names = config_.family->weights;
  const auto tensor = [&](std::string_view pattern) { return find(layer_tensor_name(pattern, l)); };
  std::vector<TensorView> qkv, biases;
  for (const std::string_view pattern : {names.q, names.k, names.v}) {
    qkv.push_back(tensor(pattern));
    if (config_.qkv_bias) biases.push_back(find(bias_name(layer_tensor_name(pattern, l))));
  }
  const TensorView gate_up[] = {tensor(names.gate), tensor(names.up)};
  return {.attention_norm = backend_.make_vector(tensor(names.attention_norm)),
          .mlp_norm = backend_.make_vector(tensor(names.mlp_norm)),
          .qkv = backend_.make_linear(qkv, biases),
          .o = backend_.make_linear({{tensor(names.o)}}, {}),
          .gate_up = backend_.make_linear(gate_up, {}),
          .down = backend_.make_linear({{tensor(names.down)}}, {})};
}

Transformer::Batch Transformer::make_batch(std::span<const ForwardSequence> sequences) const {
  Batch batch;
  batch.sequences = sequences;
  for (const ForwardSequence& s : sequences) {
    const Index row = std::ssize(batch.ids), start = s.cache != nullptr ? s.cache->length : 0;
    check(s.cache == nullptr || config_.family->cache == Cache::kAppend, "a cache fits the family");
    if (s.ids.empty()) fail("the sequence is empty, expected at least one token id");
    const Index total = start + std::ssize(s.ids);
    if (total > config_.context) {
      fail("the sequence has {} tokens, more than the model's context of {}", total, config_.context);
    }
    for (Index i = 0; i < std::ssize(s.ids); ++i) {
      const TokenId id = s.ids[static_cast<std::size_t>(i)];
      if (id < 0 || id >= config_.V) {
        fail("token id {} at position {} is outside the vocabulary of {}", id, start + i, config_.V);
      }
      batch.ids.push_back(id);
      batch.positions.push_back(start + i);
    }
    for (const Index r : s.read_rows) {
      check(r >= 0 && r < std::ssize(s.ids), "read rows are rows of the pass");
      batch.read_rows.push_back(row + r);
    }
    batch.first_row.push_back(row);
  }
  const Index rows = std::ssize(batch.ids), Q = config_.H * config_.D;
  batch.qkv = backend_.allocate_activations(rows, Q + 2 * config_.Hkv * config_.D);
  batch.attended = backend_.allocate_activations(rows, Q);
  return batch;
}

Tensor Transformer::forward(std::span<const ForwardSequence> sequences, Tap* tap) const {
  Batch batch = make_batch(sequences);
  const bool hidden = tap != nullptr && tap->wants_hidden();
  Tensor x = backend_.allocate(std::ssize(batch.ids), config_.E);
  backend_.embed(embedding_, batch.ids, x);
  for (Index l = 0; l < config_.L; ++l) {
    if (hidden) tap->hidden(l, backend_, x);
    Tensor attended = attend(l, x, batch, tap);
    if (l + 1 == config_.L && !hidden) {  // nothing after the last attention looks at rows that nobody reads
      backend_.milestone();
      keep_only_read_rows(x, attended, batch);
    }
    const Layer& layer = layers_[static_cast<std::size_t>(l)];
    backend_.leave_layer({*layer.o, layer.mlp_norm, config_.rms_epsilon, *layer.gate_up, *layer.down},
                         attended, x);
    if (tap != nullptr && !tap->may_ask_again()) hand_over(l, all_sequences(batch), batch, *tap);
  }
  Tensor normed = backend_.allocate_activations(x.rows(), config_.E);
  backend_.rms_norm(x, final_norm_, config_.rms_epsilon, normed);
  if (hidden) {
    tap->hidden(config_.L, backend_, normed);
    const Tensor read = backend_.allocate_activations(std::ssize(batch.read_rows), config_.E);
    backend_.gather_rows(normed, batch.read_rows, read);
    normed = read;
  }
  Tensor logits = backend_.allocate(normed.rows(), config_.V);
  backend_.linear(normed, *head_, Store::kOverwrite, logits);
  for (const ForwardSequence& s : sequences) {
    if (s.cache != nullptr) s.cache->length += std::ssize(s.ids);
  }
  return logits;
}

Tensor Transformer::attend(Index l, const Tensor& x, Batch& batch, Tap* tap) const {
  const Index D = config_.D, Q = config_.H * D, KV = config_.Hkv * D;
  const Layer& layer = layers_[static_cast<std::size_t>(l)];
  backend_.enter_layer({.norm = layer.attention_norm,
                        .epsilon = config_.rms_epsilon,
                        .qkv = *layer.qkv,
                        .D = D,
                        .rotated = Q + KV,
                        .positions = batch.positions,
                        .rope = rope_},
                       x, batch.qkv);

  std::vector<AttentionSequence> parts;
  for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
    const ForwardSequence& s = batch.sequences[i];
    const Index T = std::ssize(s.ids);
    const Tensor rows = batch.qkv.row_range(batch.first_row[i], T);
    AttentionSequence part{
        .first_row = batch.first_row[i], .T = T, .k = rows.col_range(Q, KV), .v = rows.col_range(Q + KV, KV)};
    if (s.cache != nullptr) {
      const auto at = static_cast<std::size_t>(l);
      const auto positions =
          std::span(batch.positions)
              .subspan(static_cast<std::size_t>(part.first_row), static_cast<std::size_t>(T));
      const Tensor fresh_k = part.k, fresh_v = part.v;
      part.k = s.cache->keys[at].row_range(0, s.cache->length + T);
      part.v = s.cache->values[at].row_range(0, s.cache->length + T);
      backend_.scatter_rows(fresh_k, positions, part.k);
      backend_.scatter_rows(fresh_v, positions, part.v);
      part.first_position = s.cache->length;
    }
    parts.push_back(part);
  }
  const AttentionArgs args{.q = batch.qkv.col_range(0, Q),
                           .H = config_.H,
                           .Hkv = config_.Hkv,
                           .D = D,
                           .mask = config_.mask,
                           .sequences = parts};
  run_attention(l, args, batch, tap);
  return batch.attended;
}

// Runs the layer's attention, and again for the sequences whose tap asks for it. A tap that never asks is
// handed its statistics after the layer: the device has work meanwhile.
void Transformer::run_attention(Index l, const AttentionArgs& args, Batch& batch, Tap* tap) const {
  if (tap == nullptr) {
    backend_.attention(args, batch.attended);
    return;
  }
  std::vector<Index> pending = all_sequences(batch);
  if (!tap->may_ask_again()) {
    measure(l, args, pending, batch, *tap);
    return;
  }
  while (!pending.empty()) {
    measure(l, args, pending, batch, *tap);
    pending = hand_over(l, pending, batch, *tap);
  }
}

// One round of attention, as the tap plans it, for the sequences of these numbers.
void Transformer::measure(Index l, AttentionArgs args, std::span<const Index> numbers, Batch& batch,
                          Tap& tap) const {
  batch.stats.resize(numbers.size());
  batch.measured.clear();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Tap::Plan plan = tap.plan(l, numbers[i]);
    batch.measured.push_back(args.sequences[static_cast<std::size_t>(numbers[i])]);
    batch.measured.back().key_bias = plan.key_bias;
    batch.measured.back().head_gain = plan.head_gain;
    batch.measured.back().request = plan.request;
    batch.measured.back().stats = &batch.stats[i];
  }
  args.sequences = batch.measured;
  args.delivery = Delivery::kLater;
  backend_.attention(args, batch.attended);
}

// Gives the tap what the last round measured; returns the sequences it wants again.
std::vector<Index> Transformer::hand_over(Index l, std::span<const Index> numbers, const Batch& batch,
                                          Tap& tap) const {
  backend_.settle();
  std::vector<Index> again;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (batch.measured[i].request == nullptr) continue;
    if (tap.measured(l, numbers[i], batch.stats[i]) == Tap::Next::kAgain) again.push_back(numbers[i]);
  }
  check(again.empty() || tap.may_ask_again(), "a tap that asks again says that it may");
  return again;
}

std::vector<Index> Transformer::all_sequences(const Batch& batch) {
  std::vector<Index> numbers(batch.sequences.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

void Transformer::keep_only_read_rows(Tensor& x, Tensor& attended, const Batch& batch) const {
  const Index rows = std::ssize(batch.read_rows);
  const Tensor read_x = backend_.allocate(rows, x.cols());
  const Tensor read_attended = backend_.allocate_activations(rows, attended.cols());
  backend_.gather_rows(x, batch.read_rows, read_x);
  backend_.gather_rows(attended, batch.read_rows, read_attended);
  x = read_x;
  attended = read_attended;
}

KvCache Transformer::make_cache(Index capacity) const {
  KvCache cache;
  for (Index l = 0; l < config_.L; ++l) {
    cache.keys.push_back(backend_.allocate_activations(capacity, config_.Hkv * config_.D));
    cache.values.push_back(backend_.allocate_activations(capacity, config_.Hkv * config_.D));
  }
  return cache;
}

std::unique_ptr<Model> load_model(const std::filesystem::path& directory, Backend& backend,
                                  const WarningSink& warnings) {
  return std::make_unique<Transformer>(directory, backend, warnings);
}

}  // namespace buoy
