#include "buoy/run/run_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/run/run_format.h"
#include "buoy/run/run_identity.h"
#include "buoy/run/run_reader.h"
#include "buoy/run/stored_json.h"

namespace buoy {
namespace {

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

RunStore::RunStore(const std::filesystem::path& path, const RunIdentity& identity)
    : lock_(std::make_unique<Lock>(path)), database_(path) {
  database_.execute(
      "PRAGMA synchronous = FULL");  // WAL alone could lose the last samples when the power fails
  if (database_.integer("SELECT count(*) FROM sqlite_master") == 0) {
    begin(identity);
  } else {
    go_on(identity);
  }
}

RunStore::~RunStore() = default;

void RunStore::begin(const RunIdentity& identity) {
  Transaction transaction(database_);
  database_.execute(kRunSchema);
  database_.execute(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kRunApplication, kRunVersion));
  settings_ = identity.settings.dump();
  Statement(database_, "INSERT INTO run VALUES (?1)").bind({settings_}).run();
  add_items(identity.items);
  transaction.commit();
}

void RunStore::go_on(const RunIdentity& identity) {
  check_run(database_);
  if (const std::string differences = run_difference(database_, identity); !differences.empty()) {
    fail("{}: was begun with {}; --new begins another run beside it", path().string(), differences);
  }
  const Json begun = read_settings(database_);
  Transaction transaction(database_);
  settings_ = grown_settings(begun, identity.settings, identity.growing).dump();
  Statement(database_, "UPDATE run SET settings = ?1").bind({settings_}).run();
  add_items(identity.items);
  transaction.commit();
  Statement keys(database_, "SELECT model, data, condition, sample FROM samples");
  while (keys.step()) done_.insert({text_of(keys, 0), text_of(keys, 1), text_of(keys, 2), text_of(keys, 3)});
}

void RunStore::add_items(std::span<const RunItem> items) {
  Statement insert(database_, "INSERT INTO items VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING");
  for (const RunItem& item : items) insert.bind({item.data, item.sample, item.hash}).run();
}

void RunStore::add(std::span<const SampleResult> results) {
  Transaction transaction(database_);
  Statement insert(
      database_,
      "INSERT INTO samples VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, "
      "?17, ?18)");
  for (const SampleResult& r : results) {
    const std::string commits = Json(r.commit_step).dump(), seen = measurements_to_json(r.seen),
                      output = Json(r.output_ids).dump();
    insert
        .bind({r.key.model, r.key.data, r.key.condition, r.key.sample, r.number, r.task, r.question, r.prompt,
               r.answer, r.score.em, r.score.substring, r.score.f1, r.prompt_tokens, r.steps, commits,
               r.seconds, seen, output})
        .run();
  }
  transaction.commit();
  for (const SampleResult& r : results) done_.insert(r.key);
}

void RunStore::add_inputs(std::span<const RunInput> inputs) {
  Transaction transaction(database_);
  Statement insert(database_, "INSERT INTO inputs VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING");
  Statement same(database_,
                 "SELECT count(*) FROM inputs WHERE data = ?1 AND condition = ?2 AND sample = ?3 AND "
                 "question = ?4 AND answers = ?5 AND passages = ?6");
  for (const RunInput& input : inputs) {
    const std::string answers = Json(input.answers).dump(),
                      passages = passages_to_json(input.passages).dump();
    insert.bind({input.data, input.condition, input.sample, input.question, answers, passages}).run();
    if (database_.changes() > 0) continue;
    same.bind({input.data, input.condition, input.sample, input.question, answers, passages}).step();
    const bool is_same = same.integer(0) == 1;
    same.reset();
    if (!is_same) {
      fail(
          "{}: {} of {} under {} was answered from another question, other answers or other passages before; "
          "--new begins another run beside it",
          path().string(), quote(input.sample), input.data, input.condition);
    }
  }
  transaction.commit();
}

void RunStore::add_retrieved(std::span<const RunInput> inputs) {
  Transaction transaction(database_);
  Statement insert(database_, "INSERT INTO retrieved VALUES (?1, ?2, ?3, ?4)");
  for (const RunInput& input : inputs) {
    const std::string passages = passages_to_json(input.passages).dump();
    insert.bind({input.data, input.condition, input.sample, passages}).run();
  }
  transaction.commit();
}

std::optional<std::vector<QaPassage>> RunStore::retrieved(const std::string& data,
                                                          const std::string& condition,
                                                          const std::string& sample) const {
  Statement row(database_,
                "SELECT passages FROM retrieved WHERE data = ?1 AND condition = ?2 AND sample = ?3");
  if (!row.bind({data, condition, sample}).step()) return std::nullopt;
  return passages_from_json(parse_json(row.text(0), path().string()), path().string());
}

void RunStore::add_collection(const std::string& condition, const Json& collection) {
  Statement(database_, "INSERT INTO collections VALUES (?1, ?2) ON CONFLICT DO NOTHING")
      .bind({condition, collection.dump()})
      .run();
  Statement row(database_, "SELECT collection FROM collections WHERE condition = ?1");
  row.bind({condition}).step();
  const std::string differences = settings_difference(parse_json(row.text(0), path().string()), collection);
  if (!differences.empty()) {
    fail(
        "{}: passages of \"{}\" were retrieved from a collection that has changed since: {}; --new begins "
        "another run beside it",
        path().string(), condition, differences);
  }
}

void RunStore::add_prompt_ids(std::span<const std::pair<RunKey, std::vector<Index>>> prompts) {
  Transaction transaction(database_);
  Statement insert(database_, "INSERT INTO prompt_ids VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING");
  for (const auto& [key, ids] : prompts) {
    const std::string text = Json(ids).dump();
    insert.bind({key.model, key.data, key.condition, key.sample, text}).run();
  }
  transaction.commit();
}

void RunStore::add_session(const Json& about) {
  Statement(database_, "INSERT INTO sessions VALUES (?1)").bind({about.dump()}).run();
}

Json RunStore::settings() const {
  return parse_json(settings_, path().string());
}

void RunStore::each_seen(const std::function<void(const SampleResult& sample)>& take) const {
  read_seen(database_, take);
}

std::vector<SampleResult> RunStore::results() const {
  return read_results(database_);
}

}  // namespace buoy
