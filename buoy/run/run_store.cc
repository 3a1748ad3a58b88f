#include "buoy/run/run_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/run/run_format.h"

namespace buoy {
namespace {

constexpr const char* kSchema = R"(
  CREATE TABLE run (settings TEXT NOT NULL);
  CREATE TABLE samples (
    model TEXT NOT NULL, data TEXT NOT NULL, condition TEXT NOT NULL, sample TEXT NOT NULL,
    number INTEGER NOT NULL, task TEXT NOT NULL, question TEXT NOT NULL,
    prompt TEXT NOT NULL, answer TEXT NOT NULL,
    em REAL NOT NULL, substring REAL NOT NULL, f1 REAL NOT NULL,
    prompt_tokens INTEGER NOT NULL, steps INTEGER NOT NULL, commit_step TEXT NOT NULL, seconds REAL NOT NULL,
    seen TEXT NOT NULL,
    PRIMARY KEY (model, data, condition, sample));
)";

std::string text_of(const Statement& row, int column) {
  return std::string(row.text(column));
}

}  // namespace

// Held while the run is open, and gone with the process however it ends.
class RunStore::Lock {
 public:
  explicit Lock(const std::filesystem::path& path) {
    const std::string file = path.string() + ".lock";
    descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor_ < 0) fail("{}: cannot be written", file);
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      ::close(descriptor_);
      fail("{}: another process has this run open", path.string());
    }
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() { ::close(descriptor_); }

 private:
  int descriptor_ = -1;
};

std::string settings_difference(const Json& old_settings, const Json& new_settings) {
  const Json before = old_settings.flatten(), after = new_settings.flatten();
  std::string differences;
  const auto add = [&](const std::string& key, const std::string& was, const std::string& now) {
    differences += fmt::format("{}{} was {}, now {}", differences.empty() ? "" : "; ", key, was, now);
  };
  for (const auto& [key, value] : before.items()) {
    if (!after.contains(key)) {
      add(key, value.dump(), "absent");
    } else if (after[key] != value) {
      add(key, value.dump(), after[key].dump());
    }
  }
  for (const auto& [key, value] : after.items()) {
    if (!before.contains(key)) add(key, "absent", value.dump());
  }
  return differences;
}

RunStore::RunStore(const std::filesystem::path& path, const Json& settings)
    : lock_(std::make_unique<Lock>(path)), database_(path) {
  const std::string place = path.string();
  database_.execute(
      "PRAGMA synchronous = FULL");  // WAL alone could lose the last samples when the power fails
  if (database_.integer("SELECT count(*) FROM sqlite_master") == 0) {
    Transaction transaction(database_);
    database_.execute(kSchema);
    database_.execute(
        fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kRunApplication, kRunVersion));
    Statement(database_, "INSERT INTO run VALUES (?1)").bind({settings.dump()}).run();
    transaction.commit();
    return;
  }
  if (database_.integer("PRAGMA application_id") != kRunApplication)
    fail("{}: is a database, but not of a run", place);
  if (const Index version = database_.integer("PRAGMA user_version"); version != kRunVersion) {
    fail("{}: is a run of version {}, expected {}; finish it with the Buoy that began it", place, version,
         kRunVersion);
  }
  Statement begun(database_, "SELECT settings FROM run");
  if (!begun.step()) fail("{}: is a run without settings", place);
  const std::string differences = settings_difference(parse_json(begun.text(0), place), settings);
  if (!differences.empty()) fail("{}: was begun with other settings: {}", place, differences);
  Statement keys(database_, "SELECT model, data, condition, sample FROM samples");
  while (keys.step()) done_.insert({text_of(keys, 0), text_of(keys, 1), text_of(keys, 2), text_of(keys, 3)});
}

RunStore::~RunStore() = default;

void RunStore::add(std::span<const SampleResult> results) {
  Transaction transaction(database_);
  Statement insert(
      database_,
      "INSERT INTO samples VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, "
      "?17)");
  for (const SampleResult& r : results) {
    const std::string commits = Json(r.commit_step).dump(), seen = measurements_to_json(r.seen);
    insert
        .bind({r.key.model, r.key.data, r.key.condition, r.key.sample, r.number, r.task, r.question, r.prompt,
               r.answer, r.score.em, r.score.substring, r.score.f1, r.prompt_tokens, r.steps, commits,
               r.seconds, seen})
        .run();
  }
  transaction.commit();
  for (const SampleResult& r : results) done_.insert(r.key);
}

void RunStore::each_seen(const std::function<void(const SampleResult& sample)>& take) const {
  Statement row(
      database_,
      "SELECT model, data, condition, sample, number, task, question, seen FROM samples WHERE seen <> '' "
      "ORDER BY model, data, condition, number, sample");
  while (row.step()) {
    SampleResult r;
    r.key = {text_of(row, 0), text_of(row, 1), text_of(row, 2), text_of(row, 3)};
    r.number = row.integer(4);
    r.task = text_of(row, 5);
    r.question = text_of(row, 6);
    r.seen = measurements_from_json(row.text(7), database_.path().string());
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

std::vector<SampleResult> RunStore::results() const {
  std::vector<SampleResult> results;
  Statement row(database_,
                "SELECT model, data, condition, sample, number, task, question, prompt, answer, em, "
                "substring, f1, prompt_tokens, steps, commit_step, seconds FROM samples "
                "ORDER BY model, data, condition, number, sample");
  while (row.step()) {
    SampleResult r{.key = {text_of(row, 0), text_of(row, 1), text_of(row, 2), text_of(row, 3)},
                   .number = row.integer(4),
                   .task = text_of(row, 5),
                   .question = text_of(row, 6),
                   .prompt = text_of(row, 7),
                   .answer = text_of(row, 8),
                   .score = {.em = row.real(9), .substring = row.real(10), .f1 = row.real(11)},
                   .prompt_tokens = row.integer(12),
                   .steps = row.integer(13),
                   .seconds = row.real(15)};
    r.commit_step = parse_json(row.text(14), database_.path().string()).get<std::vector<Index>>();
    results.push_back(std::move(r));
  }
  return results;
}

}  // namespace buoy
