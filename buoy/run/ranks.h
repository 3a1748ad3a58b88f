// The processes of a job: this one alone, or all that mpirun or srun started.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/base/error.h"
#include "buoy/base/types.h"

namespace buoy {

struct RankMessage {
  int from = 0;
  std::string text;
};

// A rank was silent for longer than it may be.
class RankLost : public Error {
 public:
  RankLost(int rank, double seconds);
  int rank() const { return rank_; }

 private:
  int rank_;
};

// Seconds of silence after which a rank counts as lost. Between two signs of life lies a pass, or the loading
// of a model.
inline constexpr double kRankPatience = 600;

struct RankWatch {
  double patience = kRankPatience;
  std::function<bool()> stopped;                         // asked while waiting; true: Cancelled. May be empty
  std::function<void(const std::string& line)> warning;  // told of ranks that are given up. May be empty
};

// One per process. Messages between two ranks arrive whole and in order. One thread. Only rank 0 speaks with
// all others; they speak with rank 0.
class Ranks {
 public:
  virtual ~Ranks() = default;

  // Joins the job that this process was started in, or stands alone. Throws Error when it was started by
  // mpirun or srun with several ranks, but this build has no MPI: each would do all of the work.
  static std::unique_ptr<Ranks> join(RankWatch watch = {});
  // This process and no other, whoever started it.
  static std::unique_ptr<Ranks> alone();

  virtual int rank() const = 0;
  virtual int count() const = 0;       // of the job, with those that were given up
  virtual int local_rank() const = 0;  // among those on the same machine: which of its GPUs to take

  // Those that this rank speaks with: for rank 0 all others that were not given up.
  virtual std::vector<int> others() const = 0;

  // Waits until the text is on its way. Throws RankLost and Cancelled.
  virtual void send(int to, std::string_view text) = 0;
  // From any of others(); waits. Throws RankLost when one of them gave no sign of life for too long while
  // this rank waited, and Cancelled.
  virtual RankMessage receive() = 0;
  // A sign of life for those who wait; often called, seldom sent. Ranks that wait give signs by themselves.
  virtual void sign() = 0;

  // From here on nothing is heard of this rank, nor waited for; the watch is warned.
  virtual void give_up(int rank) = 0;
  // Such a job cannot end rank by rank, only by end().
  virtual bool gave_up() const = 0;

  // Ends all ranks at once with this exit code.
  [[noreturn]] virtual void end(int code) = 0;

  bool leads() const { return rank() == 0; }
};

}  // namespace buoy
