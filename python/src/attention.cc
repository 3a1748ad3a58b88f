// Buoy's attention over the tensors of another library: output and statistics, no N×N.
#include "python/src/attention.h"

#include <bit>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>

#include <pybind11/stl.h>

#include "buoy/base/at.h"
#include "buoy/base/error.h"
#include "buoy/compute/foreign.h"
#include "buoy/compute/host_memory.h"
#include "buoy/engine/device.h"
#include "python/src/arrays.h"
#include "python/src/dlpack.h"
#include "python/src/errors.h"
#include "python/src/gil.h"

namespace buoy::python {
namespace {

namespace py = pybind11;

// What is measured, and of which rows and keys; the same for every sequence of a batch.
struct BridgeStats {
  bool column_sums = false, rows = false, row_means = false, norms = false, qk_means = false, pattern = false;
  std::vector<Index> row_list;             // empty: all
  std::vector<std::vector<Index>> masses;  // groups of keys
};

// q, out [B, T, H, D]; k, v [B, N, Hkv, D], row-major, of one type on one device.
struct BridgeTensors {
  DlView q, k, v, out;
  DType dtype;
  Index B, T, N, H, Hkv, D;
  bool on_card;
  int card;
};

BridgeTensors check_tensors(DlView q, DlView k, DlView v, DlView out) {
  const std::pair<const char*, const DlView*> all[] = {{"q", &q}, {"k", &k}, {"v", &v}, {"out", &out}};
  const DType dtype = q.dtype("q");
  const DlTensor& first = q.tensor();
  for (const auto& [name, view] : all) {
    const DlTensor& t = view->tensor();
    if (t.ndim != 4)
      fail_usage("{}: got shape {}, expected [batch, positions, heads, head size]", name,
                 to_string(view->shape()));
    if (view->dtype(name) != dtype)
      fail_usage("{}: is {}, q is {}", name, name_of(view->dtype(name)), name_of(dtype));
    if (t.device_type != first.device_type || t.device_id != first.device_id)
      fail_usage("{}: lies on another device than q", name);
    if (!view->is_row_major()) fail_usage("{}: is not contiguous", name);
  }
  if (first.device_type != static_cast<std::int32_t>(DlDevice::kCpu) &&
      first.device_type != static_cast<std::int32_t>(DlDevice::kCuda))
    fail_usage("q: lies on a device of kind {}, expected the cpu or an NVIDIA card", first.device_type);
  const Shape queries = q.shape(), keys = k.shape();
  if (v.shape() != keys) fail_usage("v: got shape {}, k has {}", to_string(v.shape()), to_string(keys));
  if (out.shape() != queries)
    fail_usage("out: got shape {}, q has {}", to_string(out.shape()), to_string(queries));
  if (keys[0] != queries[0] || keys[3] != queries[3])
    fail_usage("k: got shape {}, q has {}", to_string(keys), to_string(queries));
  if (keys[2] < 1 || queries[2] % keys[2] != 0)
    fail_usage("q has {} heads, which {} heads of k cannot be shared by", queries[2], keys[2]);
  for (const Index size : {queries[0], queries[1], queries[2], queries[3], keys[1]}) {
    if (size < 1)
      fail_usage("q and k: got shapes {} and {}, expected no size of 0", to_string(queries), to_string(keys));
  }
  const bool on_card = first.device_type == static_cast<std::int32_t>(DlDevice::kCuda);
  constexpr Index kWidest = 256;  // of the kernels for cards
  if (queries[3] % 2 != 0 || (on_card && queries[3] > kWidest))
    fail_usage("q: heads have size {}, expected an even one{}", queries[3], on_card ? " of at most 256" : "");
  const int card = first.device_id;
  return {std::move(q), std::move(k), std::move(v), std::move(out), dtype,   queries[0], queries[1],
          keys[1],      queries[2],   keys[2],      queries[3],     on_card, card};
}

// Sizes of a call, for those who outlive its tensors.
struct BridgeSizes {
  Index B, T, N, H, Hkv, D;
};

// What a call measured. On a card it is still under way when the call returns: a host that waited for it in
// every layer would leave the card without work. Whatever next calls on the same backend, or whoever asks,
// settles it; until then the backend writes into `stats`.
struct Measured {
  BridgeSizes sizes;
  AttentionRequest request;
  std::vector<AttentionStats> stats;  // of each sequence
};

// A backend, and what was measured on it and is not settled.
struct Station {
  int card;  // -1: the cpu
  std::unique_ptr<Backend> backend;
  std::shared_ptr<Measured> travelling;  // shared with whoever will read it, or nobody

