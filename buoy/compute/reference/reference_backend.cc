// The oracle: every operation as a plain loop with sums in double precision.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "buoy/base/error.h"
#include "buoy/compute/backend.h"
#include "buoy/compute/host_memory.h"
#include "buoy/compute/logits.h"
#include "buoy/compute/reference/reference_attention.h"
#include "buoy/compute/reference/reference_ssd.h"

namespace buoy {
namespace {

struct ReferenceLinear : Linear {
  Tensor weights;  // [out, in] f32
  std::vector<float> bias;
  Index inputs() const override { return weights.cols(); }
  Index outputs() const override { return weights.rows(); }
};

class ReferenceBackend : public Backend {
 public:
  std::string_view name() const override { return "reference"; }

  Tensor allocate(Index rows, Index cols) override { return allocate_on_host(rows, cols); }

  void upload(std::span<const float> from, const Tensor& to) override {
    check(std::ssize(from) == to.rows() * to.cols(), "upload fits");
    for (Index r = 0; r < to.rows(); ++r) {
      std::memcpy(to.row<float>(r), from.data() + r * to.cols(),
                  static_cast<std::size_t>(to.cols()) * sizeof(float));
    }
  }

  void download(const Tensor& from, std::span<float> to) override {
    check(std::ssize(to) == from.rows() * from.cols(), "download fits");
    for (Index r = 0; r < from.rows(); ++r) {
      std::memcpy(to.data() + r * from.cols(), from.row<float>(r),
                  static_cast<std::size_t>(from.cols()) * sizeof(float));
    }
  }

  std::unique_ptr<Linear> make_linear(std::span<const TensorView> weights,
                                      std::span<const TensorView> biases) override {
    auto made = std::make_unique<ReferenceLinear>();
    Index outputs = 0;
    for (const TensorView& part : weights) outputs += part.shape[0];
    made->weights = allocate_on_host(outputs, weights[0].shape[1]);
    Index row = 0;
    for (const TensorView& part : weights) {
      widen(part.bytes.data(), part.dtype, element_count(part.shape), made->weights.row<float>(row));
      row += part.shape[0];
    }
    for (const TensorView& part : biases) {
      const std::size_t old = made->bias.size();
      made->bias.resize(old + static_cast<std::size_t>(part.shape[0]));
      widen(part.bytes.data(), part.dtype, part.shape[0], made->bias.data() + old);
    }
    return made;
  }

  Tensor make_table(const TensorView& table) override { return view_on_host(table); }
  Tensor make_vector(const TensorView& vector) override { return widen_vector(vector); }

  void embed(const Tensor& table, std::span<const TokenId> ids, const Tensor& out) override {
    const Index bytes = table.cols() * size_of(table.dtype());
    for (Index r = 0; r < std::ssize(ids); ++r) {
      const auto id = ids[static_cast<std::size_t>(r)];
      widen(table.row<const char>(0) + id * bytes, table.dtype(), table.cols(), out.row<float>(r));
    }
  }

  void rms_norm(const Tensor& x, const Tensor& weight, float epsilon, const Tensor& out) override {
    const float* w = weight.row<float>(0);
    for (Index r = 0; r < x.rows(); ++r) {
      const float* from = x.row<float>(r);
      double squares = 0;
      for (Index c = 0; c < x.cols(); ++c) squares += double{from[c]} * from[c];
      const double scale = 1.0 / std::sqrt(squares / static_cast<double>(x.cols()) + epsilon);
      for (Index c = 0; c < x.cols(); ++c) out.row<float>(r)[c] = static_cast<float>(from[c] * scale * w[c]);
    }
  }

  void linear(const Tensor& x, const Linear& weights, Store store, const Tensor& y) override {
    const auto& w = static_cast<const ReferenceLinear&>(weights);
    check(x.cols() == w.inputs() && y.cols() == w.outputs() && x.rows() == y.rows(), "linear shapes fit");
    for (Index r = 0; r < x.rows(); ++r) {
      for (Index o = 0; o < y.cols(); ++o) {
        double sum = store == Store::kAdd ? y.row<float>(r)[o] : 0.0;
        if (!w.bias.empty()) sum += w.bias[static_cast<std::size_t>(o)];
        const float *a = x.row<float>(r), *b = w.weights.row<float>(o);
        for (Index c = 0; c < x.cols(); ++c) sum += double{a[c]} * b[c];
        y.row<float>(r)[o] = static_cast<float>(sum);
      }
    }
  }

