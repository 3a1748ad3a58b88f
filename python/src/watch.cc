#include "python/src/watch.h"

#include <algorithm>
#include <exception>
#include <map>
#include <variant>

#include "buoy/base/at.h"
#include "buoy/base/error.h"
#include "buoy/probe/record_settings.h"
#include "python/src/arrays.h"
#include "python/src/errors.h"
#include "python/src/gil.h"

namespace buoy::python {
namespace {

namespace py = pybind11;

bool holds(const std::vector<Index>& list, Index value) {
  return std::ranges::find(list, value) != list.end();
}

// Values of several layers, one after the other.
struct Stacked {
  std::variant<std::vector<float>, std::vector<std::int32_t>> values;
  Shape shape;  // of one layer
  Index layers = 0;
};

// Arrays by name, filled layer by layer.
class StackedArrays {
 public:
  template <typename T>
  void add(const std::string& name, std::span<const T> values, const Shape& shape) {
    Stacked& array = arrays_[name];
    if (array.layers == 0) array = {.values = std::vector<T>(), .shape = shape};
    auto& all = std::get<std::vector<T>>(array.values);
    all.insert(all.end(), values.begin(), values.end());
    ++array.layers;
  }

  template <typename T>
  void add(const std::string& name, const std::vector<T>& values, const Shape& shape) {
    add(name, std::span<const T>(values), shape);
  }

  // Moves them to Python; with kOne the dimension of layers is left out.
  enum class Layers { kMany, kOne };
  py::dict take(Layers layers) {
    py::dict made;
    for (auto& [name, array] : arrays_) {
      Shape shape = array.shape;
      if (layers == Layers::kMany) shape.insert(shape.begin(), array.layers);
      std::visit([&, key = name.c_str()](auto& values) { made[key] = to_array(std::move(values), shape); },
                 array.values);
    }
    arrays_.clear();
    return made;
  }

 private:
  std::map<std::string, Stacked> arrays_;
};

// The heads that are wanted of [H, T, N].
std::vector<float> choose_heads(const std::vector<float>& matrix, const std::vector<Index>& heads,
                                Index size) {
  std::vector<float> chosen;
  chosen.reserve(at(std::ssize(heads) * size));
  for (const Index h : heads)
    chosen.insert(chosen.end(), matrix.begin() + h * size, matrix.begin() + (h + 1) * size);
  return chosen;
}

struct LayerChange {
  std::vector<float> key_bias, head_gain;
};

LayerChange change_from(const py::object& given, Index H, Index N) {
  LayerChange change;
  if (given.is_none()) return change;
  const auto pair = given.cast<std::pair<py::object, py::object>>();
  if (!pair.first.is_none()) change.key_bias = floats_from(pair.first, "key_bias", MinusInfinity::kYes, N, H);
  if (!pair.second.is_none()) change.head_gain = floats_from(pair.second, "head_gain", MinusInfinity::kNo, H);
  return change;
}

void check_limit(const WatchSettings& settings, const ModelConfig& c, Index T, Index N) {
  const Index heads = settings.pattern_heads.empty() ? c.H : std::ssize(settings.pattern_heads);
  if (settings.pattern_layers.empty()) return;
  if (c.H * T * N > kMaxMatrixElements ||
      std::ssize(settings.pattern_layers) * heads * T * N > kMaxMatrixElements) {
    fail_usage(
        "patterns of {} layers, {} heads × {} × {} exceed the limit of {} numbers a step; choose fewer "
        "layers or heads, or a shorter sequence",
        settings.pattern_layers.size(), heads, T, N, kMaxMatrixElements);
  }
}

}  // namespace

bool WatchSettings::measures(Index layer) const {
  return holds(layers, layer) && (column_sums || rows || !masses.empty() || row_means || norms || qk_means);
}

bool StoppableObserver::cancelled() const {
  if ((stop_ && stop_->wanted) || is_ending()) return true;
  raise_signals();
  return false;
}

struct Watcher::State {
  WatchSettings settings;
  WatchCallbacks callbacks;
  std::vector<AttentionRequest> requests;  // by layer
  LayerChange change;
  bool again = false;
  Index step = 0, first_row = 0, T = 0, N = 0;
  std::vector<TokenId> tokens;   // before the step
  std::vector<Index> positions;  // that are read
  py::object tokens_array;       // the same for callbacks, made when one is called
  StackedArrays arrays;
  bool pending = false;  // a step's pass is about to run
  std::exception_ptr raised;

  void begin(const ModelConfig& c, const ForwardSequence& sequence);
  bool asks(Index layer) const;
  bool watches() const;
  void keep(const ModelConfig& c, Index layer, const AttentionStats& stats, StackedArrays& into) const;
  const py::object& tokens_for_callbacks();

