#include "buoy/decode/block_diffusion.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "buoy/base/at.h"
#include "buoy/base/error.h"
#include "buoy/decode/finite_logits.h"
#include "buoy/decode/masked_pass.h"
#include "buoy/decode/quota.h"

namespace buoy {
namespace {

constexpr float kNeverProposed = -std::numeric_limits<float>::infinity();

Index round_up_to(Index n, Index multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

// One sample, where it is in its blocks, and what is kept of those behind it.
struct BlockWriter {
  Index number = 0;
  Generation generation;
  KvCache cache;
  Index start = 0, end = 0;   // the block at hand
  Index last = 0;             // where the last block ends
  Index step = 0;             // passes that the block has had
  Index block_steps = 0;      // passes of a block, where a quota decides
  std::vector<Index> quotas;  // of its passes
  bool chains = false;        // the next pass is for the token after the block, which is full
  bool finished = false;

  std::vector<Index> masks;  // to be filled by the pass at hand
  std::vector<Index> rows;   // that it reads, counted from the sequence's first
};

struct BlockSampler {
  const Model& model;
  const BlockOptions& options;
  SampleStreams streams;
  GenerationObserver* observer;  // or null

  // Whether someone watches and nobody changes anything.
  bool watched() const { return observer != nullptr && observer->only_watches(); }
  TokenId mask_id() const { return *model.config().mask_id; }
  bool has_quota() const {
    return options.pick != BlockPick::kBestAndReaching && options.pick != BlockPick::kBestAndAbove;
  }

  BlockWriter start(const std::vector<TokenId>& prompt, Index number) const {
    const Index P = std::ssize(prompt), B = options.block_length;
    const Mask mask = block_mask(options, P);
    const bool chained = options.extent == BlockExtent::kChained;
    BlockWriter w{.number = number, .block_steps = options.block_steps};
    w.last = options.extent == BlockExtent::kWholeBlocks ? round_up_to(P + options.gen_length, B)
             : chained                                   ? P / B * B + options.gen_length / B * B
                                                         : P + options.gen_length;
    const Index total = w.last + (chained ? 1 : 0);
    if (total > model.config().context) {
      fail("prompt and answer have {} tokens in blocks of {}, more than the model's context of {}", total, B,
           model.config().context);
    }
    w.generation = start_masked_generation(prompt, total - P, mask_id());
    w.generation.mask = mask;
    if (options.cache == BlockCache::kKept || watched()) w.cache = model.make_cache(total);
    w.end = mask.first_position_seeing(P);
    if (chained && w.end == P) {
      w.start = std::max<Index>(0, P - B);
      w.chains = true;  // a prompt of whole blocks: its next token first
    } else {
      begin_block(w);
    }
    return w;
  }

  // Goes on to the block that follows the one at hand.
  void begin_block(BlockWriter& w) const {
    const Mask& mask = w.generation.mask;
    w.start = w.end;
    w.end = mask.visible_keys(w.start, w.last);
    w.step = 0;
    w.chains = false;
    const Index masks = std::ssize(open_masks(w, w.end));
    const Index shared = options.quota == BlockQuota::kOfLength ? options.block_length : masks;
    w.quotas = quotas(shared, w.block_steps);
  }

  std::vector<Index> quotas(Index shared, Index S) const {
    if (options.quota == BlockQuota::kScheduled) return scheduled_quotas(shared, S);
    std::vector<Index> all;
    for (Index i = 0; i < S; ++i) all.push_back(even_quota(shared, S, i));
    return all;
  }

  static Index blocks_left(const BlockWriter& w) {
    Index blocks = 1;
    for (Index end = w.end; end < w.last; ++blocks) end = w.generation.mask.visible_keys(end, w.last);
    return blocks;
  }

  // Where something was written, what is kept is computed again; masks that are left go over the steps left.
  void change(BlockWriter& w) const {
    if (observer == nullptr) return;
    const StepChange wanted = observer->before_step(w.number, w.generation);
    if (wanted.empty()) return;
    Generation& g = w.generation;
    ChangeLimits limits{.first = g.prompt_length, .end = w.end, .V = model.config().V, .mask = mask_id()};
    apply_change({.write = wanted.write, .steps_left = wanted.steps_left}, limits, g);
    limits.first = std::max(w.start, g.prompt_length);  // finished blocks are not filled again
    apply_change({.remask = wanted.remask}, limits, g);
    if (!wanted.write.empty()) w.cache.length = 0;
    if (w.chains) w.chains = open_masks(w, w.end).empty();
    Index steps = std::ssize(w.quotas) - w.step;
    if (wanted.steps_left) {
      const Index blocks = blocks_left(w);
      w.block_steps = std::max<Index>(1, *wanted.steps_left / blocks);
      steps = *wanted.steps_left - (blocks - 1) * w.block_steps;
    }
    const Index masks = std::ssize(open_masks(w, w.end));
    w.quotas.resize(at(std::min(w.step, std::ssize(w.quotas))));
    for (const Index quota : quotas(masks, std::clamp<Index>(steps, 1, std::max<Index>(1, masks))))
      w.quotas.push_back(quota);
  }

  std::vector<Index> open_masks(const BlockWriter& w, Index end) const {
    std::vector<Index> open = masked_positions(w.generation.tokens, mask_id(), end);
    std::erase_if(open, [&](Index p) { return p < w.start; });
    return open;
  }

  // The masks that the next pass may fill: of the first piece of the block that has any.
  std::vector<Index> next_masks(const BlockWriter& w) const {
    std::vector<Index> open = open_masks(w, w.end);
    if (open.empty() || options.sub_block_length == 0) return open;
    const Index piece = (open.front() - w.start) / options.sub_block_length;
    std::erase_if(open, [&](Index p) { return (p - w.start) / options.sub_block_length != piece; });
    return open;
  }

  void plan_pass(BlockWriter& w) const {
    const Index shift = model.config().family->logit_shift;
    w.rows.clear();
    w.masks = w.chains ? std::vector<Index>{w.end} : next_masks(w);
    for (const Index p : w.masks) w.rows.push_back(w.chains ? p - 1 : std::max(w.start, p - shift));
  }

  // Computes the rows up to `ends` that are not kept, and keeps them. Nobody reads their logits.
  void keep_rows(std::span<BlockWriter* const> writers, std::span<const Index> ends, Tap* tap) const {
    if (writers.empty()) return;
    const Index first = 0;  // a pass reads at least one row
    std::vector<ForwardSequence> sequences;
    for (std::size_t i = 0; i < writers.size(); ++i) {
      BlockWriter& w = *writers[i];
      sequences.push_back({.ids = seen_tokens(w, ends[i]).subspan(at(w.cache.length)),
                           .read_rows = {&first, 1},
                           .cache = &w.cache,
                           .mask = w.generation.mask});
    }
    model.forward(sequences, tap);
  }

  static std::span<const TokenId> seen_tokens(const BlockWriter& w, Index end) {
    return std::span(w.generation.tokens).first(at(end));
  }

  // Forgets what is kept and computes it once more.
  void keep_again(std::span<BlockWriter* const> writers) const {
    std::vector<BlockWriter*> some;
    std::vector<Index> ends;
    for (BlockWriter* w : writers) {
      if (w->cache.length == 0) continue;
      some.push_back(w);
      ends.push_back(std::exchange(w->cache.length, 0));
    }
    keep_rows(some, ends, nullptr);
  }

  // Lets rows be watched that stand: all before the block at hand. Not those of a step whose own rows stand,
  // which is watched with them.
  void settle(std::span<BlockWriter* const> writers) const {
    std::vector<BlockWriter*> some;
    std::vector<Index> ends;
    std::vector<GenerationObserver::Pass> passes;
    for (BlockWriter* w : writers) {
      if (w->chains || w->cache.length == w->start) continue;
      some.push_back(w);
      ends.push_back(w->start);
      passes.push_back({.sample = w->number,
                        .generation = &w->generation,
                        .tokens = seen_tokens(*w, w->start),
                        .read_positions = {},
                        .first_row = w->cache.length,
                        .rows = PassRows::kAddUp});
    }
    if (!some.empty()) keep_rows(some, ends, observer->before_standing(passes));
  }

  // Logits of the rows that the writers read, one pass up to the end of the block at hand. What is kept is
  // not computed, and what comes before the block is kept; a tap that may change things sees all rows.
  Tensor run_pass(std::span<BlockWriter* const> writers) const {
    if (watched() && options.cache == BlockCache::kNone) keep_again(writers);
    if (watched()) settle(writers);
    std::vector<GenerationObserver::Pass> passes;
    for (const BlockWriter* w : writers) {
      passes.push_back({.sample = w->number,
                        .generation = &w->generation,
                        .tokens = seen_tokens(*w, w->end),
                        .read_positions = w->rows,
                        .first_row = watched() ? w->cache.length : 0,
                        .rows = watched() && w->chains ? PassRows::kAddUp : PassRows::kAnew});
    }
    Tap* tap = begin_pass(observer, passes);
    const bool kept = tap == nullptr ? options.cache == BlockCache::kKept : watched();
    std::vector<std::vector<Index>> rows(writers.size());
    std::vector<ForwardSequence> sequences;
    for (std::size_t i = 0; i < writers.size(); ++i) {
      BlockWriter& w = *writers[i];
      const Index first = kept ? w.cache.length : 0;
      for (const Index row : w.rows) rows[i].push_back(row - first);
      sequences.push_back({.ids = seen_tokens(w, w.end).subspan(at(first)),
                           .read_rows = rows[i],
                           .cache = kept ? &w.cache : nullptr,
                           .mask = w.generation.mask});
    }
    Tensor logits = model.forward(sequences, tap);
    for (BlockWriter* w : writers) {
      ++w->generation.steps;
      w->generation.just_committed.clear();
      if (kept) w->cache.length = w->chains ? w->end : w->start;
    }
    return logits;
  }

  // What the rows of one writer propose. Where nothing but the threshold ends a block, the mask itself is
  // never proposed: a block would not end.
  std::vector<Proposal> propose(const BlockWriter& w, const Tensor& logits) const {
    std::vector<Proposal> proposals;
    std::vector<LogitSummary> summaries;
    if (options.sampling.temperature == 0) summaries = model.backend().summarize(logits);
    std::vector<float> row(at(logits.cols()));
    for (std::size_t r = 0; r < w.masks.size(); ++r) {
      const LogitPlace place{streams.of(w.number), &w.generation, w.masks[r]};
      if (!summaries.empty()) check_finite(model, place, summaries[r]);
      if (!summaries.empty() && (has_quota() || summaries[r].best != mask_id())) {
        proposals.push_back({w.masks[r], summaries[r].best, summaries[r].probability});
        continue;
      }
      model.backend().download(logits.row_range(static_cast<Index>(r), 1), row);
      check_finite(model, place, row);
      if (!has_quota()) row[at(mask_id())] = kNeverProposed;
      const std::vector<double> p = filtered_probabilities(row, options.sampling);
      const DrawKey key{.seed = options.seed,
                        .sample = streams.of(w.number),
                        .step = static_cast<std::uint32_t>(w.generation.steps - 1),
                        .position = static_cast<std::uint32_t>(w.masks[r])};
      const TokenId token = choose_token(p, options.sampling, uniform(key, kTokenDraw));
      proposals.push_back({w.masks[r], token, p[at(token)]});
    }
    return proposals;
  }

  std::vector<Proposal> select(const BlockWriter& w, std::vector<Proposal> proposals) const {
    const Index quota = w.step < std::ssize(w.quotas) ? w.quotas[at(w.step)] : 0;
    const Index reaching = std::ranges::count_if(
        proposals, [&](const Proposal& p) { return p.confidence >= options.threshold; });
    const Index above =
        std::ranges::count_if(proposals, [&](const Proposal& p) { return p.confidence > options.threshold; });
    switch (options.pick) {
      case BlockPick::kSurest:
        return most_confident(std::move(proposals), quota);
      case BlockPick::kLeftmost:
        proposals.resize(std::min(proposals.size(), at(quota)));
        return proposals;
      case BlockPick::kAboveOrQuota:
        return most_confident(std::move(proposals), std::max(quota, above));
      case BlockPick::kBestAndReaching:
        return most_confident(std::move(proposals), std::max<Index>(1, reaching));
      case BlockPick::kBestAndAbove:
        return most_confident(std::move(proposals), std::max<Index>(1, above));
    }
    throw InternalError("a block is filled in no way");
  }

  // Ends the generation with this block where it holds a stop id.
  bool stops(BlockWriter& w) const {
    Generation& g = w.generation;
    const auto begin = g.tokens.begin() + std::min(w.end, std::max(w.start, g.prompt_length));
    const auto end = g.tokens.begin() + w.end;
    const auto found = std::find_first_of(begin, end, options.stop_ids.begin(), options.stop_ids.end());
    if (found == end) return false;
    if (options.repeat_stop) std::fill(found, end, *found);
    return true;
  }

  // After a pass: the same block again, or what follows it.
  void advance(BlockWriter& w) const {
    if (w.chains) {
      w.finished = w.end == w.last;
      if (!w.finished) begin_block(w);
      return;
    }
    ++w.step;
    const bool out_of_steps = has_quota() && w.step >= std::ssize(w.quotas);
    if (!out_of_steps && !open_masks(w, w.end).empty()) return;
    if (stops(w)) {
      w.finished = true;
    } else if (options.extent == BlockExtent::kChained) {
      w.chains = true;
    } else if (w.end == w.last) {
      w.finished = true;
    } else {
      begin_block(w);
    }
  }

  void step(std::span<BlockWriter* const> all) const {
    for (BlockWriter* w : all) {
      change(*w);
      // Someone may have written the block to its end.
      while (!w->finished && !w->chains && next_masks(*w).empty()) advance(*w);
    }
    std::vector<BlockWriter*> writers;
    std::ranges::copy_if(all, std::back_inserter(writers), [](const BlockWriter* w) { return !w->finished; });
    if (writers.empty()) return;
    for (BlockWriter* w : writers) plan_pass(*w);
    const Tensor logits = run_pass(writers);
    Index row = 0;
    for (BlockWriter* w : writers) {
      const Index rows = std::ssize(w->rows);
      std::vector<Proposal> chosen = propose(*w, logits.row_range(row, rows));
      row += rows;
      if (observer != nullptr) observer->proposed(w->number, chosen);
      if (!w->chains) chosen = select(*w, std::move(chosen));
      for (const Proposal& p : chosen) commit(w->generation, p.position, p.token, p.confidence);
      if (observer != nullptr) observer->after_step(w->number, w->generation);
      advance(*w);
    }
  }
};

}  // namespace

void check_options(const BlockOptions& o) {
  if (o.gen_length < 1) fail_usage("gen_length is {}, expected at least 1", o.gen_length);
  if (o.block_length < 1) fail_usage("block_length is {}, expected at least 1", o.block_length);
  if (o.block_steps < 1) fail_usage("steps of a block are {}, expected at least 1", o.block_steps);
  if (o.sub_block_length < 0 || o.sub_block_length > o.block_length) {
    fail_usage("sub_block_length is {}, expected at most block_length {}", o.sub_block_length,
               o.block_length);
  }
  if (o.extent == BlockExtent::kChained && o.block_length < 2) {
    fail_usage(
        "block_length is {}, expected at least 2: the first token of a block comes from the one before",
        o.block_length);
  }
  if (o.extent == BlockExtent::kChained && o.gen_length < o.block_length) {
    fail_usage("gen_length is {}, expected at least one block of {}", o.gen_length, o.block_length);
  }
  if (!(o.threshold > 0 && o.threshold <= 1)) {
    fail_usage("threshold is {}, expected above 0, at most 1", o.threshold);
  }
  check_sampling(o.sampling);
}

Mask block_mask(const BlockOptions& o, Index prompt_length) {
  const Index over = prompt_length % o.block_length;
  const bool by_answer = o.start == BlockStart::kAnswer && over != 0;
  return Mask::blocks(o.block_length, by_answer ? o.block_length - over : 0);
}

std::vector<Generation> generate_blocks(const Model& model, std::span<const std::vector<TokenId>> prompts,
                                        const BlockOptions& options, GenerationObserver* observer,
                                        SampleStreams streams) {
  check_options(options);
  check(model.config().family->writing == Writing::kFillsMasks,
        "blocks are filled by models that know masks");
  if (options.block_length > model.config().context) {
    fail_usage("block_length is {}, more than the model's context of {}", options.block_length,
               model.config().context);
  }
  const BlockSampler sampler{model, options, streams, observer};
  std::vector<BlockWriter> writers;
  for (const auto& prompt : prompts) writers.push_back(sampler.start(prompt, std::ssize(writers)));
  while (true) {
    std::vector<BlockWriter*> active;
    for (BlockWriter& w : writers) {
      if (!w.finished) active.push_back(&w);
    }
    if (active.empty()) break;
    sampler.step(active);
  }
  std::vector<Generation> generations;
  for (BlockWriter& w : writers) generations.push_back(std::move(w.generation));
  return generations;
}

}  // namespace buoy
