#include "buoy/run/run_reader.h"

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/run/run_format.h"
#include "buoy/run/run_identity.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

std::string column_text(const Statement& row, int column) {
  return std::string(row.text(column));
}

}  // namespace

void check_run(const Database& database) {
  const std::string place = database.path().string();
  if (database.integer("PRAGMA application_id") != kRunApplication)
    fail("{}: is a database, but not of a run", place);
  if (const Index version = database.integer("PRAGMA user_version"); version != kRunVersion) {
    fail("{}: is a run of version {}, expected {}; finish it with the Buoy that began it", place, version,
         kRunVersion);
  }
  if (database.integer("SELECT count(*) FROM sqlite_schema WHERE type IN ('trigger', 'view')") > 0)
    fail("{}: holds triggers or views, which a run has none of", place);
}

std::string run_difference(const Database& database, const RunIdentity& identity) {
  const std::string settings =
      growth_difference(read_settings(database), identity.settings, identity.growing);
  if (!settings.empty()) return "other settings: " + settings;
  constexpr Index kNamed = 3;
  Statement find(database, "SELECT hash FROM items WHERE data = ?1 AND sample = ?2");
  Index changed = 0;
  std::string names;
  for (const RunItem& item : identity.items) {
    const bool same = !find.bind({item.data, item.sample}).step() || find.text(0) == item.hash;
    find.reset();
    if (same || ++changed > kNamed) continue;
    names += fmt::format("{}{} of {}", names.empty() ? "" : ", ", quote(item.sample), item.data);
  }
  if (changed == 0) return "";
  return fmt::format("other data: {} {} changed: {}{}", changed, changed == 1 ? "item has" : "items have",
                     names, changed > kNamed ? ", …" : "");
}

Json read_settings(const Database& database) {
  Statement begun(database, "SELECT settings FROM run");
  if (!begun.step()) fail("{}: is a run without settings", database.path().string());
  return parse_json(begun.text(0), database.path().string());
}

std::vector<SampleResult> read_results(const Database& database) {
  const std::string place = database.path().string();
  std::vector<SampleResult> results;
  Statement row(database,
                "SELECT model, data, condition, sample, number, task, question, prompt, answer, em, "
                "substring, f1, prompt_tokens, steps, commit_step, seconds, output_ids FROM samples "
                "ORDER BY model, data, condition, number, sample");
  while (row.step()) {
    SampleResult r{
        .key = {column_text(row, 0), column_text(row, 1), column_text(row, 2), column_text(row, 3)},
        .number = row.integer(4),
        .task = column_text(row, 5),
        .question = column_text(row, 6),
        .prompt = column_text(row, 7),
        .answer = column_text(row, 8),
        .score = {.em = row.real(9), .substring = row.real(10), .f1 = row.real(11)},
        .prompt_tokens = row.integer(12),
        .steps = row.integer(13),
        .seconds = row.real(15)};
    r.commit_step = parse_json(row.text(14), place).get<std::vector<Index>>();
    r.output_ids = parse_json(row.text(16), place).get<std::vector<Index>>();
    results.push_back(std::move(r));
  }
  return results;
}

void read_seen(const Database& database, const std::function<void(const SampleResult& sample)>& take) {
  Statement row(
      database,
      "SELECT model, data, condition, sample, number, task, question, seen FROM samples WHERE seen <> '' "
      "ORDER BY model, data, condition, number, sample");
  while (row.step()) {
    SampleResult r;
    r.key = {column_text(row, 0), column_text(row, 1), column_text(row, 2), column_text(row, 3)};
    r.number = row.integer(4);
    r.task = column_text(row, 5);
    r.question = column_text(row, 6);
    r.seen = measurements_from_json(row.text(7), database.path().string());
    take(r);
  }
}

std::string measurements_to_json(const Measurements& measurements) {
  if (measurements.empty()) return "";
  Json list = Json::array();
  for (const Measurement& m : measurements) {
    list.push_back({m.quantity, m.layer, m.head, m.part, m.value, m.weight, m.null ? Json(*m.null) : Json()});
  }
  return list.dump();
}

