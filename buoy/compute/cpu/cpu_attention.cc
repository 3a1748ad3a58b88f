#include "buoy/compute/cpu/cpu_attention.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "buoy/compute/cpu/attention_kernels.h"
#include "buoy/compute/cpu/qk_means.h"

namespace buoy {
namespace {

std::size_t cells(Index count) {
  return static_cast<std::size_t>(count);
}

Index strip_count(const AttentionSequence& s) {
  return (s.T + kStripRows - 1) / kStripRows;
}

// Enough tasks to keep many cores busy with few heads, few enough that partial column sums stay small.
Index tasks_per_head(const AttentionArgs& args, const AttentionSequence& s) {
  return std::clamp<Index>(64 / args.H, 1, std::max<Index>(1, strip_count(s)));
}

// The groups of queries first … last - 1, in order of appearance: a stretch of queries is mostly of one
// region.
std::vector<std::int8_t> groups_between(std::span<const std::int8_t> groups, Index first, Index last) {
  std::vector<std::int8_t> found;
  for (const std::int8_t g : groups.subspan(cells(first), cells(last - first))) {
    if (g >= 0 && std::ranges::find(found, g) == found.end()) found.push_back(g);
  }
  return found;
}

// Keys and values are packed for sequences of several strips, each of which reads them all. A single strip,
// such as the last token of a sequence with a cache, reads them where they lie, keys by way of a panel in the
// nearest cache. The bits are the same. (Values that fill no whole vectors are padded by packing.)
bool is_packed(const AttentionArgs& args, const AttentionSequence& s) {
  return s.T > kStripRows || args.D % kValueUnit != 0;
}

}  // namespace

// What the steps of one strip share.
struct CpuAttention::Strip {
  const AttentionArgs& args;
  const AttentionSequence& s;
  Index sequence, h;
  Index first, rows;  // queries [first, first + rows)
  Index keys;         // keys that any of them sees
  Index stride;
  float* weights;  // [rows, stride] unnormalised
  float* outputs;  // [rows, padded_values(D)]
  float* inverse;  // [rows] 1 / Σ weights
};

// Keys and values of one head.
struct CpuAttention::HeadData {
  const float* keys;  // in panels, or as rows when key_stride is set
  Index key_stride;   // 0: packed
  ValueRows values;

