#include "buoy/decode/finite_logits.h"

#include <cmath>
#include <optional>

#include "buoy/base/error.h"
#include "buoy/base/finite.h"

namespace buoy {
namespace {

// Finds the depth at which the residual stream is first spoilt.
class SpoiltDepthTap : public Tap {
 public:
  bool may_ask_again() const override { return false; }
  bool wants_hidden() const override { return true; }
  void hidden(Index at_depth, Backend& backend, const Tensor& rows) override {
    if (depth) return;
    std::vector<float> values(static_cast<std::size_t>(rows.rows() * rows.cols()));
    backend.download(rows, values);
    if (!all_finite(values)) depth = at_depth;
  }
  std::optional<Index> depth;
};

std::string origin_of(const Model& model, const Generation& generation) {
  SpoiltDepthTap tap;
  const Index first = 0;
  const ForwardSequence sequence{.ids = generation.tokens, .read_rows = {&first, 1}, .mask = generation.mask};
  model.forward({&sequence, 1}, &tap);
  if (!tap.depth) return "though every layer's output is";
  if (*tap.depth == 0) return "from the embedding on";
  return fmt::format("from layer {} on", *tap.depth - 1);
}

[[noreturn]] void fail_not_finite(const Model& model, const LogitPlace& place) {
  fail("sample {}, step {}, position {}: the logits are not finite, {}", place.sample,
       place.generation->steps - 1, place.position, origin_of(model, *place.generation));
}

}  // namespace

void check_finite(const Model& model, const LogitPlace& place, std::span<const float> row) {
  if (!all_finite(row)) fail_not_finite(model, place);
}

void check_finite(const Model& model, const LogitPlace& place, const LogitSummary& summary) {
  // One NaN or +inf among the logits makes the total NaN; so does a row of nothing but -inf.
  if (!std::isfinite(summary.probability)) fail_not_finite(model, place);
}

}  // namespace buoy
