#include "buoy/model/transformer.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "buoy/base/error.h"
#include "buoy/model/weights.h"

namespace buoy {

Transformer::Transformer(const std::filesystem::path& directory, Backend& backend,
                         const WarningSink& warnings, std::string_view family)
    : config_(read_model_config(directory, family)),
      checkpoint_(Checkpoint::open(directory)),
      backend_(backend) {
  verify_weights(config_, *checkpoint_, directory.string(), warnings);
  load([this](std::string_view name) { return *checkpoint_->find(name); });
}

Transformer::Transformer(const ModelConfig& config, const TensorFinder& find, Backend& backend)
    : config_(config), backend_(backend) {
  load(find);
}

// What is kept of a sequence under a full mask goes by positions, and only there.
void Transformer::check_positions(const ForwardSequence& s) const {
  const bool full = s.mask.value_or(config_.mask) == Mask::kFull;
  if (config_.ssd && !full) {
    fail("state space layers see their whole sequence, both ways: a mask ({}) has no meaning for them",
         name_of(*s.mask));
  }
  if (config_.ssd && s.cache != nullptr) {
    fail(
        "state space layers keep no keys and values: a pass over some of the positions needs attention in "
        "every layer");
  }
  check((s.cache != nullptr && full) == !s.positions.empty(), "what is cached does not change");
  if (s.positions.empty()) return;
  check(s.positions.size() == s.ids.size(), "every id has its position");
  check(std::ranges::adjacent_find(s.positions, std::greater_equal{}) == s.positions.end(),
        "positions are ascending");
  check(s.positions.front() >= 0 && s.positions.back() < s.cache->length, "positions are the sequence's own");
}

Transformer::Batch Transformer::make_batch(std::span<const ForwardSequence> sequences) const {
  Batch batch;
  batch.sequences = sequences;
  for (const ForwardSequence& s : sequences) {
    const bool placed = !s.positions.empty();
    const Index row = std::ssize(batch.ids), start = s.cache != nullptr && !placed ? s.cache->length : 0;
    if (s.ids.empty()) fail("the sequence is empty, expected at least one token id");
    check_positions(s);
    const Index total = placed ? s.cache->length : start + std::ssize(s.ids);
    if (total > config_.context) {
      fail("the sequence has {} tokens, more than the model's context of {}", total, config_.context);
    }
    for (Index i = 0; i < std::ssize(s.ids); ++i) {
      const TokenId id = s.ids[static_cast<std::size_t>(i)];
      if (id < 0 || id >= config_.V) {
        fail("token id {} at position {} is outside the vocabulary of {}", id, start + i, config_.V);
      }
      batch.ids.push_back(id);
      batch.positions.push_back(placed ? s.positions[static_cast<std::size_t>(i)] : start + i);
    }
    for (const Index r : s.read_rows) {
      check(r >= 0 && r < std::ssize(s.ids), "read rows are rows of the pass");
      batch.read_rows.push_back(row + r);
    }
    batch.first_row.push_back(row);
  }
  batch.attended = backend_.allocate_activations(std::ssize(batch.ids), config_.H * config_.D);
  return batch;
}

Tensor Transformer::forward(std::span<const ForwardSequence> sequences, Tap* tap) const {
  Batch batch = make_batch(sequences);
  const bool hidden = tap != nullptr && tap->wants_hidden();
  Tensor x = backend_.allocate(std::ssize(batch.ids), config_.E);
  backend_.embed(embedding_, batch.ids, x);
  for (Index l = 0; l < config_.L; ++l) {
    if (tap != nullptr) add_to_residual(l, x, batch, *tap);
    if (hidden) tap->hidden(l, backend_, x);
    Tensor mixed = mix(l, x, batch, tap);
    // Nothing after the last mixer looks at rows that nobody reads.
    if (l + 1 == config_.L && !hidden) keep_only_read_rows(x, mixed, batch);
    const Layer& layer = layers_[static_cast<std::size_t>(l)];
    const bool routed =
        tap != nullptr && tap->wants_routing() && std::holds_alternative<Experts>(layer.feed_forward);
    Routing routing;
    backend_.leave_layer(
        {*layer.output, layer.feed_forward_norm, layer.feed_forward, routed ? &routing : nullptr}, mixed, x);
    if (routed) hand_over_routing(l, routing, batch, *tap);
    if (tap != nullptr && !tap->may_ask_again()) hand_over(l, all_sequences(batch), batch, *tap);
  }
  if (tap != nullptr) add_to_residual(config_.L, x, batch, *tap);
  Tensor normed = backend_.allocate_activations(x.rows(), config_.E);
  backend_.normalize(final_norm_, x, normed);
  if (hidden) {
    tap->hidden(config_.L, backend_, normed);
    const Tensor read = backend_.allocate_activations(std::ssize(batch.read_rows), config_.E);
    backend_.gather_rows(normed, batch.read_rows, read);
    normed = read;
  }
  Tensor logits = backend_.allocate(normed.rows(), config_.V);
  backend_.linear(normed, *head_, Store::kOverwrite, logits);
  for (const ForwardSequence& s : sequences) {
    if (s.cache != nullptr && s.positions.empty()) s.cache->length += std::ssize(s.ids);
  }
  return logits;
}

// What the tap says is added to the rows of x that are there: all rows of the batch, or those that are read.
void Transformer::add_to_residual(Index depth, const Tensor& x, const Batch& batch, Tap& tap) const {
  const auto width = static_cast<std::size_t>(config_.E);
  for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
    const Tap::Addition add = tap.add(depth, static_cast<Index>(i));
    if (add.values.empty()) continue;
    const Index first = batch.first_row[i], T = std::ssize(batch.sequences[i].ids);
    const Index count = add.rows.empty() ? T : std::ssize(add.rows);
    const bool one_for_all = add.values.size() == width;
    check(one_for_all || std::ssize(add.values) == count * config_.E, "what is added is [rows, E] or [E]");
    check(std::ranges::adjacent_find(add.rows, std::greater_equal{}) == add.rows.end(), "rows are ascending");
    check(add.rows.empty() || (add.rows.front() >= 0 && add.rows.back() < T), "rows are the sequence's own");
    std::vector<Index> targets;
    std::vector<float> values;
    for (Index r = 0; r < x.rows(); ++r) {
      const Index row = (batch.only_read_rows ? batch.read_rows[static_cast<std::size_t>(r)] : r) - first;
      if (row < 0 || row >= T) continue;
      const auto found = std::ranges::lower_bound(add.rows, row);
      if (!add.rows.empty() && (found == add.rows.end() || *found != row)) continue;
      targets.push_back(r);
      if (one_for_all) continue;
      const auto from = static_cast<std::size_t>(add.rows.empty() ? row : found - add.rows.begin());
      const auto values_of_row = add.values.subspan(from * width, width);
      values.insert(values.end(), values_of_row.begin(), values_of_row.end());
    }
    if (targets.empty()) continue;
    const Tensor rows = backend_.allocate(one_for_all ? 1 : std::ssize(targets), config_.E);
    backend_.upload(one_for_all ? add.values : values, rows);
    backend_.add_rows(rows, targets, x);
  }
}

