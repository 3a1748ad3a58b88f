// Where the questions of a stream stand: among which documents, and how far from changes of those they are
// about.
#include <algorithm>
#include <map>
#include <set>

#include "buoy/corpus/answer_score.h"
#include "buoy/corpus/event_stream.h"

namespace buoy {
namespace {

std::set<std::string> normalised(const std::vector<std::string>& answers) {
  std::set<std::string> made;
  for (const std::string& answer : answers) made.insert(normalise_answer(answer));
  return made;
}

// Places of changes by document, ascending.
using Changes = std::map<std::string, std::vector<Index>>;

bool changed_between(const Changes& changes, const std::vector<std::string>& documents, Index from,
                     Index to) {
  return std::ranges::any_of(documents, [&](const std::string& id) {
    const auto found = changes.find(id);
    if (found == changes.end()) return false;
    const auto next = std::ranges::upper_bound(found->second, from);
    return next != found->second.end() && *next < to;
  });
}

// Questions of the same words, in order; `at` are their places among all questions.
void align(std::span<const Event> events, const Changes& changes, const std::vector<std::size_t>& at,
           std::vector<StreamQuestion>& questions) {
  const auto event_of = [&](std::size_t i) -> const Event& {
    return events[static_cast<std::size_t>(questions[at[i]].event)];
  };
  // gaps[i]: between question i and i + 1 a document that either is about has changed.
  std::vector<std::optional<ChangeOffset::Answer>> gaps;
  for (std::size_t i = 0; i + 1 < at.size(); ++i) {
    std::vector<std::string> documents = event_of(i).about;
    documents.insert(documents.end(), event_of(i + 1).about.begin(), event_of(i + 1).about.end());
    gaps.emplace_back();
    if (!changed_between(changes, documents, questions[at[i]].event, questions[at[i + 1]].event)) continue;
    gaps.back() = normalised(event_of(i).answers) == normalised(event_of(i + 1).answers)
                      ? ChangeOffset::Answer::kKept
                      : ChangeOffset::Answer::kChanged;
  }
  for (std::size_t i = 0; i < at.size(); ++i) {
    for (std::size_t gap = i; gap-- > 0;) {
      if (!gaps[gap]) continue;
      questions[at[i]].offsets.push_back({*gaps[gap], static_cast<Index>(i - gap)});
      break;
    }
    for (std::size_t gap = i; gap < gaps.size(); ++gap) {
      if (!gaps[gap]) continue;
      questions[at[i]].offsets.push_back({*gaps[gap], -static_cast<Index>(gap - i + 1)});
      break;
    }
  }
}

Index count_current(const DocumentLedger& ledger, const Event& question,
                    const std::map<std::string, std::set<std::string>>& copies) {
  std::set<std::string> current;
  for (const std::string& id : question.about) {
    if (ledger.find(id) != nullptr) current.insert(id);
    const auto found = copies.find(id);
    if (found == copies.end()) continue;
    for (const std::string& copy : found->second) {
      if (ledger.find(copy) != nullptr && ledger.role_for(question, copy, "") == "current")
        current.insert(copy);
    }
  }
  return std::ssize(current);
}

}  // namespace

std::vector<StreamQuestion> place_questions(std::span<const Event> events) {
  std::vector<StreamQuestion> questions;
  Changes changes;
  std::map<std::string, std::set<std::string>> copies;  // of each document
  std::map<std::string, std::vector<std::size_t>> same;
  DocumentLedger ledger;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    ledger.apply(event);
    if (event.kind == EventKind::kChange) changes[event.id].push_back(static_cast<Index>(i));
    if (event.document == DocumentKind::kCopy) copies[event.of].insert(event.id);
    if (event.kind != EventKind::kAsk) continue;
    if (!event.answers.empty() && !event.about.empty()) same[event.question].push_back(questions.size());
    questions.push_back({.event = static_cast<Index>(i),
                         .documents = ledger.count(),
                         .current = count_current(ledger, event, copies),
                         .offsets = {}});
  }
  for (const auto& [words, at] : same) align(events, changes, at, questions);
  return questions;
}

}  // namespace buoy
