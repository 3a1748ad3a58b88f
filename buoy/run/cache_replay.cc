#include "buoy/run/cache_replay.h"

#include <algorithm>
#include <cmath>

#include "buoy/base/at.h"
#include "buoy/base/cancel.h"
#include "buoy/base/error.h"

namespace buoy {
namespace {

// What the rows that are read give to each key, layer by layer: [L][N], mean over rows and heads.
class ReceivedTap : public Tap {
 public:
  ReceivedTap(Index layers, Index heads) : layers_(layers), heads_(heads) {}

  void begin(std::span<const ForwardSequence> sequences) {
    requests_.clear();
    received.assign(sequences.size(), std::vector<std::vector<double>>(at(layers_)));
    for (const ForwardSequence& s : sequences) {
      AttentionRequest request;
      request.query_groups.assign(s.ids.size(), -1);
      request.group_count = 1;
      for (const Index row : s.read_rows) request.query_groups[at(row)] = 0;
      rows_ = static_cast<double>(std::ranges::count(request.query_groups, std::int8_t{0}));
      requests_.push_back(std::move(request));
    }
  }

  Plan plan(Index, Index sequence) override { return {.request = &requests_[at(sequence)]}; }
  bool may_ask_again() const override { return false; }
  Next measured(Index layer, Index sequence, const AttentionStats& stats) override {
    const std::size_t N = stats.column_sums.size() / at(heads_);
    std::vector<double>& mean = received[at(sequence)][at(layer)];
    mean.assign(N, 0.0);
    for (std::size_t i = 0; i < stats.column_sums.size(); ++i) {
      mean[i % N] += static_cast<double>(stats.column_sums[i]) / (rows_ * static_cast<double>(heads_));
    }
    return Next::kGoOn;
  }

  std::vector<std::vector<std::vector<double>>> received;  // [sequences][L][N]

 private:
  Index layers_, heads_;
  double rows_ = 1;  // the same of every sequence: all read what the exact one reads
  std::vector<AttentionRequest> requests_;
};

std::vector<float> downloaded(Backend& backend, const Tensor& tensor) {
  std::vector<float> values(at(tensor.rows() * tensor.cols()));
  backend.download(tensor, values);
  return values;
}

struct Divergence {
  double kl = 0;
  bool agree = true;
};

// KL(p ‖ q) of two rows of logits.
Divergence compare_rows(std::span<const float> p, std::span<const float> q) {
  const auto best_p = std::ranges::max_element(p), best_q = std::ranges::max_element(q);
  const double top_p = *best_p, top_q = *best_q;
  double sum_p = 0, sum_q = 0;
  for (std::size_t v = 0; v < p.size(); ++v) {
    sum_p += std::exp(static_cast<double>(p[v]) - top_p);
    sum_q += std::exp(static_cast<double>(q[v]) - top_q);
  }
  const double norm_p = top_p + std::log(sum_p), norm_q = top_q + std::log(sum_q);
  double kl = 0;
  for (std::size_t v = 0; v < p.size(); ++v) {
    const double log_p = static_cast<double>(p[v]) - norm_p, log_q = static_cast<double>(q[v]) - norm_q;
    kl += std::exp(log_p) * (log_p - log_q);
  }
  return {.kl = std::max(0.0, kl), .agree = best_p - p.begin() == best_q - q.begin()};
}

struct VectorChange {
  double turn = 0, distance = 0;
};

VectorChange change_of(std::span<const float> kept, std::span<const float> exact) {
  double dot = 0, norm_kept = 0, norm = 0, difference = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double a = kept[i], b = exact[i];
    dot += a * b;
    norm_kept += a * a;
    norm += b * b;
    difference += (a - b) * (a - b);
  }
  if (norm == 0 || norm_kept == 0) return {};
  return {.turn = difference == 0 ? 0 : 1 - dot / std::sqrt(norm_kept * norm),
          .distance = std::sqrt(difference / norm)};
}

// One log being followed.
class Replay {
 public:
  Replay(const Model& model, std::span<const CacheOptions> caches, Index length)
      : model_(model),
        tap_(model.config().L, model.config().H),
        written_(at(length), kNotCommitted),
        made_(caches.size()) {
    caches_.emplace_back(model, CacheOptions{}, length);  // the exact one computes every row of every pass
    for (const CacheOptions& options : caches) caches_.emplace_back(model, options, length);
  }

  void run(const LoggedPass& pass) {
    for (const Index p : pass.committed) written_[at(p)] = step_ - 1;
    std::vector<ForwardSequence> sequences;
    for (ApproximateCache& cache : caches_) {
      cache.plan(pass.tokens, pass.place, pass.committed, pass.read_rows);
      sequences.push_back(cache.sequence(pass.tokens, pass.read_rows));
    }
    tap_.begin(sequences);
    const Tensor logits = model_.forward(sequences, &tap_);
    for (std::size_t c = 1; c < caches_.size(); ++c) begin_step(pass, c, logits);
    for (Index layer = 0; layer < model_.config().L; ++layer) compare_states(pass, layer);
    ++step_;
  }

  std::vector<ReplayedCache> take() { return std::move(made_); }

 private:
  bool is_stale(std::size_t c, std::size_t p) const { return caches_[c].computed_by()[p] != step_; }

