// The recency null: an example whose heads look at what is near, each as sharply as it was measured to look.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "buoy/analysis/null_model.h"
#include "buoy/analysis/received.h"
#include "buoy/analysis/recency.h"
#include "buoy/base/error.h"
#include "buoy/probe/trace_arrays.h"

namespace buoy {
namespace {

void store(std::vector<float>& array, Index row, Index width, std::span<const double> values) {
  check((row + 1) * width <= std::ssize(array), "a null has the size of what it stands beside");
  std::ranges::transform(values, array.begin() + row * width, [](double x) { return static_cast<float>(x); });
}

// One layer of the null. Views what it is given.
class RecencyLayer {
 public:
  RecencyLayer(const Trace& trace, Index l, Trace& null) : trace_(trace), null_(null), l_(l) {
    for (Index h = 0; h < trace.H(); ++h) {
      const double entropy = trace.finished.row_entropy[l * trace.H() + h];
      lambdas_.push_back(fit_recency(trace.header.mask, trace.N(), entropy));
    }
    of_ = trace.regions.of;
    const Index answer = trace.regions.find(RegionKind::kAnswer);
    if (answer >= 0) std::fill(of_.begin() + trace.prompt_length, of_.end(), answer);
  }

  void fill() {
    fill_finished();
    fill_answer();
    for (Index t = 0; t < trace_.S(); ++t) fill_step(t);
  }

 private:
  std::vector<Recency> heads_of(Index n) const {
    std::vector<Recency> heads;
    for (const double lambda : lambdas_) heads.emplace_back(trace_.header.mask, lambda, n);
    return heads;
  }

  // body(head) of every head, averaged.
  template <class Body>
  std::vector<double> mean_of(const std::vector<Recency>& heads, const Body& body) const {
    std::vector<double> mean;
    for (const Recency& head : heads) {
      const std::vector<double> one = body(head);
      mean.resize(one.size());
      for (std::size_t i = 0; i < one.size(); ++i) mean[i] += one[i] / static_cast<double>(heads.size());
    }
    return mean;
  }

  void fill_finished() {
    finished_ = heads_of(trace_.N());
    for (Index h = 0; h < trace_.H(); ++h) {
      const Index row = l_ * trace_.H() + h;
      store(null_.finished.received, row, trace_.N(), finished_[h].received());
      null_.finished.row_entropy[row] = static_cast<float>(finished_[h].mean_row_entropy());
    }
    const Index R = trace_.R();
    store(null_.finished.flow, l_, R * R,
          mean_of(finished_, [&](const Recency& head) { return head.flow(trace_.regions.of, R); }));
  }

  void fill_answer() {
    for (Index g = 0; g < std::ssize(trace_.answer.rows); ++g) {
      if (trace_.answer.visible[g] == 0) continue;
      std::vector<double> mass(trace_.R());
      for (Index h = 0; h < trace_.H(); ++h) fill_answer_row(g, h, mass);
      if (!null_.answer.region_mass.empty())
        store(null_.answer.region_mass, g * trace_.L() + l_, trace_.R(), mass);
    }
  }

  // Adds the mass on every region to `mass`, divided by the number of heads.
  void fill_answer_row(Index g, Index h, std::vector<double>& mass) {
    const std::vector<double> row = finished_[h].row(trace_.answer.rows[g], trace_.answer.visible[g]);
    const Index cell = (g * trace_.L() + l_) * trace_.H() + h;
    const auto best = std::ranges::max_element(row);
    double entropy = 0, evidence = 0;
    for (Index j = 0; j < std::ssize(row); ++j) {
      if (row[j] > 0) entropy -= row[j] * std::log(row[j]);
      evidence += trace_.evidence[j] * row[j];
      mass[of_[j]] += row[j] / static_cast<double>(trace_.H());
    }
    null_.answer.argmax[cell] = static_cast<std::int32_t>(best - row.begin());
    null_.answer.weight[cell] = static_cast<float>(*best);
    null_.answer.entropy[cell] = static_cast<float>(entropy);
    null_.answer.evidence_mass[cell] = static_cast<float>(evidence);
  }

  // What every step of one length has in common.
  void begin_length(Index n) {
    length_ = n;
    heads_ = heads_of(n);
    received_.clear();
    for (const Recency& head : heads_) received_.push_back(head.received());
    if (null_.steps.flow.empty()) return;
    const std::span<const Index> of = std::span(of_).first(n);
    flow_ = mean_of(heads_, [&](const Recency& head) { return head.flow(of, trace_.R()); });
  }

  void fill_step(Index t) {
    StepRecord& out = null_.steps;
    const Index n = trace_.steps.lengths[t], row = t * trace_.L() + l_, N = trace_.N();
    if (n != length_) begin_length(n);
    if (!out.flow.empty()) store(out.flow, row, trace_.R() * trace_.R(), flow_);
    if (!out.received.empty()) {
      Index h = 0;
      store(out.received, row, N, mean_of(heads_, [&](const Recency&) { return received_[h++]; }));
    }
    for (Index h = 0; !out.received_heads.empty() && h < trace_.H(); ++h)
      store(out.received_heads, row * trace_.H() + h, N, received_[h]);
    fill_read(out.received_read, row, t);
    fill_read(out.received_frozen, row, t);
    if (t + 1 < trace_.S()) fill_read(out.received_staying, row, t + 1);
  }

  // Over the rows that are read at step t. A row of zeros says that there are none to speak of, and stays.
  void fill_read(std::vector<float>& array, Index row, Index t) const {
    if (array.empty()) return;
    const auto measured = row_of(array, row, trace_.N());
    if (std::ranges::all_of(measured, [](float share) { return share == 0; })) return;
    const auto chosen = std::span(trace_.steps.read).subspan(t * trace_.N(), length_);
    store(array, row, trace_.N(),
          mean_of(heads_, [&](const Recency& head) { return head.received(chosen); }));
  }

  const Trace& trace_;
  Trace& null_;
  const Index l_;
  std::vector<double> lambdas_;  // [H]
  std::vector<Index> of_;        // [N] regions while the model writes
  std::vector<Recency> finished_, heads_;
  Index length_ = -1;
  std::vector<std::vector<double>> received_;  // [H] of length_
  std::vector<double> flow_;
};

}  // namespace

std::optional<Trace> recency_trace(const Trace& trace) {
  if (has_steps(trace) && trace.steps.read.empty()) return std::nullopt;
  Trace null = trace;
  drop_routing(null);
  for (std::vector<float>* scores : {&null.steps.score_means, &null.steps.cosine_means,
                                     &null.finished.score_means, &null.finished.cosine_means})
    std::ranges::fill(*scores, 0.0F);
  for (Index l = 0; l < trace.L(); ++l) RecencyLayer(trace, l, null).fill();
  return null;
}

}  // namespace buoy