  // strip[r, j] = q_r·k_j; `panel` has room for one.
  void score(const float* queries, Index rows, Index D, Index N, float* panel, float* strip,
             Index stride) const {
    if (key_stride == 0) return score_strip(queries, rows, D, keys, N, strip, stride);
    for (Index first = 0; first < N; first += kKeyPanel) {
      const Index count = std::min(kKeyPanel, N - first);
      pack_keys(keys + first * key_stride, key_stride, count, D, panel);
      score_strip(queries, rows, D, panel, count, strip + first, stride);
    }
  }
};

CpuAttention::CpuAttention(ThreadPool& pool) : pool_(pool), scratch_(cells(pool.size())) {}

void CpuAttention::run(const AttentionArgs& args, const Tensor& out) {
  check_attention(args, out);
  plan(args);
  pack(args);
  pool_.run(std::ssize(tasks_),
            [&](Index t, int thread) { run_task(args, tasks_[cells(t)], out, scratch_[cells(thread)]); });
  const bool recorded =
      std::ranges::any_of(args.sequences, [](const auto& s) { return s.request != nullptr; });
  if (!recorded) return;
  pool_.run(std::ssize(args.sequences) * args.H,
            [&](Index i, int) { merge_head(args, i / args.H, i % args.H); });
  for (Index q = 0; q < std::ssize(args.sequences); ++q) average_rows(args, q);
}

void CpuAttention::plan(const AttentionArgs& args) {
  tasks_.clear();
  first_task_.clear();
  asked_.assign(args.sequences.size(), {});
  grouped_keys_.assign(args.sequences.size(), {});
  row_weights_.resize(std::max(row_weights_.size(), args.sequences.size()));
  for (Index q = 0; q < std::ssize(args.sequences); ++q) {
    const AttentionSequence& s = args.sequences[cells(q)];
    first_task_.push_back(std::ssize(tasks_));
    const Index parts = tasks_per_head(args, s);
    for (Index h = 0; h < args.H; ++h) {
      for (Index p = 0; p < parts; ++p) {
        // Whole strips but for the last one of the sequence: short strips waste the kernels' registers.
        const auto begin = [&](Index part) {
          return std::min(s.T, strip_count(s) * part / parts * kStripRows);
        };
        tasks_.push_back({.sequence = q, .h = h, .first = begin(p), .last = begin(p + 1), .columns = {}});
      }
    }
    if (s.request == nullptr) continue;
    prepare_stats(args, s);
    if (s.request->states) copy_states(args, s);
    for (Index r = 0; r < std::ssize(s.request->rows); ++r)
      asked_[cells(q)].emplace_back(s.request->rows[cells(r)], r);
    std::ranges::sort(asked_[cells(q)]);
    if (s.request->row_means) row_weights_[cells(q)].assign(s.stats->row_means.size() * cells(args.H), 0.0f);
    for (Index j = 0; j < std::ssize(s.request->key_groups); ++j) {
      const std::int8_t group = s.request->key_groups[cells(j)];
      if (group >= 0) grouped_keys_[cells(q)].emplace_back(j, group);
    }
  }
}

void CpuAttention::pack(const AttentionArgs& args) {
  const Index D = args.D, width = padded_values(D);
  const auto packed_one = [&](const AttentionSequence& s) { return is_packed(args, s); };
  if (std::ranges::none_of(args.sequences, packed_one)) return;
  packed_.resize(std::max(packed_.size(), args.sequences.size() * cells(args.Hkv)));
  pool_.run(std::ssize(args.sequences) * args.Hkv, [&](Index i, int) {
    const AttentionSequence& s = args.sequences[cells(i / args.Hkv)];
    if (!is_packed(args, s)) return;
    const Index N = s.k.rows(), head = i % args.Hkv * D;
    AlignedFloats& packed = packed_[cells(i)];
    packed.resize(cells(padded_keys(N) * D + N * width));
    pack_keys(s.k.row<float>(0) + head, s.k.stride(), N, D, packed.data());
    pack_values(s.v.row<float>(0) + head, s.v.stride(), N, D, packed.data() + padded_keys(N) * D);
  });
}

CpuAttention::HeadData CpuAttention::head_data(const AttentionArgs& args, const Task& task) const {
  const AttentionSequence& s = args.sequences[cells(task.sequence)];
  const Index D = args.D, kv = task.h / (args.H / args.Hkv);
  if (!is_packed(args, s)) {
    return {s.k.row<float>(0) + kv * D, s.k.stride(), {s.v.row<float>(0) + kv * D, s.v.stride()}};
  }
  const float* keys = packed_[cells(task.sequence * args.Hkv + kv)].data();
  return {keys, 0, {keys + padded_keys(s.k.rows()) * D, padded_values(D)}};
}

void CpuAttention::run_task(const AttentionArgs& args, Task& task, const Tensor& out,
                            AlignedFloats& scratch) {
  const AttentionSequence& s = args.sequences[cells(task.sequence)];
  const Index D = args.D, N = s.k.rows(), stride = strip_stride(N);
  const HeadData data = head_data(args, task);
  const float* bias = s.key_bias.empty() ? nullptr : s.key_bias.data();
  if (std::ssize(s.key_bias) == args.H * N && bias != nullptr) bias += task.h * N;
  if (s.request != nullptr && !s.request->query_groups.empty()) {
    task.groups = groups_between(s.request->query_groups, task.first, task.last);
    task.columns.assign(task.groups.size() * cells(padded_keys(N)), 0.0f);
  }
  scratch.resize(cells(kStripRows * (stride + 2 * padded_values(D) + 1) + kKeyPanel * D));
  float* queries = scratch.data();
  float* weights = queries + kStripRows * padded_values(D);
  float* outputs = weights + kStripRows * stride;
  float* panel = outputs + kStripRows * padded_values(D);
  float* inverse = panel + kKeyPanel * D;
  // Scores are kept in base 2, where exp is cheaper: exp(s) = 2^(s·log2 e).
  float scales[kStripRows];
  std::fill_n(scales, kStripRows,
              args.factor * std::numbers::log2e_v<float> / std::sqrt(static_cast<float>(D)));

  for (Index first = task.first; first < task.last; first += kStripRows) {
    const Index rows = std::min(kStripRows, task.last - first);
    const Index keys_seen = visible_keys(args, s, first + rows - 1);
    const Strip strip{args,      s,      task.sequence, task.h,  first,  rows,
                      keys_seen, stride, weights,       outputs, inverse};
    scale_rows(args.q.row<float>(s.first_row + first) + task.h * D, args.q.stride(), rows, D, scales, queries,
               D);
    data.score(queries, rows, D, keys_seen, panel, weights, stride);
    for (Index r = 0; r < rows; ++r) {
      const SoftmaxRow row =
          softmax_row(weights + r * stride, bias, visible_keys(args, s, first + r), padded_keys(keys_seen));
      inverse[r] = row.sum == 0 ? 0.0f : 1.0f / row.sum;  // of scores that are not finite: NaN
      if (row.sum != 0) record_asked_row(strip, r, row.sum, row.weighted);
    }
    weigh_values(weights, stride, rows, keys_seen, data.values, D, outputs);
    finish_strip(strip, task, out);
  }
}

// Normalises and stores the outputs, then folds the strip's weights into what was asked for.
void CpuAttention::finish_strip(const Strip& strip, Task& task, const Tensor& out) {
  const AttentionSequence& s = strip.s;
  const Index D = strip.args.D, width = padded_values(D), N = s.k.rows();
  const float gain = s.head_gain.empty() ? 1.0f : s.head_gain[cells(strip.h)];
  const bool norms = s.request != nullptr && s.request->output_norms;
  float* to = out.row<float>(s.first_row + strip.first) + strip.h * D;
  scale_rows(strip.outputs, width, strip.rows, D, strip.inverse, to, out.stride());
  for (Index r = 0; norms && r < strip.rows; ++r) {
    const float* row = to + r * out.stride();
    task.output_norms += std::sqrt(std::inner_product(row, row + D, row, 0.0));
  }
  if (gain != 1.0f) {
    float gains[kStripRows];
    std::fill_n(gains, kStripRows, gain);
    scale_rows(to, out.stride(), strip.rows, D, gains, to, out.stride());
  }
  if (s.request == nullptr) return;
  if (s.request->matrix) {
    for (Index r = 0; r < strip.rows; ++r) {
      float* row = s.stats->matrix.data() + (strip.h * s.T + strip.first + r) * N;
      for (Index j = 0; j < strip.keys; ++j) row[j] = strip.weights[r * strip.stride + j] * strip.inverse[r];
    }
  }
  if (s.request->row_means) keep_asked_rows(strip);
  if (s.request->query_groups.empty()) return;
  const std::int8_t* groups = s.request->query_groups.data() + strip.first;
  for (Index r = 0; r < strip.rows;) {
    Index end = r + 1;
    while (end < strip.rows && groups[end] == groups[r]) ++end;
    if (groups[r] >= 0) {
      const Index slot = std::ranges::find(task.groups, groups[r]) - task.groups.begin();
      add_columns(strip.weights + r * strip.stride, strip.stride, end - r, strip.inverse + r, strip.keys,
                  task.columns.data() + slot * padded_keys(N));
    }
    r = end;
  }
}

void CpuAttention::record_asked_row(const Strip& strip, Index r, float sum, float weighted) {
  const auto& asked = asked_[cells(strip.sequence)];
  const Index query = strip.first + r;
  auto it = std::ranges::lower_bound(asked, std::pair<Index, Index>{query, 0});
  if (it == asked.end() || it->first != query) return;
  const AttentionRequest& want = *strip.s.request;
  const float* row = strip.weights + r * strip.stride;
  const Index best = std::find(row, row + strip.keys, 1.0f) - row;  // exp(0): the row's maximum
  std::vector<double> mass(cells(want.key_groups.empty() ? 0 : want.key_group_count), 0.0);
  for (const auto& [j, group] : grouped_keys_[cells(strip.sequence)]) {
    if (j >= strip.keys) break;
    mass[cells(group)] += row[j];
  }
  for (; it != asked.end() && it->first == query; ++it) {
    const std::size_t at = cells(strip.h) * want.rows.size() + cells(it->second);
    if (best < strip.keys) strip.s.stats->argmax[at] = static_cast<std::int32_t>(best);  // else NaN
    strip.s.stats->max_weight[at] = 1.0f / sum;
    strip.s.stats->entropy[at] = std::max(0.0f, std::log(sum) - std::numbers::ln2_v<float> * weighted / sum);
    for (std::size_t g = 0; g < mass.size(); ++g) {
      strip.s.stats->key_mass[at * mass.size() + g] = static_cast<float>(mass[g] / double{sum});
    }
  }
}

// Heads run side by side: each writes its own rows, and average_rows() adds them up in order.
void CpuAttention::keep_asked_rows(const Strip& strip) {
  const auto& asked = asked_[cells(strip.sequence)];
  const Index N = strip.s.k.rows();
  float* to = row_weights_[cells(strip.sequence)].data() + strip.h * std::ssize(asked) * N;
  auto it = std::ranges::lower_bound(asked, std::pair<Index, Index>{strip.first, 0});
  for (; it != asked.end() && it->first < strip.first + strip.rows; ++it) {
    const Index r = it->first - strip.first;
    const float* row = strip.weights + r * strip.stride;
    for (Index j = 0; j < strip.keys; ++j) to[it->second * N + j] = row[j] * strip.inverse[r];
  }
}

void CpuAttention::average_rows(const AttentionArgs& args, Index sequence) {
  const AttentionSequence& s = args.sequences[cells(sequence)];
  if (s.request == nullptr || !s.request->row_means) return;
  const Index N = s.k.rows(), rows = std::ssize(s.request->rows);
  const float* from = row_weights_[cells(sequence)].data();
  pool_.run(rows, [&](Index r, int) {
    for (Index j = 0; j < N; ++j) {
      double sum = 0;
      for (Index h = 0; h < args.H; ++h) sum += from[(h * rows + r) * N + j];
      s.stats->row_means[cells(r * N + j)] = static_cast<float>(sum / static_cast<double>(args.H));
    }
  });
}

void CpuAttention::merge_head(const AttentionArgs& args, Index sequence, Index h) {
  const AttentionSequence& s = args.sequences[cells(sequence)];
  if (s.request == nullptr) return;
  const Index N = s.k.rows(), parts = tasks_per_head(args, s), heads_per_key = args.H / args.Hkv;
  const Index kv = h / heads_per_key;
  const bool leads_key_head = h % heads_per_key == 0;
  const Task* task = &tasks_[cells(first_task_[cells(sequence)] + h * parts)];
  if (!s.request->query_groups.empty()) {
    for (Index p = 0; p < parts; ++p) {
      for (std::size_t slot = 0; slot < task[p].groups.size(); ++slot) {
        float* to = s.stats->column_sums.data() + (h * s.request->group_count + task[p].groups[slot]) * N;
        const float* from = task[p].columns.data() + static_cast<Index>(slot) * padded_keys(N);
        for (Index j = 0; j < N; ++j) to[j] += from[j];
      }
    }
  }
  if (s.request->output_norms) {
    double sum = 0;
    for (Index p = 0; p < parts; ++p) sum += task[p].output_norms;
    s.stats->mean_output_norm[cells(h)] =
        static_cast<float>(sum / static_cast<double>(std::max<Index>(1, s.T)));
    if (leads_key_head) measure_value_norms(args, s, kv);
  }
  if (s.request->qk_means) {
    measure_qk_means(args, s, h);
    if (leads_key_head) measure_key_norms(args, s, kv);
  }
}

}  // namespace buoy
