// buoy index: a collection of documents for retrieval: add, delete, search.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "apps/cli/environment.h"
#include "apps/cli/progress.h"
#include "apps/cli/verb.h"
#include "buoy/base/error.h"
#include "buoy/corpus/document_source.h"
#include "buoy/io/json.h"

namespace buoy {
namespace {

namespace fs = std::filesystem;

// A killed run loses at most this many documents of those it had read.
constexpr std::size_t kBatch = 5000;

struct IndexFlags {
  std::string collection;
  std::vector<std::string> sources, ids;
  std::string prefix, question;
  Index passage_words = 100, top = 5;
  double wait = 5;  // seconds
  bool json = false;
};

Collection open_for_writing(const IndexFlags& options, DatabaseAccess access) {
  const std::chrono::duration<double> wait(options.wait);
  return Collection(options.collection, access, std::chrono::duration_cast<std::chrono::milliseconds>(wait));
}

// Adds in batches, each a transaction.
AddCounts add_source(Collection& collection, const std::string& source, const IndexFlags& options,
                     Index documents) {
  ProgressBar progress(source, documents);
  AddCounts total;
  std::vector<Document> batch;
  const auto flush = [&] {
    const AddCounts counts = collection.add(batch);
    total.added += counts.added;
    total.updated += counts.updated;
    total.unchanged += counts.unchanged;
    progress.advance(std::ssize(batch));
    batch.clear();
  };
  read_documents(source, options.passage_words, [&](Document document) {
    stop_if_interrupted();
    batch.push_back(std::move(document));
    if (batch.size() == kBatch) flush();
  });
  if (!batch.empty()) flush();
  return total;
}

void report_bad(const std::string& source, const SourceReport& report) {
  if (report.bad == 0) return;
  for (const std::string& complaint : report.complaints) print_warning(complaint);
  print_warning(
      fmt::format("{}: {} of {} records are bad and were left out", source, report.bad, report.records));
}

void run_add(const IndexFlags& options, const Verb& verb) {
  const bool has_folder = std::ranges::any_of(
      options.sources, [](const std::string& source) { return fs::is_directory(source); });
  if (verb.given("--passage-words") && !has_folder)
    fail_usage("--passage-words has no effect: no source is a folder");
  // Every source is read once before anything is written, so that a bad one leaves no half of itself.
  std::vector<SourceReport> reports;
  for (const std::string& source : options.sources) {
    reports.push_back(
        read_documents(source, options.passage_words, [](const Document&) { stop_if_interrupted(); }));
    report_bad(source, reports.back());
  }
  Collection collection = open_for_writing(options, DatabaseAccess::kCreate);
  for (std::size_t i = 0; i < options.sources.size(); ++i) {
    const std::string& source = options.sources[i];
    const AddCounts counts = add_source(collection, source, options, reports[i].documents);
    fmt::print("{}: {} added, {} updated, {} unchanged\n", source, counts.added, counts.updated,
               counts.unchanged);
  }
}

void run_delete(const IndexFlags& options) {
  if (options.ids.empty() == options.prefix.empty()) fail_usage("delete: give either ids or --prefix");
  Collection collection = open_for_writing(options, DatabaseAccess::kWrite);
  Index removed = std::ssize(options.ids);
  if (options.prefix.empty()) {
    collection.remove(options.ids);
  } else {
    removed = collection.remove_prefix(options.prefix);
  }
  fmt::print("{}: {} deleted\n", options.collection, removed);
}

void run_search(const IndexFlags& options) {
  Collection collection(options.collection);
  const std::vector<Hit> hits = collection.search(options.question, options.top);
  if (options.json) {
    Json results = Json::array();
    for (const Hit& hit : hits) {
      results.push_back({{"id", hit.document.id},
                         {"score", hit.score},
                         {"title", hit.document.title},
                         {"text", hit.document.text}});
    }
    const Json answer{{"question", options.question}, {"results", std::move(results)}};
    fmt::print("{}\n", answer.dump(-1, ' ', false, Json::error_handler_t::replace));
    return;
  }
  if (hits.empty()) std::fprintf(stderr, "nothing found\n");
  for (const Hit& hit : hits) {
    fmt::print("{}", for_output(fmt::format("{:6.2f}  {}  {}\n{}\n\n", hit.score, hit.document.id,
                                            hit.document.title, hit.document.text)));
  }
}

void run_info(const IndexFlags& options) {
  const Collection collection(options.collection);
  const Index documents = collection.count();
  std::error_code no_log;  // what was written last may still stand beside the file
  const auto log = fs::file_size(options.collection + "-wal", no_log);
  const auto bytes = fs::file_size(options.collection) + (no_log ? 0 : log);
  if (options.json) {
    fmt::print("{}\n", Json{{"documents", documents}, {"bytes", bytes}}.dump());
    return;
  }
  fmt::print("documents  {}\nsize       {:.1f} MiB\n", documents, static_cast<double>(bytes) / (1 << 20));
}

using SharedOptions = std::shared_ptr<IndexFlags>;

void add_wait(Verb& action, IndexFlags& options) {
  action.option("--wait", &options.wait, "Seconds to wait while another process writes").between(0, 86400);
}

void add_add(Verb& verb, const SharedOptions& options) {
  Verb action = verb.action("add", "Add documents, or replace those of the same id", "update");
  action.option("sources", &options->sources, "JSONL files, datasets, folders of .txt and .md files")
      .required();
  action.option("--passage-words", &options->passage_words, "Folders: the most words of a passage")
      .at_least(1);
  add_wait(action, *options);
  action.footer(
      "A JSONL line is {\"id\", \"title\", \"text\"}; id and title may be missing. docs/retrieval.md lists "
      "the public layouts that are read. The passages of a "
      "dataset's items "
      "become\n\"ITEM/p1\", those of a text file \"FILE#1\". Each source is read through before anything is "
      "written: "
      "with more\nthan 1 % bad records nothing of any source is added. A killed run keeps what it reported; "
      "run it "
      "again to go on.\n");
  action.runs([options, action] {
    stoppable("what was added before stays, and the same command adds the rest",
              [&] { run_add(*options, action); });
  });
}

void add_delete(Verb& verb, const SharedOptions& options) {
  Verb action = verb.action("delete", "Delete documents: all that are named, or none");
  action.option("ids", &options->ids, "Their ids");
  action.option("--prefix", &options->prefix, "Instead: every id that starts like this");
  add_wait(action, *options);
  action.runs([options] { run_delete(*options); });
}

void add_search(Verb& verb, const SharedOptions& options) {
  Verb action = verb.action("search", "The documents that fit a question best, by BM25");
  action.option("question", &options->question, "Plain text, in quotes").required();
  action.option("--top", &options->top, "How many").at_least(1);
  action.flag("--json", &options->json, "One JSON object");
  action.runs([options] { run_search(*options); });
}

void add_info(Verb& verb, const SharedOptions& options) {
  Verb action = verb.action("info", "How many documents, how large");
  action.flag("--json", &options->json, "One JSON object");
  action.runs([options] { run_info(*options); });
}

}  // namespace

void add_index(Command& command) {
  auto options = std::make_shared<IndexFlags>();
  Verb verb = command.verb("index", "A collection of documents to retrieve passages from");
  verb.option("collection", &options->collection, "The collection: one file; add makes it").required();
  add_add(verb, options);
  add_delete(verb, options);
  add_search(verb, options);
  add_info(verb, options);
  verb.footer(
      "Others may search while one process writes (docs/retrieval.md).\n\n"
      "Examples:\n"
      "  buoy index micro.db add data/micro_test.jsonl\n"
      "  buoy index micro.db search \"Who serves as mayor of Mormenholm?\" --top 5 --json\n"
      "  buoy index micro.db delete micro-2026-000000/p1\n"
      "  buoy index micro.db info\n"
      "  buoy index pages.db add --passage-words 80 docs\n"
      "  buoy index pages.db delete --prefix docs/stress.md#\n");
}

}  // namespace buoy
