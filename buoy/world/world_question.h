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
  std::vector<Index> years;  // of the records: the gold one's, then the others'; empty where nothing is dated
};

// Draws a question of the task. The answer is the only right one in its world.
Asked ask(const World& world, WorldTask task, Draws& draws);

// The tasks from kChain on, with so many facts, names or records. A list needs a group of that many: gather()
// makes one in a world that may be changed.
Asked ask_several(const World& world, WorldTask task, Index length, Index year_step, Draws& draws);

// Gives `count` entities of one kind a shared value that no other has. At most as many as a kind has.
void gather(World& world, Index count, Draws& draws);

// Years of records run from kFirstRecord to kLastRecord.
inline constexpr Index kFirstRecord = 1800, kLastRecord = 1999;

}  // namespace buoy
