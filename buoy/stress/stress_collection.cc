#include "buoy/stress/stress_collection.h"

#include <algorithm>
#include <map>

#include "buoy/base/error.h"
#include "buoy/corpus/collection.h"
#include "buoy/io/json.h"
#include "buoy/stress/stress_parts.h"
#include "buoy/stress/stress_text.h"

namespace buoy {
namespace {

const QaItem& item_at(const StressPool& pool, Index i) {
  return pool.items()[static_cast<std::size_t>(i)];
}

// All passages of the items, equal ones once, under the ids that `buoy index add` would give the first.
class Documents {
 public:
  explicit Documents(std::span<const QaItem> items) {
    for (const QaItem& item : items) {
      Index number = 0;
      for (const QaPassage& passage : item.passages) {
        const std::string id = fmt::format("{}/p{}", item.id, ++number);
        const auto [place, is_new] = places_.try_emplace({passage.title, passage.text}, std::ssize(all));
        if (!is_new) continue;
        if (!passage.title.empty()) of_title_[passage.title].push_back(std::ssize(all));
        all.push_back({.id = id, .title = passage.title, .text = passage.text});
      }
    }
  }

  const Document& of(const QaPassage& passage) const {
    return all[static_cast<std::size_t>(places_.at({passage.title, passage.text}))];
  }

  // The item's gold documents, and those that bear the title of one of them and hold an answer.
  std::vector<Document> that_say(const QaItem& item) const {
    std::map<std::string, Document> found;
    for (const Index place : gold_places(item)) {
      const Document& gold = of(item.passages[static_cast<std::size_t>(place)]);
      found.emplace(gold.id, gold);
      const auto titled = of_title_.find(gold.title);
      if (titled == of_title_.end()) continue;
      for (const Index i : titled->second) {
        const Document& other = all[static_cast<std::size_t>(i)];
        if (holds_answer(other.text, item.answers)) found.emplace(other.id, other);
      }
    }
    std::vector<Document> documents;
    for (auto& [id, document] : found) documents.push_back(std::move(document));
    return documents;
  }

  std::vector<Document> all;

 private:
  std::map<std::pair<std::string, std::string>, Index> places_;  // of title and text in `all`
  std::map<std::string, std::vector<Index>> of_title_;
};

std::vector<std::string> ids_of(std::span<const Document> documents) {
  std::vector<std::string> ids;
  for (const Document& document : documents) ids.push_back(document.id);
  return ids;
}

// The collection in its first state, also where a run was broken off in the middle of a change.
Collection make_collection(const std::filesystem::path& path, const Documents& documents) {
  Collection collection(path, DatabaseAccess::kCreate);
  collection.add(documents.all);
  if (collection.count() != std::ssize(documents.all)) {
    fail("{}: holds {} documents, expected the {} of the dataset", path.string(), collection.count(),
         documents.all.size());
  }
  return collection;
}

// The gold passages of an item by the ids of their documents.
using GoldPassages = std::map<std::string, QaPassage>;

// One connection that writes and one that reads, both open from the first item to the last.
class Stage {
 public:
  Stage(const StressPool& pool, const StressOptions& options, const std::filesystem::path& path)
      : pool_(pool),
        options_(options),
        documents_(pool.items()),
        writer_(make_collection(path, documents_)),
        reader_(path, DatabaseAccess::kRead) {}

  QaItem query(Index number, std::string_view change) {
    const QaItem& item = item_at(pool_, number);
    GoldPassages gold;
    for (const Index place : gold_places(item)) {
      const QaPassage& passage = item.passages[static_cast<std::size_t>(place)];
      gold.emplace(documents_.of(passage).id, passage);
    }
    if (change == "as-is") return found(item, gold);
    const std::vector<Document> said = documents_.that_say(item);
    if (change == "changed") return query_changed(item, number, std::move(gold), said);
    writer_.remove(ids_of(said));
    QaItem without = found(item, gold);
    check(gold_places(without).empty(), "the reader sees that the documents are gone");
    writer_.add(said);
    return change == "added" ? found(item, gold) : without;
  }

 private:
  // Every answer in the documents becomes another item's, which is the right one then. A document that would
  // still hold the old answer, in another spelling, is taken out.
  QaItem query_changed(QaItem item, Index number, GoldPassages gold, std::span<const Document> said) {
    const std::vector<std::string> old = item.answers;
    item.answers = pool_.substitutes_for(StressPool::Kind::kAnswer, item, number, old, 1, options_.seed);
    const std::vector<Replacement> list = answer_replacements(old, item.answers[0]);
    std::vector<Document> changed;
    std::vector<std::string> removed;
    for (const Document& document : said) {
      const QaPassage now = replaced({.title = document.title, .text = document.text}, list);
      if (holds_answer(now.text, old)) {
        removed.push_back(document.id);
      } else {
        changed.push_back({.id = document.id, .title = now.title, .text = now.text});
      }
    }
    writer_.add(changed);
    if (!removed.empty()) writer_.remove(removed);
    for (auto& [id, passage] : gold) passage = replaced(passage, list);
    QaItem made = found(std::move(item), gold);
    writer_.add(said);
    return made;
  }

  // The item with what the reader finds for its question.
  QaItem found(QaItem item, const GoldPassages& gold) {
    item.passages.clear();
    for (const Hit& hit : reader_.search(item.question, options_.passages)) {
      const auto known = gold.find(hit.document.id);
      if (known == gold.end()) {
        item.passages.push_back({.title = hit.document.title, .text = hit.document.text});
        continue;
      }
      check(known->second.text == hit.document.text, "the reader sees a document as it was written last");
      item.passages.push_back(known->second);
    }
    return item;
  }

  const StressPool& pool_;
  const StressOptions& options_;
  Documents documents_;
  Collection writer_, reader_;
};

}  // namespace

std::vector<QaItem> stress_collection(const StressPool& pool, std::span<const Index> chosen,
                                      const StressLevel& level, const StressOptions& options,
                                      const std::filesystem::path& path) {
  check(level.stressor->target == StressTarget::kCollection, "the level is one of a collection's");
  for (const Index number : chosen) {
    if (const auto lack = lacking(item_at(pool, number), level, options)) {
      fail_usage("item {}: {} (stressor {} needs {})", quote(item_at(pool, number).id), *lack, level.name(),
                 level.stressor->needs);
    }
  }
  Stage stage(pool, options, path);
  std::vector<QaItem> out;
  for (const Index number : chosen) out.push_back(stage.query(number, level.text));
  return out;
}

}  // namespace buoy
