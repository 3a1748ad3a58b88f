// buoy-pack: MicroWorld as training batches. Each batch is a fixed number of tokens: whole sequences one
// after another, the rest padding. Batch b depends on the seed and b alone, so any number of threads writes
// the same files.
//
// A shard file holds records of: uint16 tokens[T], uint8 flags[T], int32 starts[kStarts] (sequence starts,
// then T).
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <CLI/CLI.hpp>

#include "buoy/base/error.h"
#include "buoy/base/thread_pool.h"
#include "buoy/world/world_json.h"
#include "training/ascii_bpe.h"

namespace buoy {
namespace {

constexpr std::uint16_t kBos = 0, kEos = 1, kPad = 3;
constexpr std::uint8_t kPlain = 1, kPrompt = 2, kAnswer = 4, kTail = 8, kPadding = 16;
constexpr std::size_t kStarts = 513;
constexpr std::uint32_t kMixStream = 16;

struct Options {
  std::string tokenizer, directory;
  std::int64_t seed = 1;
  Index batches = 1000, shard = 64, first = 0, ramp = 0;
  std::size_t tokens = 32768, longest = 1536;
  double plain = 0.12, closed = 0.3,
         known = 0.09;  // shares of sequences; the rest are novel questions with passages
  double several = 0;   // share of the novel questions with passages that up to twelve more follow
  int threads = 0;
};

struct Sequence {
  std::vector<std::uint16_t> tokens;
  std::vector<std::uint8_t> flags;
};

struct Maker {
  const Options& options;
  const World& known;
  AsciiBpe bpe;

  void add(Sequence& out, std::string_view text, std::uint8_t flag) {
    bpe.encode(text, out.tokens);
    out.flags.resize(out.tokens.size(), flag);
  }

  void add_plain(Sequence& out, const DrawKey& key, Draws& draws) {
    ItemSettings settings{.seed = static_cast<std::uint64_t>(options.seed)};
    settings.worlds = {draws.below(5) < 3 ? WorldKind::kKnown : WorldKind::kNovel};
    settings.passages = 2 + draws.below(20);
    add(out, make_document(known, settings, key.sample), kPlain);
    out.tokens.push_back(kEos);
    out.flags.push_back(kPlain);
    if (out.tokens.size() > options.longest) {
      out.tokens.resize(options.longest);
      out.flags.resize(options.longest);
    }
  }

  // A question without passages, from memory.
  ItemSettings closed_settings(Draws& draws) const {
    using T = WorldTask;
    // Chained facts are what memory finds hardest: half of the questions.
    constexpr T kTasks[] = {T::kSingle,   T::kReverse,  T::kSlot,     T::kLong,     T::kMultihop,
                            T::kMultihop, T::kMultihop, T::kMultihop, T::kMultihop, T::kMultihop,
                            T::kChain,    T::kChain,    T::kProfile};
    ItemSettings settings{.seed = static_cast<std::uint64_t>(options.seed)};
    settings.tasks = {kTasks[draws.below(std::ssize(kTasks))]};
    settings.worlds = {WorldKind::kKnown};
    settings.passages = 0;
    return settings;
  }

  // Finding the name before a value is what full attention learns last: nearly half of the questions.
  static WorldTask draw_few(Draws& draws) {
    using T = WorldTask;
    constexpr T kFew[] = {T::kSingle, T::kReverse, T::kReverse,  T::kReverse,  T::kReverse, T::kReverse,
                          T::kSlot,   T::kLong,    T::kMultihop, T::kMultihop, T::kMultihop};
    return kFew[draws.below(std::ssize(kFew))];
  }

  // A question with passages: of every twenty, nine of the tasks over one or two facts with 1 to 20
  // passages, five of those over several at the easy level, four at the middle level and two at the hard one,
  // of all tasks. The number of passages varies around the level's, and so do the surroundings. While `grown`
  // is below 1 all are easy, with at most 1 to 10 passages as it grows (more where the answer needs them).
  ItemSettings open_settings(WorldKind world, double grown, Draws& draws) const {
    using T = WorldTask;
    constexpr T kSeveral[] = {T::kChain,   T::kChain,   T::kList,  T::kList,     T::kProfile,
                              T::kProfile, T::kDated,   T::kDated, T::kConflict, T::kConflict,
                              T::kSingle,  T::kReverse, T::kSlot,  T::kLong,     T::kMultihop};
    const Index part = draws.below(grown < 1 ? 14 : 20);
    const T few = draw_few(draws);
    const T several = kSeveral[draws.below(part < 14 ? 10 : std::ssize(kSeveral))];
    const Level level = part < 14 ? Level::kEasy : part < 18 ? Level::kMiddle : Level::kHard;
    ItemSettings settings{
        .seed = static_cast<std::uint64_t>(options.seed), .worlds = {world}, .level = level};
    settings.tasks = {part < 9 ? few : several};
    const Index needed = length_of(settings.tasks[0], settings);
    const Index usual = draws.below(20) < 17 ? 1 + draws.below(10) : 11 + draws.below(10);
    constexpr Index kLeast[] = {0, 1, 8, 20}, kSpan[] = {0, 8, 11, 21};
    const std::size_t l = static_cast<std::size_t>(level);
    settings.passages = std::max(needed, part < 9 ? usual : kLeast[l] + draws.below(kSpan[l]));
    if (grown < 1)
      settings.passages = std::max(needed, std::min(settings.passages, 1 + static_cast<Index>(10 * grown)));
    constexpr Distractors kDistractors[] = {Distractors::kOther, Distractors::kMixed, Distractors::kMixed,
                                            Distractors::kSameAttribute};
    settings.distractors = kDistractors[draws.below(4)];
    const Index room = settings.passages - needed;
    if (draws.below(5) == 0) settings.noise = draws.below(room + 1);
    const Index near = level == Level::kEasy ? draws.below(4) / 3 : draws.below(settings.passages / 3 + 1);
    settings.near_misses = std::min(near, room - settings.noise);
    return settings;
  }