  void settle() {
    if (!travelling) return;
    backend->settle();
    travelling.reset();
  }
};

// The backends of this process, one for each device and type; never destroyed, as CUDA may be gone by then.
struct Bridge {
  std::mutex mutex;  // held while one of them works; never taken with the GIL
  std::map<std::pair<int, DType>, Station> stations;

  Station& on(const BridgeTensors& t) {
    Station& found = stations[{t.on_card ? t.card : -1, t.on_card ? t.dtype : DType::kF32}];
    if (found.backend) return found;
    found.card = t.on_card ? t.card : -1;
    found.backend = t.on_card ? make_cuda_backend({.dtype = t.dtype, .card = t.card})
                              : make_backend({.device = Device::kCpu}, 0);
    return found;
  }
};

Bridge& bridge() {
  static auto* const made = new Bridge;
  return *made;
}

AttentionRequest request_of(const BridgeStats& stats, const BridgeTensors& t) {
  AttentionRequest request;
  if (stats.column_sums) {
    request.query_groups.assign(at(t.T), 0);
    request.group_count = 1;
  }
  if (stats.rows || stats.row_means || !stats.masses.empty()) {
    request.rows = stats.row_list;
    if (request.rows.empty()) {
      request.rows.resize(at(t.T));
      std::iota(request.rows.begin(), request.rows.end(), 0);
    }
    for (const Index row : request.rows) {
      if (row < 0 || row >= t.T) fail_usage("rows: holds {}, expected 0 to {}", row, t.T - 1);
    }
  }
  if (std::ssize(stats.masses) > kMaxGroups)
    fail_usage("masses of {} groups were asked for, expected at most {}", stats.masses.size(), kMaxGroups);
  if (!stats.masses.empty()) {
    request.key_groups.assign(at(t.N), -1);
    request.key_group_count = static_cast<int>(stats.masses.size());
    for (std::size_t g = 0; g < stats.masses.size(); ++g) {
      for (const Index j : stats.masses[g]) {
        if (j < 0 || j >= t.N) fail_usage("masses: holds {}, expected 0 to {}", j, t.N - 1);
        request.key_groups[at(j)] = static_cast<std::int8_t>(g);
      }
    }
  }
  request.row_means = stats.row_means;
  request.output_norms = stats.norms;
  request.qk_means = stats.qk_means;
  request.matrix = stats.pattern;
  if (stats.pattern && t.B * t.H * t.T * t.N > kMaxMatrixElements)
    fail_usage("pattern: {} × {} heads × {} × {} exceed the limit of {} numbers", t.B, t.H, t.T, t.N,
               kMaxMatrixElements);
  return request;
}

// Statistics of all sequences, one after the other.
py::dict to_arrays(Measured& measured) {
  const BridgeSizes& t = measured.sizes;
  const Index rows = std::ssize(measured.request.rows);
  std::vector<AttentionStats>& all = measured.stats;
  py::dict made;
  const auto add = [&](const char* name, auto member, Shape shape) {
    if ((all[0].*member).empty()) return;
    auto joined = std::move(all[0].*member);
    for (std::size_t i = 1; i < all.size(); ++i)
      joined.insert(joined.end(), (all[i].*member).begin(), (all[i].*member).end());
    shape.insert(shape.begin(), t.B);
    made[name] = to_array(std::move(joined), shape);
  };
  using S = AttentionStats;
  add("column_sums", &S::column_sums, {t.H, t.N});
  add("row_argmax", &S::argmax, {t.H, rows});
  add("row_max_weight", &S::max_weight, {t.H, rows});
  add("row_entropy", &S::entropy, {t.H, rows});
  add("masses", &S::key_mass, {t.H, rows, measured.request.key_group_count});
  add("row_means", &S::row_means, {rows, t.N});
  add("output_norm", &S::mean_output_norm, {t.H});
  add("uniform_norm", &S::uniform_norm, {t.Hkv});
  add("value_norms", &S::value_norms, {t.Hkv, t.N});
  add("score_means", &S::score_means, {t.H, t.N});
  add("cosine_means", &S::cosine_means, {t.H, t.N});
  add("norm_means", &S::norm_means, {t.H, t.N});
  add("key_norms", &S::key_norms, {t.Hkv, t.N});
  add("pattern", &S::matrix, {t.H, t.T, t.N});
  return made;
}

// What a call's caller holds: the arrays, once they are wanted. Used with the GIL.
class BridgeStatistics {
 public:
  explicit BridgeStatistics(std::shared_ptr<Measured> measured) : measured_(std::move(measured)) {}

