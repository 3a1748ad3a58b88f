// Times forward passes of a checkpoint, plain or recorded, and reports the peak memory. One JSON line on
// stdout.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <numeric>

#include <CLI/CLI.hpp>
#include <sys/resource.h>

#include "buoy/base/error.h"
#include "buoy/base/random.h"
#include "buoy/base/thread_pool.h"
#include "buoy/io/json.h"
#include "buoy/model/transformer.h"

namespace buoy {
namespace {

// Asks for column sums of all rows; with `everything` also row statistics of 32 rows, norms and QK means.
class RecordingTap : public Tap {
 public:
  RecordingTap(Index tokens, bool everything) {
    request_.query_groups.assign(static_cast<std::size_t>(tokens), 0);
    request_.group_count = 1;
    if (!everything) return;
    for (Index r = 0; r < std::min<Index>(32, tokens); ++r) request_.rows.push_back(tokens - 1 - r);
    request_.output_norms = request_.qk_means = true;
  }
  Plan plan(Index, Index) override { return {.request = &request_}; }
  Next measured(Index, Index, const AttentionStats& stats) override {
    checksum += stats.column_sums[0];
    return Next::kGoOn;
  }
  double checksum = 0;

 private:
  AttentionRequest request_;
};

struct Seconds {
  double wall, cpu;  // cpu: of all threads, which other programs on the machine do not lengthen
};

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Seconds seconds_of(const auto& body) {
  const auto start = std::chrono::steady_clock::now();
  const double cpu = cpu_seconds();
  body();
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
          cpu_seconds() - cpu};
}

struct BenchSettings {
  std::string directory, record = "columns", instructions = "best";
  Index tokens = 512;
  int threads = 0, repeat = 20;
};

void run(const BenchSettings& settings) {
  const auto& [directory, record, instructions, tokens, threads, repeat] = settings;
  const auto backend = make_cpu_backend({.threads = threads == 0 ? available_threads() : threads,
                                         .instructions = instructions == "avx2"     ? Instructions::kAvx2
                                                         : instructions == "avx512" ? Instructions::kAvx512
                                                                                    : Instructions::kBest});
  const Transformer model(directory, *backend, {});
  std::vector<TokenId> ids;
  for (Index i = 0; i < tokens; ++i) {
    ids.push_back(static_cast<TokenId>(uniform({.seed = 5}, static_cast<std::uint64_t>(i)) *
                                       static_cast<double>(model.config().V)));
  }
  std::vector<Index> rows(ids.size());
  std::iota(rows.begin(), rows.end(), 0);
  const ForwardSequence sequence{.ids = ids, .read_rows = rows};
  std::vector<double> times, cpu;
  for (int r = 0; r < repeat + 1; ++r) {  // the first one warms up
    RecordingTap tap(tokens, record == "all");
    Tap* watching = record == "none" ? nullptr : &tap;
    const Seconds s = seconds_of([&] { model.forward({&sequence, 1}, watching); });
    if (r == 0) continue;
    times.push_back(s.wall);
    cpu.push_back(s.cpu);
  }
  std::ranges::sort(times);
  std::ranges::sort(cpu);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  Json json;
  json["tokens"] = tokens;
  json["record"] = record;
  json["threads"] = threads;
  json["median_ms"] = 1e3 * times[times.size() / 2];
  json["best_ms"] = 1e3 * times.front();
  json["median_cpu_ms"] = 1e3 * cpu[cpu.size() / 2];
  json["best_cpu_ms"] = 1e3 * cpu.front();
  json["instructions"] = instructions;
  json["peak_mib"] = static_cast<double>(usage.ru_maxrss) / 1024;
  std::printf("%s\n", json.dump().c_str());
}

}  // namespace
}  // namespace buoy

int main(int argc, char** argv) {
  CLI::App app{"Time forward passes of a checkpoint on the cpu backend"};
  buoy::BenchSettings settings;
  app.add_option("--model", settings.directory, "Checkpoint directory")->required();
  app.add_option("--tokens", settings.tokens, "Length of the sequence")->capture_default_str();
  app.add_option("--threads", settings.threads, "0: all")->capture_default_str();
  app.add_option("--repeat", settings.repeat, "Timed passes")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--record", settings.record, "none, columns (column sums) or all")
      ->check(CLI::IsMember({"none", "columns", "all"}))
      ->capture_default_str();
  app.add_option("--instructions", settings.instructions, "best, or avx2 where there is AVX-512 too")
      ->check(CLI::IsMember({"best", "avx512", "avx2"}))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    buoy::run(settings);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "forward_bench: %s\n", e.what());
    return 1;
  }
  return 0;
}
