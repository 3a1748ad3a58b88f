// An observer for one rank of a job: rank 0 speaks for all of them, and every rank gives signs of life.
#pragma once

#include <string>

#include "buoy/engine/run_observer.h"
#include "buoy/run/ranks.h"

namespace buoy {

// Both must outlive it.
class RankObserver : public RunObserver {
 public:
  RankObserver(Ranks& ranks, RunObserver& inner) : ranks_(ranks), inner_(inner) {}

  void begin(const std::string& phase, Index total) override {
    ranks_.sign();
    if (ranks_.leads()) inner_.begin(phase, total);
  }
  void advance(Index by) override {
    ranks_.sign();
    if (ranks_.leads()) inner_.advance(by);
  }
  void already(Index count) override {
    if (ranks_.leads()) inner_.already(count);
  }
  void end() override {
    if (ranks_.leads()) inner_.end();
  }
  void found(const std::string& line) override {
    if (ranks_.leads()) inner_.found(line);
  }
  void kept(const std::string& what) override {
    if (ranks_.leads()) inner_.kept(what);
  }
  void note(const std::string& line) override {
    if (ranks_.leads()) inner_.note(line);
  }
  void warn(const std::string& line) override {
    if (ranks_.leads()) inner_.warn(line);
  }
  bool cancelled() const override {
    ranks_.sign();
    return inner_.cancelled();
  }

 private:
  Ranks& ranks_;
  RunObserver& inner_;
};

}  // namespace buoy
