// Stress on question answering: a table of stressors, their levels, and items under a level.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/base/log.h"
#include "buoy/corpus/dataset.h"
#include "buoy/prompt/prompt_template.h"

namespace buoy {

enum class StressGroup { kNoise, kPosition, kLayout, kCollection, kGeneration };
// What a stressor changes: the item, the order of its prompt, the collection its passages are retrieved
// from, or how the answer is generated.
enum class StressTarget { kItem, kPrompt, kCollection, kSampler };
// How a level becomes a number of units of stress, which slopes are taken over.
enum class StressScale { kLinear, kDoublings, kHalvings };

// "noise", "position", "layout", "collection", "generation".
std::string_view name_of(StressGroup group);

struct Stressor {
  std::string_view name;  // "irrelevant"; with a level it names a condition: "irrelevant=0.4"
  StressGroup group = StressGroup::kNoise;
  StressTarget target = StressTarget::kItem;
  std::string_view title;        // of its curve: "Irrelevant passages"
  std::string_view axis;         // "share of passages that are irrelevant"
  std::string_view explanation;  // one or two plain sentences
  std::string_view needs;        // of an item: "a gold passage and another one"; empty: nothing
  // Default ones, from the least stress (the baseline) to the most; empty: every whole number of the range.
  std::vector<std::string_view> levels;

  std::vector<std::string_view> choices;  // of a categorical stressor, in order; empty: numeric
  double low = 0, high = 0;               // range of a numeric one, both inclusive
  bool whole = false;                     // whole numbers only
  // A level counts passages, or places, among the k of a prompt, of which this many are for others: `high` is
  // then k − reserved.
  std::optional<Index> reserved;

  StressScale scale = StressScale::kLinear;
  double unit_size = 1;   // kLinear: what counts as one unit of stress, as 0.1
  std::string_view unit;  // of slopes, in words: "points per 10 % of the passages"; empty: has no slope

  bool categorical() const { return !choices.empty(); }
};

// All of them, in the order of groups. Lives as long as the program.
std::span<const Stressor> stressors();
// nullptr where none has that name.
const Stressor* find_stressor(std::string_view name);

struct StressOptions {
  Index passages = 10;     // k: of a prompt; 1 or more
  std::uint64_t seed = 0;  // of every draw
};

struct StressLevel {
  const Stressor* stressor = nullptr;
  std::string text;             // "0.4", "before"
  std::optional<double> value;  // of a numeric stressor

  std::string name() const;  // "irrelevant=0.4"
  // Units of stress: linear value ÷ unit_size, or log2 of the value (halvings: minus that). Nothing where the
  // stressor is categorical.
  std::optional<double> stress() const;
};

// "irrelevant" (its default levels), "irrelevant=0,0.5,0.9". The levels of one stressor, from the least
// stress on: the first is the baseline. Default levels that do not fit into k passages are left out. Throws
// UsageError: an unknown stressor (lists the names), a level outside its range (says which range), one given
// twice.
std::vector<StressLevel> parse_stress(std::string_view spec, const StressOptions& options);

// Foreign text for stressed items: passages, answers and subjects of the dataset's other items. Views the
// items, which outlive it. Immutable; any thread.
class StressPool {
 public:
  explicit StressPool(std::span<const QaItem> items);
  StressPool(StressPool&&) noexcept;
  ~StressPool();

  // `count` different passages of other items, in a drawn order that starts the same for every count. None
  // has the title of one of the item's passages or holds one of its answers; none is gold. Throws UsageError
  // naming the item when there are not so many.
  std::vector<QaPassage> passages_for(const QaItem& item, Index number, Index count,
                                      std::uint64_t seed) const;

  enum class Kind { kAnswer, kSubject };
  // `count` different answers (subjects) of other items, none of which is, holds or stands in one of `taken`.
  // Alike first: of the same task, to a question that begins with the same words, of the same shape (number,
  // name or common word; number of words). Throws as above.
  std::vector<std::string> substitutes_for(Kind kind, const QaItem& item, Index number,
                                           std::span<const std::string> taken, Index count,
                                           std::uint64_t seed) const;

  std::span<const QaItem> items() const { return items_; }

 private:
  struct Tables;
  std::span<const QaItem> items_;
  std::unique_ptr<const Tables> tables_;
};

// The item under a level of a stressor of target kItem. The same for every model, run and order: draws come
// from the seed and `number`, the item's place in its dataset, and those of one level go on with those of a
// lower one. Question and answers stay. For kPrompt and kSampler: the item itself, cut to k passages.
// Throws UsageError naming the item and what it lacks; InternalError for kCollection (stress_collection.h).
QaItem stress_item(const QaItem& item, Index number, const StressLevel& level, const StressPool& pool,
                   const StressOptions& options);

// The items (places in `items`) that have what all `levels` of one stressor need. The others are counted in a
// warning that begins with `data`, the dataset's name. Throws UsageError when there are none, saying what is
// missing: a dataset without gold marks, without two gold passages …
std::vector<Index> items_for(std::span<const StressLevel> levels, const std::string& data,
                             std::span<const QaItem> items, const StressOptions& options,
                             const WarningSink& warnings);

// Where the question stands under a level of query-place; as the template has it under any other.
QueryPlace query_place(const StressLevel& level);

}  // namespace buoy
