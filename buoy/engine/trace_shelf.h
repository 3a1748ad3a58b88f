// The traces of a study on disk while it runs, so that one that was killed goes on where it was.
#pragma once

#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "buoy/engine/tracing_model.h"

namespace buoy {

class TraceShelf {
 public:
  // The directory is made with the first trace.
  explicit TraceShelf(std::filesystem::path directory) : directory_(std::move(directory)) {}

  // The traces of a batch whose first item draws from stream `first_sample`: read where all of them are there
  // and were made so, else made and written. Throws Error.
  std::vector<Trace> get(const TracingModel& model, const std::string& data, std::span<const QaItem> items,
                         Index first_sample);

  // For traces that others make: where that of an item belongs which draws from stream `number`, and whether
  // it is there and was made so. What is not there is none that get() found, even when it came meanwhile.
  std::filesystem::path place(const TracingModel& model, const std::string& data, const QaItem& item,
                              Index number) const;
  bool holds(const TracingModel& model, const std::string& data, const QaItem& item, Index number);

  // Makes the directory. Throws Error.
  void make() const;
  const std::filesystem::path& directory() const { return directory_; }

  // How many get() gave.
  Index count() const { return std::ssize(paths_); }
  // How many of them were there.
  Index found() const { return found_; }

  // Removes what get() gave, and the directory when nothing else is in it.
  void clear() const;

 private:
  std::filesystem::path directory_;
  std::set<std::filesystem::path> paths_, missed_;
  Index found_ = 0;
};

}  // namespace buoy
