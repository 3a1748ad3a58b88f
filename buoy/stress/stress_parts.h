// What the stressors share: an item under a level, its layouts, its draws.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "buoy/base/random.h"
#include "buoy/stress/stress.h"

namespace buoy {

// Each purpose has draws of its own, so that no stressor disturbs another's.
enum class StressStream : std::uint32_t {
  kPassages = 1,
  kAnswers,
  kSubjects,
  kPlaces,
  kOrder,
  kTypos,
  kDropped,
  kShuffled,
  kShuffleOrder,
  kRelativePlace,
  kSplit
};

Draws stress_draws(std::uint64_t seed, Index number, StressStream purpose, Index position = 0);

// One item under one level.
struct StressJob {
  const QaItem& item;
  Index number;
  const StressLevel& level;
  const StressPool& pool;
  const StressOptions& options;

  Draws draws(StressStream purpose, Index position = 0) const {
    return stress_draws(options.seed, number, purpose, position);
  }
  Index whole_level() const { return static_cast<Index>(*level.value); }
};

// Places, from 0, of the passages that are gold (that are not).
std::vector<Index> gold_places(const QaItem& item);
std::vector<Index> other_places(const QaItem& item);

// The item with at most k of its passages, in their order: all gold ones, which are not more than k, and the
// first others.
QaItem cut_to(const QaItem& item, Index k);

// The same with exactly k: foreign passages at drawn places where the item has too few.
QaItem filled_to(const StressJob& job, Index k);

// The gold passages together, in their order, from place `start` (from 0) or as near to it as they fit.
QaItem with_gold_at(const QaItem& item, Index start);

// The gold passage whose answer can be replaced, from 0: the first that holds one. Nothing where none does,
// or where the answer names what the question is about and so cannot be another thing's.
std::optional<Index> replaceable_gold(const QaItem& item);

// What the question is about, as the gold passage `place` names it: words of the question, or else the
// passage's title.
std::optional<std::string> subject_of(const QaItem& item, Index place);

// What an item lacks for a level, as "has 1 passage, expected 2 or more"; nothing where it has all.
std::optional<std::string> lacking(const QaItem& item, const StressLevel& level,
                                   const StressOptions& options);

// Noise.
QaItem add_irrelevant(const StressJob& job);
QaItem add_near_duplicates(const StressJob& job);
QaItem add_contradictions(const StressJob& job);
QaItem replace_gold(const StressJob& job);
QaItem add_typos(const StressJob& job);
QaItem drop_words(const StressJob& job);
QaItem shuffle_words(const StressJob& job);
// Position and layout.
QaItem move_gold(const StressJob& job);
QaItem part_hops(const StressJob& job);
QaItem order_hops(const StressJob& job);
QaItem split_gold(const StressJob& job);
QaItem grow_context(const StressJob& job);

// The place, from 0, of the gold passage among two that holds the answer; nothing where not exactly one does.
std::optional<Index> answer_hop(const QaItem& item);

// Sentences of a passage as passages of their own, with the evidence that is theirs; gold are those with
// evidence, or all where none is marked.
std::vector<QaPassage> sentences_of(const QaPassage& passage);

}  // namespace buoy
