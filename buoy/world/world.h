// MicroWorld: fictional people, towns, companies and books with facts that fit together. Seeded and portable:
// the same key gives the same world on every machine.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "buoy/base/random.h"
#include "buoy/world/world_tables.h"

namespace buoy {

inline constexpr std::size_t kMaxAttributes = 4;

struct Entity {
  EntityKind kind;
  std::string name;                                         // ASCII, unique in its world
  std::array<std::string, kMaxAttributes> values;           // in the order of attributes_of(kind)
  std::array<Index, kMaxAttributes> links{-1, -1, -1, -1};  // the entity a value names, or -1
};

// Entities of one kind stand together, in the order of EntityKind.
struct World {
  std::vector<Entity> entities;
  std::array<Index, kEntityKinds + 1> first{};  // first[k] .. first[k+1] are the entities of kind k

  Index count(EntityKind kind) const;
  Index begin(EntityKind kind) const { return first[static_cast<std::size_t>(kind)]; }
  const Entity& operator[](Index i) const { return entities[static_cast<std::size_t>(i)]; }
};

using WorldSizes = std::array<Index, kEntityKinds>;  // people, towns, companies, books; each at least 1

// One of the phrasings that are there.
std::string_view pick(const Phrasings& phrasings, Draws& draws);

// Builds a world from a stream of draws. Pure; safe on any thread.
World make_world(Draws draws, const WorldSizes& sizes);

// The one fixed world whose facts the bundled models learn by heart: 600 people, 160 towns, 120 companies,
// 120 books.
World make_known_world();

// The world of one item about entities nobody has met: 12 of each kind.
World make_novel_world(std::uint64_t seed, Index item);

// A value for the attribute that differs from `taken`: a word, a year, a fresh river or another entity's
// name.
std::string other_value(const World& world, const Attribute& attribute, std::string_view taken, Draws& draws);

}  // namespace buoy
