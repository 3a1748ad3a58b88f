#include "buoy/compute/cpu/cpu_ssd.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "buoy/compute/cpu/attention_kernels.h"

namespace buoy {
namespace {

std::size_t size(Index count) {
  return static_cast<std::size_t>(count);
}

constexpr Index kStride = kSsdChunk + kValueUnit;  // off a power of two

// Columns h·width … of rows [first, first + N) → [N, to_width], padded with 0.
void copy_head(const Tensor& from, Index first, Index N, Index column, Index width, Index to_width,
               float* to) {
  for (Index i = 0; i < N; ++i, to += to_width) {
    std::copy_n(from.row<float>(first + i) + column, width, to);
    std::fill(to + width, to + to_width, 0.0f);
  }
}

}  // namespace

CpuSsd::CpuSsd(ThreadPool& pool) : pool_(pool), heads_(size(pool.size())) {}

void CpuSsd::run(const SsdArgs& args, const Tensor& out) {
  check_ssd(args, out);
  row_weights_.resize(std::max(row_weights_.size(), args.sequences.size()));
  for (std::size_t q = 0; q < args.sequences.size(); ++q) {
    const AttentionSequence& s = args.sequences[q];
    if (s.request == nullptr) continue;
    prepare_ssd_stats(args, s);
    if (s.request->states) copy_states(args.as_attention(), s);
    row_weights_[q].assign(s.stats->row_means.size() * size(args.H), 0.0f);
  }
  pool_.run(std::ssize(args.sequences) * args.H, [&](Index task, int thread) {
    const auto q = size(task / args.H);
    const Index h = task % args.H;
    float* rows = row_weights_[q].data() + row_weights_[q].size() / size(args.H) * size(h);
    heads_[size(thread)].run(args, args.sequences[q], h, out, rows);
  });
  for (Index q = 0; q < std::ssize(args.sequences); ++q) average_rows(args, q);
}

// Heads run side by side; their rows are added up in order.
void CpuSsd::average_rows(const SsdArgs& args, Index sequence) {
  const AttentionSequence& s = args.sequences[size(sequence)];
  if (s.request == nullptr) return;
  const std::size_t cells = s.stats->row_means.size();
  for (std::size_t i = 0; i < cells; ++i) {
    double sum = 0;
    for (Index h = 0; h < args.H; ++h) sum += row_weights_[size(sequence)][size(h) * cells + i];
    s.stats->row_means[i] = static_cast<float>(sum / static_cast<double>(args.H));
  }
}

void CpuSsdHead::run(const SsdArgs& args, const AttentionSequence& s, Index h, const Tensor& out,
                     float* row_weights) {
  load(args, s, h);
  carry_states(kBackward);
  carry_states(kForward);
  for (const Chunk& chunk : chunks(kForward)) run_chunk(chunk);
  if (s.request != nullptr) record(row_weights);
  store(out);
}

void CpuSsdHead::load(const SsdArgs& args, const AttentionSequence& s, Index h) {
  args_ = &args;
  s_ = &s;
  h_ = h;
  N_ = s.T;
  n_ = args.n;
  P_ = args.P;
  width_ = padded_values(P_);
  energies_ = s.request != nullptr;
  SsdHead head = make_ssd_head(args, s, h);
  if (!head.finite) {  // every row of the head becomes NaN by its own diagonal
    for (SsdDirection* direction : {&head.forward, &head.backward}) {
      std::ranges::fill(direction->step, 0.0);
      std::ranges::fill(direction->reach, 0.0);
    }
    std::ranges::fill(head.diagonal, std::numeric_limits<double>::quiet_NaN());
  }
  diagonal_.assign(head.diagonal.begin(), head.diagonal.end());
  C_.resize(size(N_ * n_));
  B_.resize(size(N_ * n_));
  values_.resize(size(N_ * width_));
  copy_head(args.reads, s.first_row, N_, h * n_, n_, n_, C_.data());
  copy_head(s.k, 0, N_, h * n_, n_, n_, B_.data());
  copy_head(s.v, 0, N_, h * P_, P_, width_, values_.data());
  keys_.resize(size(padded_keys(N_) * n_));
  pack_keys(B_.data(), n_, N_, n_, keys_.data());
  outputs_.assign(size(N_ * width_), 0.0f);
  weights_.resize(size(kSsdChunk * kStride));
  scratch_.resize(size(std::max(kSsdChunk, n_) * (std::max(kStride, n_) + 2 * width_)));
  energy_.assign(energies_ ? size(N_) : 0, 0.0);
  squares_.resize(energies_ ? size(N_ * kSsdChunk) : 0);
  load_sweep(head.forward, kForward);
  load_sweep(head.backward, kBackward);
}

void CpuSsdHead::load_sweep(const SsdDirection& from, Direction direction) {
  Sweep& sweep = sweeps_[direction];
  sweep.step.assign(size(N_ + kSsdPadding), 0.0f);
  std::ranges::copy(from.step, sweep.step.begin());
  sweep.reach = from.reach;
  sweep.reach.resize(size(N_ + 1 + kSsdPadding), from.reach.back());
  sweep.read.resize(size(N_));
  sweep.write.resize(size(N_));
  sweep.carry.clear();
  const auto decay = [&](Index j, Index i) { return std::exp(from.reach[size(j)] - from.reach[size(i)]); };
  for (const Chunk& c : chunks(kForward)) {
    const Index last = c.first + c.count;
    // What a chunk hands on is worth what it is at its far end; what it is handed, at its near one.
    const Index handed = direction == kForward ? std::max<Index>(0, c.first - 1) : last;
    const Index on = direction == kForward ? last - 1 : c.first;
    for (Index i = c.first; i < last; ++i) {
      sweep.read[size(i)] = decay(handed, i);
      sweep.write[size(i)] = decay(i, on) * from.step[size(i)];
    }
    sweep.carry.push_back(decay(handed, on));
  }
}

std::vector<CpuSsdHead::Chunk> CpuSsdHead::chunks(Direction order) const {
  std::vector<Chunk> all;
  for (Index first = 0; first < N_; first += kSsdChunk)
    all.push_back({std::ssize(all), first, std::min(kSsdChunk, N_ - first)});
  if (order == kBackward) std::ranges::reverse(all);
  return all;
}

// Adds to every row what it reads of the state that the chunks before it, in this direction, have written:
// outputs, and of the energies ρ.
void CpuSsdHead::carry_states(Direction direction) {
  const Sweep& sweep = sweeps_[direction];
  AlignedFloats state(size(n_ * width_), 0.0f);
  std::vector<double> energy(energies_ ? size(n_ * padded_state(n_)) : 0, 0.0), squares(size(kSsdChunk));
  float* scaled = scratch_.data();
  float* product = scaled + std::max(kSsdChunk, n_) * std::max(kStride, n_);
  bool begun = false;
  for (const Chunk& c : chunks(direction)) {
    const float *C = C_.data() + c.first * n_, *B = B_.data() + c.first * n_;
    const double *read = sweep.read.data() + c.first, *write = sweep.write.data() + c.first;
    if (begun) {
      for (Index i = 0; i < c.count; ++i) {
        for (Index a = 0; a < n_; ++a) scaled[i * n_ + a] = static_cast<float>(read[i]) * C[i * n_ + a];
        squares[size(i)] = read[i] * read[i];
      }
      weigh_values(scaled, n_, c.count, n_, {state.data(), width_}, P_, product);
      float* to = outputs_.data() + c.first * width_;
      for (Index i = 0; i < c.count * width_; ++i) to[i] += product[i];
      if (energies_) add_forms(C, n_, c.count, n_, energy.data(), squares.data(), energy_.data() + c.first);
    }
    for (Index j = 0; j < c.count; ++j) {
      for (Index a = 0; a < n_; ++a) scaled[a * kStride + j] = static_cast<float>(write[j]) * B[j * n_ + a];
      squares[size(j)] = write[j] * write[j];
    }
    weigh_values(scaled, kStride, n_, c.count, {values_.data() + c.first * width_, width_}, P_, product);
    const double carry = sweep.carry[size(c.number)];
    for (Index i = 0; i < n_ * width_; ++i)
      state[size(i)] = static_cast<float>(carry) * state[size(i)] + product[i];
    if (energies_) {
      for (double& e : energy) e *= carry * carry;
      add_outer(B, n_, c.count, n_, squares.data(), energy.data());
    }
    begun = true;
  }
}

// What the rows of a chunk read of each other: M written out.
void CpuSsdHead::run_chunk(const Chunk& c) {
  score_strip(C_.data() + c.first * n_, c.count, n_, keys_.data() + c.first * n_, c.count, weights_.data(),
              kStride);
  const SsdLane forward = sweeps_[kForward].from(c.first), backward = sweeps_[kBackward].from(c.first);
  for (Index i = 0; i < c.count; ++i) {
    float* row = weights_.data() + i * kStride;
    fill_ssd_row({.i = i,
                  .count = c.count,
                  .forward_at = forward.reach[i],
                  .backward_at = backward.reach[i],
                  .diagonal = diagonal_[size(c.first + i)]},
                 forward, backward, row);
    if (energies_) {
      float* squares = squares_.data() + (c.first + i) * kSsdChunk;
      energy_[size(c.first + i)] += square_row(row, c.count, squares);
    }
  }
  float* product = scratch_.data();
  weigh_values(weights_.data(), kStride, c.count, c.count, {values_.data() + c.first * width_, width_}, P_,
               product);
  float* to = outputs_.data() + c.first * width_;
  for (Index i = 0; i < c.count * width_; ++i) to[i] += product[i];
}

void CpuSsdHead::store(const Tensor& out) {
  const float gain = s_->head_gain.empty() ? 1.0f : s_->head_gain[size(h_)];
  for (Index i = 0; i < N_; ++i) {
    const float* from = outputs_.data() + i * width_;
    float* to = out.row<float>(s_->first_row + i) + h_ * P_;
    for (Index d = 0; d < P_; ++d) to[d] = gain * from[d];
  }
}

}  // namespace buoy
