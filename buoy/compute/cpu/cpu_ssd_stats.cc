// Statistics of the cpu's state space mixer. Columns come from scans of energies, in linear time; rows, and
// everything of |M|, are written out strip by strip.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "buoy/compute/cpu/attention_kernels.h"
#include "buoy/compute/cpu/cpu_ssd_head.h"

namespace buoy {
namespace {

std::size_t cell(Index count) {
  return static_cast<std::size_t>(count);
}

// Ratios of what far keys receive are measured too, however little it is. So only what float32 could hardly
// hold is left out: a state whose keys cannot receive more than this of any row is not looked at,
constexpr double kNegligible = 1e-35;
// and what a row leaves out of far keys may be this much of it altogether.
constexpr double kLeftOut = 1e-30;

double inverse(double energy) {
  return energy == 0 ? 0 : 1 / energy;
}

}  // namespace

struct CpuSsdHead::Strip {
  std::vector<Index> rows;                // at most kStripRows
  Index first = 0, last = 0, stride = 0;  // keys [first, last)
  bool whole = false;                     // every key, however little it receives
  float* weights = nullptr;
};

double CpuSsdHead::norm_of(const AlignedFloats& rows, Index i) const {
  const float* x = rows.data() + i * n_;
  return std::sqrt(std::inner_product(x, x + n_, x, 0.0));
}

void CpuSsdHead::record(float* row_weights) {
  const AttentionRequest& want = *s_->request;
  largest_key_ = 0;
  for (Index j = 0; j < N_; ++j) {
    const float step = std::max(sweeps_[kForward].step[cell(j)], sweeps_[kBackward].step[cell(j)]);
    largest_key_ = std::max(largest_key_, norm_of(B_, j) * step);
  }
  const std::vector<std::int8_t> slots = plan_slots();
  columns_.assign(cell(slots_ * N_), 0.0);
  if (slots_ > 0) {
    add_columns_inside(slots);
    add_columns_between(kForward, slots);
    add_columns_between(kBackward, slots);
  }
  if (!want.query_groups.empty() && want.implicit == Implicit::kEnergy) store_columns();
  if (want.qk_means) measure_columns();
  if (want.output_norms) {
    double norms = 0;
    std::vector<double> mean(cell(P_), 0.0);
    for (Index i = 0; i < N_; ++i) {
      const float *y = outputs_.data() + i * width_, *v = values_.data() + i * width_;
      norms += std::sqrt(std::inner_product(y, y + P_, y, 0.0));
      s_->stats->value_norms[cell(h_ * N_ + i)] =
          static_cast<float>(std::sqrt(std::inner_product(v, v + P_, v, 0.0)));
      for (Index d = 0; d < P_; ++d) mean[cell(d)] += v[d];
    }
    const double rows = static_cast<double>(std::max<Index>(1, N_));
    s_->stats->mean_output_norm[cell(h_)] = static_cast<float>(norms / rows);
    s_->stats->uniform_norm[cell(h_)] =
        static_cast<float>(std::sqrt(std::inner_product(mean.begin(), mean.end(), mean.begin(), 0.0)) / rows);
  }
  record_rows(row_weights);
}

// Which sum of columns each row adds to, -1: none. The first slots are the groups; where means are asked for,
// rows without a group have a slot of their own. Where |M| is read, the energies serve the means alone.
std::vector<std::int8_t> CpuSsdHead::plan_slots() {
  const AttentionRequest& want = *s_->request;
  const bool grouped = !want.query_groups.empty() && want.implicit == Implicit::kEnergy;
  std::vector<std::int8_t> slots(cell(N_), -1);
  if (grouped) slots = want.query_groups;
  slots_ = grouped ? want.group_count : 0;
  if (!want.qk_means) return slots;
  for (std::int8_t& slot : slots) {
    if (slot < 0) slot = static_cast<std::int8_t>(grouped ? want.group_count : 0);
  }
  slots_ += 1;
  return slots;
}

// From rows to keys of the same chunk, M_ii among them.
void CpuSsdHead::add_columns_inside(const std::vector<std::int8_t>& slots) {
  for (const Chunk& c : chunks(kForward)) {
    for (Index i = c.first; i < c.first + c.count; ++i) {
      if (slots[cell(i)] < 0) continue;
      const float* squares = squares_.data() + i * kSsdChunk;
      double* to = columns_.data() + slots[cell(i)] * N_ + c.first;
      const double share = inverse(energy_[cell(i)]);
      for (Index j = 0; j < c.count; ++j) to[j] += share * squares[j];
    }
  }
}

// From rows to keys of the chunks before theirs, in the direction in which keys are read: the sweep runs
// against it, with R = Σ_i C_iC_iᵀ·read²/ρ_i of every slot.
void CpuSsdHead::add_columns_between(Direction direction, const std::vector<std::int8_t>& slots) {
  const Sweep& sweep = sweeps_[direction];
  const Index cells = n_ * padded_state(n_);
  std::vector<double> matrices(cell(slots_ * cells), 0.0), scales(cell(kSsdChunk));
  std::vector<bool> begun(cell(slots_), false);
  for (const Chunk& c : chunks(direction == kForward ? kBackward : kForward)) {
    double largest = 0;
    for (Index j = 0; j < c.count; ++j) {
      const double write = sweep.write[cell(c.first + j)], key = norm_of(B_, c.first + j);
      scales[cell(j)] = write * write;
      largest = std::max(largest, key * key * write * write);
    }
    const double carry = sweep.carry[cell(c.number)];
    for (Index slot = 0; slot < slots_; ++slot) {
      double* matrix = matrices.data() + slot * cells;
      if (!begun[cell(slot)]) continue;
      double trace = 0;
      for (Index a = 0; a < n_; ++a) trace += matrix[a * padded_state(n_) + a];
      if (!(trace * largest < kNegligible)) {
        add_forms(B_.data() + c.first * n_, n_, c.count, n_, matrix, scales.data(),
                  columns_.data() + slot * N_ + c.first);
      }
      for (Index a = 0; a < cells; ++a) matrix[a] *= carry * carry;
    }
    for (Index slot = 0; slot < slots_; ++slot) {
      bool any = false;
      for (Index i = 0; i < c.count; ++i) {
        const bool mine = slots[cell(c.first + i)] == slot;
        const double read = sweep.read[cell(c.first + i)];
        scales[cell(i)] = mine ? read * read * inverse(energy_[cell(c.first + i)]) : 0;
        any = any || mine;
      }
      if (!any) continue;
      add_outer(C_.data() + c.first * n_, n_, c.count, n_, scales.data(), matrices.data() + slot * cells);
      begun[cell(slot)] = true;
    }
  }
}

void CpuSsdHead::store_columns() {
  const Index groups = s_->request->group_count;
  float* to = s_->stats->column_sums.data() + h_ * groups * N_;
  for (Index i = 0; i < groups * N_; ++i) to[i] = static_cast<float>(columns_[cell(i)]);
}

// The factors of what columns receive from other rows (docs/definitions.md).
void CpuSsdHead::measure_columns() {
  std::vector<double> queries(cell(N_)), reached(cell(N_), 0.0);  // ‖C_i‖²/ρ_i; Σ of those that reach a key
  double all = 0;
  for (Index i = 0; i < N_; ++i) {
    const double length = norm_of(C_, i);
    all += queries[cell(i)] = length * length * inverse(energy_[cell(i)]);
  }
  const auto squared_step = [&](Direction direction, Index j) {
    const double step = sweeps_[direction].step[cell(j)];
    return step * step;
  };
  const auto add_direction = [&](Direction direction, Index j, Index from, double& carried) {
    const std::vector<double>& reach = sweeps_[direction].reach;
    carried = (carried + queries[cell(from)]) * std::exp(2 * (reach[cell(j)] - reach[cell(from)]));
    reached[cell(j)] += squared_step(direction, j) * carried;
  };
  double carried = 0;
  for (Index j = N_ - 2; j >= 0; --j) add_direction(kForward, j, j + 1, carried);
  carried = 0;
  for (Index j = 1; j < N_; ++j) add_direction(kBackward, j, j - 1, carried);
  for (Index j = 0; j < N_; ++j) {
    double energy = -inverse(energy_[cell(j)]) * squares_[cell(j * kSsdChunk + j % kSsdChunk)];
    for (Index slot = 0; slot < slots_; ++slot) energy += columns_[cell(slot * N_ + j)];
    const double key = norm_of(B_, j);
    fill_ssd_column({.energy = energy < 0 ? 0 : energy,
                     .reached = reached[cell(j)],
                     .key = key * key,
                     .steps = squared_step(kForward, j) + squared_step(kBackward, j),
                     .queries = all},
                    h_, j, N_, *s_->stats);
  }
}

void CpuSsdHead::record_rows(float* row_weights) {
  const AttentionRequest& want = *s_->request;
  const bool columns = !want.query_groups.empty() && want.implicit == Implicit::kMagnitude;
  std::vector<Index> rows = want.rows;
  if (want.matrix || columns) {
    rows.resize(cell(N_));
    std::iota(rows.begin(), rows.end(), Index{0});
  }
  std::ranges::sort(rows);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  if (columns) columns_.assign(cell(want.group_count * N_), 0.0);
  strip_.resize(cell(kStripRows * (strip_stride(N_) + n_)));
  Strip strip{.whole = want.matrix, .weights = strip_.data() + kStripRows * n_};
  for (auto next = rows.begin(); next != rows.end();) {
    const auto end = next + std::min<Index>(kStripRows, rows.end() - next);
    strip.rows.assign(next, end);
    next = end;
    fill_strip(strip);
    for (Index r = 0; r < std::ssize(strip.rows); ++r) record_row(strip, r, row_weights);
  }
  if (columns) store_columns();
}

// The keys that row i reads more than a negligible part of itself from: decay bounds what the others give.
std::pair<Index, Index> CpuSsdHead::window(Index i) const {
  const double parts = kLeftOut / static_cast<double>(N_);
  const double least = s_->request->implicit == Implicit::kEnergy ? std::sqrt(parts) : parts;
  const double gap = std::log(least * std::sqrt(energy_[cell(i)]) / (norm_of(C_, i) * largest_key_));
  if (!std::isfinite(gap) || gap >= 0) return {0, N_};
  const auto begin = sweeps_[kForward].reach.begin(), end = sweeps_[kBackward].reach.begin();
  const Index first = std::lower_bound(begin, begin + i, *(begin + i) + gap) - begin;
  const Index last = std::lower_bound(end + i, end + N_, *(end + i) + gap, std::greater<>()) - end;
  return {first, std::max(last, i + 1)};
}

// Rows of M against the keys that any of them reads.
void CpuSsdHead::fill_strip(Strip& strip) {
  const Index count = std::ssize(strip.rows);
  std::vector<std::pair<Index, Index>> windows;
  strip.first = N_;
  strip.last = 0;
  for (Index r = 0; r < count; ++r) {
    const Index i = strip.rows[cell(r)];
    windows.push_back(strip.whole ? std::pair<Index, Index>{0, N_} : window(i));
    strip.first = std::min(strip.first, windows.back().first / kKeyPanel * kKeyPanel);
    strip.last = std::max(strip.last, windows.back().second);
    std::copy_n(C_.data() + i * n_, n_, strip_.data() + r * n_);
  }
  const Index keys = strip.last - strip.first;
  strip.stride = strip_stride(keys);
  score_strip(strip_.data(), count, n_, keys_.data() + strip.first * n_, keys, strip.weights, strip.stride);
  const SsdLane forward = sweeps_[kForward].from(strip.first),
                backward = sweeps_[kBackward].from(strip.first);
  for (Index r = 0; r < count; ++r) {
    const Index i = strip.rows[cell(r)] - strip.first;
    float* row = strip.weights + r * strip.stride;
    fill_ssd_row({.i = i,
                  .count = keys,
                  .forward_at = forward.reach[i],
                  .backward_at = backward.reach[i],
                  .diagonal = diagonal_[cell(i + strip.first)]},
                 forward, backward, row);
    std::fill(row, row + (windows[cell(r)].first - strip.first), 0.0f);
    std::fill(row + (windows[cell(r)].second - strip.first), row + keys, 0.0f);
  }
}

void CpuSsdHead::record_row(const Strip& strip, Index r, float* row_weights) {
  const AttentionRequest& want = *s_->request;
  AttentionStats& stats = *s_->stats;
  const Index i = strip.rows[cell(r)], keys = strip.last - strip.first, R = std::ssize(want.rows);
  float* row = strip.weights + r * strip.stride;
  const SsdShares shares = turn_into_shares(row, keys, want.implicit);
  if (want.matrix) std::copy_n(row, keys, stats.matrix.data() + (h_ * N_ + i) * N_ + strip.first);
  if (!want.query_groups.empty() && want.implicit == Implicit::kMagnitude &&
      want.query_groups[cell(i)] >= 0) {
    double* to = columns_.data() + want.query_groups[cell(i)] * N_ + strip.first;
    for (Index j = 0; j < keys; ++j) to[j] += row[j];
  }
  if (std::ranges::find(want.rows, i) == want.rows.end() || shares.sum == 0) return;
  const Index best = std::find(row, row + keys, shares.largest) - row;
  std::vector<double> mass(cell(want.key_groups.empty() ? 0 : want.key_group_count), 0.0);
  for (Index j = 0; !mass.empty() && j < keys; ++j) {
    const std::int8_t group = want.key_groups[cell(strip.first + j)];
    if (group >= 0) mass[cell(group)] += row[j];
  }
  for (Index place = 0; place < R; ++place) {
    if (want.rows[cell(place)] != i) continue;
    const std::size_t at = cell(h_ * R + place);
    if (best < keys) stats.argmax[at] = static_cast<std::int32_t>(strip.first + best);  // else NaN
    stats.max_weight[at] = shares.largest;
    stats.entropy[at] = shares.entropy;
    for (std::size_t g = 0; g < mass.size(); ++g)
      stats.key_mass[at * mass.size() + g] = static_cast<float>(mass[g]);
    if (want.row_means) std::copy_n(row, keys, row_weights + place * N_ + strip.first);
  }
}

}  // namespace buoy
