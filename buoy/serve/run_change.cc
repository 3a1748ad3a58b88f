#include "buoy/serve/run_change.h"

#include <limits>

#include "buoy/base/at.h"
#include "buoy/io/json.h"

namespace buoy {

Json to_json(const RunChange& change) {
  Json json = {{"step", change.step}};
  if (!change.hide_keys.empty()) json["hide_keys"] = change.hide_keys;
  for (const auto& [layer, head] : change.cut_heads) json["cut_heads"].push_back(Json::array({layer, head}));
  for (const auto& [position, token] : change.tokens.write)
    json["force"].push_back({{"position", position}, {"token", token}});
  if (!change.tokens.remask.empty()) json["remask"] = change.tokens.remask;
  if (change.tokens.steps_left) json["steps_left"] = *change.tokens.steps_left;
  return json;
}

ChangeInForce in_force(std::span<const RunChange> changes, Index pass) {
  ChangeInForce made;
  for (const RunChange& change : changes) {
    if (change.step > pass) continue;
    made.hide_keys.insert(made.hide_keys.end(), change.hide_keys.begin(), change.hide_keys.end());
    made.cut_heads.insert(made.cut_heads.end(), change.cut_heads.begin(), change.cut_heads.end());
  }
  return made;
}

ChangeTap::ChangeTap(const ModelConfig& config, const ChangeInForce& change, Index N, Tap* inner)
    : inner_(inner), head_gain_(at(config.L)) {
  if (!change.hide_keys.empty()) key_bias_.assign(at(N), 0.0f);
  for (const Index key : change.hide_keys) {
    if (key < N) key_bias_[at(key)] = -std::numeric_limits<float>::infinity();
  }
  for (const auto& [layer, head] : change.cut_heads) {
    std::vector<float>& gain = head_gain_[at(layer)];
    if (gain.empty()) gain.assign(at(config.H), 1.0f);
    gain[at(head)] = 0.0f;
  }
}

Tap::Plan ChangeTap::plan(Index layer, Index sequence) {
  Plan plan = inner_ != nullptr ? inner_->plan(layer, sequence) : Plan{};
  plan.key_bias = key_bias_;
  plan.head_gain = head_gain_[at(layer)];
  return plan;
}

Tap::Next ChangeTap::measured(Index layer, Index sequence, const AttentionStats& stats) {
  return inner_ != nullptr ? inner_->measured(layer, sequence, stats) : Next::kGoOn;
}

Tap::Addition ChangeTap::add(Index depth, Index sequence) {
  return inner_ != nullptr ? inner_->add(depth, sequence) : Addition{};
}

void ChangeTap::routed(Index layer, Index sequence, const RoutedRows& routed) {
  if (inner_ != nullptr) inner_->routed(layer, sequence, routed);
}

void ChangeTap::hidden(Index depth, Backend& backend, const Tensor& rows) {
  if (inner_ != nullptr) inner_->hidden(depth, backend, rows);
}

}  // namespace buoy
