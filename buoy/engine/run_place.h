// Where results go: a folder that holds another run's is never written over silently.
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "buoy/engine/run_settings.h"

namespace buoy {

struct RunIdentity;  // run_identity.h

// The folder for a run: as the settings have it, or, where they allow it and that holds another run, the
// first of OUTPUT-2, OUTPUT-3, … that holds none or this one; the observer is told. Throws Error for a folder
// that holds what something else made.
std::filesystem::path place_of_run(const RunSettings& settings, const RunIdentity& identity,
                                   RunObserver& observer);

// A folder that a verb without a store (analyze, study) writes into. It remembers in made.json by what and of
// what its files were made.
class OutputFolder {
 public:
  enum class Other { kRefuse, kReplace, kBeside };

  // `verb` and `inputs` say what is about to be made. A folder that holds the same may be made again. One
  // that holds anything else, or a report or a run that no made.json speaks of, throws Error naming what
  // differs; kBeside takes FOLDER-2 and so on instead. Nothing is written yet.
  OutputFolder(std::filesystem::path folder, const std::string& verb, const Json& inputs, Other other);

  const std::filesystem::path& path() const { return path_; }

  // Makes the folder and writes down what is about to be made, and what was there before. With kReplace the
  // files that were made before, and no others, are removed; of work by this verb that was broken off, which
  // never said what it made, what came into the folders `own` inside, which nothing else fills. Throws Error.
  void begin(const std::vector<std::string>& own = {});

  // Writes down which files came, in work that was broken off and went on too. Throws Error.
  void finish() const;

 private:
  std::filesystem::path path_;
  std::string made_;  // JSON
  bool replaces_ = false;
  std::set<std::filesystem::path> before_;
};

}  // namespace buoy
