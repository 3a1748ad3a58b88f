// Names that are almost another's, for passages about somebody else.
#pragma once

#include "buoy/world/world.h"

namespace buoy {

// Differs from `name`, the name of an entity of that kind in the world, in one word's later syllables or in
// its ending, and names nothing in the world.
std::string near_name(const World& world, EntityKind kind, std::string_view name, Draws& draws);

// An entity that is not in the world: almost the name of world[entity], and another value for the attribute.
Entity near_twin(const World& world, Index entity, Index attribute, Draws& draws);

}  // namespace buoy