  void head_norm(const Tensor& x, const RmsNorm& norm, Index D) override {
    for (Index h = 0; h < x.cols() / D; ++h) {
      const Tensor head = x.col_range(h * D, D);
      rms_norm(head, norm.weight, norm.epsilon, head);
    }
  }

  void clip(const Tensor& x, float bound, float factor) override {
    for (Index r = 0; r < x.rows(); ++r) {
      for (Index c = 0; c < x.cols(); ++c) {
        float& value = x.row<float>(r)[c];
        if (bound != 0) value = std::clamp(value, -bound, bound);
        value *= factor;
      }
    }
  }

  void rope(const Tensor& x, Index D, std::span<const Index> positions, const RopeTable& table) override {
    const Index half = table.cosines.cols();
    for (Index r = 0; r < x.rows(); ++r) {
      const Index position = positions[static_cast<std::size_t>(r)];
      const float *c = table.cosines.row<float>(position), *s = table.sines.row<float>(position);
      for (Index h = 0; h < x.cols() / D; ++h) {
        float* head = x.row<float>(r) + h * D;
        for (Index d = 0; d < half; ++d) {
          const double a = head[d], b = head[d + half];
          head[d] = static_cast<float>(a * c[d] - b * s[d]);
          head[d + half] = static_cast<float>(b * c[d] + a * s[d]);
        }
      }
    }
  }

  void swiglu(const Tensor& gate_up, const Tensor& out) override {
    for (Index r = 0; r < out.rows(); ++r) {
      const float* gate = gate_up.row<float>(r);
      for (Index c = 0; c < out.cols(); ++c) {
        const double g = gate[c];
        out.row<float>(r)[c] = static_cast<float>(g / (1.0 + std::exp(-g)) * gate[out.cols() + c]);
      }
    }
  }

  void gather_rows(const Tensor& x, std::span<const Index> rows, const Tensor& out) override {
    for (Index r = 0; r < std::ssize(rows); ++r) {
      std::copy_n(x.row<float>(rows[static_cast<std::size_t>(r)]), x.cols(), out.row<float>(r));
    }
  }

  void scatter_rows(const Tensor& x, std::span<const Index> rows, const Tensor& out) override {
    for (Index r = 0; r < std::ssize(rows); ++r) {
      std::copy_n(x.row<float>(r), x.cols(), out.row<float>(rows[static_cast<std::size_t>(r)]));
    }
  }

  void add_rows(const Tensor& x, std::span<const Index> rows, const Tensor& out) override {
    check(x.rows() == 1 || x.rows() == std::ssize(rows), "a row for each, or one for all");
    for (Index r = 0; r < std::ssize(rows); ++r) {
      const float* from = x.row<float>(x.rows() == 1 ? 0 : r);
      float* to = out.row<float>(rows[static_cast<std::size_t>(r)]);
      for (Index c = 0; c < out.cols(); ++c) to[c] += from[c];
    }
  }

  void add_scaled_rows(const Tensor& x, std::span<const float> factors, std::span<const Index> rows,
                       const Tensor& out) override {
    check(x.rows() == std::ssize(rows) && factors.size() == rows.size(), "a row and a factor for each");
    for (Index r = 0; r < std::ssize(rows); ++r) {
      const auto number = static_cast<std::size_t>(r);
      float* to = out.row<float>(rows[number]);
      for (Index c = 0; c < out.cols(); ++c) {
        to[c] = static_cast<float>(to[c] + double{factors[number]} * x.row<float>(r)[c]);
      }
    }
  }

  void attention(const AttentionArgs& args, const Tensor& out) override { reference_attention(args, out); }

  void convolve(const Tensor& x, const Convolution& convolution, std::span<const Index> lengths,
                const Tensor& out) override {
    reference_convolve(x, convolution, lengths, out);
  }
  void ssd(const SsdArgs& args, const Tensor& out) override { reference_ssd(args, out); }

  void guide(const Tensor& conditional, const Tensor& unconditional, float scale) override {
    for (Index r = 0; r < conditional.rows(); ++r) guide_row(conditional, unconditional, scale, r);
  }

  std::vector<LogitSummary> summarize(const Tensor& logits) override {
    std::vector<LogitSummary> all(static_cast<std::size_t>(logits.rows()));
    for (std::size_t r = 0; r < all.size(); ++r) {
      all[r] =
          summarize_row({logits.row<float>(static_cast<Index>(r)), static_cast<std::size_t>(logits.cols())});
    }
    return all;
  }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() {
  return std::make_unique<ReferenceBackend>();
}

}  // namespace buoy
