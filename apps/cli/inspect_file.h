// What files that Buoy wrote, or could read, hold: traces and other .npz, runs.
#pragma once

#include <filesystem>
#include <string>

#include "buoy/io/json_fwd.h"

namespace buoy {

enum class FileKind { kOther, kNpz, kRun, kTraces };

// What a path is, by what lies there: a .npz file; a run.db, or a directory with one in it or in a folder of
// it (a study's answers/, stress/, interventions/); a directory of .npz files. kOther: none of these.
FileKind kind_of_path(const std::filesystem::path& path);

// In words, ready to print; `path` is of this kind. Throw Error where the file cannot be read.
std::string describe_npz(const std::filesystem::path& path);
std::string describe_runs(const std::filesystem::path& path);
std::string describe_traces(const std::filesystem::path& path);

// The arrays of a .npz, or the parts of runs, as JSON.
Json npz_json(const std::filesystem::path& path);
Json runs_json(const std::filesystem::path& path);

}  // namespace buoy
