#include "buoy/engine/replay_retrieval.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "buoy/base/cancel.h"
#include "buoy/base/error.h"
#include "buoy/corpus/collection.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

// The documents of a passage as the question finds them.
ReplayPassage standing_of(const DocumentLedger& ledger, const Event& question, const QaPassage& passage) {
  ReplayPassage made{.id = passage.id.substr(0, passage.id.rfind('@')), .role = {}};
  const DocumentLedger::Standing* standing = ledger.find(made.id);
  check(standing != nullptr, "a passage is of a document that is there");
  made.version = standing->version;
  made.role = ledger.role_for(question, made.id, passage.text);
  return made;
}

bool any_stale(const DocumentLedger& ledger, const Event& question, const std::vector<QaPassage>& passages) {
  return std::ranges::any_of(passages,
                             [&](const QaPassage& p) { return is_stale(standing_of(ledger, question, p)); });
}

void remove_collection(const fs::path& path) {
  std::error_code ignored;
  for (const char* end : {"", "-wal", "-shm", "-journal"}) fs::remove(path.string() + end, ignored);
}

// A collection that is there only while a stream is played into it.
class PlayedCollection {
 public:
  explicit PlayedCollection(fs::path path) : path_(std::move(path)) {
    collection_.emplace(path_, DatabaseAccess::kCreate);
  }
  PlayedCollection(const PlayedCollection&) = delete;
  PlayedCollection& operator=(const PlayedCollection&) = delete;
  ~PlayedCollection() {
    collection_.reset();
    remove_collection(path_);
  }

  const DocumentLedger& ledger() const { return ledger_; }

  void apply(const Event& event) {
    ledger_.apply(event);
    if (event.kind == EventKind::kRemove) {
      pending_[event.id] = std::nullopt;
    } else if (event.kind != EventKind::kAsk) {
      pending_[event.id] = Document{.id = event.id, .title = event.title, .text = event.text};
    }
  }

  // The best `top` documents that `wanted` lets through, best first.
  template <typename Wanted>
  std::vector<QaPassage> search(const Event& question, Index top, Wanted wanted) {
    write_pending();
    for (Index width = top;; width *= 2) {
      const std::vector<Hit> hits = collection_->search(question.question, width);
      std::vector<QaPassage> passages;
      for (const Hit& hit : hits) {
        QaPassage passage = passage_of(question, hit);
        if (std::ssize(passages) < top && wanted(passage)) passages.push_back(std::move(passage));
      }
      if (std::ssize(passages) == top || std::ssize(hits) < width) return passages;
    }
  }

 private:
  QaPassage passage_of(const Event& question, const Hit& hit) const {
    QaPassage passage{
        .title = hit.document.title, .text = hit.document.text, .id = hit.document.id, .score = hit.score};
    passage.id += "@";
    const ReplayPassage standing = standing_of(ledger_, question, passage);
    passage.id += fmt::to_string(standing.version);
    passage.gold = standing.role == "current";
    return passage;
  }

  // All changes between two questions at once: nobody sees the collection in between.
  void write_pending() {
    std::vector<Document> added;
    std::vector<std::string> removed;
    for (auto& [id, document] : pending_) {
      if (document) {
        added.push_back(std::move(*document));
        there_.insert(id);
      } else if (there_.erase(id) > 0) {
        removed.push_back(id);
      }
    }
    pending_.clear();
    if (!removed.empty()) collection_->remove(removed);
    if (!added.empty()) collection_->add(added);
  }

  fs::path path_;
  std::optional<Collection> collection_;
  DocumentLedger ledger_;
  std::map<std::string, std::optional<Document>> pending_;
  std::set<std::string> there_;
};

// What the store has, and which questions lack something.
struct Stored {
  ReplayPassages passages;
  std::set<std::string> lacking;
  Index questions = 0;
};

Stored stored_passages(const RunStore& store, const ReplayConditions& conditions,
                       std::span<const Event> events) {
  Stored made;
  DocumentLedger ledger;
  for (const Event& event : events) {
    ledger.apply(event);
    if (event.kind != EventKind::kAsk) continue;
    ++made.questions;
    auto main = store.retrieved(conditions.data, conditions.main, event.id);
    if (!main) {
      made.lacking.insert(event.id);
      continue;
    }
    if (!conditions.control.empty() && any_stale(ledger, event, *main)) {
      auto control = store.retrieved(conditions.data, conditions.control, event.id);
      if (!control) made.lacking.insert(event.id);
      if (control) made.passages[{conditions.control, event.id}] = std::move(*control);
    }
    made.passages[{conditions.main, event.id}] = std::move(*main);
  }
  return made;
}

}  // namespace

ReplayConditions conditions_of(const ReplaySettings& settings) {
  ReplayConditions made{.data = settings.events.stem().string(),
                        .main = Condition{.kind = Condition::Kind::kRetrieved, .count = settings.top}.name(),
                        .control = {},
                        .top = settings.top};
  if (settings.control == ReplayControl::kWithoutStale) made.control = made.main + ", nothing stale";
  return made;
}

bool is_stale(const ReplayPassage& passage) {
  return passage.role == "outdated" || passage.role == "rumour";
}

ReplayPassages retrieve_stream(RunStore& store, const ReplayConditions& conditions,
                               std::span<const Event> events, RunObserver& observer) {
  const fs::path place = store.path().parent_path() / "replay-collection.db";
  remove_collection(place);  // of a run that was killed, perhaps after all was found
  Stored stored = stored_passages(store, conditions, events);
  if (stored.lacking.empty()) return std::move(stored.passages);
  observer.begin("searching", stored.questions);
  PlayedCollection played(place);
  std::vector<RunInput> found;
  const auto keep = [&](const std::string& condition, const Event& question, auto wanted) {
    if (stored.passages.contains({condition, question.id})) return;
    std::vector<QaPassage> passages = played.search(question, conditions.top, wanted);
    stored.passages[{condition, question.id}] = passages;
    found.push_back({.data = conditions.data,
                     .condition = condition,
                     .sample = question.id,
                     .question = question.question,
                     .answers = question.answers,
                     .passages = std::move(passages)});
  };
  for (const Event& event : events) {
    played.apply(event);
    if (event.kind != EventKind::kAsk) continue;
    if (observer.cancelled()) throw Cancelled();
    observer.advance(1);
    if (!stored.lacking.contains(event.id)) continue;
    keep(conditions.main, event, [](const QaPassage&) { return true; });
    if (conditions.control.empty() ||
        !any_stale(played.ledger(), event, stored.passages.at({conditions.main, event.id}))) {
      continue;
    }
    keep(conditions.control, event,
         [&](const QaPassage& p) { return !is_stale(standing_of(played.ledger(), event, p)); });
  }
  store.add_retrieved(found);
  return std::move(stored.passages);
}

PassageStandings standings_of(std::span<const Event> events, const ReplayPassages& passages) {
  std::map<std::string, std::vector<const QaPassage*>> of_question;
  for (const auto& [key, list] : passages) {
    for (const QaPassage& passage : list) of_question[key.second].push_back(&passage);
  }
  PassageStandings standings;
  DocumentLedger ledger;
  for (const Event& event : events) {
    ledger.apply(event);
    if (event.kind != EventKind::kAsk) continue;
    for (const QaPassage* passage : of_question[event.id])
      standings[event.id][passage->id] = standing_of(ledger, event, *passage);
  }
  return standings;
}

}  // namespace buoy
