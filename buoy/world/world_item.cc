// Puts an item together: the question, the gold passages, what surrounds them, and where each stands.
#include "buoy/world/world_item.h"

#include <algorithm>

#include "buoy/base/error.h"
#include "buoy/world/world_question.h"

namespace buoy {
namespace {

// Streams of one item; 1 is its world's.
enum : std::uint32_t {
  kQuestionStream = 2,
  kPlaceStream = 3,
  kGoldStream = 4,
  kFillStream = 5,
  kFalseStream = 6
};

Draws stream(const ItemSettings& settings, Index item, std::uint32_t purpose, Index position = 0) {
  return Draws({.seed = settings.seed,
                .sample = static_cast<std::uint32_t>(item),
                .step = purpose,
                .position = static_cast<std::uint32_t>(position)});
}

Index other_than(Index taken, Index begin, Index count, Draws& draws) {
  const Index drawn = begin + draws.below(count - 1);
  return drawn >= taken ? drawn + 1 : drawn;
}

// Positions (from 0) of the gold passages, in the order of `facts`.
std::vector<Index> place_golds(const ItemSettings& s, Index golds, Draws draws) {
  std::vector<Index> at;
  for (const Index position : s.gold_positions) at.push_back(position - 1);
  if (std::ssize(at) == golds) return at;
  const Index last = s.passages - 1;
  const Index drawn = draws.below(s.passages), coin = draws.below(2);
  if (golds == 2 && at.empty() && s.split == Split::kFar)
    return coin == 0 ? std::vector{Index{0}, last} : std::vector{last, Index{0}};
  if (at.empty()) at.push_back(drawn);
  if (golds == 1) return at;
  const Index first = at[0];
  switch (s.split) {
    case Split::kNear:
      at.push_back(first == 0 ? 1 : first == last || coin == 0 ? first - 1 : first + 1);
      break;
    case Split::kFar:
      at.push_back(first * 2 < last ? last : first * 2 > last ? 0 : coin * last);
      if (at[1] == first) at[1] = last - first;
      break;
    case Split::kAny:
      at.push_back(other_than(first, 0, s.passages, draws));
      break;
  }
  return at;
}

struct Scene {
  const World& world;
  const Asked& asked;

