#include "buoy/run/ranks.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <list>
#include <optional>
#include <thread>

#ifdef BUOY_MPI
// The C++ bindings of old Open MPI headers are neither wanted nor free of warnings.
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#endif

#include "buoy/base/cancel.h"

namespace buoy {
namespace {

// What launchers tell their children. Not libraries reading settings: the launcher is the one who calls.
int number_in(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return otherwise;
  int value = otherwise;
  const std::string_view digits(text);
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

// How many ranks the launcher says there are; 1 without one.
int launched_ranks() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (const int count = number_in(variable, 0); count > 0) return count;
  }
  // Under Slurm a batch script itself is a step of one task; only srun sets this for what it starts.
  return std::getenv("SLURM_STEP_NUM_TASKS") != nullptr ? number_in("SLURM_STEP_NUM_TASKS", 1) : 1;
}

class Alone : public Ranks {
 public:
  int rank() const override { return 0; }
  int count() const override { return 1; }
  int local_rank() const override { return 0; }
  std::vector<int> others() const override { return {}; }
  void send(int, std::string_view) override { check(false, "one process sends nothing"); }
  RankMessage receive() override {
    check(false, "one process receives nothing");
    return {};
  }
  void sign() override {}
  void give_up(int) override { check(false, "one process has no others"); }
  bool gave_up() const override { return false; }
  [[noreturn]] void end(int code) override { std::exit(code); }
};

#ifdef BUOY_MPI
constexpr int kTextTag = 1, kSignTag = 2;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// How long this rank has waited without hearing of each other. Only time spent waiting counts: what came
// while it was at work is still unread.
class Silence {
 public:
  Silence(int count, double patience) : seconds_(static_cast<std::size_t>(count)), patience_(patience) {}

  void heard(int rank) { seconds_[static_cast<std::size_t>(rank)] = 0; }
  // A process that was itself held up has not waited: a look counts for little.
  void waited(double seconds) {
    constexpr double kMost = 0.1;
    for (double& s : seconds_) s += std::min(seconds, kMost);
  }
  bool too_long(int rank) const { return seconds_[static_cast<std::size_t>(rank)] > patience_; }
  double patience() const { return patience_; }

 private:
  std::vector<double> seconds_;
  double patience_;
};

class MpiRanks : public Ranks {
 public:
  explicit MpiRanks(RankWatch watch) : watch_(std::move(watch)) {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &count_);
    MPI_Comm machine;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine);
    MPI_Comm_rank(machine, &local_rank_);
    MPI_Comm_free(&machine);
    for (int other = 0; other < count_; ++other) {
      if (other != rank_ && (leads() || other == 0)) others_.push_back(other);
    }
    silence_.emplace(count_, watch_.patience);
  }
  // Not MPI_Finalize alone: it would keep a core busy for as long as rank 0 still writes its report.
  ~MpiRanks() override {
    MPI_Request all = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &all);
    for (int done = 0; MPI_Test(&all, &done, MPI_STATUS_IGNORE), done == 0;) nap();
    take_signs();
    MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int count() const override { return count_; }
  int local_rank() const override { return local_rank_; }
  std::vector<int> others() const override { return others_; }

  void send(int to, std::string_view text) override {
    check(text.size() < (std::size_t{1} << 31), "a message is under 2 GiB");
    const std::string& kept = sending_.emplace_back(text);  // it may be under way when this rank gives up
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(kept.data(), static_cast<int>(kept.size()), MPI_BYTE, to, kTextTag, MPI_COMM_WORLD, &request);
    for (int done = 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE), done == 0;) {
      wait_a_little();
      take_signs();
      if (silence_->too_long(to)) throw RankLost(to, silence_->patience());
    }
    sending_.pop_back();
  }

  RankMessage receive() override {
    while (true) {
      take_signs();
      MPI_Status status;
      int there = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, kTextTag, MPI_COMM_WORLD, &there, &status);
      if (there != 0) {
        RankMessage message = read(status);
        if (std::ranges::find(others_, message.from) != others_.end()) return message;
        continue;  // of one that was given up and woke
      }
      wait_a_little();
      for (const int other : others_) {
        if (silence_->too_long(other)) throw RankLost(other, silence_->patience());
      }
    }
  }

  void sign() override {
    constexpr double kSeldom = 15, kShare = 0.1;
    if (seconds_since(signed_) < std::min(kSeldom, kShare * watch_.patience)) return;
    signed_ = Clock::now();
    // Also to those that were given up: one that wakes must not end the job because nobody answers it.
    for (int other = 0; other < count_; ++other) {
      if (other == rank_ || (!leads() && other != 0)) continue;
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Isend(nullptr, 0, MPI_BYTE, other, kSignTag, MPI_COMM_WORLD, &request);
      MPI_Request_free(&request);
    }
  }

  void give_up(int rank) override {
    std::erase(others_, rank);
    gave_up_ = true;
    if (watch_.warning) {
      watch_.warning(
          fmt::format("{}; the other ranks do its work", RankLost(rank, silence_->patience()).what()));
    }
  }
  bool gave_up() const override { return gave_up_; }

  [[noreturn]] void end(int code) override {
    MPI_Abort(MPI_COMM_WORLD, code);
    std::exit(code);
  }

 private:
  static void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

  void wait_a_little() {
    if (watch_.stopped && watch_.stopped()) throw Cancelled();
    sign();
    const Clock::time_point start = Clock::now();
    nap();
    silence_->waited(seconds_since(start));
  }

  void take_signs() {
    while (true) {
      MPI_Status status;
      int there = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, kSignTag, MPI_COMM_WORLD, &there, &status);
      if (there == 0) return;
      MPI_Recv(nullptr, 0, MPI_BYTE, status.MPI_SOURCE, kSignTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      silence_->heard(status.MPI_SOURCE);
    }
  }

  RankMessage read(const MPI_Status& status) {
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    RankMessage message{.from = status.MPI_SOURCE, .text = std::string(static_cast<std::size_t>(size), '\0')};
    MPI_Recv(message.text.data(), size, MPI_BYTE, message.from, kTextTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    silence_->heard(message.from);
    return message;
  }

  RankWatch watch_;
  int rank_ = 0, count_ = 1, local_rank_ = 0;
  std::vector<int> others_;
  bool gave_up_ = false;
  std::optional<Silence> silence_;
  Clock::time_point signed_ = Clock::now();
  std::list<std::string> sending_;
};
#endif

}  // namespace

RankLost::RankLost(int rank, double seconds)
    : Error(fmt::format("rank {} gave no sign of life for {:g} s", rank, seconds)), rank_(rank) {}

std::unique_ptr<Ranks> Ranks::alone() {
  return std::make_unique<Alone>();
}

std::unique_ptr<Ranks> Ranks::join([[maybe_unused]] RankWatch watch) {
  const int count = launched_ranks();
  if (count <= 1) return std::make_unique<Alone>();
#ifdef BUOY_MPI
  return std::make_unique<MpiRanks>(std::move(watch));
#else
  fail(
      "started as one of {} ranks, but this build has no MPI: install Open MPI (libopenmpi-dev) and build "
      "again",
      count);
#endif
}

}  // namespace buoy
