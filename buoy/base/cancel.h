// How work is stopped on request.
#pragma once

#include <stdexcept>

namespace buoy {

// Thrown by work that an observer asked to stop, at the next point where nothing is lost. Neither bad input
// nor a bug, so it is no Error.
class Cancelled : public std::runtime_error {
 public:
  Cancelled() : std::runtime_error("stopped") {}
};

}  // namespace buoy