  void add_question(Sequence& out, const ItemSettings& settings, Index further, const DrawKey& key,
                    Draws& draws) {
    WorldItem item = make_item(known, settings, key.sample);
    const std::vector<WorldItem> more = more_about(item, settings, further, draws);
    add(out, micro_prompt(item), kPrompt);
    add_answer(out, item, more.empty(), draws);
    for (const WorldItem& next : more) {
      add(out, "\n\nQuestion: " + next.question + "\nShort Answer:", kPrompt);
      add_answer(out, next, &next == &more.back(), draws);
    }
  }

  // 64 positions where answers are long, else 32; other lengths now and then: how many wait for the answer
  // should not matter to the models. Few of them where another question follows.
  void add_answer(Sequence& out, const WorldItem& item, bool last, Draws& draws) {
    const std::size_t begin = out.tokens.size();
    add(out, " " + item.answer, kAnswer);
    const std::size_t answer = out.tokens.size() - begin;
    const bool is_long = item.task == WorldTask::kList || item.task == WorldTask::kProfile;
    std::size_t length = std::max<std::size_t>(is_long ? 64 : 32, answer + 1);
    if (!last || draws.below(4) == 0)
      length = answer + 1 + static_cast<std::size_t>(draws.below(last ? 64 : 8));
    out.tokens.resize(begin + length, kEos);
    out.flags.resize(begin + length, kTail);
    out.flags[begin + answer] = kAnswer;  // the first EOS belongs to the answer
  }

  // At most so many further questions about the item's world. Their gold passages are put among the item's,
  // so that one context serves all of them: most of a sequence is context, and what is learnt comes from
  // answers.
  std::vector<WorldItem> more_about(WorldItem& item, const ItemSettings& settings, Index most, Draws& draws) {
    std::vector<WorldItem> more;
    for (Index variant = 1; variant <= most; ++variant) {
      ItemSettings other{.seed = settings.seed, .worlds = settings.worlds, .level = settings.level};
      other.tasks = {draw_few(draws)};
      other.passages = gold_count(other.tasks[0], other);
      other.variant = variant;
      WorldItem next = make_item(known, other, item.index);
      if (next.question == item.question) continue;
      if (std::ranges::any_of(more, [&](const WorldItem& m) { return m.question == next.question; }))
        continue;
      for (Passage& gold : next.passages) {
        const Index at = draws.below(std::ssize(item.passages) + 1);
        item.passages.insert(item.passages.begin() + at, std::move(gold));
      }
      more.push_back(std::move(next));
    }
    return more;
  }

  // Records and lists have passages that speak of their own question alone; a near miss may state what is not
  // so of an entity that another question is about.
  static bool shares_its_world(const ItemSettings& settings) {
    const WorldTask task = settings.tasks[0];
    return settings.near_misses == 0 && task != WorldTask::kList && task != WorldTask::kDated &&
           task != WorldTask::kConflict;
  }

  Sequence make(const DrawKey& key, double grown) {
    Draws draws(key);
    Sequence out;
    out.tokens.push_back(kBos);
    const double u = draws.unit();
    if (u < options.plain) {
      out.flags.push_back(kPlain);
      add_plain(out, key, draws);
      return out;
    }
    out.flags.push_back(kPrompt);
    if (u < options.plain + options.closed) {
      add_question(out, closed_settings(draws), 0, key, draws);
    } else {
      const bool is_known = u < options.plain + options.closed + options.known;
      ItemSettings settings = open_settings(is_known ? WorldKind::kKnown : WorldKind::kNovel, grown, draws);
      Index further = 0;
      if (!is_known && shares_its_world(settings) && draws.unit() < options.several) {
        further = 1 + draws.below(2 + static_cast<Index>(10 * grown));
        const Index needed = length_of(settings.tasks[0], settings);
        settings.passages = std::min(settings.passages, needed + draws.below(4));
        settings.noise = std::min(settings.noise, settings.passages - needed);
      }
      add_question(out, settings, further, key, draws);
    }
    return out;
  }

