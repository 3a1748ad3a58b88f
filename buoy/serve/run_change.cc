#include "buoy/serve/run_change.h"

#include <limits>

#include "buoy/base/at.h"
#include "buoy/base/error.h"
#include "buoy/io/json.h"

namespace buoy {

Json to_json(const RunChange& change) {
  Json json = {{"step", change.step}};
  if (!change.hide_keys.empty()) json["hide_keys"] = change.hide_keys;
  for (const auto& [layer, head] : change.cut_heads) json["cut_heads"].push_back(Json::array({layer, head}));
  if (!change.pin_anchors.empty()) json["pin_anchors"] = change.pin_anchors;
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

namespace {

// [N] to every [N] of a list; nothing where one of them is empty.
void add_repeated(std::span<const float> values, std::vector<float>& to) {
  if (values.empty()) return;
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += values[i % values.size()];
}

}  // namespace

ChangeTap::ChangeTap(const ModelConfig& config, const ChangeInForce& change, Index N, Tap* inner)
    : inner_(inner), pinned_(change.pinned), head_gain_(at(config.L)) {
  pinned_.resize(at(config.L));
  if (!change.hide_keys.empty()) hidden_keys_.assign(at(N), 0.0f);
  for (const Index key : change.hide_keys) {
    if (key < N) hidden_keys_[at(key)] = -std::numeric_limits<float>::infinity();
  }
  for (std::vector<float>& bias : pinned_) {
    check(bias.empty() || std::ssize(bias) == N, "a pass's biases are of its keys");
    add_repeated(hidden_keys_, bias);
  }
  for (const auto& [layer, head] : change.cut_heads) {
    std::vector<float>& gain = head_gain_[at(layer)];
    if (gain.empty()) gain.assign(at(config.H), 1.0f);
    gain[at(head)] = 0.0f;
  }
}

Tap::Plan ChangeTap::plan(Index layer, Index sequence) {
  Plan plan = inner_ != nullptr ? inner_->plan(layer, sequence) : Plan{};
  if (plan.key_bias.empty()) {
    plan.key_bias = key_bias(layer);
  } else if (!key_bias(layer).empty()) {
    with_inner_.assign(plan.key_bias.begin(), plan.key_bias.end());
    add_repeated(key_bias(layer), with_inner_);
    plan.key_bias = with_inner_;
  }
  if (!head_gain_[at(layer)].empty()) plan.head_gain = head_gain_[at(layer)];
  return plan;
}

std::span<const float> ChangeTap::key_bias(Index layer) const {
  return pinned_[at(layer)].empty() ? hidden_keys_ : pinned_[at(layer)];
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
