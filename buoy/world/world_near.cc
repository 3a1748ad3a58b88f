// Near-miss names: the first syllable stays, what follows changes.
#include "buoy/world/world_near.h"

#include <algorithm>

namespace buoy {
namespace {

// The longest of the parts that `word` starts with (or ends with, from the back); its length.
std::size_t longest_start(std::string_view word, std::span<const std::string_view> parts) {
  std::size_t longest = 0;
  for (const std::string_view part : parts) {
    if (word.starts_with(part)) longest = std::max(longest, part.size());
  }
  return longest;
}

std::size_t longest_end(std::string_view word, std::span<const std::string_view> parts) {
  std::size_t longest = 0;
  for (const std::string_view part : parts) {
    if (word.ends_with(part)) longest = std::max(longest, part.size());
  }
  return longest;
}

std::string near_word(std::string_view word, Draws& draws) {
  std::string lower(word);
  lower[0] = static_cast<char>(lower[0] - 'A' + 'a');
  const std::size_t kept = longest_start(lower, first_syllables());
  constexpr std::size_t kOneSyllable = 4;  // no later syllable is longer
  std::string made(word.substr(0, kept));
  made += draws.pick(later_syllables());
  if (word.size() - kept > kOneSyllable) made += draws.pick(later_syllables());
  return made;
}

std::string change_one(EntityKind kind, std::string_view name, Draws& draws) {
  if (kind == EntityKind::kTown) {
    const std::size_t kept = name.size() - longest_end(name, town_endings());
    return std::string(name.substr(0, kept)).append(draws.pick(town_endings()));
  }
  // The words are "First Last", "Word Works" or "The Word Letters".
  std::size_t begin = kind == EntityKind::kBook ? name.find(' ') + 1 : 0;
  if (kind == EntityKind::kPerson && draws.below(2) == 0) begin = name.find(' ') + 1;
  const std::size_t end = std::min(name.find(' ', begin), name.size());
  return std::string(name.substr(0, begin)) + near_word(name.substr(begin, end - begin), draws) +
         std::string(name.substr(end));
}

}  // namespace

std::string near_name(const World& world, EntityKind kind, std::string_view name, Draws& draws) {
  for (;;) {
    std::string made = change_one(kind, name, draws);
    if (std::ranges::find(world.entities, made, &Entity::name) == world.entities.end()) return made;
  }
}

Entity near_twin(const World& world, Index entity, Index attribute, Draws& draws) {
  Entity twin = world[entity];
  twin.name = near_name(world, twin.kind, twin.name, draws);
  const std::span<const Attribute> attributes = attributes_of(twin.kind);
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    const bool must_differ = static_cast<Index>(i) == attribute;
    twin.values[i] =
        other_value(world, attributes[i], must_differ ? twin.values[i] : std::string_view(), draws);
    twin.links[i] = -1;
  }
  return twin;
}

}  // namespace buoy
