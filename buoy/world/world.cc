// Names, facts and the two kinds of world.
#include "buoy/world/world.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "buoy/base/error.h"

namespace buoy {
namespace {

// Streams of one item; each purpose has its own, so that changing one setting leaves the rest as it was.
constexpr std::uint32_t kWorldStream = 1;
constexpr std::uint64_t kKnownSeed = 7;
constexpr WorldSizes kKnownSizes = {600, 160, 120, 120};
constexpr WorldSizes kNovelSizes = {12, 12, 12, 12};

std::string capitalised(std::string word) {
  word[0] = static_cast<char>(word[0] - 'a' + 'A');
  return word;
}

std::string word_of(Draws& draws, int syllables) {
  std::string word(draws.pick(first_syllables()));
  for (int i = 1; i < syllables; ++i) word += draws.pick(later_syllables());
  return capitalised(std::move(word));
}

std::string river_name(Draws& draws) {
  std::string name = word_of(draws, 2);
  name += draws.pick(river_endings());
  return name;
}

std::string entity_name(EntityKind kind, Draws& draws) {
  switch (kind) {
    case EntityKind::kPerson: {
      std::string name = word_of(draws, 2) + ' ';
      return name + word_of(draws, 2 + static_cast<int>(draws.below(2)));
    }
    case EntityKind::kTown: {
      std::string name = word_of(draws, 1 + static_cast<int>(draws.below(5) < 3));
      return name.append(draws.pick(town_endings()));
    }
    case EntityKind::kCompany: {
      std::string name = word_of(draws, 2) + ' ';
      return name.append(draws.pick(company_endings()));
    }
    case EntityKind::kBook: {
      std::string name = "The " + word_of(draws, 2) + ' ';
      return name.append(draws.pick(book_endings()));
    }
  }
  check(false, "the kind is known");
  return {};
}

// Draws until the name is new in this world.
template <typename Make>
std::string fresh(std::set<std::string>& used, Make make) {
  for (;;) {
    std::string name = make();
    if (used.insert(name).second) return name;
  }
}

std::string year(const Attribute& attribute, Draws& draws) {
  return std::to_string(attribute.first_year + draws.below(attribute.last_year - attribute.first_year + 1));
}

void fill_facts(World& world, Entity& entity, std::set<std::string>& used, Draws& draws) {
  const std::span<const Attribute> attributes = attributes_of(entity.kind);
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    const Attribute& attribute = attributes[i];
    if (const auto named = entity_named_by(attribute.value)) {
      entity.links[i] = world.begin(*named) + draws.below(world.count(*named));
      entity.values[i] = world[entity.links[i]].name;
    } else if (attribute.value == ValueKind::kYear) {
      entity.values[i] = year(attribute, draws);
    } else if (attribute.value == ValueKind::kRiver) {
      entity.values[i] = fresh(used, [&] { return river_name(draws); });
    } else {
      entity.values[i] = draws.pick(words_of(attribute.value));
    }
  }
}

}  // namespace

Index World::count(EntityKind kind) const {
  const std::size_t k = static_cast<std::size_t>(kind);
  return first[k + 1] - first[k];
}

std::string_view pick(const Phrasings& phrasings, Draws& draws) {
  return draws.pick(std::span(phrasings).first(static_cast<std::size_t>(phrasing_count(phrasings))));
}

World make_world(Draws draws, const WorldSizes& sizes) {
  World world;
  std::set<std::string> used;
  world.entities.reserve(static_cast<std::size_t>(std::accumulate(sizes.begin(), sizes.end(), Index{0})));
  for (std::size_t k = 0; k < kEntityKinds; ++k) {
    const EntityKind kind = static_cast<EntityKind>(k);
    for (Index i = 0; i < sizes[k]; ++i) {
      world.entities.push_back({.kind = kind, .name = fresh(used, [&] { return entity_name(kind, draws); })});
    }
    world.first[k + 1] = std::ssize(world.entities);
  }
  for (Entity& entity : world.entities) fill_facts(world, entity, used, draws);
  return world;
}

World make_known_world() {
  return make_world(Draws({.seed = kKnownSeed, .step = kWorldStream}), kKnownSizes);
}

World make_novel_world(std::uint64_t seed, Index item) {
  return make_world(Draws({.seed = seed, .sample = static_cast<std::uint32_t>(item), .step = kWorldStream}),
                    kNovelSizes);
}

std::string other_value(const World& world, const Attribute& attribute, std::string_view taken,
                        Draws& draws) {
  for (;;) {
    std::string value;
    if (const auto named = entity_named_by(attribute.value)) {
      value = world[world.begin(*named) + draws.below(world.count(*named))].name;
    } else if (attribute.value == ValueKind::kYear) {
      value = year(attribute, draws);
    } else if (attribute.value == ValueKind::kRiver) {
      value = river_name(draws);
    } else {
      value = draws.pick(words_of(attribute.value));
    }
    if (value != taken) return value;
  }
}

}  // namespace buoy
