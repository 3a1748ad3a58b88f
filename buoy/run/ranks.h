// The processes of a job: this one alone, or all that mpirun or srun started.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "buoy/base/types.h"

namespace buoy {

struct RankMessage {
  int from = 0;
  std::string text;
};

// One per process. Messages between two ranks arrive whole and in order. One thread.
class Ranks {
 public:
  virtual ~Ranks() = default;

  // Joins the job that this process was started in, or stands alone. Throws Error when it was started by
  // mpirun or srun with several ranks, but this build has no MPI: each would do all of the work.
  static std::unique_ptr<Ranks> join();
  // This process and no other, whoever started it.
  static std::unique_ptr<Ranks> alone();

  virtual int rank() const = 0;
  virtual int count() const = 0;
  virtual int local_rank() const = 0;  // among those on the same machine: which of its GPUs to take

  virtual void send(int to, std::string_view text) = 0;
  virtual RankMessage receive() = 0;  // from any; waits

  // Ends all ranks at once with exit code 1.
  [[noreturn]] virtual void abort() = 0;

  bool leads() const { return rank() == 0; }
};

}  // namespace buoy