  std::string batch(Index b) {
    std::vector<std::uint16_t> tokens;
    std::vector<std::uint8_t> flags;
    std::vector<std::int32_t> starts;
    const double grown = b < options.ramp ? static_cast<double>(b) / static_cast<double>(options.ramp) : 1;
    constexpr int kTries = 8;
    int misses = 0;
    for (Index j = 0; misses < kTries && starts.size() + 2 < kStarts; ++j) {
      check(j < 4096, "a batch has fewer sequences than its numbers allow");
      const Sequence made = make({.seed = static_cast<std::uint64_t>(options.seed),
                                  .sample = static_cast<std::uint32_t>(b * 4096 + j),
                                  .step = kMixStream},
                                 grown);
      if (made.tokens.size() > options.longest) continue;
      if (tokens.size() + made.tokens.size() > options.tokens) {
        ++misses;
        continue;
      }
      starts.push_back(static_cast<std::int32_t>(tokens.size()));
      tokens.insert(tokens.end(), made.tokens.begin(), made.tokens.end());
      flags.insert(flags.end(), made.flags.begin(), made.flags.end());
    }
    while (tokens.size() < options.tokens) {  // padding in pieces no longer than a sequence may be
      starts.push_back(static_cast<std::int32_t>(tokens.size()));
      const std::size_t end = std::min(tokens.size() + options.longest, options.tokens);
      tokens.resize(end, kPad);
      flags.resize(end, kPadding);
    }
    starts.resize(kStarts, static_cast<std::int32_t>(options.tokens));
    std::string record(reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof tokens[0]);
    record.append(reinterpret_cast<const char*>(flags.data()), flags.size());
    return record.append(reinterpret_cast<const char*>(starts.data()), starts.size() * sizeof starts[0]);
  }
};

void run(const Options& options) {
  const World known = make_known_world();
  ThreadPool pool(options.threads > 0 ? options.threads : available_threads());
  std::vector<Maker> makers;
  for (int i = 0; i < pool.size(); ++i) makers.push_back({options, known, AsciiBpe(options.tokenizer)});
  std::filesystem::create_directories(options.directory);
  // Shards in order, each made by all threads: a reader can start as soon as the first is there.
  for (Index begin = options.first; begin < options.batches; begin += options.shard) {
    const Index count = std::min(options.shard, options.batches - begin);
    std::vector<std::string> records(static_cast<std::size_t>(count));
    pool.run(count, [&](Index i, int thread) {
      records[static_cast<std::size_t>(i)] = makers[static_cast<std::size_t>(thread)].batch(begin + i);
    });
    const std::string name = fmt::format("{}/{:05}.bin", options.directory, begin / options.shard);
    std::ofstream file(name + ".part", std::ios::binary);
    for (const std::string& record : records) file << record;
    file.close();
    if (!file) fail("{}: cannot be written", name);
    std::filesystem::rename(name + ".part", name);
  }
}

void dump(const Options& options) {  // one line of ids per item of a JSON lines file's "text", for comparison
  AsciiBpe bpe(options.tokenizer);
  std::string line;
  for (int c; (c = std::getchar()) != EOF;) {
    if (c != '\0') {
      line += static_cast<char>(c);
      continue;
    }
    std::vector<std::uint16_t> ids;
    bpe.encode(line, ids);
    for (const std::uint16_t id : ids) std::printf("%d ", id);
    std::printf("\n");
    line.clear();
  }
}

}  // namespace
}  // namespace buoy

int main(int argc, char** argv) {
  buoy::Options options;
  bool tokenize = false;
  CLI::App app{"MicroWorld as packed training batches.", "buoy-pack"};
  app.add_option("--tokenizer", options.tokenizer, "tokenizer.json")->required();
  app.add_option("-o,--output", options.directory, "Directory for the shards");
  app.add_option("--seed", options.seed)->capture_default_str();
  app.add_option("--batches", options.batches)->capture_default_str();
  app.add_option("--first", options.first, "First batch to write (a multiple of --shard)")
      ->capture_default_str();
  app.add_option("--ramp", options.ramp, "Over so many batches questions grow from one passage to ten")
      ->capture_default_str();
  app.add_option("--shard", options.shard, "Batches per file")->capture_default_str();
  app.add_option("--tokens", options.tokens, "Tokens per batch")->capture_default_str();
  app.add_option("--longest", options.longest, "Tokens of the longest sequence")->capture_default_str();
  app.add_option("--plain", options.plain, "Share of plain documents")->capture_default_str();
  app.add_option("--closed", options.closed, "Share of known questions without passages")
      ->capture_default_str();
  app.add_option("--several", options.several,
                 "Share of novel questions with passages after which more are asked")
      ->capture_default_str();
  app.add_option("--known", options.known, "Share of known questions with passages")->capture_default_str();
  app.add_option("--threads", options.threads)->capture_default_str();
  app.add_flag("--tokenize", tokenize, "Only print the ids of NUL-terminated texts from standard input");
  CLI11_PARSE(app, argc, argv);
  try {
    if (tokenize) {
      buoy::dump(options);
    } else {
      if (options.directory.empty()) buoy::fail_usage("--output is missing");
      buoy::run(options);
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "buoy-pack: %s\n", e.what());
    return 1;
  }
  return 0;
}
