// Which function applies a stressor, and what it asks of an item.
#include <algorithm>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/stress/stress_parts.h"

namespace buoy {
namespace {

using Lack = std::optional<std::string>;

// An item under a level, before anything is known of other items.
struct Question {
  const QaItem& item;
  const StressLevel& level;
  const StressOptions& options;

  Index gold() const { return std::ssize(gold_places(item)); }
  Index count() const { return std::ssize(item.passages); }
};

Lack needs_passages(const Question& q) {
  if (q.item.answers.front().empty()) return "has no answer that could be told from others";
  if (q.count() > 0) return {};
  return "has no passages";
}

Lack needs_gold(const Question& q) {
  if (const Lack lack = needs_passages(q)) return lack;
  if (q.gold() == 0) return "has no gold passage: no passage is marked as holding the answer";
  if (q.gold() <= q.options.passages) return {};
  return fmt::format("has {} gold passages, expected at most {}, as many as a prompt has", q.gold(),
                     q.options.passages);
}

Lack needs_another(const Question& q) {
  if (const Lack lack = needs_gold(q)) return lack;
  if (std::min(q.count(), q.options.passages) > q.gold()) return {};
  return "has no passage besides the gold ones that another could take the place of; to add passages, use "
         "the "
         "stressor passages";
}

Lack needs_answer(const Question& q) {
  if (const Lack lack = needs_gold(q)) return lack;
  if (replaceable_gold(q.item)) return {};
  return "has no gold passage in which the answer stands and could be another one";
}

Lack needs_room(const Question& q) {
  const Index copies = static_cast<Index>(*q.level.value);
  if (copies + q.gold() <= q.options.passages) return {};
  return fmt::format("has {} gold passages, which leave no place for {} more among {}", q.gold(), copies,
                     q.options.passages);
}

Lack needs_answer_and_room(const Question& q) {
  const Lack lack = needs_answer(q);
  return lack ? lack : needs_room(q);
}

Lack needs_subject(const Question& q) {
  if (const Lack lack = needs_answer_and_room(q)) return lack;
  if (subject_of(q.item, *replaceable_gold(q.item))) return {};
  return "has no gold passage that names what the question is about";
}

Lack needs_two(const Question& q) {
  if (const Lack lack = needs_gold(q)) return lack;
  if (q.gold() == 2) return {};
  return fmt::format("has {} gold passage{}, expected exactly 2", q.gold(), q.gold() == 1 ? "" : "s");
}

Lack needs_hops(const Question& q) {
  if (const Lack lack = needs_two(q)) return lack;
  if (answer_hop(q.item)) return {};
  return "has an answer that stands in both gold passages or in none, so their order is unknown";
}

Lack needs_sentences(const Question& q) {
  if (const Lack lack = needs_gold(q)) return lack;
  for (const Index place : gold_places(q.item)) {
    if (sentences_of(q.item.passages[static_cast<std::size_t>(place)]).size() > 1) return {};
  }
  return "has no gold passage of two sentences or more";
}

Lack needs_few_gold(const Question& q) {
  if (const Lack lack = needs_passages(q)) return lack;
  if (q.gold() == 0) return needs_gold(q);
  if (q.gold() <= static_cast<Index>(*q.level.value)) return {};
  return fmt::format("has {} gold passages, expected at most {}", q.gold(), q.level.text);
}

Lack needs_documents(const Question& q) {
  return q.level.text == "changed" ? needs_answer(q) : needs_gold(q);
}

struct StressorRow {
  std::string_view stressor;
  Lack (*lacking)(const Question&);
  QaItem (*apply)(const StressJob&);  // nullptr: the item itself, cut to k passages
};
constexpr StressorRow kRows[] = {
    {"irrelevant", needs_another, add_irrelevant},
    {"near-duplicates", needs_subject, add_near_duplicates},
    {"contradictions", needs_answer_and_room, add_contradictions},
    {"typos", needs_passages, add_typos},
    {"dropped-words", needs_passages, drop_words},
    {"shuffled-words", needs_passages, shuffle_words},
    {"gold-replaced", needs_gold, replace_gold},
    {"gold-position", needs_gold, move_gold},
    {"query-place", needs_passages, nullptr},
    {"hop-distance", needs_two, part_hops},
    {"hop-order", needs_hops, order_hops},
    {"split-sentences", needs_sentences, split_gold},
    {"passages", needs_few_gold, grow_context},
    {"collection", needs_documents, nullptr},
};

// nullptr for what asks nothing of an item.
const StressorRow* row_of(const Stressor& stressor) {
  const auto found = std::ranges::find(kRows, stressor.name, &StressorRow::stressor);
  return found == std::end(kRows) ? nullptr : &*found;
}

}  // namespace

std::optional<std::string> lacking(const QaItem& item, const StressLevel& level,
                                   const StressOptions& options) {
  const StressorRow* row = row_of(*level.stressor);
  return row == nullptr ? std::nullopt : row->lacking({.item = item, .level = level, .options = options});
}

QaItem stress_item(const QaItem& item, Index number, const StressLevel& level, const StressPool& pool,
                   const StressOptions& options) {
  check(level.stressor->target != StressTarget::kCollection, "a collection is stressed, not an item alone");
  if (const auto lack = lacking(item, level, options)) {
    fail_usage("item {}: {} (stressor {} needs {})", quote(item.id), *lack, level.name(),
               level.stressor->needs);
  }
  const StressorRow* row = row_of(*level.stressor);
  if (row == nullptr || row->apply == nullptr) return cut_to(item, options.passages);
  return row->apply({.item = item, .number = number, .level = level, .pool = pool, .options = options});
}

std::vector<Index> items_for(std::span<const StressLevel> levels, const std::string& data,
                             std::span<const QaItem> items, const StressOptions& options,
                             const WarningSink& warnings) {
  check(!levels.empty(), "a stressor has a level");
  std::vector<Index> chosen;
  std::string first;  // the first item left out, and why
  for (Index i = 0; i < std::ssize(items); ++i) {
    const QaItem& item = items[static_cast<std::size_t>(i)];
    Lack lack;
    for (const StressLevel& level : levels) {
      if (!lack) lack = lacking(item, level, options);
    }
    if (!lack) {
      chosen.push_back(i);
    } else if (first.empty()) {
      first = fmt::format("item {} {}", quote(item.id), *lack);
    }
  }
  const Stressor& stressor = *levels.front().stressor;
  if (chosen.empty()) {
    fail_usage("{}: cannot be stressed with {}, which needs {}: none of {} items has it; {}", data,
               stressor.name, stressor.needs, items.size(), first);
  }
  if (chosen.size() < items.size()) {
    warn(warnings, fmt::format("{}: {} leaves out {} of {} items, since it needs {}; {}", data, stressor.name,
                               items.size() - chosen.size(), items.size(), stressor.needs, first));
  }
  return chosen;
}

QueryPlace query_place(const StressLevel& level) {
  if (level.stressor->target != StressTarget::kPrompt) return QueryPlace::kAsWritten;
  return level.text == "before" ? QueryPlace::kBeforePassages : QueryPlace::kAfterPassages;
}

}  // namespace buoy
