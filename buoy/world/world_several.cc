// The tasks over several facts: chains, lists, profiles, and records of different years.
#include <algorithm>

#include "buoy/base/error.h"
#include "buoy/world/world_question.h"

namespace buoy {
namespace {

const Attribute& asked_attribute(const World& world, const WorldFact& fact) {
  return attributes_of(world[fact.entity].kind)[static_cast<std::size_t>(fact.attribute)];
}

const std::string& stated_value(const World& world, const WorldFact& fact) {
  return world[fact.entity].values[static_cast<std::size_t>(fact.attribute)];
}

Index draw_entity(const World& world, EntityKind kind, Draws& draws) {
  return world.begin(kind) + draws.below(world.count(kind));
}

// One of the links that entities of the kind have.
const LinkNoun& draw_link(EntityKind kind, Draws& draws) {
  std::vector<const LinkNoun*> fitting;
  for (const LinkNoun& noun : link_nouns()) {
    if (noun.kind == kind) fitting.push_back(&noun);
  }
  return *fitting[static_cast<std::size_t>(draws.below(std::ssize(fitting)))];
}

// Walks from entity to entity; nothing when the walk or its answer comes back to one where it was.
std::optional<Asked> walk(const World& world, Index hops, Draws& draws) {
  Index at = draw_entity(world, static_cast<EntityKind>(draws.below(kEntityKinds)), draws);
  std::string subject = world[at].name;
  std::vector<WorldFact> facts;
  std::vector<Index> met = {at};
  while (std::ssize(facts) + 1 < hops) {
    const LinkNoun& noun = draw_link(world[at].kind, draws);
    facts.push_back({at, attribute_index(noun.kind, noun.link)});
    subject = fill(noun.phrase, subject, "");
    at = world[at].links[static_cast<std::size_t>(facts.back().attribute)];
    if (std::ranges::find(met, at) != met.end()) return std::nullopt;
    met.push_back(at);
  }
  facts.push_back({at, draws.below(std::ssize(attributes_of(world[at].kind)))});
  const Index end = world[at].links[static_cast<std::size_t>(facts.back().attribute)];
  if (std::ranges::find(met, end) != met.end()) return std::nullopt;
  const std::string& answer = stated_value(world, facts.back());
  const Phrasings& questions = asked_attribute(world, facts.back()).questions;
  std::string question = fill(pick(questions, draws), subject, "");
  return Asked{
      .question = std::move(question), .answer = answer, .short_answer = answer, .facts = std::move(facts)};
}

Asked ask_chain(const World& world, Index hops, Draws& draws) {
  for (;;) {
    if (auto asked = walk(world, hops, draws)) return std::move(*asked);
  }
}

std::vector<Index> holders(const World& world, EntityKind kind, Index attribute, std::string_view value) {
  std::vector<Index> found;
  for (Index i = world.begin(kind); i < world.begin(kind) + world.count(kind); ++i) {
    if (stated_value(world, {i, attribute}) == value) found.push_back(i);
  }
  return found;
}

Asked ask_list(const World& world, Index count, Draws& draws) {
  for (;;) {
    const Listing& listing = listings()[static_cast<std::size_t>(draws.below(std::ssize(listings())))];
    const Index attribute = attribute_index(listing.kind, listing.attribute);
    const std::string& value = stated_value(world, {draw_entity(world, listing.kind, draws), attribute});
    std::vector<Index> group = holders(world, listing.kind, attribute, value);
    if (std::ssize(group) != count) continue;
    std::ranges::sort(group, {}, [&](Index i) -> const std::string& { return world[i].name; });
    Asked asked{.question = "Name in alphabetical order " + fill(listing.phrase, "", value) + "."};
    for (const Index i : group) {
      asked.answer += (asked.answer.empty() ? "" : ", ") + world[i].name;
      asked.facts.push_back({i, attribute});
    }
    asked.short_answer = asked.answer;
    return asked;
  }
}

Asked ask_profile(const World& world, Index count, Draws& draws) {
  EntityKind kind;
  do {
    kind = static_cast<EntityKind>(draws.below(kEntityKinds));
  } while (std::ssize(attributes_of(kind)) < count);
  const Index entity = draw_entity(world, kind, draws);
  const std::string& name = world[entity].name;
  Asked asked{.question = "Write about " + name + ": ", .wording = Wording::kFirst};
  for (const Index i : draws.shuffled(std::ssize(attributes_of(kind)))) {
    if (std::ssize(asked.facts) == count) break;
    const bool first = asked.facts.empty();
    asked.facts.push_back({entity, i});
    const Attribute& attribute = asked_attribute(world, asked.facts.back());
    asked.question.append(first ? "" : ", ").append(attribute.slot);
    asked.answer.append(first ? "" : " ") +=
        fill(attribute.sentences[0], name, stated_value(world, asked.facts.back()));
  }
  asked.question += '.';
  asked.short_answer = asked.answer;
  return asked;
}

// `count` different years on the grid, ascending.
std::vector<Index> draw_years(Index count, Index step, Draws& draws) {
  std::vector<Index> years;
  for (const Index i : draws.shuffled((kLastRecord - kFirstRecord + 1) / step)) {
    if (std::ssize(years) < count) years.push_back(kFirstRecord + i * step);
  }
  std::ranges::sort(years);
  return years;
}

// What may change in the course of years.
constexpr std::pair<EntityKind, std::string_view> kChanging[] = {{EntityKind::kPerson, "employer"},
                                                                 {EntityKind::kPerson, "profession"},
                                                                 {EntityKind::kTown, "mayor"},
                                                                 {EntityKind::kCompany, "headquarters"},
                                                                 {EntityKind::kCompany, "product"}};

Asked ask_record(const World& world, WorldTask task, Index records, Index step, Draws& draws) {
  WorldFact fact;
  if (task == WorldTask::kDated) {
    const auto& [kind, key] = kChanging[draws.below(std::ssize(kChanging))];
    fact = {draw_entity(world, kind, draws), attribute_index(kind, key)};
  } else {
    const EntityKind kind = static_cast<EntityKind>(draws.below(kEntityKinds));
    fact = {draw_entity(world, kind, draws), draws.below(std::ssize(attributes_of(kind)))};
  }
  const std::string& answer = stated_value(world, fact);
  std::string question =
      fill(pick(asked_attribute(world, fact).questions, draws), world[fact.entity].name, "");
  std::vector<Index> years = draw_years(records, step, draws);
  std::size_t gold = 0;
  if (task == WorldTask::kDated) {
    gold = static_cast<std::size_t>(draws.below(records));
    const Index end = gold + 1 < years.size() ? years[gold + 1] : kLastRecord + 1;
    const Index year = years[gold] + draws.below((end - years[gold] + step - 1) / step) * step;
    question += fmt::format(" Answer as of {}; a record holds until the next.", year);
  } else {
    const bool latest = draws.below(2) == 0;
    gold = latest ? years.size() - 1 : 0;
    question += latest ? " Believe the latest record." : " Believe the earliest record.";
  }
  std::rotate(years.begin(), years.begin() + static_cast<std::ptrdiff_t>(gold), years.end());
  return {.question = std::move(question),
          .answer = answer,
          .short_answer = answer,
          .facts = {fact},
          .years = std::move(years)};
}

}  // namespace

Asked ask_several(const World& world, WorldTask task, Index length, Index year_step, Draws& draws) {
  switch (task) {
    case WorldTask::kChain:
      return ask_chain(world, length, draws);
    case WorldTask::kList:
      return ask_list(world, length, draws);
    case WorldTask::kProfile:
      return ask_profile(world, length, draws);
    default:
      check(task == WorldTask::kDated || task == WorldTask::kConflict, "the task is one over several facts");
      return ask_record(world, task, length, year_step, draws);
  }
}

void gather(World& world, Index count, Draws& draws) {
  const Listing& listing = listings()[static_cast<std::size_t>(draws.below(std::ssize(listings())))];
  const std::size_t a = static_cast<std::size_t>(attribute_index(listing.kind, listing.attribute));
  const Index begin = world.begin(listing.kind), size = world.count(listing.kind);
  check(count <= size, "a kind has that many entities");
  const Entity& source = world[begin + draws.below(size)];
  const std::string value = source.values[a];
  const Index link = source.links[a];
  const Attribute& attribute = attributes_of(listing.kind)[a];
  Index chosen = 0;
  for (const Index i : draws.shuffled(size)) {
    Entity& entity = world.entities[static_cast<std::size_t>(begin + i)];
    if (chosen++ < count) {
      entity.values[a] = value;
      entity.links[a] = link;
    } else if (entity.values[a] == value) {
      entity.values[a] = other_value(world, attribute, value, draws);
      const auto named = entity_named_by(attribute.value);
      for (Index j = 0; named && j < world.count(*named); ++j) {
        if (world[world.begin(*named) + j].name == entity.values[a])
          entity.links[a] = world.begin(*named) + j;
      }
    }
  }
}

}  // namespace buoy