  void begin_step(const LoggedPass& pass, std::size_t c, const Tensor& logits) {
    const Index R = std::ssize(pass.read_rows), V = model_.config().V;
    AuditStep step{.step = step_, .pass = pass.place.pass, .rows = std::ssize(caches_[c].rows()), .read = R};
    const std::vector<float> exact = downloaded(model_.backend(), logits.row_range(0, R));
    const std::vector<float> cached =
        downloaded(model_.backend(), logits.row_range(static_cast<Index>(c) * R, R));
    for (Index r = 0; r < R; ++r) {
      const auto row = [&](const std::vector<float>& all) {
        return std::span(all).subspan(at(r * V), at(V));
      };
      const Divergence d = compare_rows(row(exact), row(cached));
      step.kl += d.kl / static_cast<double>(R);
      step.agree += (d.agree ? 1.0 : 0.0) / static_cast<double>(R);
    }
    Index stale = 0;
    for (std::size_t p = 0; p < pass.tokens.size(); ++p) {
      stale += is_stale(c, p) ? 1 : 0;
      step.age = std::max(step.age, step_ - caches_[c].computed_by()[p]);
    }
    step.stale_share = static_cast<double>(stale) / static_cast<double>(pass.tokens.size());
    made_[c - 1].steps.push_back(step);
  }

  std::string part_of(const LoggedPass& pass, std::size_t c, std::size_t p) const {
    const Index age = step_ - caches_[c].computed_by()[p];
    if (pass.tokens[p] == *model_.config().mask_id) return "mask " + since_bin(age);
    if (written_[p] == kNotCommitted) return "prompt " + since_bin(age);
    return "written " + since_bin(step_ - written_[p]);
  }

  // Keys and values of a layer, against those of the exact pass.
  void compare_states(const LoggedPass& pass, Index layer) {
    Backend& backend = model_.backend();
    const KvCache& truth = caches_[0].states();
    const std::vector<float> keys = downloaded(backend, truth.keys[at(layer)]);
    const std::vector<float> values = downloaded(backend, truth.values[at(layer)]);
    for (std::size_t c = 1; c < caches_.size(); ++c) {
      AuditStep& step = made_[c - 1].steps.back();
      if (step.stale_share == 0) continue;
      const std::vector<float> kept_keys = downloaded(backend, caches_[c].states().keys[at(layer)]);
      const std::vector<float> kept_values = downloaded(backend, caches_[c].states().values[at(layer)]);
      add_layer(pass, layer, c, {keys, values}, {kept_keys, kept_values});
    }
  }

  struct States {
    std::span<const float> keys, values;  // [N, Hkv·D]
  };

  void add_layer(const LoggedPass& pass, Index layer, std::size_t c, const States& exact,
                 const States& kept) {
    AuditStep& step = made_[c - 1].steps.back();
    const std::size_t N = pass.tokens.size(), width = exact.keys.size() / N;
    const double L = static_cast<double>(model_.config().L);
    const double stale = step.stale_share * static_cast<double>(N);
    for (std::size_t p = 0; p < N; ++p) {
      if (!is_stale(c, p)) continue;
      const auto row = [&](std::span<const float> all) { return all.subspan(p * width, width); };
      const VectorChange key = change_of(row(kept.keys), row(exact.keys));
      const VectorChange value = change_of(row(kept.values), row(exact.values));
      StateChange& sum = made_[c - 1].changes[{layer, part_of(pass, c, p)}];
      sum.key_turn += key.turn;
      sum.key_distance += key.distance;
      sum.value_turn += value.turn;
      sum.value_distance += value.distance;
      ++sum.count;
      const double change = (key.distance + value.distance) / 2, given = tap_.received[0][at(layer)][p];
      step.stale_mass += given / L;
      step.cached_mass += tap_.received[c][at(layer)][p] / L;
      step.change += change / (L * stale);
      step.exposure += given * change / L;
    }
  }

  const Model& model_;
  std::vector<ApproximateCache> caches_;
  ReceivedTap tap_;
  std::vector<Index> written_;  // the step that wrote a position; kNotCommitted: prompt or mask
  Index step_ = 0;
  std::vector<ReplayedCache> made_;
};

}  // namespace

Tap* PassLog::before_pass(std::span<const Pass> passes) {
  check(passes.size() == 1, "a log is of one sample");
  const Generation& g = *passes[0].generation;
  LoggedPass pass{.tokens = g.tokens,
                  .read_rows = {passes[0].read_positions.begin(), passes[0].read_positions.end()},
                  .committed = g.just_committed,
                  .place = {}};
  // The block at hand is that of the last mask that is read.
  const Index last = std::max(g.prompt_length, pass.read_rows.back() + shift_);
  const Index block = (last - g.prompt_length) / block_length_;
  pass.place.start = g.prompt_length + block * block_length_;
  pass.place.end = std::min(std::ssize(g.tokens), pass.place.start + block_length_);
  const bool same = !passes_.empty() && passes_.back().place.start == pass.place.start;
  pass.place.pass = same ? passes_.back().place.pass + 1 : 0;
  passes_.push_back(std::move(pass));
  return nullptr;
}

std::string since_bin(Index n) {
  Index low = 1, high = 1;
  while (n > high) {
    low = high + 1;
    high *= 2;
  }
  return low == high ? fmt::format("{}", low) : fmt::format("{}–{}", low, high);
}

std::vector<ReplayedCache> replay(const Model& model, std::span<const LoggedPass> passes,
                                  std::span<const CacheOptions> caches,
                                  const std::function<bool()>& cancelled) {
  if (passes.empty()) return std::vector<ReplayedCache>(caches.size());
  Replay replay(model, caches, std::ssize(passes[0].tokens));
  for (const LoggedPass& pass : passes) {
    if (cancelled && cancelled()) throw Cancelled();
    replay.run(pass);
  }
  return replay.take();
}

}  // namespace buoy
