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
#include "buoy/world/world_events.h"
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
  EventSettings stream{.events = 0};
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

// Calls `write` with where its text goes: the file, whole or not at all, or standard output. `write` says
// what was written, for a person to read.
void write_to(const std::string& output, const std::function<std::string(const TextSink&)>& write) {
  if (output.empty() || output == "-") {
    write([](const std::string& text) {
      if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
        fail("cannot write to standard output");
    });
    return;
  }
  AtomicFile target(output);
  std::ofstream file(target.temporary(), std::ios::binary);
  const std::string written = write([&](const std::string& text) { file << text; });
  file.close();
  if (!file) fail("{}: cannot be written", output);
  target.commit();
  std::fprintf(stderr, "%s: %s\n", output.c_str(), written.c_str());
}

void world_command(const WorldFlags& options, const Verb& verb) {
  if (options.stream.events > 0) {
    EventSettings stream = options.stream;
    stream.seed = options.seed;
    if (options.worlds.size() != 1 || options.worlds.front() == "both")
      fail_usage("--world of a stream is known or novel, not both");
    stream.world = *parse_world_kind(options.worlds.front());
    check_settings(stream);
    write_to(options.output, [&](const TextSink& sink) {
      const EventCounts counts = write_events(stream, [&](const std::string& text) {
        stop_if_interrupted();
        sink(text);
      });
      return fmt::format("{} events, {} of them questions and {} changes", counts.events, counts.questions,
                         counts.changes);
    });
    return;
  }
  const ItemSettings settings = parse_settings(options, verb);
  check_settings(settings);  // before the file is touched
  write_to(options.output, [&](const TextSink& sink) {
    write_all(options, settings, sink);
    return fmt::format("{} {}", options.items, options.documents ? "documents" : "items");
  });
}

// The options of a stream, which has none of those of items.
void add_stream_to(Verb& verb, EventSettings& stream) {
  const std::string group = "Streams (docs/replay.md)";
  Option events = verb.option("--events", &stream.events,
                              "A stream of so many events instead of questions: documents that come, change "
                              "and go, and questions between");
  events.at_least(0).hide_default().group(group);
  for (const char* unused : {"--task", "--items", "--first", "--passages", "--gold-position", "--distractors",
                             "--noise", "--contradict", "--split", "--documents", "--threads"}) {
    events.excludes(unused);
  }
  const auto add = [&](const char* name, Target target, const char* help) {
    return verb.option(name, target, help).needs("--events").group(group);
  };
  add("--subjects", &stream.subjects, "People, towns and companies that open the stream").between(1, 50);
  const struct {
    const char* name;
    double* target;
    const char* help;
  } shares[] = {
      {"--near-misses", &stream.near_misses, "Share of them beside whom stands one of nearly the same name"},
      {"--questions", &stream.questions, "Share of the events after the opening that are questions"},
      {"--rumours", &stream.rumours, "Share of the other events: documents that state a false value"},
      {"--removals", &stream.removals, "Share of the other events: documents that go"},
      {"--additions", &stream.additions, "Share of the other events: new subjects; the rest are changes"},
      {"--rewordings", &stream.rewordings, "Share of the changes that keep every fact"},
      {"--copies", &stream.copies, "Share of the changes of a fact that leave a copy of the old version"}};
  for (const auto& share : shares) add(share.name, share.target, share.help).between(0, 1);
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
  add_stream_to(verb, options->stream);
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
      "  buoy world --documents --passages 12 --items 1000 -o text.jsonl\n"
      "  buoy world --events 400 --seed 1 -o events.jsonl\n");
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
