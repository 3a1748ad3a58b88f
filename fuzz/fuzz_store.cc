// A run's store and a collection of documents in which the input changes cells, rows, tables and what they
// say of themselves: reading them, and going on with them, gives values or one line of error.
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "buoy/corpus/collection.h"
#include "buoy/io/json.h"
#include "buoy/run/run_identity.h"
#include "buoy/run/run_reader.h"
#include "buoy/run/run_store.h"
#include "fuzz/changes.h"
#include "fuzz/scratch.h"

namespace {

using namespace buoy;
using fuzzing::Changes;

const RunIdentity& identity() {
  static const RunIdentity made{.settings = parse_json(R"({"verb": "eval", "models": {"m": {"seed": 1}},
      "data": {"d": {}}, "passages": {"given": {}}})",
                                                       "settings"),
                                .growing = {"models"},
                                .items = {{"d", "q1", "hash of it"}}};
  return made;
}

// A valid file, as bytes: what `write` leaves where it is told to.
template <typename Write>
std::string image(const char* name, const Write& write) {
  const std::filesystem::path path = fuzzing::put(name, "");
  std::filesystem::remove(path);
  write(path);
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_run(const std::filesystem::path& path) {
  RunStore store(path, identity());
  const RunKey key{"m", "d", "given", "q1"};
  const SampleResult sample{
      .key = key,
      .task = "single",
      .question = "Who?",
      .prompt = "Question: Who?",
      .answer = "Tor",
      .score = {.em = 1, .substring = 1, .f1 = 1},
      .prompt_tokens = 5,
      .steps = 2,
      .commit_step = {0, 1},
      .seconds = 0.5,
      .seen = {{.quantity = "top1", .layer = 2, .part = "last", .value = 0.5, .null = 0.25}},
      .output_ids = {7, 1}};
  const RunInput input{.data = "d",
                       .condition = "given",
                       .sample = "q1",
                       .question = "Who?",
                       .answers = {"Tor"},
                       .passages = {{.title = "T", .text = "Tor is."}}};
  store.add_inputs({&input, 1});
  store.add_retrieved({&input, 1});
  store.add_collection("given", Json{{"path", "c.db"}});
  const std::pair<RunKey, std::vector<Index>> ids{key, {4, 5, 6}};
  store.add_prompt_ids({&ids, 1});
  store.add_session(Json{{"version", "0.1.0"}});
  store.add({&sample, 1});
}

void write_collection(const std::filesystem::path& path) {
  Collection collection(path, DatabaseAccess::kCreate);
  const Document documents[] = {{"a", "Halford", "The mayor of Halford is Tor Banor."},
                                {"b", "Midor", "Midor lies by the river Wen, near Halford."},
                                {"c", "", "Nothing of note was ever written here."}};
  collection.add(documents);
}

std::string one_of(Database& database, const std::string& sql, unsigned which) {
  std::vector<std::string> names;
  Statement row(database, sql);
  while (row.step()) names.emplace_back(row.text(0));
  return names.empty() ? "nothing" : names[which % names.size()];
}

std::string quoted(const std::string& name) {
  return '"' + name + '"';
}

void change(Database& database, Changes& in, int& doubled) {
  const unsigned what = in.byte() % 16;
  const std::string table =
      one_of(database, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name", in.byte());
  if (what < 11) {
    const std::string column =
        one_of(database, "SELECT name FROM pragma_table_info('" + table + "')", in.byte());
    const unsigned how = in.byte() % 6;
    const std::string held = quoted(column);
    const std::string value = how == 3   ? "CAST(?1 AS BLOB)"
                              : how == 4 ? held + " || ?1"
                              : how == 5 ? "substr(" + held + ", 1, ?1)"
                                         : "?1";
    Statement update(database, "UPDATE " + quoted(table) + " SET " + held + " = " + value);
    if (how == 0 || how == 5) {
      update.bind({in.number()}).run();
    } else if (how == 1) {
      update.bind({static_cast<double>(in.number()) / 4}).run();
    } else {
      update.bind({in.text()}).run();
    }
  } else if (what == 11) {
    database.execute("DELETE FROM " + quoted(table));
  } else if (what == 12) {
    database.execute("DROP TABLE " + quoted(table));
  } else if (what == 13) {
    database.execute((in.byte() % 2 == 0 ? "PRAGMA user_version = " : "PRAGMA application_id = ") +
                     std::to_string(in.number() % (Index{1} << 31)));
  } else if (what == 14) {
    database.execute("CREATE VIEW v AS SELECT * FROM " + quoted(table));
  } else if (++doubled < 4) {  // what the input grows to is not what is tried
    database.execute("INSERT OR IGNORE INTO " + quoted(table) + " SELECT * FROM " + quoted(table));
  }
}

void read_run(const std::filesystem::path& path) {
  static_cast<void>(has_begun(path));
  const RunReader run(path);
  static_cast<void>(run.settings().size() + run.sessions().size() + run.collections().size());
  for (const SampleResult& sample : run.results()) static_cast<void>(run.detail(sample.key));
  run.each_seen([](const SampleResult&) {});
  static_cast<void>(run.difference(identity()));
}

void go_on_with_run(const std::filesystem::path& path) {
  const RunStore run(path, identity());
  static_cast<void>(run.done().size() + run.settings().size() + run.results().size());
  static_cast<void>(run.retrieved("d", "given", "q1"));
}

void read_collection(const std::filesystem::path& path) {
  Collection collection(path);
  static_cast<void>(collection.count());
  static_cast<void>(collection.get("a"));
  static_cast<void>(collection.search("Who is the mayor of Halford by the river?", 3));
  static_cast<void>(collection.fingerprint());
}

void write_to_collection(const std::filesystem::path& path) {
  Collection collection(path, DatabaseAccess::kWrite);
  const Document other[] = {{"b", "Midor", "Midor has moved."}, {"d", "New", "Halford again."}};
  collection.add(other);
  const std::string gone[] = {"a"};
  collection.remove(gone);
  static_cast<void>(collection.search("Halford", 3));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string run = image("new-run.db", write_run),
                           collection = image("new-collection.db", write_collection);
  Changes in{{data, size}};
  const unsigned choice = in.byte() % 4;
  const auto path = fuzzing::put("store.db", choice < 2 ? run : collection);
  fuzzing::attempt([&] {
    Database database(path, {.access = DatabaseAccess::kWrite, .journal = Journal::kRollback});
    database.execute("PRAGMA synchronous = OFF");
    int doubled = 0;
    while (!in.left.empty()) change(database, in, doubled);
  });
  constexpr void (*kUses[])(const std::filesystem::path&) = {read_run, go_on_with_run, read_collection,
                                                             write_to_collection};
  fuzzing::attempt([&] { kUses[choice](path); });
  return 0;
}
