#include "buoy/serve/recompute.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include "buoy/base/at.h"
#include "buoy/decode/sampling.h"
#include "buoy/io/json.h"
#include "buoy/model/capture.h"
#include "buoy/serve/http.h"

namespace buoy {
namespace {

// Rows [first, end) of a sequence and the pass that they are of.
struct RowSpan {
  Index first, end, pass;
};

// Which rows were computed under which changes. A model that appends keeps rows from pass to pass: they stay
// as they were when a visitor changes something later, until a token is overwritten and all are computed
// again. Everyone else, and the finished pass, computes all rows at once.
std::vector<RowSpan> spans_of(const RunRecord& run, Index t) {
  const Index N = run.length(t), pass = run.pass(t);
  if (run.trace.header.writing != Writing::kAppends || t >= run.S()) return {{0, N, pass}};
  Index anew = 0;
  for (const RunChange& change : run.changes) {
    if (change.step <= pass && !change.tokens.write.empty()) anew = change.step;
  }
  std::set<Index> begins;  // passes that ran under something else than the one before
  for (const RunChange& change : run.changes) {
    if (change.changes_attention()) begins.insert(change.step);
  }
  for (const PassBias& pinned : run.pinned) begins.insert(pinned.pass);
  std::vector<RowSpan> spans = {{0, N, anew}};
  for (const Index begin : begins) {
    const Index row = run.trace.prompt_length + begin - 1;  // the first that pass computes
    if (begin <= anew || begin > pass || row <= spans.back().first) continue;
    spans.back().end = row;
    spans.push_back({row, N, begin});
  }
  return spans;
}

// One layer's attention of some rows, however it was got.
struct LayerRows {
  const AttentionStats& stats;
  const ModelConfig& config;
  Mask mask;
  RowSpan rows;
  std::span<const float> key_bias;

