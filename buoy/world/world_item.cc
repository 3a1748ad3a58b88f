// Puts an item together: the question, the gold passages, what surrounds them, and where each stands.
#include "buoy/world/world_item.h"

#include <algorithm>

#include "buoy/base/error.h"
#include "buoy/world/world_near.h"
#include "buoy/world/world_question.h"

namespace buoy {
namespace {

// Streams of one item; 1 is its world's.
enum : std::uint32_t {
  kQuestionStream = 2,
  kPlaceStream = 3,
  kGoldStream = 4,
  kFillStream = 5,
  kFalseStream = 6,  // 7 is the documents'
  kNearStream = 8,
  kYearStream = 9
};

constexpr Index kGolds = 16;  // more than an item has gold passages

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
  if (golds > 2) {
    for (const Index i : draws.shuffled(s.passages)) {
      if (std::ssize(at) < golds && std::ranges::find(at, i) == at.end()) at.push_back(i);
    }
    return at;
  }
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
  Brevity brevity = Brevity::kUsual;

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
  PassagePlan plan{.entity = fact.entity,
                   .must = fact.attribute,
                   .never = scene.asked_of(fact.entity),
                   .wording = scene.asked.wording,
                   .brevity = scene.brevity};
  std::erase(plan.never, fact.attribute);
  const PassageText made = write_passage(scene.world, plan, draws);
  Passage passage{.title = scene.world[fact.entity].name, .text = made.text, .role = PassageRole::kGold};
  passage.evidence = {made.sentence};
  if (task == WorldTask::kReverse || task == WorldTask::kList) {
    passage.answer = {made.name};
  } else if (task == WorldTask::kLong || task == WorldTask::kProfile) {
    passage.answer = {made.sentence};
  } else if (fact == scene.asked.facts.back()) {
    passage.answer = {made.value};
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
      do {
        plan = {.entity = other_than(asked.entity, world.begin(entity_kind), world.count(entity_kind), draws),
                .must = asked.attribute};
      } while (scene.asks_about(plan.entity));
      break;
    }
    default:
      do {
        plan.entity = draws.below(std::ssize(world.entities));
      } while (scene.asks_about(plan.entity));
  }
  plan.brevity = scene.brevity;
  return {.title = world[plan.entity].name, .text = write_passage(world, plan, draws).text};
}

// States the attribute of one of the asked facts, of an entity with almost that name. Where the value is what
// the question names (reverse, list) another entity has almost that value; words and years have none, and the
// other entity keeps its own.
Passage near_miss(const Scene& scene, WorldTask task, Draws draws) {
  const World& world = scene.world;
  const WorldFact& fact =
      scene.asked.facts[static_cast<std::size_t>(draws.below(std::ssize(scene.asked.facts)))];
  const Entity& entity = world[fact.entity];
  PassagePlan plan{.must = fact.attribute, .wording = scene.asked.wording, .brevity = scene.brevity};
  Entity twin;
  if (task == WorldTask::kReverse || task == WorldTask::kList) {
    const std::size_t a = static_cast<std::size_t>(fact.attribute);
    do {
      plan.entity = other_than(fact.entity, world.begin(entity.kind), world.count(entity.kind), draws);
    } while (scene.asks_about(plan.entity));
    twin = world[plan.entity];
    if (const auto named = entity_named_by(attributes_of(entity.kind)[a].value)) {
      plan.instead = near_name(world, *named, entity.values[a], draws);
    }
  } else {
    twin = near_twin(world, fact.entity, fact.attribute, draws);
  }
  return {.title = twin.name, .text = write_passage(twin, plan, draws).text, .role = PassageRole::kNearMiss};
}

// States another value for the last fact; of a reverse question, that another entity has the value asked for.
Passage contradiction(const Scene& scene, WorldTask task, Draws draws) {
  const World& world = scene.world;
  const WorldFact& fact = scene.asked.facts.back();
  const Entity& entity = world[fact.entity];
  const std::string& truth = entity.values[static_cast<std::size_t>(fact.attribute)];
  PassagePlan plan{.entity = fact.entity,
                   .must = fact.attribute,
                   .wording = scene.asked.wording,
                   .brevity = scene.brevity};
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

// Makes the passage a record of that year; prose that states nothing has none.
void date(Passage& passage, Index year) {
  if (passage.role == PassageRole::kNoise) return;
  const std::string prefix = fmt::format("Record of {}: ", year);
  passage.text.insert(0, prefix);
  for (std::vector<TextSpan>* spans : {&passage.evidence, &passage.answer}) {
    for (TextSpan& span : *spans) span = {span.begin + std::ssize(prefix), span.end + std::ssize(prefix)};
  }
}

// The passages that are no gold, in random order.
std::vector<Passage> surroundings(const Scene& scene, const ItemSettings& s, const WorldItem& item,
                                  Index count) {
  std::vector<Passage> made;
  const Index records = std::max<Index>(std::ssize(scene.asked.years) - 1, 0);
  const Index false_ones = s.contradictions + records, near = false_ones + s.near_misses;
  for (Index i = 0; i < count; ++i) {
    const std::uint32_t purpose = i < false_ones ? kFalseStream : i < near ? kNearStream : kFillStream;
    // Fillers are numbered as if there were no near misses, so that these replace the last of them.
    const Draws draws = stream(s, item.index, purpose, i < near ? i : i - s.near_misses);
    if (i < false_ones) {
      made.push_back(contradiction(scene, item.task, draws));
    } else if (i < near) {
      made.push_back(near_miss(scene, item.task, draws));
    } else if (i < near + s.noise) {
      Draws filler = draws;
      const Index sentences = 2 + filler.below(3);
      made.push_back({.text = write_filler(sentences, filler), .role = PassageRole::kNoise});
    } else {
      made.push_back(distractor(scene, s.distractors, draws));
    }
  }
  if (records > 0) {
    for (Index i = 0; i < count; ++i) {
      Draws draws = stream(s, item.index, kYearStream, i);
      const Index step = year_step(s.level, records + 1);
      const Index any = kFirstRecord + draws.below((kLastRecord - kFirstRecord + 1) / step) * step;
      date(made[static_cast<std::size_t>(i)],
           i < records ? scene.asked.years[static_cast<std::size_t>(i) + 1] : any);
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
                                           item.task,
                                           stream(s, item.index, kGoldStream, which + kGolds * s.variant)));
      if (!scene.asked.years.empty()) date(item.passages.back(), scene.asked.years.front());
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
  Draws draws = stream(settings, index, kQuestionStream, settings.variant);
  const Index length = length_of(item.task, settings);
  if (item.task == WorldTask::kList && item.world == WorldKind::kNovel) gather(novel, length, draws);
  Asked asked = item.task < WorldTask::kChain
                    ? ask(world, item.task, draws)
                    : ask_several(world, item.task, length, year_step(settings.level, length), draws);
  const Brevity brevity = settings.level == Level::kHard ? Brevity::kShort : Brevity::kUsual;
  if (settings.passages > 0) add_passages({world, asked, brevity}, settings, item);
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
