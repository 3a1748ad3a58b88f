#include "apps/cli/bench_pass.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <numeric>
#include <string>

#include <malloc.h>

#include "apps/cli/environment.h"
#include "buoy/base/random.h"
#include "buoy/model/memory.h"

namespace buoy {
namespace {

class RecordingTap : public Tap {
 public:
  RecordingTap(Index tokens, BenchRecord record) {
    request_.query_groups.assign(static_cast<std::size_t>(tokens), 0);
    request_.group_count = 1;
    if (record == BenchRecord::kColumns) return;
    for (Index r = 0; r < std::min<Index>(32, tokens); ++r) request_.rows.push_back(tokens - 1 - r);
    request_.qk_means = true;
  }
  Plan plan(Index, Index) override { return {.request = &request_}; }
  Next measured(Index, Index, const AttentionStats&) override { return Next::kGoOn; }
  bool may_ask_again() const override { return false; }

 private:
  AttentionRequest request_;
};

double seconds_of(Backend& backend, const auto& body) {
  backend.synchronize();
  const auto start = std::chrono::steady_clock::now();
  body();
  backend.synchronize();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool counts_itself(const Backend& backend) {
  return backend.name().starts_with("cuda");
}

// A line of /proc/self/status in bytes: VmRSS what is held, VmHWM the most that was. 0: not told.
Index process_memory(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field + ":"))
      return std::strtoll(line.c_str() + field.size() + 1, nullptr, 10) * 1024;
  }
  return 0;
}

// Lets the system count the most that is held from now on.
bool reset_process_peak() {
  std::ofstream file("/proc/self/clear_refs");
  return static_cast<bool>(file << "5" << std::flush);
}

// While it lives, whatever is large goes back to the system when it is freed, so that the system's count is
// what is in use; slower.
struct ExactHeap {
  ExactHeap() { mallopt(M_MMAP_THRESHOLD, 16 << 10); }
  ~ExactHeap() { mallopt(M_MMAP_THRESHOLD, 32 << 20); }  // as far as it moves by itself
  ExactHeap(const ExactHeap&) = delete;
  ExactHeap& operator=(const ExactHeap&) = delete;
};

}  // namespace

BenchPass::BenchPass(const ModelConfig& config, Index tokens, Index read) {
  for (Index i = 0; i < tokens; ++i) {
    ids.push_back(static_cast<TokenId>(uniform({.seed = 5}, static_cast<std::uint64_t>(i)) *
                                       static_cast<double>(config.V)));
  }
  rows.resize(static_cast<std::size_t>(read == 0 ? tokens : std::min(read, tokens)));
  std::iota(rows.begin(), rows.end(), tokens - std::ssize(rows));
}

void BenchPass::run(const Model& model, BenchRecord record) const {
  RecordingTap tap(std::ssize(ids), record);
  const ForwardSequence sequence{.ids = ids, .read_rows = rows};
  model.forward({&sequence, 1}, record == BenchRecord::kNothing ? nullptr : &tap);
}

BenchMemory::BenchMemory(const Model& model) : model_(model) {
  if (counts_itself(model.backend())) return;
  const ExactHeap exact;
  BenchPass(model.config(), 1, 1).run(model, BenchRecord::kNothing);
  malloc_trim(0);
  held_ = process_memory("VmRSS");
}

std::optional<Index> BenchMemory::peak_of(const BenchPass& pass, BenchRecord record) {
  Backend& backend = model_.backend();
  if (counts_itself(backend)) {
    backend.take_peak_bytes();
    pass.run(model_, record);
    backend.synchronize();
    return backend.take_peak_bytes();
  }
  const ExactHeap exact;
  malloc_trim(0);  // what earlier passes gave back
  if (!reset_process_peak()) return std::nullopt;
  pass.run(model_, record);
  const Index most = process_memory("VmHWM");
  if (most == 0 || held_ == 0) return std::nullopt;
  return std::max<Index>(0, most - held_);
}

BenchTime time_passes(const Model& model, const BenchPass& pass, BenchRecord record, int repeat,
                      BenchMemory& memory) {
  std::vector<double> times;
  for (int i = 0; i < repeat + 2; ++i) {  // two to warm up
    stop_if_interrupted();
    const double time = seconds_of(model.backend(), [&] { pass.run(model, record); });
    if (i >= 2) times.push_back(time);
  }
  std::ranges::sort(times);
  return {times[times.size() / 2], times.front(), memory.peak_of(pass, record)};
}

BenchOperations count_operations(const ModelConfig& c, Index tokens, Index read) {
  const auto N = static_cast<double>(tokens),
             R = static_cast<double>(read == 0 ? tokens : std::min(read, tokens));
  const auto width = static_cast<double>(c.E), Q = static_cast<double>(c.H * c.D),
             KV = static_cast<double>(c.Hkv * c.D);
  double before = 0, attention = 0, after = 0;
  for (Index l = 0; l < c.L; ++l) {  // of the last layer only the rows that are read
    const bool ssd = c.layer(l).mixer == MixerKind::kSsd;
    const auto S = static_cast<double>(ssd ? c.H * c.ssd->n : 0);
    before += N * width * (Q + 2 * (ssd ? S : KV));
    // A state is written and read both ways, apart from what is close by.
    attention +=
        ssd ? 4 * N * S * static_cast<double>(c.D) : 2 * N * N * Q * (c.mask == Mask::kFull ? 1 : 0.5);
    double feed = 3 * width * static_cast<double>(c.mlp(l));
    if (c.layer(l).feed_forward == FeedForwardKind::kExperts) {
      const ExpertShape& e = *c.experts;
      feed = width * static_cast<double>(e.count + 3 * (e.rule.active * e.F + e.shared_F));
    }
    after += (l + 1 == c.L ? R : N) * (Q * width + feed);
  }
  return {2 * (before + after + R * width * static_cast<double>(c.V)), 2 * attention};
}

std::pair<double, double> count_parameters(const ModelConfig& config) {
  WeightReport report;
  for (const ExpectedTensor& tensor : expected_tensors(config))
    report.parameters += element_count(tensor.shape);
  return {static_cast<double>(report.parameters),
          static_cast<double>(estimate_memory(config, report, 0).active_parameters)};
}

double product_rate(Backend& backend) {
  const Index size = backend.name().starts_with("cuda") ? 8192 : 1024;
  std::vector<std::uint16_t> noise(static_cast<std::size_t>(size * size));
  for (std::size_t i = 0; i < noise.size(); ++i) {
    noise[i] = static_cast<std::uint16_t>(0x3d00 + 0x8000 * (i * 2654435761u >> 31 & 1) + i % 251);
  }
  const TensorView view{DType::kBf16, {size, size}, std::as_bytes(std::span(noise))};
  const auto linear = backend.make_linear({{view}}, {});
  const Tensor x = backend.allocate_activations(size, size), y = backend.allocate_activations(size, size);
  std::vector<float> values(noise.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(static_cast<std::int32_t>(i * 2246822519u)) * 0x1p-31f;
  }
  backend.upload(values, x);
  backend.linear(x, *linear, Store::kOverwrite, y);
  double best = 0;
  for (int i = 0; i < 8; ++i) {
    const double time = seconds_of(backend, [&] { backend.linear(x, *linear, Store::kOverwrite, y); });
    best = std::max(best, 2.0 * static_cast<double>(size * size * size) / time);
  }
  return best;
}

}  // namespace buoy
