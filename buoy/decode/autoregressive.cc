#include "buoy/decode/autoregressive.h"

#include <algorithm>

#include "buoy/base/error.h"
#include "buoy/decode/finite_logits.h"

namespace buoy {
namespace {

// One sample with the keys and values of what it has written.
struct Writer {
  Index number;
  Generation generation;
  KvCache cache;
  Index limit = 0;  // tokens to write
  bool finished = false;
};

struct Choice {
  TokenId token;
  double confidence;
};

LogitPlace place_of(const Writer& writer, SampleStreams streams) {
  return {streams.of(writer.number), &writer.generation, std::ssize(writer.generation.tokens)};
}

// The tokens that the rows of logits ask for, one per writer.
std::vector<Choice> choose_tokens(const Model& model, const AutoregressiveOptions& options,
                                  SampleStreams streams, const Tensor& logits,
                                  std::span<Writer* const> writers) {
  std::vector<Choice> choices;
  if (options.sampling.temperature == 0) {
    for (const LogitSummary& s : model.backend().summarize(logits)) {
      check_finite(model, place_of(*writers[choices.size()], streams), s);
      choices.push_back({s.best, s.probability});
    }
    return choices;
  }
  std::vector<float> row(static_cast<std::size_t>(logits.cols()));
  for (const Writer* writer : writers) {
    const Generation& g = writer->generation;
    model.backend().download(logits.row_range(std::ssize(choices), 1), row);
    check_finite(model, place_of(*writer, streams), row);
    const std::vector<double> p = filtered_probabilities(row, options.sampling);
    const DrawKey key{.seed = options.seed,
                      .sample = streams.of(writer->number),
                      .step = static_cast<std::uint32_t>(g.steps - 1),
                      .position = static_cast<std::uint32_t>(g.tokens.size())};
    const TokenId token = choose_token(p, options.sampling, uniform(key, kTokenDraw));
    choices.push_back({token, p[static_cast<std::size_t>(token)]});
  }
  return choices;
}

void append_token(const AutoregressiveOptions& options, const Choice& choice, Writer& writer) {
  Generation& g = writer.generation;
  const auto [token, confidence] = choice;
  g.tokens.push_back(token);
  g.commit_step.push_back(kNotCommitted);
  g.confidence.push_back(0);
  commit(g, std::ssize(g.tokens) - 1, token, confidence);
  const Index written = std::ssize(g.tokens) - g.prompt_length;
  writer.finished = written >= writer.limit || std::ranges::count(options.stop_ids, token) > 0;
}

// What is to be changed before the next token. Where something was written, all rows are computed again.
void change(const Model& model, const AutoregressiveOptions& options, GenerationObserver& observer,
            Writer& writer) {
  Generation& g = writer.generation;
  const StepChange wanted = observer.before_step(writer.number, g);
  apply_change(wanted,
               {.first = g.prompt_length, .end = std::ssize(g.tokens), .V = model.config().V, .mask = {}}, g);
  if (!wanted.write.empty()) writer.cache.length = 0;
  if (wanted.steps_left) {
    const Index written = std::ssize(g.tokens) - g.prompt_length;
    writer.limit = std::min(options.max_new_tokens, written + *wanted.steps_left);
  }
}

}  // namespace

void check_options(const AutoregressiveOptions& options) {
  if (options.max_new_tokens < 1)
    fail_usage("max_new_tokens is {}, expected at least 1", options.max_new_tokens);
  check_sampling(options.sampling);
}

std::vector<Generation> generate_autoregressive(const Model& model,
                                                std::span<const std::vector<TokenId>> prompts,
                                                const AutoregressiveOptions& options,
                                                GenerationObserver* observer, SampleStreams streams) {
  check_options(options);
  check(model.config().family->writing == Writing::kAppends,
        "autoregressive generation runs models that append");
  std::vector<Writer> writers;
  for (const auto& prompt : prompts) {
    const Index total = std::ssize(prompt) + options.max_new_tokens;
    if (total > model.config().context) {
      fail("prompt and answer have {} tokens, more than the model's context of {}", total,
           model.config().context);
    }
    writers.push_back({.number = std::ssize(writers),
                       .generation = start_generation(prompt),
                       .cache = model.make_cache(total),
                       .limit = options.max_new_tokens});
    writers.back().generation.mask = model.config().mask;
  }
  while (true) {
    std::vector<Writer*> active;
    for (Writer& writer : writers) {
      if (!writer.finished) active.push_back(&writer);
    }
    if (active.empty()) break;
    std::vector<ForwardSequence> sequences;
    std::vector<Index> last_rows(active.size()), last_positions(active.size());
    std::vector<GenerationObserver::Pass> passes;
    for (std::size_t i = 0; i < active.size(); ++i) {
      Writer& w = *active[i];
      if (observer != nullptr) change(model, options, *observer, w);
      const auto fresh = std::span(w.generation.tokens).subspan(static_cast<std::size_t>(w.cache.length));
      last_rows[i] = std::ssize(fresh) - 1;
      last_positions[i] = std::ssize(w.generation.tokens) - 1;
      sequences.push_back({.ids = fresh, .read_rows = {&last_rows[i], 1}, .cache = &w.cache});
      passes.push_back({.sample = w.number,
                        .generation = &w.generation,
                        .tokens = w.generation.tokens,
                        .read_positions = {&last_positions[i], 1},
                        .first_row = w.cache.length,
                        .rows = PassRows::kAddUp});
    }
    Tap* tap = begin_pass(observer, passes);
    const Tensor logits = model.forward(sequences, tap);
    for (Writer* writer : active) ++writer->generation.steps;
    const std::vector<Choice> choices = choose_tokens(model, options, streams, logits, active);
    for (std::size_t i = 0; i < active.size(); ++i) {
      Generation& g = active[i]->generation;
      g.just_committed.clear();
      const Proposal proposal{std::ssize(g.tokens), choices[i].token, choices[i].confidence};
      if (observer != nullptr) observer->proposed(active[i]->number, {&proposal, 1});
      append_token(options, choices[i], *active[i]);
      if (observer != nullptr) observer->after_step(active[i]->number, g);
    }
  }
  std::vector<Generation> generations;
  for (Writer& writer : writers) generations.push_back(std::move(writer.generation));
  return generations;
}

}  // namespace buoy