  // Runs with the GIL; keeps what it raises for the end of the pass.
  template <class Body>
  void call(const Body& body) {
    if (raised) return;
    try {
      const WithGil gil;
      body();
    } catch (...) {
      raised = std::current_exception();
    }
  }
};

void Watcher::State::begin(const ModelConfig& c, const ForwardSequence& sequence) {
  T = std::ssize(sequence.ids);
  first_row = sequence.cache != nullptr ? sequence.cache->length : 0;
  N = first_row + T;
  check_limit(settings, c, T, N);
  requests.assign(at(c.L), {});
  AttentionRequest shared;
  if (settings.column_sums) {
    shared.query_groups.assign(at(T), 0);
    for (const Index row : sequence.read_rows) shared.query_groups[at(row)] = 1;
    shared.group_count = 2;
  }
  if (settings.rows || settings.row_means || !settings.masses.empty())
    shared.rows.assign(sequence.read_rows.begin(), sequence.read_rows.end());
  if (!settings.masses.empty()) {
    shared.key_groups.assign(at(N), -1);
    shared.key_group_count = static_cast<int>(settings.masses.size());
    for (std::size_t g = 0; g < settings.masses.size(); ++g) {
      for (const Index j : settings.masses[g]) {
        if (j < N) shared.key_groups[at(j)] = static_cast<std::int8_t>(g);
      }
    }
  }
  shared.row_means = settings.row_means;
  shared.output_norms = settings.norms;
  shared.qk_means = settings.qk_means;
  for (Index l = 0; l < c.L; ++l) {
    AttentionRequest& request = requests[at(l)];
    if (settings.measures(l)) request = shared;
    request.matrix = holds(settings.pattern_layers, l);
    request.states = holds(settings.state_layers, l);
  }
}

bool Watcher::State::asks(Index layer) const {
  return settings.measures(layer) || holds(settings.pattern_layers, layer) ||
         holds(settings.state_layers, layer);
}

// Whether the tap is needed: without one a pass may compute less.
bool Watcher::State::watches() const {
  const bool calls = !callbacks.before_layer.is_none() || !callbacks.after_layer.is_none();
  return calls || !settings.residual_depths.empty() || !settings.pattern_layers.empty() ||
         !settings.state_layers.empty() ||
         std::ranges::any_of(settings.layers, [&](Index l) { return settings.measures(l); });
}

void Watcher::State::keep(const ModelConfig& c, Index layer, const AttentionStats& stats,
                          StackedArrays& into) const {
  const AttentionRequest& request = requests[at(layer)];
  const Index rows = std::ssize(request.rows);
  if (!stats.column_sums.empty()) {  // [H, 2, N]: the other rows and those that are read
    std::vector<float> all(at(c.H * N)), read(at(c.H * N));
    for (Index h = 0; h < c.H; ++h) {
      for (Index j = 0; j < N; ++j) {
        read[at(h * N + j)] = stats.column_sums[at((2 * h + 1) * N + j)];
        all[at(h * N + j)] = stats.column_sums[at(2 * h * N + j)] + read[at(h * N + j)];
      }
    }
    into.add("column_sums", all, {c.H, N});
    into.add("column_sums_read", read, {c.H, N});
  }
  if (settings.rows && settings.measures(layer)) {
    into.add("row_argmax", stats.argmax, {c.H, rows});
    into.add("row_max_weight", stats.max_weight, {c.H, rows});
    into.add("row_entropy", stats.entropy, {c.H, rows});
  }
  if (!stats.key_mass.empty()) into.add("masses", stats.key_mass, {c.H, rows, request.key_group_count});
  if (!stats.row_means.empty()) into.add("row_means", stats.row_means, {rows, N});
  if (!stats.mean_output_norm.empty()) {
    into.add("output_norm", stats.mean_output_norm, {c.H});
    into.add("uniform_norm", stats.uniform_norm, {c.Hkv});
    into.add("value_norms", stats.value_norms, {c.Hkv, N});
  }
  if (!stats.score_means.empty()) {
    into.add("score_means", stats.score_means, {c.H, N});
    into.add("cosine_means", stats.cosine_means, {c.H, N});
    into.add("norm_means", stats.norm_means, {c.H, N});
    into.add("key_norms", stats.key_norms, {c.Hkv, N});
  }
  if (!stats.matrix.empty()) {
    if (settings.pattern_heads.empty()) {
      into.add("pattern", stats.matrix, {c.H, T, N});
    } else {
      into.add("pattern", choose_heads(stats.matrix, settings.pattern_heads, T * N),
               {std::ssize(settings.pattern_heads), T, N});
    }
  }
  if (!stats.query_states.empty()) {
    into.add("query_states", stats.query_states, {c.H, T, c.D});
    into.add("key_states", stats.key_states, {c.Hkv, N, c.D});
  }
}

const py::object& Watcher::State::tokens_for_callbacks() {
  if (!tokens_array) tokens_array = to_array(std::vector<TokenId>(tokens), {std::ssize(tokens)});
  return tokens_array;
}

Watcher::Watcher(Engine& engine, WatchSettings settings, WatchCallbacks callbacks, std::shared_ptr<Stop> stop)
    : StoppableObserver(std::move(stop)), engine_(engine), model_(engine.loaded->model()), state_(new State) {
  const ModelConfig& c = model_.config();
  for (const auto* layers : {&settings.layers, &settings.pattern_layers, &settings.state_layers})
    check_layers(*layers, c.L);
  for (const Index head : settings.pattern_heads) {
    if (head < 0 || head >= c.H) fail_usage("head {} was asked for, the model has {}", head, c.H);
  }
  for (const Index depth : settings.residual_depths) {
    if (depth < 0 || depth > c.L) fail_usage("depth {} was asked for, expected 0 to {}", depth, c.L);
  }
  if (std::ssize(settings.masses) > kMaxGroups)
    fail_usage("masses of {} groups were asked for, expected at most {}", settings.masses.size(), kMaxGroups);
  state_->settings = std::move(settings);
  state_->callbacks = std::move(callbacks);
}

Watcher::~Watcher() = default;

Tensor Watcher::forward(std::span<const ForwardSequence> sequences, Tap* tap) const {
  if (!std::exchange(state_->pending, false)) return model_.forward(sequences, tap);
  state_->begin(config(), sequences[0]);
  Tensor logits = model_.forward(sequences, tap);
  if (state_->raised) std::rethrow_exception(std::exchange(state_->raised, nullptr));
  if (state_->settings.logits) {
    const Index rows = std::ssize(sequences[0].read_rows);
    std::vector<float> values(at(rows * config().V));
    backend().download(logits.row_range(0, rows), values);
    state_->arrays.add("logits", values, {rows, config().V});
  }
  return logits;
}

Tap* Watcher::before_pass(std::span<const Pass> passes) {
  const Pass& pass = passes[0];
  state_->step = pass.generation->steps;
  state_->tokens.assign(pass.tokens.begin(), pass.tokens.end());
  state_->positions.assign(pass.read_positions.begin(), pass.read_positions.end());
  if (state_->tokens_array) {
    const WithGil gil;
    state_->tokens_array = {};
  }
  state_->pending = true;
  return state_->watches() ? this : nullptr;
}

bool Watcher::only_watches() const {
  return state_->callbacks.before_layer.is_none() && state_->callbacks.after_layer.is_none();
}

void Watcher::after_step(Index /*sample*/, const Generation& generation) {
  State& s = *state_;
  engine_.turn.leave();
  s.call([&] {
    py::dict step = s.arrays.take(StackedArrays::Layers::kMany);
    if (step.contains("logits")) step["logits"] = step["logits"].attr("__getitem__")(0);
    step["number"] = s.step;
    step["first_row"] = s.first_row;
    step["tokens_before"] = s.tokens_for_callbacks();
    step["tokens"] = to_array(std::vector<TokenId>(generation.tokens), {std::ssize(generation.tokens)});
    step["read_positions"] = to_array(std::vector<Index>(s.positions), {std::ssize(s.positions)});
    step["committed"] =
        to_array(std::vector<Index>(generation.just_committed), {std::ssize(generation.just_committed)});
    s.callbacks.after_step(step);
  });
  engine_.turn.take();
  if (s.raised) std::rethrow_exception(std::exchange(s.raised, nullptr));
}

Tap::Plan Watcher::plan(Index layer, Index sequence) {
  State& s = *state_;
  if (sequence != 0) return {};
  if (!s.again) {
    s.change = {};
    if (!s.callbacks.before_layer.is_none()) {
      s.call([&] {
        s.change =
            change_from(s.callbacks.before_layer(s.step, layer, s.tokens_for_callbacks()), config().H, s.N);
      });
    }
  }
  return {.request = s.asks(layer) ? &s.requests[at(layer)] : nullptr,
          .key_bias = s.change.key_bias,
          .head_gain = s.change.head_gain};
}

Tap::Next Watcher::measured(Index layer, Index sequence, const AttentionStats& stats) {
  State& s = *state_;
  if (sequence != 0 || s.raised) return Next::kGoOn;
  if (!s.callbacks.after_layer.is_none() && !std::exchange(s.again, false)) {
    s.call([&] {
      StackedArrays arrays;
      s.keep(config(), layer, stats, arrays);
      const py::object said =
          s.callbacks.after_layer(s.step, layer, arrays.take(StackedArrays::Layers::kOne));
      if (said.is_none()) return;
      s.change = change_from(said, config().H, s.N);
      s.again = true;
    });
    if (s.again) return Next::kAgain;
  }
  s.keep(config(), layer, stats, s.arrays);
  return Next::kGoOn;
}

bool Watcher::may_ask_again() const {
  return !state_->callbacks.after_layer.is_none();
}

bool Watcher::wants_hidden() const {
  return !state_->settings.residual_depths.empty();
}

void Watcher::hidden(Index depth, Backend& backend, const Tensor& rows) {
  State& s = *state_;
  if (!holds(s.settings.residual_depths, depth)) return;
  std::vector<float> values(at(s.T * rows.cols()));
  backend.download(rows.row_range(0, s.T), values);
  s.arrays.add("residual", values, {s.T, rows.cols()});
}

}  // namespace buoy::python
