// buoy world: questions, passages and plain text about fictional worlds, from a seed.
#include <charconv>
#include <cstdio>
#include <fstream>
#include <memory>

#include "apps/cli/environment.h"
#include "apps/cli/verb.h"
#include "buoy/base/error.h"
#include "buoy/base/thread_pool.h"
#include "buoy/io/file.h"
#include "buoy/world/world_json.h"

namespace buoy {
namespace {

struct WorldFlags {
  std::uint64_t seed = 0;
  std::vector<std::string> tasks = {"single"}, worlds = {"novel"}, gold = {"any"};
  std::string distractors = "mixed", split = "any", level = "none", output;
  Index items = 10, first = 0, passages = 5, noise = 0, contradict = 0, near_miss = 0, length = 0;
  int threads = 0;
  bool documents = false;
};

template <typename T>
struct Group {  // a name that stands for several values
  std::string_view name;
  std::vector<T> values;
};

// The values of names that the options' choices have let through; a group's name stands alone.
template <typename T, typename Parse>
std::vector<T> parse_list(const std::vector<std::string>& names, const std::vector<Group<T>>& groups,
                          Parse parse) {
  std::vector<T> values;
  for (const std::string& name : names) {
    for (const Group<T>& group : groups) {
      if (name == group.name && names.size() > 1) fail_usage("\"{}\" stands alone, not in a list", name);
      if (name == group.name) return group.values;
    }
    values.push_back(*parse(name));
  }
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

// `given` tells whether a flag was typed: what a level says gives way to it.
ItemSettings parse_settings(const WorldFlags& options, const Verb& given) {
  using T = WorldTask;
  using W = WorldKind;
  ItemSettings settings;
  settings.seed = options.seed;
  settings.tasks = parse_list<T>(options.tasks,
                                 {{"all", {T::kSingle, T::kReverse, T::kSlot, T::kLong, T::kMultihop}},
                                  {"several", {T::kChain, T::kList, T::kProfile, T::kDated, T::kConflict}}},
                                 parse_world_task);
  settings.worlds = parse_list<W>(options.worlds, {{"both", {W::kKnown, W::kNovel}}}, parse_world_kind);
  settings = at_level(settings, *parse_level(options.level));
  if (given.given("--passages")) {
    settings.passages = options.passages;
    if (options.passages == 0) settings.near_misses = 0;
  }
  if (given.given("--near-miss")) settings.near_misses = options.near_miss;
  settings.length = options.length;
  parse_gold(options.gold, settings);
  settings.distractors = *parse_distractors(options.distractors);
  settings.noise = options.noise;
  settings.contradictions = options.contradict;
  settings.split = *parse_split(options.split);
  return settings;
}

void write_all(const WorldFlags& options, const ItemSettings& settings, const TextSink& sink) {
  const int threads = options.threads == 0 ? available_threads() : options.threads;
  const TextSink stopping = [&](const std::string& text) {
    stop_if_interrupted();
    sink(text);
  };
  (options.documents ? write_documents : write_items)(settings, options.first, options.items, threads,
                                                      stopping);
}

void world_command(const WorldFlags& options, const Verb& verb) {
  const ItemSettings settings = parse_settings(options, verb);
  check_settings(settings);  // before the file is touched
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

void add_world(Command& command) {
  auto options = std::make_shared<WorldFlags>();
  Verb verb = command.verb("world", "Questions and passages about fictional worlds, as JSON lines");
  verb.option("--seed", &options->seed,
              "The same seed gives the same bytes, on any machine and thread count");
  verb.option(
          "--task", &options->tasks,
          "single, reverse, slot, long, multihop (all: these five), chain, list, profile, dated, conflict "
          "(several: these five), or a list of them")
      .split_at(',')
      .choices({"single", "reverse", "slot", "long", "multihop", "all", "chain", "list", "profile", "dated",
                "conflict", "several"});
  verb.option("--level", &options->level,
              "easy, middle or hard: 5, 15 or 40 passages, 0, 3 or 10 near misses, longer chains, lists, "
              "profiles "
              "and more records; the flags of these take precedence")
      .choices({"none", "easy", "middle", "hard"});
  verb.option("--world", &options->worlds,
              "known (one fixed world, learnt by the bundled models), novel (a new one per item), or both")
      .split_at(',')
      .choices({"known", "novel", "both"});
  verb.option("-n,--items", &options->items, "How many").at_least(0);
  verb.option("--first", &options->first, "Number of the first item, to continue a set").at_least(0);
  verb.option("-k,--passages", &options->passages, "Passages per item; 0 asks without any").at_least(0);
  verb.option(
          "--gold-position", &options->gold,
          "Where the gold passage stands, from 1 (multihop: one or two positions); any; none leaves it out")
      .split_at(',');
  verb.option(
          "--distractors", &options->distractors,
          "other (other entities), same-entity (its other attributes), same-attribute (of other entities), "
          "mixed")
      .choices({"other", "same-entity", "same-attribute", "mixed"});
  verb.option("--noise", &options->noise, "Passages that state nothing").at_least(0);
  verb.option("--contradict", &options->contradict, "Passages that state another answer").at_least(0);
  verb.option("--near-miss", &options->near_miss, "Passages about an entity with almost the asked name")
      .at_least(0);
  verb.option("--length", &options->length,
              "Hops of a chain, facts of a profile (2 to 4), names of a list, records of dated and conflict "
              "(2 to "
              "8); 0: the level's")
      .at_least(0);
  verb.option("--split", &options->split,
              "Multihop: the two gold passages near each other, far apart, or any")
      .choices({"any", "near", "far"});
  Option documents = verb.flag("--documents", &options->documents,
                               "Plain text instead of questions: documents of that many paragraphs");
  for (const char* unused : {"--task", "--gold-position", "--distractors", "--noise", "--contradict",
                             "--split", "--level", "--near-miss", "--length"}) {
    documents.excludes(unused);
  }
  verb.option("--threads", &options->threads, "0: all that are there").between(0, 1024);
  verb.option("-o,--output", &options->output, "File to write instead of standard output");
  verb.footer(
      "Sets of one seed are paired: passages, positions, distractors, noise and contradictions change what "
      "surrounds\n"
      "the gold passages, never the question, the answer or the gold text. The schema is in "
      "docs/datasets.md.\n\n"
      "Examples:\n"
      "  buoy world --seed 1 --task all --items 100 -o items.jsonl\n"
      "  buoy world --seed 1 --passages 10 --gold-position 5 --distractors same-attribute\n"
      "  buoy world --seed 1 --task multihop --passages 10 --split far\n"
      "  buoy world --seed 1 --task several --level middle --items 100 -o middle.jsonl\n"
      "  buoy world --seed 1 --task chain --length 4 --passages 20 --near-miss 5\n"
      "  buoy world --world known --passages 0 --items 1000 -o closed_book.jsonl\n"
      "  buoy world --documents --passages 12 --items 1000 -o text.jsonl\n");
  verb.runs([options, verb] {
    if (options->passages == 0 && verb.given("--distractors")) {
      fail_usage("--distractors has no effect without passages");
    }
    const bool to_file = !options->output.empty() && options->output != "-";
    stoppable(to_file ? "nothing was written" : "the output is not complete",
              [&] { world_command(*options, verb); });
  });
}

}  // namespace buoy
