// JSON lines for items and documents.
#include "buoy/world/world_json.h"

#include "buoy/base/error.h"
#include "buoy/base/thread_pool.h"
#include "buoy/io/json.h"

namespace buoy {
namespace {

constexpr std::uint32_t kDocumentStream = 7;
constexpr Index kBlock = 256;  // lines a thread makes before it takes the next share

Json spans_json(const std::vector<TextSpan>& spans) {
  Json list = Json::array();
  for (const TextSpan& span : spans) list.push_back({span.begin, span.end});
  return list;
}

Json passage_json(const Passage& passage) {
  Json json;
  json["title"] = passage.title;
  json["text"] = passage.text;
  json["gold"] = passage.role == PassageRole::kGold;
  json["role"] = name_of(passage.role);
  json["evidence"] = spans_json(passage.evidence);
  json["answer"] = spans_json(passage.answer);
  return json;
}

Json settings_json(const ItemSettings& s) {
  Json json;
  json["seed"] = s.seed;
  json["passages"] = s.passages;
  json["gold_position"] = s.gold_left_out            ? Json("none")
                          : s.gold_positions.empty() ? Json("any")
                                                     : Json(s.gold_positions);
  json["distractors"] = name_of(s.distractors);
  json["noise"] = s.noise;
  json["contradict"] = s.contradictions;
  json["split"] = name_of(s.split);
  // Left out where they are not used: the sets published before them keep their bytes.
  if (s.length > 0) json["length"] = s.length;
  if (s.near_misses > 0) json["near_miss"] = s.near_misses;
  return json;
}

template <typename MakeLine>
void write_lines(Index first, Index count, int threads, const TextSink& sink, const MakeLine& make_line) {
  if (count < 0 || first < 0) fail_usage("items: got {} from {} on, expected 0 or more", count, first);
  if (first + count > (Index{1} << 32))
    fail_usage("items: the last would be {}, expected below 2^32", first + count);
  ThreadPool pool(threads);
  const Index round = kBlock * threads * 4;  // bounds memory; order comes from writing share by share
  for (Index begin = 0; begin < count; begin += round) {
    const Index shares = (std::min(round, count - begin) + kBlock - 1) / kBlock;
    std::vector<std::string> texts(static_cast<std::size_t>(shares));
    pool.run(shares, [&](Index share, int) {
      std::string& text = texts[static_cast<std::size_t>(share)];
      const Index from = begin + share * kBlock, to = std::min(from + kBlock, count);
      for (Index i = from; i < to; ++i) text.append(make_line(first + i)) += '\n';
    });
    for (const std::string& text : texts) sink(text);
  }
}

}  // namespace

std::string item_line(const WorldItem& item, const ItemSettings& settings) {
  Json json;
  json["id"] = fmt::format("micro-{}-{:06}", settings.seed, item.index);
  json["task"] = name_of(item.task);
  json["world"] = name_of(item.world);
  if (settings.level != Level::kNone) json["level"] = name_of(settings.level);
  json["question"] = item.question;
  json["answers"] = {item.answer};
  Json passages = Json::array();
  for (const Passage& passage : item.passages) passages.push_back(passage_json(passage));
  json["passages"] = std::move(passages);
  json["generator"] = settings_json(settings);
  return json.dump();
}

void write_items(const ItemSettings& settings, Index first, Index count, int threads, const TextSink& sink) {
  check_settings(settings);
  const World known = make_known_world();
  write_lines(first, count, threads, sink,
              [&](Index i) { return item_line(make_item(known, settings, i), settings); });
}

std::string make_document(const World& known, const ItemSettings& settings, Index index) {
  Draws draws({.seed = settings.seed, .sample = static_cast<std::uint32_t>(index), .step = kDocumentStream});
  if (world_of_item(settings, index) == WorldKind::kKnown)
    return write_document(known, settings.passages, draws);
  return write_document(make_novel_world(settings.seed, index), settings.passages, draws);
}

void write_documents(const ItemSettings& settings, Index first, Index count, int threads,
                     const TextSink& sink) {
  check_settings(settings);
  if (settings.passages < 1) fail_usage("passages: got 0, but a document needs at least 1 paragraph");
  const World known = make_known_world();
  write_lines(first, count, threads, sink, [&](Index i) {
    Json json;
    json["id"] = fmt::format("micro-text-{}-{:06}", settings.seed, i);
    json["world"] = name_of(world_of_item(settings, i));
    json["text"] = make_document(known, settings, i);
    return json.dump();
  });
}

}  // namespace buoy
