// Where passages stand: cut, filled, moved, parted, split.
#include <algorithm>

#include "buoy/base/at.h"
#include "buoy/base/error.h"
#include "buoy/corpus/words.h"
#include "buoy/stress/stress_parts.h"
#include "buoy/stress/stress_text.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

std::vector<QaPassage> pick(const QaItem& item, std::span<const Index> places) {
  std::vector<QaPassage> out;
  for (const Index place : places) out.push_back(item.passages[at(place)]);
  return out;
}

std::vector<Index> places_where(const QaItem& item, bool gold) {
  std::vector<Index> places;
  for (Index i = 0; i < std::ssize(item.passages); ++i) {
    if (item.passages[at(i)].gold == gold) places.push_back(i);
  }
  return places;
}

// `others` in order with `gold` in front of the one at place `start`.
std::vector<QaPassage> joined(std::vector<QaPassage> others, const std::vector<QaPassage>& gold,
                              Index start) {
  others.insert(others.begin() + std::min(start, std::ssize(others)), gold.begin(), gold.end());
  return others;
}

}  // namespace

std::vector<Index> gold_places(const QaItem& item) {
  return places_where(item, true);
}

std::vector<Index> other_places(const QaItem& item) {
  return places_where(item, false);
}

QaItem cut_to(const QaItem& item, Index k) {
  Index others = k - std::ssize(gold_places(item));
  QaItem out = item;
  std::erase_if(out.passages, [&](const QaPassage& p) { return !p.gold && others-- <= 0; });
  return out;
}

QaItem filled_to(const StressJob& job, Index k) {
  QaItem out = cut_to(job.item, k);
  const Index own = std::ssize(out.passages);
  if (own >= k) return out;
  std::vector<QaPassage> foreign = job.pool.passages_for(job.item, job.number, k - own, job.options.seed);
  std::vector<Index> places = job.draws(StressStream::kPlaces).shuffled(k);
  places.resize(at(k - own));
  std::ranges::sort(places);
  for (std::size_t i = 0; i < places.size(); ++i) {
    out.passages.insert(out.passages.begin() + places[i], std::move(foreign[i]));
  }
  return out;
}

QaItem with_gold_at(const QaItem& item, Index start) {
  QaItem out = item;
  out.passages = joined(pick(item, other_places(item)), pick(item, gold_places(item)), start);
  return out;
}

QaItem move_gold(const StressJob& job) {
  return with_gold_at(filled_to(job, job.options.passages), job.whole_level() - 1);
}

QaItem part_hops(const StressJob& job) {
  const Index k = job.options.passages, between = job.whole_level();
  QaItem out = filled_to(job, k);
  const std::vector<QaPassage> gold = pick(out, gold_places(out));
  out.passages = pick(out, other_places(out));
  const Index first = (k - 2 - between) / 2;
  out.passages.insert(out.passages.begin() + first, gold[0]);
  out.passages.insert(out.passages.begin() + first + 1 + between, gold[1]);
  return out;
}

std::optional<Index> answer_hop(const QaItem& item) {
  std::optional<Index> found;
  for (const Index place : gold_places(item)) {
    if (!holds_answer(item.passages[at(place)].text, item.answers)) continue;
    if (found) return {};
    found = place;
  }
  return found;
}

QaItem order_hops(const StressJob& job) {
  QaItem out = cut_to(job.item, job.options.passages);
  const std::vector<Index> gold = gold_places(out);
  const bool is_forward = answer_hop(out) == gold[1];
  if (is_forward != (job.level.text == "forward")) {
    std::swap(out.passages[at(gold[0])], out.passages[at(gold[1])]);
  }
  return out;
}

std::vector<QaPassage> sentences_of(const QaPassage& passage) {
  std::vector<QaPassage> out;
  const std::vector<Word> words = split_words(passage.text);
  for (std::size_t first = 0; first < words.size();) {
    std::size_t last = first;
    while (last + 1 < words.size() && words[last].after == Break::kNone) ++last;
    const TextEdit before{.begin = 0, .end = words[first].begin};
    const TextEdit after{.begin = words[last].end, .end = std::ssize(passage.text)};
    QaPassage sentence = edited(passage, std::vector{before, after});
    std::erase_if(sentence.evidence, [](const TextSpan& span) { return span.begin == span.end; });
    sentence.gold = passage.gold && (passage.evidence.empty() || !sentence.evidence.empty());
    out.push_back(std::move(sentence));
    first = last + 1;
  }
  return out;
}

QaItem split_gold(const StressJob& job) {
  QaItem out = cut_to(job.item, job.options.passages);
  if (job.whole_level() == 0) return out;
  std::vector<QaPassage> spread;
  for (const Index place : gold_places(out)) {
    std::vector<QaPassage> sentences = sentences_of(out.passages[at(place)]);
    const auto kept = std::ranges::find(sentences, true, &QaPassage::gold);
    if (kept == sentences.end()) continue;  // evidence without a word in it: nothing to keep
    out.passages[at(place)] = *kept;
    sentences.erase(kept);
    std::ranges::move(sentences, std::back_inserter(spread));
  }
  Draws draws = job.draws(StressStream::kSplit);
  for (QaPassage& sentence : spread) {
    const Index place = draws.below(std::ssize(out.passages) + 1);
    out.passages.insert(out.passages.begin() + place, std::move(sentence));
  }
  return out;
}

QaItem grow_context(const StressJob& job) {
  const Index count = job.whole_level(), gold = std::ssize(gold_places(job.item));
  QaItem out = cut_to(job.item, count);
  const Index missing = count - std::ssize(out.passages);
  for (QaPassage& foreign : job.pool.passages_for(job.item, job.number, missing, job.options.seed)) {
    out.passages.push_back(std::move(foreign));
  }
  // The same share of the others stands before the gold passages at every level.
  const double share = job.draws(StressStream::kRelativePlace).unit();
  return with_gold_at(out, static_cast<Index>(share * static_cast<double>(count - gold + 1)));
}

}  // namespace buoy
