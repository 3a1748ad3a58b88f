#include "buoy/analysis/salience.h"

#include <algorithm>
#include <cmath>

#include "buoy/analysis/mean.h"
#include "buoy/analysis/received.h"
#include "buoy/analysis/top_keys.h"

namespace buoy {
namespace {

// A mean over all steps, and over those that write.
struct StepMeans {
  Mean all, writing;

  void add(bool writes, std::optional<double> value) {
    if (!value) return;
    all.add(*value);
    if (writes) writing.add(*value);
  }
};

void emit_steps(Measurements& out, Measurement what, const StepMeans& means) {
  emit(out, what, means.all);
  what.part += what.part.empty() ? "writing" : " writing";
  emit(out, what, means.writing);
}

// One trace, what is asked of every step of it, and one of its recorded layers.
struct LayerSteps {
  const Trace& trace;
  std::vector<char> writes;  // [S]
  Index l = 0;

  Measurement named(const char* quantity, std::string part) const {
    return {.quantity = quantity, .layer = trace.layers[l], .part = std::move(part)};
  }
};

using Tops = std::vector<std::optional<TopKeys>>;  // [S]

std::optional<double> agree(const std::optional<TopKeys>& wanted, const std::optional<TopKeys>& found) {
  return wanted && found ? agreement(*wanted, *found) : std::nullopt;
}

// tops(t) for every step.
template <class Function>
Tops each_step(const Trace& trace, const Function& tops) {
  Tops out;
  for (Index t = 0; t < trace.S(); ++t) out.push_back(tops(t));
  return out;
}

Tops all_rows(const LayerSteps& at) {
  return each_step(at.trace, [&](Index t) {
    const Received received = step_received(at.trace, t, at.l, Rows::kAll);
    return top_keys(received.share, received.null);
  });
}

Tops of_head(const LayerSteps& at, Index h) {
  return each_step(at.trace, [&](Index t) {
    const Index length = at.trace.steps.lengths[t], row = (t * at.trace.L() + at.l) * at.trace.H() + h;
    const auto share = row_of(at.trace.steps.received_heads, row, at.trace.N()).first(length);
    return top_keys(std::vector<double>(share.begin(), share.end()),
                    uniform_received(at.trace.header.mask, Rows::kAll, length));
  });
}

// By column mean score, the largest of three neighbours.
Tops by_score(const LayerSteps& at) {
  return each_step(at.trace, [&](Index t) {
    const Index length = at.trace.steps.lengths[t];
    const auto score =
        row_of(at.trace.steps.score_means, t * at.trace.L() + at.l, at.trace.N()).first(length);
    std::vector<double> pooled(score.begin(), score.end());
    for (Index j = 0; j < length; ++j) {
      const Index begin = std::max<Index>(0, j - 1), end = std::min(length, j + 2);
      pooled[j] = *std::max_element(score.begin() + begin, score.begin() + end);
    }
    return top_keys(pooled, std::vector<double>(pooled.size()));
  });
}

Tops of_prompt(const LayerSteps& at, Rows rows) {
  return each_step(at.trace, [&](Index t) {
    const Received received = step_received(at.trace, t, at.l, rows);
    return top_keys(std::span(received.share).first(at.trace.prompt_length),
                    std::span(received.null).first(at.trace.prompt_length));
  });
}

void add_kept(StepMeans& means, const LayerSteps& at, const Tops& tops) {
  for (Index t = 0; t + 1 < at.trace.S(); ++t) means.add(at.writes[t] != 0, agree(tops[t], tops[t + 1]));
}

StepMeans kept_of_still_rows(const LayerSteps& at) {
  StepMeans means;
  for (Index t = 0; t + 1 < at.trace.S(); ++t) {
    const std::optional<StillRows> rows = still_received(at.trace, t, at.l);
    if (!rows) continue;
    means.add(at.writes[t] != 0, agree(top_keys(rows->before.share, rows->before.null),
                                       top_keys(rows->after.share, rows->after.null)));
  }
  return means;
}

void emit_top_kept(Measurements& out, const LayerSteps& at, const Tops& tops) {
  StepMeans mean;
  add_kept(mean, at, tops);
  emit_steps(out, at.named("top_kept", "mean"), mean);
  emit_steps(out, at.named("top_kept", "fixed"), kept_of_still_rows(at));
  if (at.trace.steps.received_heads.empty()) return;
  StepMeans heads;
  for (Index h = 0; h < at.trace.H(); ++h) add_kept(heads, at, of_head(at, h));
  emit_steps(out, at.named("top_kept", "head"), heads);
}

void emit_proxy(Measurements& out, const LayerSteps& at, const Tops& tops) {
  // What a state space layer calls a score is a root of what the key receives: no proxy for it.
  if (at.trace.steps.score_means.empty() || at.trace.mixer(at.l) == MixerKind::kSsd) return;
  const Tops proxies = by_score(at);
  StepMeans same, next;
  for (Index t = 0; t < at.trace.S(); ++t) {
    same.add(at.writes[t] != 0, agree(tops[t], proxies[t]));
    if (t + 1 < at.trace.S()) next.add(at.writes[t] != 0, agree(tops[t + 1], proxies[t]));
  }
  emit_steps(out, at.named("proxy_recall", "lag 0"), same);
  emit_steps(out, at.named("proxy_recall", "lag 1"), next);
}

void emit_mask_queries(Measurements& out, const LayerSteps& at) {
  if (at.trace.header.rows != PassRows::kAnew || at.trace.prompt_length == 0) return;
  const Tops all = of_prompt(at, Rows::kAll), read = of_prompt(at, Rows::kRead);
  StepMeans means;
  for (Index t = 0; t < at.trace.S(); ++t) means.add(at.writes[t] != 0, agree(all[t], read[t]));
  emit_steps(out, at.named("mask_query_agreement", ""), means);
}

// Nothing for fewer than two.
Mean spread_of_positions(std::span<const double> positions) {
  if (positions.size() < 2) return {};
  Mean mean, squares;
  for (const double p : positions) mean.add(p);
  for (const double p : positions) squares.add((p - mean.value()) * (p - mean.value()));
  return {.sum = std::sqrt(squares.value()), .n = 1};
}

void emit_peaks(Measurements& out, const LayerSteps& at, Rows rows) {
  std::vector<double> all, writing;
  for (Index t = 0; t < at.trace.S(); ++t) {
    const Received received = step_received(at.trace, t, at.l, rows);
    const Index peak = largest_excess(received.share, received.null);
    if (peak < 0) continue;
    const double place = static_cast<double>(peak) / static_cast<double>(at.trace.N());
    all.push_back(place);
    if (at.writes[t] != 0) writing.push_back(place);
  }
  const std::string part(name_of(rows));
  emit(out, at.named("peak_spread", part), spread_of_positions(all));
  emit(out, at.named("peak_spread", part + " writing"), spread_of_positions(writing));
}

}  // namespace

Measurements salience(const Trace& trace, const AnalysisOptions&) {
  Measurements out;
  if (!has_steps(trace)) return out;
  LayerSteps at{.trace = trace, .writes = {}};
  for (Index t = 0; t < trace.S(); ++t) at.writes.push_back(is_writing(trace, t) ? 1 : 0);
  for (; at.l < trace.L(); ++at.l) {
    const Tops tops = all_rows(at);
    emit_top_kept(out, at, tops);
    emit_proxy(out, at, tops);
    emit_mask_queries(out, at);
    for (const Rows rows : {Rows::kRead, Rows::kAll}) emit_peaks(out, at, rows);
  }
  return out;
}

}  // namespace buoy
