// Foreign text for stressed items.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "buoy/base/error.h"
#include "buoy/corpus/answer_score.h"
#include "buoy/corpus/words.h"
#include "buoy/io/json.h"
#include "buoy/stress/stress_parts.h"
#include "buoy/stress/stress_text.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

// A permutation of [0, count) of which only as much is made as is asked for.
class LazyShuffle {
 public:
  LazyShuffle(Index count, Draws draws) : left_(count), draws_(draws) {}

  std::optional<Index> next() {
    if (left_ == 0) return {};
    const Index drawn = draws_.below(left_--);
    const Index chosen = at(drawn);
    moved_[drawn] = at(left_);
    return chosen;
  }

 private:
  Index at(Index place) const {
    const auto found = moved_.find(place);
    return found == moved_.end() ? place : found->second;
  }

  Index left_;
  Draws draws_;
  std::map<Index, Index> moved_;
};

// "9 2": a number of two words; A: a name; a: anything else.
std::string shape_of(std::string_view text) {
  const std::vector<Word> words = split_words(text);
  const char first = text.empty() ? ' ' : text.front();
  const bool digit = first >= '0' && first <= '9', lower = first >= 'a' && first <= 'z';
  return fmt::format("{} {}", digit ? '9' : lower ? 'a' : 'A', words.size());
}

std::string first_words(std::string_view question, std::size_t count) {
  const std::vector<Word> words = split_words(question);
  if (words.size() <= count) return std::string(question);
  return std::string(slice(question, 0, words[count - 1].end));
}

// What makes two phrases alike, from much to little.
std::vector<std::string> likeness(const QaItem& item, std::string_view text) {
  const std::string shape = shape_of(text);
  return {fmt::format("{}\n{}\n{}", item.task, shape, first_words(item.question, 2)),
          fmt::format("{}\n{}\n{}", item.task, shape, first_words(item.question, 1)),
          fmt::format("{}\n{}", item.task, shape), shape, ""};
}

struct Phrase {
  Index item;
  std::string text, normal;
};

struct Phrases {
  std::vector<Phrase> all;
  std::map<std::string, std::vector<Index>, std::less<>> alike;

  void add(const QaItem& item, Index number, const std::string& text) {
    const std::string normal = normalise_answer(text);
    if (normal.empty()) return;
    for (const std::string& key : likeness(item, text)) alike[key].push_back(std::ssize(all));
    all.push_back({number, text, normal});
  }
};

bool overlap(std::string_view a, std::string_view b) {
  return a.find(b) != a.npos || b.find(a) != b.npos;
}

}  // namespace

struct StressPool::Tables {
  struct Foreign {
    Index item;
    const QaPassage* passage;
  };
  std::vector<Foreign> passages;  // no text twice
  Phrases answers, subjects;
};

Draws stress_draws(std::uint64_t seed, Index number, StressStream purpose, Index position) {
  // Apart from the worlds' streams, which may have the same seed and number.
  constexpr std::uint32_t kStress = 0x53545200;
  return Draws({.seed = seed,
                .sample = static_cast<std::uint32_t>(number),
                .step = kStress + static_cast<std::uint32_t>(purpose),
                .position = static_cast<std::uint32_t>(position)});
}

StressPool::StressPool(std::span<const QaItem> items) : items_(items) {
  auto tables = std::make_unique<Tables>();
  std::unordered_set<std::string_view> seen;
  for (Index i = 0; i < std::ssize(items); ++i) {
    const QaItem& item = items[static_cast<std::size_t>(i)];
    for (const QaPassage& passage : item.passages) {
      if (!passage.text.empty() && seen.insert(passage.text).second)
        tables->passages.push_back({i, &passage});
    }
    if (!item.answers.front().empty()) tables->answers.add(item, i, item.answers.front());
    const auto place = replaceable_gold(item);
    const auto subject = place ? subject_of(item, *place) : std::nullopt;
    if (subject) tables->subjects.add(item, i, *subject);
  }
  tables_ = std::move(tables);
}

StressPool::StressPool(StressPool&&) noexcept = default;
StressPool::~StressPool() = default;

std::vector<QaPassage> StressPool::passages_for(const QaItem& item, Index number, Index count,
                                                std::uint64_t seed) const {
  std::vector<QaPassage> chosen;
  const auto is_own = [&](const QaPassage& passage) {
    return std::ranges::any_of(item.passages, [&](const QaPassage& own) {
      return own.text == passage.text || (!own.title.empty() && own.title == passage.title);
    });
  };
  LazyShuffle order(std::ssize(tables_->passages), stress_draws(seed, number, StressStream::kPassages));
  while (std::ssize(chosen) < count) {
    const auto next = order.next();
    if (!next) {
      fail_usage(
          "item {}: {} passages of other items are needed, but only {} neither hold its answer nor have the "
          "title of one of its own",
          quote(item.id), count, chosen.size());
    }
    const Tables::Foreign& foreign = tables_->passages[static_cast<std::size_t>(*next)];
    if (foreign.item == number || is_own(*foreign.passage)) continue;
    if (holds_answer(foreign.passage->text, item.answers)) continue;
    chosen.push_back({.title = foreign.passage->title, .text = foreign.passage->text});
  }
  return chosen;
}

std::vector<std::string> StressPool::substitutes_for(Kind kind, const QaItem& item, Index number,
                                                     std::span<const std::string> taken, Index count,
                                                     std::uint64_t seed) const {
  const Phrases& phrases = kind == Kind::kAnswer ? tables_->answers : tables_->subjects;
  std::vector<std::string> chosen, normals;
  for (const std::string& text : taken) {
    if (std::string normal = normalise_answer(text); !normal.empty()) normals.push_back(std::move(normal));
  }
  const auto is_taken = [&](const Phrase& phrase) {
    return std::ranges::any_of(normals, [&](const std::string& n) { return overlap(n, phrase.normal); });
  };
  const StressStream purpose = kind == Kind::kAnswer ? StressStream::kAnswers : StressStream::kSubjects;
  Index tier = 0;
  for (const std::string& key : likeness(item, taken.front())) {
    const auto found = phrases.alike.find(key);
    const std::vector<Index> alike = found == phrases.alike.end() ? std::vector<Index>{} : found->second;
    LazyShuffle order(std::ssize(alike), stress_draws(seed, number, purpose, tier++));
    while (std::ssize(chosen) < count) {
      const auto next = order.next();
      if (!next) break;
      const Phrase& phrase = phrases.all[static_cast<std::size_t>(alike[static_cast<std::size_t>(*next)])];
      if (phrase.item == number || is_taken(phrase)) continue;
      chosen.push_back(phrase.text);
      normals.push_back(phrase.normal);
    }
  }
  if (std::ssize(chosen) < count) {
    fail_usage("item {}: {} other {} are needed, but the other items have only {}", quote(item.id), count,
               kind == Kind::kAnswer ? "answers" : "subjects", chosen.size());
  }
  return chosen;
}

}  // namespace buoy