  Index N() const { return rows.end; }
  // The row of one head, from the matrix or from queries and keys. [rows.end]
  std::vector<float> row(Index h, Index i) const {
    const Index T = rows.end - rows.first;
    if (!stats.matrix.empty()) {
      const auto begin = stats.matrix.begin() + (h * T + i - rows.first) * N();
      return {begin, begin + N()};
    }
    const Index D = config.D, visible = mask.visible_keys(i, N());
    const float* q = stats.query_states.data() + (h * T + i - rows.first) * D;
    const float* k = stats.key_states.data() + h / (config.H / config.Hkv) * N() * D;
    std::vector<double> scores(at(visible));
    double highest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (Index j = 0; j < visible; ++j) {
      double score = 0;
      for (Index d = 0; d < D; ++d) score += static_cast<double>(q[d]) * k[j * D + d];
      scores[at(j)] = score / std::sqrt(static_cast<double>(D)) + (key_bias.empty() ? 0.0f : key_bias[at(j)]);
      highest = std::max(highest, scores[at(j)]);
    }
    std::vector<float> made(at(N()), 0.0f);
    if (std::isinf(highest)) return made;
    for (double& score : scores) sum += score = std::exp(score - highest);
    for (Index j = 0; j < visible; ++j) made[at(j)] = static_cast<float>(scores[at(j)] / sum);
    return made;
  }
};

AttentionRequest request_for(const ModelConfig& config, Index layer, Index N, const RecomputeLimits& limits) {
  AttentionRequest request;
  request.matrix = N * N <= limits.matrix_elements / config.H;
  request.states = !request.matrix;
  if (request.states && config.layer(layer).mixer != MixerKind::kAttention) {
    fail_http(409, "layer {} has no attention of its own and {} tokens are too many to write it out", layer,
              N);
  }
  return request;
}

using TakeLayer = std::function<void(Index layer, const LayerRows& rows)>;

// Hands over the wanted layers (ascending) of every span of rows, in order.
void visit_layers(const Model& model, const RunRecord& run, Index t, const std::vector<Index>& layers,
                  const RecomputeLimits& limits, const TakeLayer& take) {
  const ModelConfig& config = model.config();
  const std::vector<TokenId> tokens = run.tokens(t);
  const Index N = std::ssize(tokens);
  const std::vector<RowSpan> spans = spans_of(run, t);
  std::optional<KvCache> cache;
  if (spans.size() > 1) cache = model.make_cache(N);
  AttentionRequest request = {};
  for (const Index layer : layers) request = request_for(config, layer, N, limits);
  for (const RowSpan& span : spans) {
    const ChangeTap* under = nullptr;
    LayerTap tap(layers, request, [&](Index layer, const AttentionStats& stats) {
      take(layer, {stats, config, run.trace.header.mask, span, under->key_bias(layer)});
    });
    ChangeTap changing(config, run.change_at(span.pass), span.end, &tap);
    under = &changing;
    const Index first = 0;  // a pass reads at least one row
    const ForwardSequence sequence{
        .ids = std::span(tokens).subspan(at(span.first), at(span.end - span.first)),
        .read_rows = {&first, 1},
        .cache = cache ? &*cache : nullptr,
        .mask = run.trace.header.mask};
    model.forward({&sequence, 1}, &changing);
  }
}

void check_position(const RunRecord& run, Index t, Index position, const char* what) {
  const Index N = run.length(t);
  if (position < 0 || position >= N)
    fail_http(400, "{} is {}, expected 0 to {} at this step", what, position, N - 1);
}

// The row whose logits decide a position.
Index row_deciding(const ModelConfig& config, const Mask& mask, Index position, Index N) {
  if (position == N || config.family->writing == Writing::kAppends) return position - 1;
  const Index block_start = mask.block() > 0 ? mask.first_position_seeing(position) : 0;
  return std::max(block_start, position - config.family->logit_shift);
}

double guidance_of(const RunRecord& run) {
  const Json settings = parse_json(run.trace.header.settings, "settings");
  const auto sampler = settings.is_object() ? settings.find("sampler") : settings.end();
  if (sampler == settings.end() || !sampler->is_object()) return 0;
  const auto scale = sampler->find("cfg_scale");
  return scale != sampler->end() && scale->is_number() ? scale->get<double>() : 0;
}

// The logits of a row as they were read, [V]: under what was in force when it was computed, guidance
// included.
std::vector<float> logits_of(const Model& model, const RunRecord& run, Index t, Index row) {
  const ModelConfig& config = model.config();
  const Mask mask = run.trace.header.mask;
  const std::vector<TokenId> tokens = run.tokens(t);
  const std::vector<RowSpan> spans = spans_of(run, t);
  std::optional<KvCache> cache;
  if (spans.size() > 1) cache = model.make_cache(std::ssize(tokens));
  std::vector<float> values(at(config.V));
  for (const RowSpan& span : spans) {
    const Index read = std::min(row, span.end - 1) - span.first;
    const auto ids = std::span(tokens).subspan(at(span.first), at(span.end - span.first));
    std::vector<ForwardSequence> sequences = {
        {.ids = ids, .read_rows = {&read, 1}, .cache = cache ? &*cache : nullptr, .mask = mask}};
    std::vector<TokenId> unconditional = tokens;
    const double scale = guidance_of(run);
    if (scale > 0) {
      std::fill_n(unconditional.begin(), run.trace.prompt_length, *config.mask_id);
      sequences.push_back({.ids = unconditional, .read_rows = {&read, 1}, .mask = mask});
    }
    ChangeTap tap(config, run.change_at(span.pass), span.end, nullptr);
    const Tensor logits = model.forward(sequences, &tap);
    if (row >= span.end) continue;
    if (scale > 0)
      model.backend().guide(logits.row_range(0, 1), logits.row_range(1, 1), static_cast<float>(scale));
    model.backend().download(logits.row_range(0, 1), values);
    return values;
  }
  return values;
}

}  // namespace

std::vector<float> attention_of(const Model& model, const RunRecord& run, const AttentionQuestion& question,
                                const RecomputeLimits& limits) {
  check_position(run, question.t, question.position, "position");
  const Index H = model.config().H, p = question.position;
  std::vector<double> sums(at(run.N()), 0.0);
  const Index first_head = question.head.value_or(0), last_head = question.head.value_or(H - 1);
  visit_layers(model, run, question.t, {question.layer}, limits, [&](Index, const LayerRows& rows) {
    for (Index i = rows.rows.first; i < rows.rows.end; ++i) {
      if (question.side == AttentionSide::kRow && i != p) continue;
      for (Index h = first_head; h <= last_head; ++h) {
        const std::vector<float> row = rows.row(h, i);
        if (question.side == AttentionSide::kColumn) {
          if (p < std::ssize(row)) sums[at(i)] += row[at(p)];
          continue;
        }
        for (std::size_t j = 0; j < row.size(); ++j) sums[j] += row[j];
      }
    }
  });
  std::vector<float> made;
  for (const double sum : sums)
    made.push_back(static_cast<float>(sum / static_cast<double>(last_head - first_head + 1)));
  return made;
}

std::vector<float> attention_of(const Model& model, const RunRecord& run, const AttentionQuestion& question) {
  return attention_of(model, run, question, {});
}

std::vector<float> attention_grid(const Model& model, const RunRecord& run, Index t, Index query, Index key) {
  check_position(run, t, query, "position");
  check_position(run, t, key, "target");
  const Index H = model.config().H;
  const std::vector<Index>& layers = run.trace.layers;
  std::vector<float> grid(layers.size() * at(H), 0.0f);
  visit_layers(model, run, t, layers, {}, [&](Index layer, const LayerRows& rows) {
    if (query < rows.rows.first || query >= rows.rows.end || key >= rows.N()) return;
    const auto l = std::ranges::lower_bound(layers, layer) - layers.begin();
    for (Index h = 0; h < H; ++h) grid[at(l * H + h)] = rows.row(h, query)[at(key)];
  });
  return grid;
}

std::vector<float> received_grid(const Model& model, const RunRecord& run, Index t, Index key) {
  check_position(run, t, key, "position");
  const Index H = model.config().H, N = run.length(t);
  if (N * N > kMaxMatrixElements / H) {
    fail_http(409, "{} tokens are too many to add up every head's rows: record them (buoy trace --per-head)",
              N);
  }
  const std::vector<Index>& layers = run.trace.layers;
  std::vector<double> sums(layers.size() * at(H), 0.0);
  visit_layers(model, run, t, layers, {}, [&](Index layer, const LayerRows& rows) {
    if (key >= rows.N()) return;
    const auto l = std::ranges::lower_bound(layers, layer) - layers.begin();
    const Index T = rows.rows.end - rows.rows.first;
    for (Index h = 0; h < H; ++h) {
      for (Index i = 0; i < T; ++i)
        sums[at(l * H + h)] += rows.stats.matrix[at((h * T + i) * rows.N() + key)];
    }
  });
  std::vector<float> grid;
  for (const double sum : sums) grid.push_back(static_cast<float>(sum / static_cast<double>(N)));
  return grid;
}

std::vector<Candidate> candidates_for(const Model& model, const RunRecord& run, Index t, Index position,
                                      Index k) {
  const ModelConfig& config = model.config();
  const bool appends = config.family->writing == Writing::kAppends;
  // Fast-dLLM v2 lets the last row of a block write the first token of the next.
  const bool beyond = appends || config.family->sampler == SamplerKind::kFastDllm;
  const Index N = run.length(t), first = appends ? 1 : 0, last = beyond ? N : N - 1;
  if (position < first || position > last)
    fail_http(400, "position is {}, expected {} to {} at this step", position, first, last);
  const Index row = row_deciding(config, run.trace.header.mask, position, N);
  const std::vector<double> p = filtered_probabilities(logits_of(model, run, t, row), {});
  std::vector<TokenId> ids(p.size());
  std::iota(ids.begin(), ids.end(), TokenId{0});
  const auto end = ids.begin() + std::min<Index>(k, std::ssize(ids));
  std::partial_sort(ids.begin(), end, ids.end(),
                    [&](TokenId a, TokenId b) { return p[at(a)] != p[at(b)] ? p[at(a)] > p[at(b)] : a < b; });
  std::vector<Candidate> made;
  for (auto id = ids.begin(); id != end; ++id) made.push_back({*id, p[at(*id)]});
  return made;
}

}  // namespace buoy
