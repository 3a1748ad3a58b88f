#include "buoy/probe/trace.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "buoy/base/at.h"
#include "buoy/base/error.h"
#include "buoy/probe/trace_arrays.h"

namespace buoy {
namespace {

constexpr double kSumTolerance = 1e-3;
constexpr Index kMostSteps = Index{1} << 28, kMostDocuments = Index{1} << 28;

// Finds out whether a trace hangs together; every complaint starts with the place.
class Checker {
 public:
  Checker(const Trace& trace, std::string_view place) : trace_(trace), place_(place) {}

  template <typename T>
  void size(const std::vector<T>& array, const char* name, Index expected) const {
    if (std::ssize(array) != expected) {
      fail("{}: \"{}\" has {} values, expected {}", place_, name, array.size(), expected);
    }
    if constexpr (std::is_floating_point_v<T>) {
      const auto bad = std::ranges::find_if_not(array, [](T x) { return std::isfinite(x); });
      if (bad != array.end()) {
        fail("{}: \"{}\" holds {} at index {}, expected finite numbers", place_, name, *bad,
             bad - array.begin());
      }
    }
  }

  template <typename T>
  void range(const std::vector<T>& array, const char* name, Index low, Index high) const {
    for (std::size_t i = 0; i < array.size(); ++i) {
      const auto value = static_cast<Index>(array[i]);
      if (value < low || value > high) {
        fail("{}: \"{}\" holds {} at index {}, expected {} to {}", place_, name, value, i, low, high);
      }
    }
  }

  // Each run of `length` values adds up to 1, or to 0 where that may be.
  template <typename T>
  void sums(const std::vector<T>& array, const char* name, Index length, Holds holds) const {
    for (std::size_t i = 0; i + static_cast<std::size_t>(length) <= array.size();
         i += static_cast<std::size_t>(length)) {
      double sum = 0, least = 0;
      for (Index j = 0; j < length; ++j) {
        const auto share = static_cast<double>(array[i + static_cast<std::size_t>(j)]);
        sum += share;
        least = std::min(least, share);
      }
      if (least < 0)
        fail("{}: a row of \"{}\" holds {:.4g}, expected shares of attention", place_, name, least);
      const bool fits =
          std::abs(sum - 1) <= kSumTolerance || (holds == Holds::kRowsSumToOneOrZero && sum == 0);
      if (!fits) fail("{}: a row of \"{}\" adds up to {:.4g}, expected 1", place_, name, sum);
    }
  }

  // Numbers that may miss their bounds by rounding.
  template <typename T>
  void between(const std::vector<T>& array, const char* name, double low, double high) const {
    for (std::size_t i = 0; i < array.size(); ++i) {
      const auto value = static_cast<double>(array[i]);
      if (value < low - kSumTolerance || value > high + kSumTolerance)
        fail("{}: \"{}\" holds {:.4g} at index {}, expected {:.4g} to {:.4g}", place_, name, value, i, low,
             high);
    }
  }

  void ascending(const std::vector<Index>& array, const char* name) const {
    if (std::ranges::adjacent_find(array, std::greater_equal{}) != array.end()) {
      fail("{}: \"{}\" is not in ascending order", place_, name);
    }
  }

  void check() const {
    check_sequence();
    ascending(trace_.steps.steps, "steps");
    range(trace_.steps.steps, "steps", 0, kMostSteps);
    for (const TraceArray& array : trace_arrays()) {
      array.visit(trace_, [&](const auto& values) { check_array(array, values); });
    }
  }

 private:
  void check_sequence() const {
    const Index N = trace_.N(), G = trace_.G();
    if (N < 1 || trace_.prompt_length < 0 || G < 0) {
      fail("{}: {} tokens with a prompt of {}, expected a prompt within them", place_, N,
           trace_.prompt_length);
    }
    if (trace_.H() < 1 || trace_.Hkv() < 1 || trace_.H() % trace_.Hkv() != 0) {
      fail("{}: {} heads share {} key heads, expected a multiple", place_, trace_.H(), trace_.Hkv());
    }
    if (!trace_.header.mixers.empty()) size(trace_.header.mixers, "mixers", trace_.header.model_layers);
    size(trace_.token_texts, "token_texts", N);
    size(trace_.classes, "classes", N);
    size(trace_.regions.of, "regions", N);
    range(trace_.regions.of, "regions", 0, trace_.R() - 1);
    if (trace_.L() < 1) fail("{}: \"layers\" is empty, expected at least one", place_);
    ascending(trace_.layers, "layers");
    range(trace_.layers, "layers", 0, trace_.header.model_layers - 1);
    check_regions();
    check_mixers();
  }