// Runs what mixes the rows of a layer; its output has yet to be projected back.
Tensor Transformer::mix(Index l, const Tensor& x, Batch& batch, Tap* tap) const {
  const Mixer& mixer = layers_[static_cast<std::size_t>(l)].mixer;
  if (const auto* attention = std::get_if<Attention>(&mixer)) return attend(l, *attention, x, batch, tap);
  return scan(l, std::get<StateSpace>(mixer), x, batch, tap);
}

Tensor Transformer::attend(Index l, const Attention& attention, const Tensor& x, Batch& batch,
                           Tap* tap) const {
  const Index D = config_.D, Q = config_.H * D, KV = config_.Hkv * D;
  LayerInput input{layers_[static_cast<std::size_t>(l)].mixer_norm, *attention.qkv, std::nullopt,
                   std::nullopt};
  if (attention.query_norm || config_.clip_qkv != 0 || config_.query_scale != 1) {
    input.heads = HeadTransform{.query_norm = attention.query_norm ? &*attention.query_norm : nullptr,
                                .key_norm = attention.key_norm ? &*attention.key_norm : nullptr,
                                .bound = config_.clip_qkv,
                                .query_scale = static_cast<float>(config_.query_scale),
                                .D = D,
                                .query_columns = Q,
                                .key_columns = KV};
  }
  switch (attention.positions) {
    case PositionKind::kRotary:
      input.rotation.emplace(Rotation{rope_, D, Q + KV, batch.positions});
      break;
    case PositionKind::kNone:
      break;
  }
  if (batch.qkv.empty()) batch.qkv = backend_.allocate_activations(x.rows(), Q + 2 * KV);
  backend_.enter_layer(input, x, batch.qkv);

  std::vector<AttentionSequence> parts;
  for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
    const ForwardSequence& s = batch.sequences[i];
    const Index T = std::ssize(s.ids);
    const Tensor rows = batch.qkv.row_range(batch.first_row[i], T);
    AttentionSequence part{
        .first_row = batch.first_row[i], .T = T, .k = rows.col_range(Q, KV), .v = rows.col_range(Q + KV, KV)};
    part.mask = s.mask;
    if (s.cache != nullptr) {
      const auto at = static_cast<std::size_t>(l);
      const auto positions =
          std::span(batch.positions)
              .subspan(static_cast<std::size_t>(part.first_row), static_cast<std::size_t>(T));
      const Tensor fresh_k = part.k, fresh_v = part.v;
      const Index N = s.cache->length + (s.positions.empty() ? T : 0);
      part.k = s.cache->keys[at].row_range(0, N);
      part.v = s.cache->values[at].row_range(0, N);
      backend_.scatter_rows(fresh_k, positions, part.k);
      backend_.scatter_rows(fresh_v, positions, part.v);
      part.first_position = s.positions.empty() ? s.cache->length : 0;  // a full mask does not ask
    }
    parts.push_back(part);
  }
  AttentionArgs args{
      .q = batch.qkv.col_range(0, Q), .H = config_.H, .Hkv = config_.Hkv, .D = D, .mask = config_.mask};
  const auto round = [&](std::span<const AttentionSequence> sequences, Delivery delivery) {
    args.sequences = sequences;
    args.delivery = delivery;
    backend_.attention(args, batch.attended);
  };
  run_rounds(l, parts, round, batch, tap);
  return batch.attended;
}