Measurements measurements_from_json(std::string_view text, std::string_view place) {
  if (text.empty()) return {};
  Measurements measurements;
  for (const Json& m : parse_json(text, place)) {
    measurements.push_back({.quantity = m[0],
                            .layer = m[1],
                            .head = m[2],
                            .part = m[3],
                            .value = m[4],
                            .weight = m[5],
                            .null = m[6].is_null() ? std::nullopt : std::optional<double>(m[6])});
  }
  return measurements;
}

Json passages_to_json(std::span<const QaPassage> passages) {
  Json list = Json::array();
  for (const QaPassage& p : passages) {
    Json json = {{"id", p.id}, {"title", p.title}, {"text", p.text}, {"gold", p.gold}};
    for (const TextSpan& span : p.evidence) json["evidence"].push_back({span.begin, span.end});
    if (p.score) json["score"] = *p.score;
    list.push_back(std::move(json));
  }
  return list;
}

std::vector<QaPassage> passages_from_json(const Json& json) {
  std::vector<QaPassage> passages;
  for (const Json& p : json) {
    QaPassage made{.title = p["title"], .text = p["text"], .gold = p["gold"], .id = p["id"]};
    if (p.contains("score")) made.score = p["score"].get<double>();
    if (p.contains("evidence")) {
      for (const Json& span : p["evidence"])
        made.evidence.push_back({span[0].get<Index>(), span[1].get<Index>()});
    }
    passages.push_back(std::move(made));
  }
  return passages;
}

bool has_begun(const fs::path& file) {
  const Database database(file, {.access = DatabaseAccess::kRead});
  return database.integer("SELECT count(*) FROM sqlite_master") > 0;
}

RunReader::RunReader(const fs::path& path)
    : database_(fs::is_directory(path) ? path / "run.db" : path, {.access = DatabaseAccess::kRead}) {
  check_run(database_);
}

Json RunReader::settings() const {
  return read_settings(database_);
}

std::vector<Json> RunReader::sessions() const {
  std::vector<Json> sessions;
  Statement row(database_, "SELECT about FROM sessions ORDER BY rowid");
  while (row.step()) sessions.push_back(parse_json(row.text(0), path().string()));
  return sessions;
}

Json RunReader::collections() const {
  Json collections = Json::object();
  Statement row(database_, "SELECT condition, collection FROM collections ORDER BY condition");
  while (row.step()) collections[column_text(row, 0)] = parse_json(row.text(1), path().string());
  return collections;
}

std::vector<SampleResult> RunReader::results() const {
  return read_results(database_);
}

std::string RunReader::difference(const RunIdentity& identity) const {
  return run_difference(database_, identity);
}

void RunReader::each_seen(const std::function<void(const SampleResult& sample)>& take) const {
  read_seen(database_, take);
}

SampleDetail RunReader::detail(const RunKey& key) const {
  SampleDetail made;
  Statement input(database_,
                  "SELECT question, answers, passages FROM inputs WHERE data = ?1 AND condition = ?2 AND "
                  "sample = ?3");
  if (input.bind({key.data, key.condition, key.sample}).step()) {
    made.input = {.data = key.data,
                  .condition = key.condition,
                  .sample = key.sample,
                  .question = column_text(input, 0),
                  .answers = parse_json(input.text(1), path().string()).get<std::vector<std::string>>(),
                  .passages = passages_from_json(parse_json(input.text(2), path().string()))};
  }
  Statement ids(
      database_,
      "SELECT ids FROM prompt_ids WHERE model = ?1 AND data = ?2 AND condition = ?3 AND sample = ?4");
  if (ids.bind({key.model, key.data, key.condition, key.sample}).step()) {
    made.prompt_ids = parse_json(ids.text(0), path().string()).get<std::vector<Index>>();
  }
  return made;
}

}  // namespace buoy
