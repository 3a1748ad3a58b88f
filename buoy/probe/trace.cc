#include "buoy/probe/trace.h"

#include <algorithm>
#include <cmath>

#include "buoy/base/error.h"

namespace buoy {
namespace {

constexpr double kSumTolerance = 1e-3;

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
  void optional_size(const std::vector<T>& array, const char* name, Index expected) const {
    if (!array.empty()) size(array, name, expected);
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

  // Each run of `length` values adds up to 1; `may_be_zero`: or to 0, where a region has no positions.
  enum class Rows { kSumToOne, kSumToOneOrZero };
  void sums(const std::vector<float>& array, const char* name, Index length, Rows rows) const {
    for (std::size_t i = 0; i + static_cast<std::size_t>(length) <= array.size();
         i += static_cast<std::size_t>(length)) {
      double sum = 0;
      for (Index j = 0; j < length; ++j) sum += array[i + static_cast<std::size_t>(j)];
      const bool fits = std::abs(sum - 1) <= kSumTolerance || (rows == Rows::kSumToOneOrZero && sum == 0);
      if (!fits) fail("{}: a row of \"{}\" adds up to {:.4f}, expected 1", place_, name, sum);
    }
  }

  void ascending(const std::vector<Index>& array, const char* name) const {
    if (std::ranges::adjacent_find(array, std::greater_equal{}) != array.end()) {
      fail("{}: \"{}\" is not in ascending order", place_, name);
    }
  }

  void check() const {
    check_sequence();
    check_steps();
    check_answer();
    check_finished();
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
    size(trace_.token_texts, "token_texts", N);
    size(trace_.classes, "classes", N);
    size(trace_.regions.of, "regions", N);
    range(trace_.regions.of, "regions", 0, trace_.R() - 1);
    size(trace_.evidence, "evidence", N);
    size(trace_.commit_step, "commit_step", G);
    size(trace_.confidence, "confidence", G);
    ascending(trace_.layers, "layers");
    range(trace_.layers, "layers", 0, trace_.header.model_layers - 1);
  }

  void check_steps() const {
    const StepRecord& s = trace_.steps;
    const Index S = trace_.S(), L = trace_.L(), N = trace_.N(), R = trace_.R();
    ascending(s.steps, "steps");
    size(s.lengths, "step_lengths", S);
    range(s.lengths, "step_lengths", 1, N);
    size(s.tokens, "step_tokens", S * N);
    optional_size(s.received, "received", S * L * N);
    optional_size(s.received_read, "received_read", S * L * N);
    optional_size(s.received_heads, "received_heads", S * L * trace_.H() * N);
    optional_size(s.flow, "flow", S * L * R * R);
    optional_size(s.score_means, "score_means", S * L * N);
    optional_size(s.cosine_means, "cosine_means", S * L * N);
    optional_size(s.norm_means, "norm_means", S * L * N);
    sums(s.received, "received", N, Rows::kSumToOne);
    sums(s.received_read, "received_read", N, Rows::kSumToOne);
    sums(s.received_heads, "received_heads", N, Rows::kSumToOne);
    sums(s.flow, "flow", R, Rows::kSumToOneOrZero);
  }

  void check_answer() const {
    const AnswerRecord& a = trace_.answer;
    const Index G = trace_.G(), rows = G * trace_.L() * trace_.H();
    optional_size(a.rows, "answer_rows", G);
    const bool present = !a.rows.empty();
    size(a.visible, "answer_visible", present ? G : 0);
    range(a.rows, "answer_rows", -1, trace_.N() - 1);
    range(a.visible, "answer_visible", 0, trace_.N());
    size(a.argmax, "answer_argmax", present ? rows : 0);
    range(a.argmax, "answer_argmax", -1, trace_.N() - 1);
    size(a.weight, "answer_weight", present ? rows : 0);
    size(a.entropy, "answer_entropy", present ? rows : 0);
    size(a.evidence_mass, "answer_evidence_mass", present ? rows : 0);
  }

  void check_finished() const {
    const FinishedRecord& f = trace_.finished;
    const Index L = trace_.L(), H = trace_.H(), N = trace_.N(), R = trace_.R(), keys = L * trace_.Hkv() * N;
    size(f.received, "finished_received", L * H * N);
    size(f.row_entropy, "finished_row_entropy", L * H);
    size(f.output_norm, "finished_output_norm", L * H);
    size(f.uniform_norm, "finished_uniform_norm", L * trace_.Hkv());
    size(f.value_norms, "finished_value_norms", keys);
    size(f.key_norms, "finished_key_norms", keys);
    size(f.score_means, "finished_score_means", L * H * N);
    size(f.cosine_means, "finished_cosine_means", L * H * N);
    size(f.norm_means, "finished_norm_means", L * H * N);
    size(f.flow, "finished_flow", L * R * R);
    sums(f.received, "finished_received", N, Rows::kSumToOne);
    sums(f.flow, "finished_flow", R, Rows::kSumToOneOrZero);
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

void check_trace(const Trace& trace, std::string_view place) {
  Checker(trace, place).check();
}

}  // namespace buoy
