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
  std::string distractors = "mixed", split = "any", output;
  Index items = 10, first = 0, passages = 5, noise = 0, contradict = 0;
  int threads = 0;
  bool documents = false;
};

// The values of names that the options' choices have let through; the one name `all` stands for everything.
template <typename T, typename Parse>
std::vector<T> parse_list(const std::vector<std::string>& names, std::string_view all,
                          const std::vector<T>& everything, Parse parse) {
  std::vector<T> values;
  for (const std::string& name : names) {
    if (name == all && names.size() > 1) fail_usage("\"{}\" stands alone, not in a list", name);
    if (name == all) return everything;
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

ItemSettings parse_settings(const WorldFlags& options) {
  using T = WorldTask;
  using W = WorldKind;
  ItemSettings settings;
  settings.seed = options.seed;
  settings.tasks = parse_list<T>(
      options.tasks, "all", {T::kSingle, T::kReverse, T::kSlot, T::kLong, T::kMultihop}, parse_world_task);
  settings.worlds = parse_list<W>(options.worlds, "both", {W::kKnown, W::kNovel}, parse_world_kind);
  settings.passages = options.passages;
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

void world_command(const WorldFlags& options) {
  const ItemSettings settings = parse_settings(options);
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
  verb.option("--task", &options->tasks, "single, reverse, slot, long, multihop, a list of them, or all")
      .split_at(',')
      .choices({"single", "reverse", "slot", "long", "multihop", "all"});
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
  verb.option("--split", &options->split,
              "Multihop: the two gold passages near each other, far apart, or any")
      .choices({"any", "near", "far"});
  Option documents = verb.flag("--documents", &options->documents,
                               "Plain text instead of questions: documents of that many paragraphs");
  for (const char* unused :
       {"--task", "--gold-position", "--distractors", "--noise", "--contradict", "--split"}) {
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
      "  buoy world --world known --passages 0 --items 1000 -o closed_book.jsonl\n"
      "  buoy world --documents --passages 12 --items 1000 -o text.jsonl\n");
  verb.runs([options, verb] {
    if (options->passages == 0 && verb.given("--distractors")) {
      fail_usage("--distractors has no effect without passages");
    }
    const bool to_file = !options->output.empty() && options->output != "-";
    stoppable(to_file ? "nothing was written" : "the output is not complete",
              [&] { world_command(*options); });
  });
}

}  // namespace buoy