// Runs the layer's mixer, and again for the sequences whose tap asks for it. A tap that never asks is
// handed its statistics after the layer: the device has work meanwhile.
void Transformer::run_rounds(Index l, std::span<const AttentionSequence> parts, const Round& round,
                             Batch& batch, Tap* tap) const {
  if (tap == nullptr) return round(parts, Delivery::kNow);
  std::vector<Index> pending = all_sequences(batch);
  if (!tap->may_ask_again()) return measure(l, parts, pending, round, batch, *tap);
  while (!pending.empty()) {
    measure(l, parts, pending, round, batch, *tap);
    pending = hand_over(l, pending, batch, *tap);
  }
}

// One round, as the tap plans it, for the sequences of these numbers.
void Transformer::measure(Index l, std::span<const AttentionSequence> parts, std::span<const Index> numbers,
                          const Round& round, Batch& batch, Tap& tap) const {
  batch.stats.resize(numbers.size());
  batch.measured.clear();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Tap::Plan plan = tap.plan(l, numbers[i]);
    batch.measured.push_back(parts[static_cast<std::size_t>(numbers[i])]);
    batch.measured.back().key_bias = plan.key_bias;
    batch.measured.back().head_gain = plan.head_gain;
    batch.measured.back().request = plan.request;
    batch.measured.back().stats = &batch.stats[i];
  }
  round(batch.measured, Delivery::kLater);
}

// Gives the tap what the last round measured; returns the sequences it wants again.
std::vector<Index> Transformer::hand_over(Index l, std::span<const Index> numbers, const Batch& batch,
                                          Tap& tap) const {
  backend_.settle();
  std::vector<Index> again;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (batch.measured[i].request == nullptr) continue;
    if (const std::string_view spoilt = first_nonfinite(batch.stats[i]); !spoilt.empty()) {
      fail("layer {}, sequence {} of the batch: attention's {} holds a number that is not finite", l,
           numbers[i], spoilt);
    }
    if (tap.measured(l, numbers[i], batch.stats[i]) == Tap::Next::kAgain) again.push_back(numbers[i]);
  }
  check(again.empty() || tap.may_ask_again(), "a tap that asks again says that it may");
  return again;
}

// Gives the tap each sequence's part of a layer's routing.
void Transformer::hand_over_routing(Index l, const Routing& routing, const Batch& batch, Tap& tap) const {
  std::size_t row = 0;
  for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
    const ForwardSequence& s = batch.sequences[i];
    const std::size_t rows = batch.only_read_rows ? s.read_rows.size() : s.ids.size();
    const auto active = static_cast<std::size_t>(routing.active);
    tap.routed(l, static_cast<Index>(i),
               {.active = routing.active,
                .experts = std::span(routing.experts).subspan(row * active, rows * active),
                .weights = std::span(routing.weights).subspan(row * active, rows * active),
                .rows = batch.only_read_rows ? s.read_rows : std::span<const Index>{}});
    row += rows;
  }
}

std::vector<Index> Transformer::all_sequences(const Batch& batch) {
  std::vector<Index> numbers(batch.sequences.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

void Transformer::keep_only_read_rows(Tensor& x, Tensor& mixed, Batch& batch) const {
  backend_.milestone();
  const Index rows = std::ssize(batch.read_rows);
  const Tensor read_x = backend_.allocate(rows, x.cols());
  const Tensor read_mixed = backend_.allocate_activations(rows, mixed.cols());
  backend_.gather_rows(x, batch.read_rows, read_x);
  backend_.gather_rows(mixed, batch.read_rows, read_mixed);
  x = read_x;
  mixed = read_mixed;
  batch.only_read_rows = true;
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
                                  const WarningSink& warnings, std::string_view family) {
  return std::make_unique<Transformer>(directory, backend, warnings, family);
}

}  // namespace buoy
