// Traces written to files by this process, or by all ranks of a job with rank 0 as the only one that writes.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "buoy/run/ranks.h"
#include "buoy/run/tracer.h"

namespace buoy {

struct TraceJob {
  TraceExample example;
  Index number = 0;  // names the stream of random draws
  std::filesystem::path path;
};

struct TraceShare {
  std::span<const TraceJob> jobs;  // the same on every rank, but for the paths, which are rank 0's
  std::span<const Index> open;     // places in `jobs` of those to be done; rank 0's
  Index batch_size = 1;
  std::function<void(Index traces)> written;  // told on rank 0 when a batch is on disk
};

// Traces what is open, in batches. The files have the same bytes on any number of ranks. Returns when all are
// done. Throws Error and Cancelled; files that were written stay.
void trace_jobs(Ranks& ranks, const TraceSource& source, const TraceShare& share);

}  // namespace buoy
