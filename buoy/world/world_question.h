// Which facts an item asks for, and in which words.
#pragma once

#include "buoy/world/world_item.h"

namespace buoy {

struct Asked {
  std::string question;
  std::string answer;        // as it should be given
  std::string short_answer;  // the piece of it that stands in the evidence; the same except for `long`
  std::vector<WorldFact> facts;
  Wording wording = Wording::kAny;  // of the evidence sentence
};

// Draws a question of the task. The answer is the only right one in its world.
Asked ask(const World& world, WorldTask task, Draws& draws);

}  // namespace buoy
