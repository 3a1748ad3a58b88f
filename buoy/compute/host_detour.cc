// What a device has no kernels for, or of a shape that they do not take, computed on the host: inputs are
// downloaded, results uploaded.
#include "buoy/base/thread_pool.h"
#include "buoy/compute/backend.h"

namespace buoy {
namespace {

Tensor copy(Backend& from, const Tensor& tensor, Backend& to) {
  std::vector<float> values(static_cast<std::size_t>(tensor.rows() * tensor.cols()));
  from.download(tensor, values);
  const Tensor made = to.allocate(tensor.rows(), tensor.cols());
  to.upload(values, made);
  return made;
}

void copy_back(Backend& from, const Tensor& tensor, Backend& to, const Tensor& out) {
  std::vector<float> values(static_cast<std::size_t>(tensor.rows() * tensor.cols()));
  from.download(tensor, values);
  to.upload(values, out);
}

}  // namespace

Backend& Backend::host() {
  if (!host_) {
    host_ = has_cpu_backend() ? make_cpu_backend({.threads = available_threads()}) : make_reference_backend();
  }
  return *host_;
}

void Backend::convolve(const Tensor& x, const Convolution& convolution, std::span<const Index> lengths,
                       const Tensor& out) {
  const Convolution same{copy(*this, convolution.weight, host()), copy(*this, convolution.bias, host())};
  const Tensor made = host().allocate(out.rows(), out.cols());
  host().convolve(copy(*this, x, host()), same, lengths, made);
  copy_back(host(), made, *this, out);
}

// Only the rows of the sequences at hand are changed: those of others, from an earlier round, stay.
void Backend::ssd(const SsdArgs& args, const Tensor& out) {
  const SsdWeights weights{.dt_bias = copy(*this, args.weights.dt_bias, host()),
                           .a_log = copy(*this, args.weights.a_log, host()),
                           .skip = copy(*this, args.weights.skip, host())};
  std::vector<AttentionSequence> sequences(args.sequences.begin(), args.sequences.end());
  for (AttentionSequence& s : sequences) {
    s.k = copy(*this, s.k, host());
    s.v = copy(*this, s.v, host());
  }
  const Tensor made = copy(*this, out, host());
  host().ssd({.reads = copy(*this, args.reads, host()),
              .gates = copy(*this, args.gates, host()),
              .weights = weights,
              .H = args.H,
              .n = args.n,
              .P = args.P,
              .sequences = sequences},
             made);
  copy_back(host(), made, *this, out);
}

}  // namespace buoy
