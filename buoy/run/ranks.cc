#include "buoy/run/ranks.h"

#include <charconv>
#include <cstdlib>

#ifdef BUOY_MPI
// The C++ bindings of old Open MPI headers are neither wanted nor free of warnings.
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#endif

#include "buoy/base/error.h"

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
  void send(int, std::string_view) override { check(false, "one process sends nothing"); }
  RankMessage receive() override {
    check(false, "one process receives nothing");
    return {};
  }
  [[noreturn]] void abort() override { std::exit(1); }
};

#ifdef BUOY_MPI
constexpr int kTag = 1;

class MpiRanks : public Ranks {
 public:
  MpiRanks() {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &count_);
    MPI_Comm machine;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine);
    MPI_Comm_rank(machine, &local_rank_);
    MPI_Comm_free(&machine);
  }
  ~MpiRanks() override { MPI_Finalize(); }

  int rank() const override { return rank_; }
  int count() const override { return count_; }
  int local_rank() const override { return local_rank_; }

  void send(int to, std::string_view text) override {
    check(text.size() < (std::size_t{1} << 31), "a message is under 2 GiB");
    MPI_Send(text.data(), static_cast<int>(text.size()), MPI_BYTE, to, kTag, MPI_COMM_WORLD);
  }

  RankMessage receive() override {
    MPI_Status status;
    MPI_Probe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &status);
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    RankMessage message{.from = status.MPI_SOURCE, .text = std::string(static_cast<std::size_t>(size), '\0')};
    MPI_Recv(message.text.data(), size, MPI_BYTE, message.from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return message;
  }

  [[noreturn]] void abort() override {
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::exit(1);
  }

 private:
  int rank_ = 0, count_ = 1, local_rank_ = 0;
};
#endif

}  // namespace

std::unique_ptr<Ranks> Ranks::alone() {
  return std::make_unique<Alone>();
}

std::unique_ptr<Ranks> Ranks::join() {
  const int count = launched_ranks();
  if (count <= 1) return std::make_unique<Alone>();
#ifdef BUOY_MPI
  return std::make_unique<MpiRanks>();
#else
  fail(
      "started as one of {} ranks, but this build has no MPI: install Open MPI (libopenmpi-dev) and build "
      "again",
      count);
#endif
}

}  // namespace buoy
