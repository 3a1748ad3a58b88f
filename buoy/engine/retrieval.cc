#include "buoy/engine/retrieval.h"

#include "buoy/corpus/collection.h"
#include "buoy/corpus/posting_search.h"
#include "buoy/io/json.h"
#include "buoy/run/stored_json.h"

namespace buoy {
namespace {

std::vector<QaPassage> passages_of(const std::vector<Hit>& hits) {
  std::vector<QaPassage> passages;
  for (const Hit& hit : hits) {
    passages.push_back(
        {.title = hit.document.title, .text = hit.document.text, .id = hit.document.id, .score = hit.score});
  }
  return passages;
}

}  // namespace

Retrieved retrieve_once(RunStore& store, const Condition& condition, const std::filesystem::path& collection,
                        const std::vector<NamedItems>& data) {
  Retrieved retrieved;
  std::vector<RunInput> missing;
  std::vector<std::string> questions;
  for (const NamedItems& set : data) {
    for (const QaItem& item : set.items) {
      if (auto there = store.retrieved(set.name, condition.name(), item.id)) {
        retrieved[{set.name, item.id}] = std::move(*there);
        continue;
      }
      missing.push_back({.data = set.name,
                         .condition = condition.name(),
                         .sample = item.id,
                         .question = item.question,
                         .answers = item.answers,
                         .passages = {}});
      questions.push_back(item.question);
    }
  }
  if (missing.empty()) return retrieved;
  Collection source(collection);
  const Collection::Found found = source.search_all(questions, condition.count);
  store.add_collection(condition.name(), {{"name", collection.filename().string()},
                                          {"documents", source.count()},
                                          {"fingerprint", found.fingerprint},
                                          {"ranking", kRankingCode}});
  for (std::size_t i = 0; i < missing.size(); ++i) {
    missing[i].passages = passages_of(found.hits[i]);
    retrieved[{missing[i].data, missing[i].sample}] = missing[i].passages;
  }
  store.add_retrieved(missing);
  return retrieved;
}

Json to_json(const Retrieved& retrieved) {
  Json json = Json::array();
  for (const auto& [key, passages] : retrieved) {
    json.push_back({key.first, key.second, passages_to_json(passages)});
  }
  return json;
}

Retrieved retrieved_from_json(const Json& json) {
  Retrieved retrieved;
  for (const Json& entry : json) {
    retrieved[{entry[0].get<std::string>(), entry[1].get<std::string>()}] =
        passages_from_json(entry[2], "message of a rank");
  }
  return retrieved;
}

}  // namespace buoy
