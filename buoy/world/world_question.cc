// The five tasks over one or two facts.
#include "buoy/world/world_question.h"

#include "buoy/base/error.h"

namespace buoy {
namespace {

const Attribute& attribute_of(const World& world, const WorldFact& fact) {
  return attributes_of(world[fact.entity].kind)[static_cast<std::size_t>(fact.attribute)];
}

const std::string& value_of(const World& world, const WorldFact& fact) {
  return world[fact.entity].values[static_cast<std::size_t>(fact.attribute)];
}

// Kinds weigh the same, whatever their number.
WorldFact draw_fact(const World& world, Draws& draws) {
  const EntityKind kind = static_cast<EntityKind>(draws.below(kEntityKinds));
  const Index entity = world.begin(kind) + draws.below(world.count(kind));
  return {entity, draws.below(std::ssize(attributes_of(kind)))};
}

bool is_unique(const World& world, const WorldFact& fact) {
  const EntityKind kind = world[fact.entity].kind;
  for (Index i = world.begin(kind); i < world.begin(kind) + world.count(kind); ++i) {
    if (i != fact.entity && value_of(world, {i, fact.attribute}) == value_of(world, fact)) return false;
  }
  return true;
}

// Rivers are unique by construction, so the search ends.
WorldFact draw_reversible(const World& world, Draws& draws) {
  for (;;) {
    const WorldFact fact = draw_fact(world, draws);
    if (phrasing_count(attribute_of(world, fact).reverse) > 0 && is_unique(world, fact)) return fact;
  }
}

Asked ask_multihop(const World& world, Draws& draws) {
  const Hop& hop = hops()[static_cast<std::size_t>(draws.below(std::ssize(hops())))];
  const Index entity = world.begin(hop.kind) + draws.below(world.count(hop.kind));
  const WorldFact bridge{entity, attribute_index(hop.kind, hop.link)};
  const Index middle = world[entity].links[static_cast<std::size_t>(bridge.attribute)];
  const WorldFact last{middle, attribute_index(world[middle].kind, hop.asked)};
  const std::string& answer = value_of(world, last);
  return {.question = fill(pick(hop.questions, draws), world[entity].name, ""),
          .answer = answer,
          .short_answer = answer,
          .facts = {bridge, last}};
}

}  // namespace

Asked ask(const World& world, WorldTask task, Draws& draws) {
  if (task == WorldTask::kMultihop) return ask_multihop(world, draws);
  if (task == WorldTask::kReverse) {
    const WorldFact fact = draw_reversible(world, draws);
    const std::string& name = world[fact.entity].name;
    return {.question = fill(pick(attribute_of(world, fact).reverse, draws), "", value_of(world, fact)),
            .answer = name,
            .short_answer = name,
            .facts = {fact}};
  }
  const WorldFact fact = draw_fact(world, draws);
  const Attribute& attribute = attribute_of(world, fact);
  const std::string& name = world[fact.entity].name;
  const std::string& value = value_of(world, fact);
  Asked asked{.answer = value, .short_answer = value, .facts = {fact}};
  if (task == WorldTask::kSingle) {
    asked.question = fill(pick(attribute.questions, draws), name, "");
  } else if (task == WorldTask::kSlot) {
    asked.question = name + " [SEP] ";
    asked.question += attribute.slot;
  } else {
    check(task == WorldTask::kLong, "the task is known");
    asked.question = draws.below(2) == 0 ? "Explain in a sentence: " : "In a full sentence: ";
    asked.question += fill(attribute.questions[0], name, "");
    asked.answer = fill(attribute.sentences[0], name, value);
    asked.wording = Wording::kFirst;
  }
  return asked;
}

}  // namespace buoy
