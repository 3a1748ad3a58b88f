// The stressors as data.
#include <algorithm>

#include "buoy/stress/stress.h"

namespace buoy {
namespace {

constexpr std::string_view kNeedsGold = "a gold passage";
constexpr std::string_view kNeedsPassages = "passages";
constexpr std::string_view kNeedsTwo = "exactly two gold passages";
constexpr double kMostSteps = 4096;

using Levels = std::vector<std::string_view>;

std::vector<Stressor> noise() {
  const Levels rates = {"0", "0.1", "0.2", "0.4", "0.8"};
  const auto text_noise = [&](std::string_view name, std::string_view title, std::string_view axis,
                              std::string_view explanation) {
    Stressor made{.name = name, .title = title, .axis = axis, .explanation = explanation};
    made.needs = kNeedsPassages;
    made.levels = rates;
    made.high = 1;
    made.unit_size = 0.1;
    made.unit = "points per 10 % of the words";
    return made;
  };
  const auto copies = [&](std::string_view name, std::string_view title, std::string_view axis,
                          std::string_view explanation, std::string_view needs) {
    Stressor made{.name = name, .title = title, .axis = axis, .explanation = explanation, .needs = needs};
    made.levels = {"0", "1", "2", "4", "8"};
    made.whole = true;
    made.reserved = 1;
    made.unit = "points per passage";
    return made;
  };
  Stressor irrelevant{
      .name = "irrelevant",
      .title = "Irrelevant passages",
      .axis = "share of passages that are irrelevant",
      .explanation =
          "Passages of other questions take the place of the item's own passages that are not "
          "gold. The number of passages and the place of the gold one stay.",
      .needs = "a gold passage and another one"};
  irrelevant.levels = {"0", "0.2", "0.4", "0.6", "0.8", "0.9"};
  irrelevant.high = 1;
  irrelevant.unit_size = 0.1;
  irrelevant.unit = "points per 10 % of the passages";

  Stressor replaced{.name = "gold-replaced",
                    .title = "Gold replaced",
                    .axis = "gold passages replaced by random ones (1: yes)",
                    .explanation =
                        "Passages of other questions stand where the gold ones stood: what is left is "
                        "what the model knows by itself or guesses.",
                    .needs = kNeedsGold};
  replaced.levels = {"0", "1"};
  replaced.high = 1;
  replaced.whole = true;
  replaced.unit = "points for all gold passages";

  return {
      irrelevant,
      copies("near-duplicates", "Near-duplicate distractors", "number of near-duplicates",
             "Copies of the gold passage that speak of something else and give another answer take the place "
             "of passages that are not gold.",
             "a gold passage that holds an answer and what the question is about"),
      copies("contradictions", "Contradicting passages", "number of contradicting passages",
             "Copies of the gold passage in which only the answer is another one take the place of passages "
             "that are not gold.",
             "a gold passage that holds an answer"),
      text_noise("typos", "Typing errors", "share of words with a typing error",
                 "Words of all passages get one typing error each: two letters change places, one is left "
                 "out, doubled or mistyped."),
      text_noise("dropped-words", "Dropped words", "share of words left out",
                 "Words of all passages are left out; each passage keeps one at least."),
      text_noise("shuffled-words", "Shuffled words", "share of words that change places",
                 "Words of all passages change places with others of their sentence."),
      replaced};
}

std::vector<Stressor> position() {
  Stressor gold{.name = "gold-position",
                .group = StressGroup::kPosition,
                .title = "Position of the gold passage",
                .axis = "position of the gold passage",
                .explanation =
                    "The gold passage stands first, second … last of the same k passages; several "
                    "stand together, in their order.",
                .needs = kNeedsGold};
  gold.low = 1;
  gold.whole = true;
  gold.reserved = 0;
  gold.unit = "points per place";

  Stressor query{.name = "query-place",
                 .group = StressGroup::kPosition,
                 .target = StressTarget::kPrompt,
                 .title = "Question before or after the passages",
                 .axis = "place of the question",
                 .explanation = "The line of the question and the passages change places in the prompt.",
                 .needs = kNeedsPassages};
  query.levels = query.choices = {"after", "before"};
  return {gold, query};
}

std::vector<Stressor> layout() {
  Stressor distance{.name = "hop-distance",
                    .group = StressGroup::kLayout,
                    .title = "Distance of the two hops",
                    .axis = "other passages between the two gold ones",
                    .explanation =
                        "The two gold passages stand around the middle of k passages, with so many "
                        "others between them.",
                    .needs = kNeedsTwo};
  distance.levels = {"0", "1", "2", "4", "8"};
  distance.whole = true;
  distance.reserved = 2;
  distance.unit = "points per passage between";

  Stressor order{.name = "hop-order",
                 .group = StressGroup::kLayout,
                 .title = "Order of the two hops",
                 .axis = "order of the two gold passages",
                 .explanation =
                     "Forward: the passage that holds the answer stands after the one that leads to "
                     "it. Reverse: the two change places.",
                 .needs = "exactly two gold passages of which one holds the answer"};
  order.levels = order.choices = {"forward", "reverse"};

  Stressor split{.name = "split-sentences",
                 .group = StressGroup::kLayout,
                 .title = "Gold split into sentences",
                 .axis = "gold passages split into sentences (1: yes)",
                 .explanation =
                     "Every sentence of a gold passage becomes a passage of its own. The first one "
                     "with evidence keeps its place, the others are spread.",
                 .needs = "a gold passage of two sentences or more"};
  split.levels = {"0", "1"};
  split.high = 1;
  split.whole = true;
  split.unit = "points for all gold passages";

  Stressor passages{.name = "passages",
                    .group = StressGroup::kLayout,
                    .title = "Growing context",
                    .axis = "number of passages",
                    .explanation =
                        "The gold passages, then the item's others, then those of other questions, "
                        "up to so many; the gold ones keep their relative place.",
                    .needs = "a gold passage, and not more of them than the lowest level"};
  passages.levels = {"1", "2", "5", "10", "20"};
  passages.low = 1;
  passages.high = 256;
  passages.whole = true;
  passages.scale = StressScale::kDoublings;
  passages.unit = "points per doubling of the passages";
  return {distance, order, split, passages};
}

std::vector<Stressor> collection() {
  Stressor made{.name = "collection",
                .group = StressGroup::kCollection,
                .target = StressTarget::kCollection,
                .title = "A collection that changes",
                .axis = "what happened to the gold documents",
                .explanation =
                    "Passages come from a collection made of all passages. Before the query the gold "
                    "documents are added, changed to say another answer, or deleted.",
                .needs = "a gold passage (changed: that holds an answer)"};
  made.levels = made.choices = {"as-is", "added", "changed", "deleted"};
  return {made};
}

std::vector<Stressor> generation() {
  const auto lengths = [](std::string_view name, std::string_view title, std::string_view axis,
                          std::string_view explanation) {
    Stressor made{.name = name,
                  .group = StressGroup::kGeneration,
                  .target = StressTarget::kSampler,
                  .title = title,
                  .axis = axis,
                  .explanation = explanation};
    made.low = 1;
    made.high = kMostSteps;
    made.whole = true;
    return made;
  };
  Stressor steps = lengths("steps", "Denoising steps", "denoising steps",
                           "Fewer steps fill more masks at once. Masked diffusion models only.");
  steps.levels = {"32", "16", "8", "4", "2"};
  steps.scale = StressScale::kHalvings;
  steps.unit = "points per halving of the steps";
  Stressor block = lengths("block-length", "Block length", "block length in tokens",
                           "Shorter blocks force the answer to be written from left to right. LLaDA only.");
  block.levels = {"32", "16", "8", "4"};
  block.scale = StressScale::kHalvings;
  block.unit = "points per halving of the block";
  Stressor masks = lengths("trailing-masks", "Trailing masks", "masks added to the answer's length",
                           "More masks than the answer needs stand after the prompt. Masked diffusion models "
                           "only.");
  masks.levels = {"0", "16", "32", "64"};
  masks.low = 0;
  masks.unit_size = 16;
  masks.unit = "points per 16 masks";
  Stressor remasking = lengths("remasking", "Remasking rule", "which masks are filled first",
                               "The surest masks first, or random ones. Masked diffusion models only; "
                               "topk_margin and entropy are Dream's.");
  remasking.levels = {"low_confidence", "random"};
  remasking.choices = {"low_confidence", "topk_margin", "entropy", "random"};
  return {steps, block, masks, remasking};
}

std::vector<Stressor> all() {
  std::vector<Stressor> table;
  for (const auto& make : {noise, position, layout, collection, generation}) {
    for (Stressor& made : make()) table.push_back(std::move(made));
  }
  return table;
}

}  // namespace

std::span<const Stressor> stressors() {
  static const std::vector<Stressor> table = all();
  return table;
}

const Stressor* find_stressor(std::string_view name) {
  const auto found = std::ranges::find(stressors(), name, &Stressor::name);
  return found == stressors().end() ? nullptr : &*found;
}

std::string_view name_of(StressGroup group) {
  constexpr std::string_view kNames[] = {"noise", "position", "layout", "collection", "generation"};
  return kNames[static_cast<std::size_t>(group)];
}

}  // namespace buoy
