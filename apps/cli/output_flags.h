// What verbs that write a folder share: whether what is there may be replaced.
#pragma once

#include "apps/cli/options.h"
#include "buoy/base/error.h"
#include "buoy/engine/run_place.h"

namespace buoy {

struct OutputFlags {
  bool overwrite = false, beside = false;

  // Adds --overwrite and --new.
  void add_to(Verb& verb) {
    verb.flag("--overwrite", &overwrite, "Where the directory holds results of something else, replace them");
    verb.flag("--new", &beside,
              "Where the directory holds results of something else, write into DIRECTORY-2 and so on");
  }

  // Throws UsageError when both are given.
  OutputFolder::Other other() const {
    if (overwrite && beside) fail_usage("--overwrite excludes --new");
    return overwrite ? OutputFolder::Other::kReplace
                     : (beside ? OutputFolder::Other::kBeside : OutputFolder::Other::kRefuse);
  }
};

}  // namespace buoy
