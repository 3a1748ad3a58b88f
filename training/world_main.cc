// buoy-world: the verb `buoy world` alone, with its flags, for machines that have a compiler and nothing
// else.
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include "buoy/base/error.h"
#include "buoy/base/thread_pool.h"
#include "buoy/world/world_json.h"

namespace {

struct Flags {
  std::vector<std::string> tasks = {"single"}, worlds = {"novel"};
  std::string distractors = "mixed", split = "any", level = "none";
  std::vector<buoy::Index> gold;
  buoy::Index items = 10, passages = -1, near_misses = -1, noise = 0, contradict = 0, length = 0;
  std::uint64_t seed = 0;
  bool documents = false;
};

// A name's value, or an error that says which name has none.
template <typename Parse>
auto value_of(const std::string& name, Parse parse) {
  const auto found = parse(name);
  if (!found) buoy::fail_usage("\"{}\" is not one of the choices", name);
  return *found;
}

buoy::ItemSettings settings_of(const Flags& flags) {
  using namespace buoy;
  ItemSettings s = at_level({.seed = flags.seed}, value_of(flags.level, parse_level));
  s.tasks.clear();
  s.worlds.clear();
  for (const std::string& name : flags.tasks) {
    const int begin = name == "several" ? 5 : 0;
    if (name != "all" && name != "several") s.tasks.push_back(value_of(name, parse_world_task));
    for (int i = begin; (name == "all" || name == "several") && i < begin + 5; ++i) {
      s.tasks.push_back(static_cast<WorldTask>(i));
    }
  }
  for (const std::string& name : flags.worlds) {
    if (name == "both") s.worlds = {WorldKind::kKnown, WorldKind::kNovel};
    if (name != "both") s.worlds.push_back(value_of(name, parse_world_kind));
  }
  if (flags.passages >= 0) s.passages = flags.passages;
  if (flags.passages == 0) s.near_misses = 0;
  if (flags.near_misses >= 0) s.near_misses = flags.near_misses;
  s.gold_positions = flags.gold;
  s.distractors = value_of(flags.distractors, parse_distractors);
  s.noise = flags.noise;
  s.contradictions = flags.contradict;
  s.split = value_of(flags.split, parse_split);
  s.length = flags.length;
  return s;
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  CLI::App app{"MicroWorld: questions and passages about fictional worlds.", "buoy-world"};
  app.require_subcommand(1);
  CLI::App* world = app.add_subcommand("world");
  world->add_option("--seed", flags.seed);
  world->add_option("--task", flags.tasks)->delimiter(',');
  world->add_option("--world", flags.worlds)->delimiter(',');
  world->add_option("--level", flags.level);
  world->add_option("-n,--items", flags.items);
  world->add_option("-k,--passages", flags.passages);
  world->add_option("--gold-position", flags.gold)->delimiter(',');
  world->add_option("--distractors", flags.distractors);
  world->add_option("--noise", flags.noise);
  world->add_option("--contradict", flags.contradict);
  world->add_option("--near-miss", flags.near_misses);
  world->add_option("--length", flags.length);
  world->add_option("--split", flags.split);
  world->add_flag("--documents", flags.documents);
  CLI11_PARSE(app, argc, argv);
  try {
    const auto write = flags.documents ? buoy::write_documents : buoy::write_items;
    write(settings_of(flags), 0, flags.items, buoy::available_threads(),
          [](const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); });
  } catch (const buoy::UsageError& e) {
    std::fprintf(stderr, "buoy-world: %s\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "buoy-world: %s\n", e.what());
    return 1;
  }
  return 0;
}
