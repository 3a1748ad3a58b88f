// Passages that mislead: foreign ones, near-duplicates, contradictions, none that is gold.
#include <algorithm>
#include <cmath>

#include "buoy/base/at.h"
#include "buoy/base/error.h"
#include "buoy/stress/stress_parts.h"
#include "buoy/stress/stress_text.h"

namespace buoy {
namespace {

// Puts passages in the place of such as are not gold, in a drawn order that starts the same for every number.
void put_in_place_of_others(const StressJob& job, QaItem& item, std::vector<QaPassage> passages) {
  const std::vector<Index> others = other_places(item);
  const std::vector<Index> order = job.draws(StressStream::kOrder).shuffled(std::ssize(others));
  check(passages.size() <= others.size(), "there is a place for every passage that is put in");
  for (std::size_t i = 0; i < passages.size(); ++i) {
    item.passages[at(others[at(order[i])])] = std::move(passages[i]);
  }
}

QaPassage no_gold(QaPassage passage) {
  passage.gold = false;
  passage.evidence.clear();
  return passage;
}

}  // namespace

std::optional<Index> replaceable_gold(const QaItem& item) {
  for (const Index place : gold_places(item)) {
    const QaPassage& passage = item.passages[at(place)];
    if (!holds_answer(passage.text, item.answers)) continue;
    const QaPassage without = replaced(passage, answer_replacements(item.answers, "…"));
    if (holds_answer(without.text, item.answers)) continue;
    const auto subject = subject_in(item.question, passage);
    const auto names_subject = [&](const std::string& answer) {
      return !replacements(answer, *subject, {}).empty();
    };
    if (subject && std::ranges::any_of(item.answers, names_subject)) continue;
    return place;
  }
  return {};
}

std::optional<std::string> subject_of(const QaItem& item, Index place) {
  const QaPassage& passage = item.passages[at(place)];
  if (auto subject = subject_in(item.question, passage)) return subject;
  const bool named = !replacements(passage.text, passage.title, {}).empty();
  const bool is_answer = holds_answer(passage.title, item.answers);
  return named && !is_answer ? std::optional(passage.title) : std::nullopt;
}

QaItem add_irrelevant(const StressJob& job) {
  QaItem out = cut_to(job.item, job.options.passages);
  const auto count = static_cast<double>(out.passages.size());
  const Index wanted =
      std::min(static_cast<Index>(std::lround(*job.level.value * count)), std::ssize(other_places(out)));
  put_in_place_of_others(job, out, job.pool.passages_for(job.item, job.number, wanted, job.options.seed));
  return out;
}

QaItem add_contradictions(const StressJob& job) {
  QaItem out = filled_to(job, job.options.passages);
  const QaPassage& gold = job.item.passages[at(*replaceable_gold(job.item))];
  std::vector<QaPassage> copies;
  for (const std::string& answer :
       job.pool.substitutes_for(StressPool::Kind::kAnswer, job.item, job.number, job.item.answers,
                                job.whole_level(), job.options.seed)) {
    copies.push_back(no_gold(replaced(gold, answer_replacements(job.item.answers, answer))));
  }
  put_in_place_of_others(job, out, std::move(copies));
  return out;
}

QaItem add_near_duplicates(const StressJob& job) {
  QaItem out = filled_to(job, job.options.passages);
  const Index place = *replaceable_gold(job.item);
  const QaPassage& gold = job.item.passages[at(place)];
  const std::string subject = *subject_of(job.item, place);
  std::vector<std::string> answers_first = job.item.answers, subject_first = {subject};
  answers_first.push_back(subject);
  subject_first.insert(subject_first.end(), job.item.answers.begin(), job.item.answers.end());
  const Index count = job.whole_level();
  const auto substitutes = [&](StressPool::Kind kind, const std::vector<std::string>& taken) {
    return job.pool.substitutes_for(kind, job.item, job.number, taken, count, job.options.seed);
  };
  const auto answers = substitutes(StressPool::Kind::kAnswer, answers_first);
  const auto subjects = substitutes(StressPool::Kind::kSubject, subject_first);
  std::vector<QaPassage> copies;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    std::vector<Replacement> list = answer_replacements(job.item.answers, answers[i]);
    list.push_back({.phrase = subject, .with = subjects[i]});
    copies.push_back(no_gold(replaced(gold, list)));
  }
  put_in_place_of_others(job, out, std::move(copies));
  return out;
}

QaItem replace_gold(const StressJob& job) {
  QaItem out = cut_to(job.item, job.options.passages);
  if (job.whole_level() == 0) return out;
  const std::vector<Index> gold = gold_places(out);
  std::vector<QaPassage> foreign =
      job.pool.passages_for(job.item, job.number, std::ssize(gold), job.options.seed);
  for (std::size_t i = 0; i < gold.size(); ++i) out.passages[at(gold[i])] = std::move(foreign[i]);
  return out;
}

}  // namespace buoy
