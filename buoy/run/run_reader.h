// Reads a run's store without opening it for work: a run that is under way may be looked at.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "buoy/io/json_fwd.h"
#include "buoy/run/run_store.h"

namespace buoy {

// What a finished sample was answered from, and its prompt's ids where they were kept.
struct SampleDetail {
  RunInput input;
  std::vector<Index> prompt_ids;
};

// A store opened to be read. One thread.
class RunReader {
 public:
  // The run's file, or the folder that holds it as run.db. Throws Error when it is no run, or of another
  // version.
  explicit RunReader(const std::filesystem::path& path);

  Json settings() const;
  std::vector<Json> sessions() const;  // see RunStore::add_session()
  Json collections() const;            // by condition; an empty object where nothing was retrieved
  std::vector<SampleResult> results() const;
  void each_seen(const std::function<void(const SampleResult& sample)>& take) const;
  SampleDetail detail(const RunKey& key) const;
  std::string difference(const RunIdentity& identity) const;  // see run_difference()
  const std::filesystem::path& path() const { return database_.path(); }

 private:
  Database database_;
};

// False for the file of a run that was ended, or whose disk was full, before the first thing was in it: a
// database of no tables, in which the run may begin. Throws Error for what is no database.
bool has_begun(const std::filesystem::path& file);

// What the store and its readers share. Throw Error naming the file.
void check_run(const Database& database);
// Why the run cannot go on with this identity: "other settings: …" or "other data: …"; empty: it can.
std::string run_difference(const Database& database, const RunIdentity& identity);
Json read_settings(const Database& database);
std::vector<SampleResult> read_results(const Database& database);
void read_seen(const Database& database, const std::function<void(const SampleResult& sample)>& take);

}  // namespace buoy