  void check_regions() const {
    for (const Region& region : trace_.regions.regions) {
      const bool is_document = region.kind == RegionKind::kDocument;
      const Index low = is_document ? 1 : 0, high = is_document ? kMostDocuments : 0;
      if (region.document < low || region.document > high) {
        fail("{}: \"region_documents\" holds {} for a region that is {}, expected {} to {}", place_,
             region.document, name_of(region.kind), low, high);
      }
    }
  }

  // What a state space layer's attention is told from.
  void check_mixers() const {
    const bool any = std::ranges::any_of(trace_.layers, [&](Index layer) {
      return !trace_.header.mixers.empty() && trace_.header.mixers[at(layer)] == MixerKind::kSsd;
    });
    if (any && trace_.finished.recency_means.empty()) {
      fail("{}: has layers of kind \"{}\", but no array \"finished_recency_means\"", place_,
           name_of(MixerKind::kSsd));
    }
  }

  template <typename T>
  void check_array(const TraceArray& array, const std::vector<T>& values) const {
    const char* name = array.name.data();
    const Index N = trace_.N();
    const bool may_be_absent =
        array.presence == Presence::kIfAsked || array.presence == Presence::kIfAskedWithAnswerRows;
    const bool needs_rows =
        array.presence == Presence::kWithAnswerRows || array.presence == Presence::kIfAskedWithAnswerRows;
    const bool absent = (may_be_absent && values.empty()) || (needs_rows && trace_.answer.rows.empty());
    const Shape shape = array.shape_in(trace_);
    size(values, name, absent ? 0 : element_count(shape));
    switch (array.holds) {
      case Holds::kNothingMore:
        return;
      case Holds::kRowsSumToOne:
      case Holds::kRowsSumToOneOrZero:
        return sums(values, name, shape.back(), array.holds);
      case Holds::kPosition:
        return range(values, name, -1, N - 1);
      case Holds::kKeyCount:
        return range(values, name, 0, N);
      case Holds::kLength:
        return range(values, name, std::max<Index>(1, trace_.prompt_length), N);
      case Holds::kStep:
        return range(values, name, -1, kMostSteps);
      case Holds::kShare:
        return between(values, name, 0, 1);
      case Holds::kNotNegative:
        return between(values, name, 0, std::numeric_limits<float>::max());
      case Holds::kFlag:
        return range(values, name, 0, 1);
      case Holds::kExpert:
        return range(values, name, -1, trace_.header.experts - 1);
    }
  }

  const Trace& trace_;
  std::string_view place_;
};

}  // namespace

TokenClass Trace::class_at(Index t, Index j) const {
  const TokenId token = steps.tokens[static_cast<std::size_t>(t * N() + j)];
  return header.mask_id && token == *header.mask_id ? TokenClass::kMask
                                                    : classes[static_cast<std::size_t>(j)];
}

bool is_writing(const Trace& trace, Index t) {
  const Index answer = trace.regions.find(RegionKind::kAnswer), step = trace.steps.steps[at(t)];
  for (Index g = 0; answer >= 0 && g < trace.G(); ++g) {
    if (trace.regions.of[at(trace.prompt_length + g)] == answer && trace.commit_step[at(g)] == step)
      return true;
  }
  return false;
}

Index writing_steps(const Trace& trace) {
  Index count = 0;
  for (Index t = 0; t < trace.S(); ++t) count += is_writing(trace, t) ? 1 : 0;
  return count;
}

void check_trace(const Trace& trace, std::string_view place) {
  Checker(trace, place).check();
}

}  // namespace buoy
