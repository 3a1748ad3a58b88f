#include "buoy/run/run_reader.h"

#include <limits>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/run/run_format.h"
#include "buoy/run/run_identity.h"
#include "buoy/run/stored_json.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

// Text that can stand in a page and in JSON: SQLite keeps any bytes under that name.
std::string column_text(const Statement& row, int column, const std::string& place) {
  const std::string_view text = row.text(column);
  if (const auto bad = find_invalid_utf8(text))
    fail("{}: holds text that is not UTF-8 at byte {}", place, *bad);
  return std::string(text);
}

// "samples.em of "q1"".
std::string column_of(const SampleResult& r, std::string_view column) {
  return fmt::format("{} of {}", column, quote(r.key.sample));
}

double checked(double value, double most, const SampleResult& r, std::string_view column,
               const std::string& place) {
  if (!(value >= 0 && value <= most))
    fail("{}: {} is {}, expected 0 to {}", place, column_of(r, column), value, most);
  return value;
}

Index checked(Index value, const SampleResult& r, std::string_view column, const std::string& place) {
  if (value < 0) fail("{}: {} is {}, expected 0 or more", place, column_of(r, column), value);
  return value;
}

RunKey key_in(const Statement& row, const std::string& place) {
  return {column_text(row, 0, place), column_text(row, 1, place), column_text(row, 2, place),
          column_text(row, 3, place)};
}

// A sample belongs to a model, data and, where the settings list them, passages of the run. A model under an
// intervention goes by a longer name.
void check_known(const RunKey& key, const Json& settings, const std::string& place) {
  const std::string plain = key.model.substr(0, key.model.find(" + "));
  const std::pair<const char*, const std::string&> parts[] = {
      {"models", key.model}, {"data", key.data}, {"passages", key.condition}};
  for (const auto& [part, name] : parts) {
    const bool listed = settings.contains(part) && settings[part].is_object();
    const bool known =
        listed && (settings[part].contains(name) || (&name == &key.model && settings[part].contains(plain)));
    if (listed && !known)
      fail("{}: {} is of {}, which is not among the {} of the settings", place, quote(key.sample),
           quote(name), part);
  }
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
  // What the file does by itself, when it is read or written, must be what a run's does.
  Statement foreign(database, "SELECT name FROM sqlite_schema WHERE instr(?1, sql) = 0");
  foreign.bind({std::string_view(kRunSchema)});
  if (foreign.step()) fail("{}: holds {}, which is no part of a run", place, quote(foreign.text(0)));
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
  const std::string place = database.path().string();
  Json settings = parse_json(begun.text(0), place);
  check_stored_settings(settings, place);
  return settings;
}

std::vector<SampleResult> read_results(const Database& database) {
  const std::string place = database.path().string();
  const Json settings = read_settings(database);
  const double no_limit = std::numeric_limits<double>::max();
  std::vector<SampleResult> results;
  Statement row(database,
                "SELECT model, data, condition, sample, number, task, question, prompt, answer, em, "
                "substring, f1, prompt_tokens, steps, commit_step, seconds, output_ids FROM samples "
                "ORDER BY model, data, condition, number, sample");
  while (row.step()) {
    SampleResult r;
    r.key = key_in(row, place);
    check_known(r.key, settings, place);
    r.number = checked(row.integer(4), r, "number", place);
    r.task = column_text(row, 5, place);
    r.question = column_text(row, 6, place);
    r.prompt = column_text(row, 7, place);
    r.answer = column_text(row, 8, place);
    r.score = {.em = checked(row.real(9), 1, r, "em", place),
               .substring = checked(row.real(10), 1, r, "substring", place),
               .f1 = checked(row.real(11), 1, r, "f1", place)};
    r.prompt_tokens = checked(row.integer(12), r, "prompt_tokens", place);
    r.steps = checked(row.integer(13), r, "steps", place);
    r.commit_step = stored_integers(row.text(14), place, column_of(r, "commit_step"));
    r.seconds = checked(row.real(15), no_limit, r, "seconds", place);
    r.output_ids = stored_integers(row.text(16), place, column_of(r, "output_ids"));
    results.push_back(std::move(r));
  }
  return results;
}

void read_seen(const Database& database, const std::function<void(const SampleResult& sample)>& take) {
  const std::string place = database.path().string();
  const Json settings = read_settings(database);
  Statement row(
      database,
      "SELECT model, data, condition, sample, number, task, question, seen FROM samples WHERE seen <> '' "
      "ORDER BY model, data, condition, number, sample");
  while (row.step()) {
    SampleResult r;
    r.key = key_in(row, place);
    check_known(r.key, settings, place);
    r.number = checked(row.integer(4), r, "number", place);
    r.task = column_text(row, 5, place);
    r.question = column_text(row, 6, place);
    r.seen = measurements_from_json(row.text(7), fmt::format("{}: {}", place, column_of(r, "seen")));
    take(r);
  }
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
  while (row.step())
    collections[column_text(row, 0, path().string())] = parse_json(row.text(1), path().string());
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
  const std::string place = fmt::format("{}: {}", path().string(), quote(key.sample));
  SampleDetail made;
  Statement input(database_,
                  "SELECT question, answers, passages FROM inputs WHERE data = ?1 AND condition = ?2 AND "
                  "sample = ?3");
  if (input.bind({key.data, key.condition, key.sample}).step()) {
    made.input = {.data = key.data,
                  .condition = key.condition,
                  .sample = key.sample,
                  .question = column_text(input, 0, place),
                  .answers = stored_texts(input.text(1), place, "answers"),
                  .passages = passages_from_json(parse_json(input.text(2), place), place)};
  }
  Statement ids(
      database_,
      "SELECT ids FROM prompt_ids WHERE model = ?1 AND data = ?2 AND condition = ?3 AND sample = ?4");
  if (ids.bind({key.model, key.data, key.condition, key.sample}).step()) {
    made.prompt_ids = stored_integers(ids.text(0), place, "prompt_ids");
  }
  return made;
}

}  // namespace buoy
