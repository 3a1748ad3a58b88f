// buoy world: questions, passages and plain text about fictional worlds, from a seed.
#include <charconv>
#include <cstdio>
#include <fstream>
#include <memory>

#include "apps/cli/verb.h"
#include "buoy/base/error.h"
#include "buoy/base/thread_pool.h"
#include "buoy/io/file.h"
#include "buoy/world/world_json.h"

namespace buoy {
namespace {

struct Options {
  std::int64_t seed = 0;
  std::vector<std::string> tasks = {"single"}, worlds = {"novel"}, gold = {"any"};
  std::string distractors = "mixed", split = "any", output;
  Index items = 10, first = 0, passages = 5, noise = 0, contradict = 0;
  int threads = 0;
  bool documents = false;
};

template <typename T>
T require(std::optional<T> value, std::string_view flag, std::string_view got, std::string_view expected) {
  if (!value) fail_usage("--{}: got \"{}\", expected {}", flag, got, expected);
  return *value;
}

template <typename T, typename Parse>
std::vector<T> parse_list(const std::vector<std::string>& names, std::string_view flag, std::string_view all,
                          const std::vector<T>& everything, std::string_view expected, Parse parse) {
  if (names.size() == 1 && names[0] == all) return everything;
  std::vector<T> values;
  for (const std::string& name : names) values.push_back(require(parse(name), flag, name, expected));
  return values;
}

void parse_gold(const std::vector<std::string>& words, ItemSettings& settings) {
  if (words == std::vector<std::string>{"any"}) return;
  if (words == std::vector<std::string>{"none"}) {
    settings.gold_left_out = true;
    return;
  }
  for (const std::string& word : words) {
    Index position = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), position);
    if (error != std::errc() || end != word.data() + word.size()) {
      fail_usage("--gold-position: got \"{}\", expected any, none or numbers from 1", word);
    }
    settings.gold_positions.push_back(position);
  }
}

ItemSettings parse_settings(const Options& options) {
  using T = WorldTask;
  using W = WorldKind;
  if (options.seed < 0) fail_usage("--seed: got {}, expected 0 or more", options.seed);
  ItemSettings settings;
  settings.seed = static_cast<std::uint64_t>(options.seed);
  settings.tasks =
      parse_list<T>(options.tasks, "task", "all", {T::kSingle, T::kReverse, T::kSlot, T::kLong, T::kMultihop},
                    "single, reverse, slot, long, multihop or all", parse_world_task);
  settings.worlds = parse_list<W>(options.worlds, "world", "both", {W::kKnown, W::kNovel},
                                  "known, novel or both", parse_world_kind);
  settings.passages = options.passages;
  parse_gold(options.gold, settings);
  settings.distractors = require(parse_distractors(options.distractors), "distractors", options.distractors,
                                 "other, same-entity, same-attribute or mixed");
  settings.noise = options.noise;
  settings.contradictions = options.contradict;
  settings.split = require(parse_split(options.split), "split", options.split, "any, near or far");
  return settings;
}

void write_all(const Options& options, const ItemSettings& settings, const TextSink& sink) {
  const int threads = options.threads == 0 ? available_threads() : options.threads;
  (options.documents ? write_documents : write_items)(settings, options.first, options.items, threads, sink);
}

void run(const Options& options) {
  const ItemSettings settings = parse_settings(options);
  check_settings(settings);  // before the file is touched
  if (options.items < 0) fail_usage("--items: got {}, expected 0 or more", options.items);
  if (options.threads < 0) fail_usage("--threads: got {}, expected 1 or more, or 0 for all", options.threads);
  if (options.output.empty() || options.output == "-") {
    write_all(options, settings, [](const std::string& text) {
      if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
        fail("cannot write to standard output");
    });
    return;
  }
  AtomicFile target(options.output);
  std::ofstream file(target.temporary(), std::ios::binary);
  write_all(options, settings, [&](const std::string& text) { file << text; });
  file.close();
  if (!file) fail("{}: cannot be written", options.output);
  target.commit();
  std::fprintf(stderr, "%s: %s %s\n", options.output.c_str(), std::to_string(options.items).c_str(),
               options.documents ? "documents" : "items");
}

}  // namespace

void add_world(CLI::App& root) {
  auto options = std::make_shared<Options>();
  CLI::App* verb =
      root.add_subcommand("world", "Questions and passages about fictional worlds, as JSON lines");
  verb->add_option("--seed", options->seed,
                   "The same seed gives the same bytes, on any machine and thread count")
      ->capture_default_str();
  verb->add_option("--task", options->tasks, "single, reverse, slot, long, multihop, a list of them, or all")
      ->delimiter(',')
      ->capture_default_str();
  verb->add_option(
          "--world", options->worlds,
          "known (one fixed world, learnt by the bundled models), novel (a new one per item), or both")
      ->delimiter(',')
      ->capture_default_str();
  verb->add_option("-n,--items", options->items, "How many")->capture_default_str();
  verb->add_option("--first", options->first, "Number of the first item, to continue a set")
      ->capture_default_str();
  verb->add_option("-k,--passages", options->passages, "Passages per item; 0 asks without any")
      ->capture_default_str();
  verb->add_option(
          "--gold-position", options->gold,
          "Where the gold passage stands, from 1 (multihop: one or two positions); any; none leaves it out")
      ->delimiter(',')
      ->capture_default_str();
  verb->add_option(
          "--distractors", options->distractors,
          "other (other entities), same-entity (its other attributes), same-attribute (of other entities), "
          "mixed")
      ->capture_default_str();
  verb->add_option("--noise", options->noise, "Passages that state nothing")->capture_default_str();
  verb->add_option("--contradict", options->contradict, "Passages that state another answer")
      ->capture_default_str();
  verb->add_option("--split", options->split,
                   "Multihop: the two gold passages near each other, far apart, or any")
      ->capture_default_str();
  CLI::Option* documents =
      verb->add_flag("--documents", options->documents,
                     "Plain text instead of questions: documents of that many paragraphs");
  for (const char* unused :
       {"--task", "--gold-position", "--distractors", "--noise", "--contradict", "--split"}) {
    documents->excludes(verb->get_option(unused));
  }
  verb->add_option("--threads", options->threads, "0: all that are there")->capture_default_str();
  verb->add_option("-o,--output", options->output, "File to write instead of standard output");
  verb->footer(
      "Sets of one seed are paired: passages, positions, distractors, noise and contradictions change what "
      "surrounds\n"
      "the gold passages, never the question, the answer or the gold text. The schema is in "
      "docs/datasets.md.\n\n"
      "Examples:\n"
      "  buoy world --seed 1 --task all --items 100 -o items.jsonl\n"
      "  buoy world --seed 1 --passages 10 --gold-position 5 --distractors same-attribute\n"
      "  buoy world --seed 1 --task multihop --passages 10 --split far\n"
      "  buoy world --world known --passages 0 --items 1000 -o closed_book.jsonl\n"
      "  buoy world --documents --passages 12 --items 1000 -o text.jsonl\n");
  verb->callback([options, verb] {
    if (options->passages == 0 && verb->count("--distractors") > 0) {
      fail_usage("--distractors has no effect without passages");
    }
    run(*options);
  });
}

}  // namespace buoy