  // Waits for the card, without the GIL, where it must. Throws Error where the card failed.
  py::dict take() {
    if (measured_ && !arrays_) {
      const std::shared_ptr<Measured> kept = measured_;
      {
        const WithoutGil no_gil;
        check_process();
        Bridge& shared = bridge();
        const std::lock_guard lock(shared.mutex);
        for (auto& [key, station] : shared.stations) {
          if (station.travelling != kept) continue;
          const OnCard on_card(station.card);
          station.settle();
        }
      }
      if (!arrays_) arrays_ = to_arrays(*kept);  // another thread may have been faster
      measured_.reset();
    }
    return arrays_ ? py::dict(arrays_) : py::dict();
  }

 private:
  std::shared_ptr<Measured> measured_;  // nothing where nothing was asked for
  py::object arrays_;
};

Tensor as_rows(const DlView& view, const BridgeTensors& t, Index positions, Index heads) {
  return view_foreign(view.data(), t.dtype, t.B * positions, heads * t.D);
}

// The cpu computes in float32: others are widened first.
Tensor widened(const Tensor& from) {
  if (from.dtype() == DType::kF32) return from;
  const Tensor to = allocate_on_host(from.rows(), from.cols());
  widen(from.row<std::uint16_t>(0), from.dtype(), from.rows() * from.cols(), to.row<float>(0));
  return to;
}

// Rounds to nearest, ties to even; NaN stays NaN.
std::uint16_t narrow_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

void narrow_into(const Tensor& from, const Tensor& to) {
  const Index count = from.rows() * from.cols();
  const float* values = from.row<float>(0);
  auto* bits = to.row<std::uint16_t>(0);
  for (Index i = 0; i < count; ++i) bits[i] = narrow_bf16(values[i]);
}

struct BridgeCall {
  Mask mask;
  Index first_position;
  float factor;                              // of the scores, besides 1/√D
  std::vector<std::vector<float>> key_bias;  // of each sequence; empty: none
  std::uintptr_t stream;
};

std::vector<AttentionSequence> sequences_of(const BridgeTensors& t, const BridgeCall& call, const Tensor& k,
                                            const Tensor& v, Measured* measured) {
  std::vector<AttentionSequence> sequences;
  for (Index b = 0; b < t.B; ++b) {
    AttentionSequence s{.first_row = b * t.T,
                        .T = t.T,
                        .k = k.row_range(b * t.N, t.N),
                        .v = v.row_range(b * t.N, t.N),
                        .first_position = call.first_position};
    if (!call.key_bias.empty()) s.key_bias = call.key_bias[at(b)];
    if (measured != nullptr) {
      s.request = &measured->request;
      s.stats = &measured->stats[at(b)];
    }
    sequences.push_back(s);
  }
  return sequences;
}

// On a card: behind all that the call's stream was given so far, and before all that it is given later.
void run_in_order(Backend& backend, const AttentionArgs& args, const Tensor& out,
                  std::optional<std::uintptr_t> stream) {
  if (stream) wait_for_stream(backend, *stream);
  try {
    backend.attention(args, out);
  } catch (...) {
    try {  // memory that may be in use by now must not be handed out before that is over
      if (stream) hold_stream_back(backend, *stream);
    } catch (const Error&) {  // the first failure is the one to tell
    }
    throw;
  }
  if (stream) hold_stream_back(backend, *stream);
}

void attend(const BridgeTensors& t, const BridgeCall& call, const std::shared_ptr<Measured>& measured) {
  check_process();
  Bridge& shared = bridge();
  const std::lock_guard lock(shared.mutex);
  const OnCard on_card(t.on_card ? t.card : -1);
  Station& station = shared.on(t);
  station.settle();
  Tensor q = as_rows(t.q, t, t.T, t.H), k = as_rows(t.k, t, t.N, t.Hkv), v = as_rows(t.v, t, t.N, t.Hkv);
  const Tensor target = as_rows(t.out, t, t.T, t.H);
  Tensor out = target;
  const bool widens = !t.on_card && t.dtype != DType::kF32;
  if (widens) {
    q = widened(q);
    k = widened(k);
    v = widened(v);
    out = allocate_on_host(out.rows(), out.cols());
  }
  const std::vector<AttentionSequence> sequences = sequences_of(t, call, k, v, measured.get());
  const AttentionArgs args{.q = q,
                           .H = t.H,
                           .Hkv = t.Hkv,
                           .D = t.D,
                           .mask = call.mask,
                           .sequences = sequences,
                           .delivery = Delivery::kLater,
                           .factor = call.factor};
  station.travelling = measured;  // before: whatever fails, what may be written into must stay
  run_in_order(*station.backend, args, out, t.on_card ? std::optional(call.stream) : std::nullopt);
  if (widens) narrow_into(out, target);
}

BridgeStats stats_from(const py::dict& given) {
  BridgeStats made;
  const std::map<std::string, bool*> flags = {{"column_sums", &made.column_sums}, {"rows", &made.rows},
                                              {"row_means", &made.row_means},     {"norms", &made.norms},
                                              {"qk_means", &made.qk_means},       {"pattern", &made.pattern}};
  for (const auto& [key, value] : given) {
    const std::string name = py::str(key);
    if (const auto found = flags.find(name); found != flags.end()) *found->second = value.cast<bool>();
    if (name == "row_list") made.row_list = value.cast<std::vector<Index>>();
    if (name == "masses") made.masses = value.cast<std::vector<std::vector<Index>>>();
  }
  return made;
}

BridgeStatistics attention(py::handle q, py::handle k, py::handle v, py::handle out, py::handle stream,
                           Index block, Index block_offset, Index first_position, float factor,
                           const py::object& key_bias, const py::dict& wanted, std::uintptr_t cuda_stream) {
  const BridgeTensors t =
      check_tensors({q, stream, "q"}, {k, stream, "k"}, {v, stream, "v"}, {out, stream, "out"});
  if (block < 0 || block_offset < 0) fail_usage("mask: a block has at least one position");
  if (!(factor > 0) || !std::isfinite(factor)) fail_usage("factor is {}, expected above 0", factor);
  BridgeCall call{.mask = block == 0 ? Mask::kFull : Mask::blocks(block, block_offset),
                  .first_position = first_position,
                  .factor = factor,
                  .key_bias = {},
                  .stream = cuda_stream};
  if (!key_bias.is_none()) {
    const py::list rows(key_bias);
    for (Index b = 0; b < t.B; ++b)
      call.key_bias.push_back(floats_from(rows[at(b)], "key_bias", MinusInfinity::kYes, t.N));
  }
  std::shared_ptr<Measured> measured;
  if (!wanted.empty()) {
    measured = std::make_shared<Measured>(Measured{{t.B, t.T, t.N, t.H, t.Hkv, t.D},
                                                   request_of(stats_from(wanted), t),
                                                   std::vector<AttentionStats>(at(t.B))});
  }
  {
    const WithoutGil no_gil;
    attend(t, call, measured);
  }
  return BridgeStatistics(std::move(measured));
}

}  // namespace

void add_attention(py::module_& module) {
  py::class_<BridgeStatistics> statistics(module, "Statistics");
  statistics.def("take", &BridgeStatistics::take);
  forbid_new(statistics);
  module.def("attention", attention, py::arg("q"), py::arg("k"), py::arg("v"), py::arg("out"),
             py::arg("stream"), py::arg("block"), py::arg("block_offset"), py::arg("first_position"),
             py::arg("factor"), py::arg("key_bias"), py::arg("stats"), py::arg("cuda_stream"));
}

}  // namespace buoy::python