  bool asks_about(Index entity) const {
    return std::ranges::any_of(asked.facts, [&](const WorldFact& fact) { return fact.entity == entity; });
  }
  std::vector<Index> asked_of(Index entity) const {
    std::vector<Index> attributes;
    for (const WorldFact& fact : asked.facts) {
      if (fact.entity == entity) attributes.push_back(fact.attribute);
    }
    return attributes;
  }
};

Passage gold_passage(const Scene& scene, const WorldFact& fact, WorldTask task, Draws draws) {
  const PassageText made = write_passage(
      scene.world, {.entity = fact.entity, .must = fact.attribute, .wording = scene.asked.wording}, draws);
  Passage passage{.title = scene.world[fact.entity].name, .text = made.text, .role = PassageRole::kGold};
  passage.evidence = {made.sentence};
  if (fact == scene.asked.facts.back()) {
    passage.answer = {task == WorldTask::kReverse ? made.name
                      : task == WorldTask::kLong  ? made.sentence
                                                  : made.value};
  }
  return passage;
}

Passage distractor(const Scene& scene, Distractors kind, Draws draws) {
  if (kind == Distractors::kMixed) {
    constexpr Distractors kMix[] = {Distractors::kOther, Distractors::kOther, Distractors::kSameEntity,
                                    Distractors::kSameAttribute};
    kind = kMix[draws.below(4)];
  }
  const WorldFact& asked =
      scene.asked.facts[static_cast<std::size_t>(draws.below(std::ssize(scene.asked.facts)))];
  const World& world = scene.world;
  PassagePlan plan;
  switch (kind) {
    case Distractors::kSameEntity:
      plan = {.entity = asked.entity, .never = scene.asked_of(asked.entity)};
      break;
    case Distractors::kSameAttribute: {
      const EntityKind entity_kind = world[asked.entity].kind;
      plan = {.entity = other_than(asked.entity, world.begin(entity_kind), world.count(entity_kind), draws),
              .must = asked.attribute};
      break;
    }
    default:
      do {
        plan.entity = draws.below(std::ssize(world.entities));
      } while (scene.asks_about(plan.entity));
  }
  return {.title = world[plan.entity].name, .text = write_passage(world, plan, draws).text};
}

// States another value for the last fact; of a reverse question, that another entity has the value asked for.
Passage contradiction(const Scene& scene, WorldTask task, Draws draws) {
  const World& world = scene.world;
  const WorldFact& fact = scene.asked.facts.back();
  const Entity& entity = world[fact.entity];
  const std::string& truth = entity.values[static_cast<std::size_t>(fact.attribute)];
  PassagePlan plan{.entity = fact.entity, .must = fact.attribute, .wording = scene.asked.wording};
  if (task == WorldTask::kReverse) {
    plan.entity = other_than(fact.entity, world.begin(entity.kind), world.count(entity.kind), draws);
    plan.instead = truth;
  } else {
    plan.instead = other_value(world, attributes_of(entity.kind)[static_cast<std::size_t>(fact.attribute)],
                               truth, draws);
  }
  return {.title = world[plan.entity].name,
          .text = write_passage(world, plan, draws).text,
          .role = PassageRole::kContradiction};
}

// The passages that are no gold, in random order.
std::vector<Passage> surroundings(const Scene& scene, const ItemSettings& s, const WorldItem& item,
                                  Index count) {
  std::vector<Passage> made;
  for (Index i = 0; i < count; ++i) {
    const Draws draws = stream(s, item.index, i < s.contradictions ? kFalseStream : kFillStream, i);
    if (i < s.contradictions) {
      made.push_back(contradiction(scene, item.task, draws));
    } else if (i < s.contradictions + s.noise) {
      Draws filler = draws;
      const Index sentences = 2 + filler.below(3);
      made.push_back({.text = write_filler(sentences, filler), .role = PassageRole::kNoise});
    } else {
      made.push_back(distractor(scene, s.distractors, draws));
    }
  }
  std::vector<Passage> ordered;
  for (const Index i : stream(s, item.index, kPlaceStream, 1).shuffled(count)) {
    ordered.push_back(std::move(made[static_cast<std::size_t>(i)]));
  }
  return ordered;
}

void add_passages(const Scene& scene, const ItemSettings& s, WorldItem& item) {
  const Index golds = s.gold_left_out ? 0 : std::ssize(scene.asked.facts);
  std::vector<Index> at;
  if (golds > 0) at = place_golds(s, golds, stream(s, item.index, kPlaceStream));
  std::vector<Passage> around = surroundings(scene, s, item, s.passages - golds);
  item.passages.reserve(static_cast<std::size_t>(s.passages));
  std::size_t next = 0;
  for (Index i = 0; i < s.passages; ++i) {
    const auto here = std::ranges::find(at, i);
    if (here == at.end()) {
      item.passages.push_back(std::move(around[next++]));
    } else {
      const Index which = here - at.begin();
      item.passages.push_back(gold_passage(scene, scene.asked.facts[static_cast<std::size_t>(which)],
                                           item.task, stream(s, item.index, kGoldStream, which)));
    }
  }
}

}  // namespace

WorldKind world_of_item(const ItemSettings& settings, Index index) {
  const Index round = index / std::ssize(settings.tasks);
  return settings.worlds[static_cast<std::size_t>(round % std::ssize(settings.worlds))];
}

WorldItem make_item(const World& known, const ItemSettings& settings, Index index) {
  check(index >= 0 && index < (Index{1} << 32), "the item number fits a draw key");
  WorldItem item{.index = index,
                 .task = settings.tasks[static_cast<std::size_t>(index % std::ssize(settings.tasks))],
                 .world = world_of_item(settings, index)};
  World novel;
  if (item.world == WorldKind::kNovel) novel = make_novel_world(settings.seed, index);
  const World& world = item.world == WorldKind::kNovel ? novel : known;
  Draws draws = stream(settings, index, kQuestionStream);
  Asked asked = ask(world, item.task, draws);
  if (settings.passages > 0) add_passages({world, asked}, settings, item);
  item.question = std::move(asked.question);
  item.answer = std::move(asked.answer);
  item.facts = std::move(asked.facts);
  return item;
}

std::string micro_prompt(const WorldItem& item) {
  std::string prompt;
  if (!item.passages.empty()) {
    prompt = "Context:\n";
    for (std::size_t i = 0; i < item.passages.size(); ++i) {
      prompt += fmt::format("Passage {}: {}\n", i + 1, item.passages[i].text);
    }
    prompt += '\n';
  }
  return prompt + "Question: " + item.question + "\nShort Answer:";
}

}  // namespace buoy
