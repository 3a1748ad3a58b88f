// Who watches long work: told of phases, progress and warnings, and may stop it.
#pragma once

#include <string>

#include "buoy/base/types.h"

namespace buoy {

// Everything is called on the thread that does the work. The default watches nothing.
class RunObserver {
 public:
  virtual ~RunObserver() = default;

  // A phase of `total` pieces of work begins ("mini-mdm", "ranking heads"); the one before it is over.
  virtual void begin(const std::string& /*phase*/, Index /*total*/) {}
  virtual void advance(Index /*by*/) {}
  // Some of them are there from an earlier run: they count, but say nothing of how fast the work goes.
  virtual void already(Index /*count*/) {}
  // The last phase is over.
  virtual void end() {}

  // What a run that goes on found of itself, one line.
  virtual void found(const std::string& line) { note(line); }
  // What is on disk by now, for the same work to go on from ("12 samples in out"); replaces what was said
  // before.
  virtual void kept(const std::string& /*what*/) {}

  // One line for a person to read.
  virtual void note(const std::string& /*line*/) {}
  virtual void warn(const std::string& /*line*/) {}

  // Asked before every pass of a model. True: the work throws Cancelled; what is stored stays.
  virtual bool cancelled() const { return false; }
};

}  // namespace buoy
