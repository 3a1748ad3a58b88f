#include "buoy/run/cache_audit.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>

#include "buoy/base/at.h"
#include "buoy/base/error.h"
#include "buoy/corpus/answer_score.h"
#include "buoy/run/cache_replay.h"

namespace buoy {
namespace {

// The model, counting the rows that it computes.
class CountingModel : public Model {
 public:
  explicit CountingModel(const Model& inner) : inner_(inner) {}
  const ModelConfig& config() const override { return inner_.config(); }
  Backend& backend() const override { return inner_.backend(); }
  KvCache make_cache(Index capacity) const override { return inner_.make_cache(capacity); }
  Tensor forward(std::span<const ForwardSequence> sequences, Tap* tap = nullptr) const override {
    for (const ForwardSequence& s : sequences) rows += std::ssize(s.ids);
    return inner_.forward(sequences, tap);
  }
  mutable Index rows = 0;

 private:
  const Model& inner_;
};

// One free run of a question.
struct FreeRun {
  Generation generation;
  std::vector<LoggedPass> passes;
  std::string text;
  double seconds = 0;
  Index rows = 0;
};

FreeRun run_freely(const TraceSource& source, const TraceExample& example, const SamplerSettings& settings,
                   Index number) {
  const CountingModel model(source.model);
  PassLog log(settings.block_length.value_or(settings.gen_length), model.config().family->logit_shift,
              source.cancelled);
  const auto begin = std::chrono::steady_clock::now();
  FreeRun run{.generation = generate(model, {&example.prompt.ids, 1}, settings, &log, number)[0],
              .passes = {},
              .text = {}};
  model.backend().synchronize();
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  run.rows = model.rows;
  run.passes = log.passes();
  run.text = answer_text(source, run.generation.generated());
  return run;
}

Measurement number_of(const char* quantity, double value, double weight = 1) {
  return {.quantity = quantity, .part = "", .value = value, .weight = weight};
}

void add_scores(const FreeRun& run, const QaItem& item, Measurements& numbers) {
  if (!item.answers.empty()) {
    const AnswerScore score = score_answer(run.text, item.answers);
    numbers.push_back(number_of("em", score.em));
    numbers.push_back(number_of("f1", score.f1));
  }
  numbers.push_back(number_of("seconds", run.seconds));
  numbers.push_back(number_of("rows", static_cast<double>(run.rows)));
  numbers.push_back(number_of("passes", static_cast<double>(run.generation.steps)));
}

// How many generated tokens are the answer: up to the first EOS and with it.
std::size_t answer_length(const Generation& g, const ModelConfig& config) {
  const auto generated = g.generated();
  const auto end = std::ranges::find_first_of(generated, config.eos_ids);
  return std::min(generated.size(), static_cast<std::size_t>(end - generated.begin()) + 1);
}

void add_differences(const FreeRun& exact, const FreeRun& cached, const ModelConfig& config,
                     Measurements& numbers) {
  const auto a = exact.generation.generated(), b = cached.generation.generated();
  const std::size_t length = answer_length(exact.generation, config);
  const auto equal = [&](std::size_t count) {
    Index same = 0;
    for (std::size_t i = 0; i < count; ++i) same += a[i] == b[i] ? 1 : 0;
    return static_cast<double>(same) / static_cast<double>(count);
  };
  numbers.push_back(number_of("equal_tokens", equal(length)));
  numbers.push_back(number_of("equal_positions", equal(a.size())));
  numbers.push_back(number_of("same_answer", exact.text == cached.text ? 1 : 0));
  Index first_step = -1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Index s = exact.generation.commit_step[i], t = cached.generation.commit_step[i];
    if (a[i] == b[i] && s == t) continue;
    const Index step = s < 0 ? t : t < 0 ? s : std::min(s, t);
    if (first_step < 0 || (step >= 0 && step < first_step)) first_step = step;
  }
  if (first_step >= 0) numbers.push_back(number_of("first_step", static_cast<double>(first_step)));
  const auto different = std::ranges::mismatch(a, b).in1;
  if (different != a.end()) {
    numbers.push_back(number_of("first_difference", static_cast<double>(different - a.begin())));
  }
  numbers.push_back(number_of("speed", exact.seconds, cached.seconds));
  numbers.push_back(
      number_of("rows_share", static_cast<double>(cached.rows), static_cast<double>(exact.rows)));
}

// Means over passes, and every pass by its number.
void add_steps(std::span<const AuditStep> steps, Measurements& numbers) {
  constexpr struct {
    const char *quantity, *by_step;
    double AuditStep::*value;
  } kMeans[] = {{"stale_share", "stale_share_step", &AuditStep::stale_share},
                {"stale_mass", "stale_mass_step", &AuditStep::stale_mass},
                {"cached_mass", "cached_mass_step", &AuditStep::cached_mass},
                {"change", "change_step", &AuditStep::change},
                {"exposure", "exposure_step", &AuditStep::exposure}};
  double kl = 0, agree = 0, read = 0;
  for (const AuditStep& s : steps) {
    kl += s.kl * static_cast<double>(s.read);
    agree += s.agree * static_cast<double>(s.read);
    read += static_cast<double>(s.read);
    const std::string part = fmt::format("{:04}", s.step);
    numbers.push_back({.quantity = "kl_step", .part = part, .value = s.kl});
    for (const auto& m : kMeans) {
      numbers.push_back({.quantity = m.by_step, .part = part, .value = s.*m.value});
    }
  }
  if (steps.empty()) return;
  numbers.push_back(number_of("kl", kl, read));
  numbers.push_back(number_of("agree", agree, read));
  for (const auto& m : kMeans) {
    double sum = 0;
    for (const AuditStep& s : steps) sum += s.*m.value;
    numbers.push_back(number_of(m.quantity, sum, static_cast<double>(steps.size())));
  }
}

void add_change(const StaleKind& kind, const StateChange& sum, Measurements& numbers) {
  const auto add = [&](const char* quantity, double value) {
    numbers.push_back({.quantity = quantity,
                       .layer = kind.layer,
                       .part = kind.part,
                       .value = value,
                       .weight = static_cast<double>(sum.count)});
  };
  add("key_turn", sum.key_turn);
  add("key_distance", sum.key_distance);
  add("value_turn", sum.value_turn);
  add("value_distance", sum.value_distance);
}

void add_to(StateChange& all, const StateChange& sum) {
  all.key_turn += sum.key_turn;
  all.key_distance += sum.key_distance;
  all.value_turn += sum.value_turn;
  all.value_distance += sum.value_distance;
  all.count += sum.count;
}

// By layer, kind and age; by two of them alone; layer -1 is all layers.
void add_changes(const std::map<StaleKind, StateChange>& changes, Measurements& numbers) {
  std::map<StaleKind, StateChange> whole;
  for (const auto& [kind, sum] : changes) {
    const std::string of = kind.part.substr(0, kind.part.find(' '));
    add_to(whole[kind], sum);
    add_to(whole[{kind.layer, of}], sum);
    add_to(whole[{-1, kind.part}], sum);
    add_to(whole[{-1, of}], sum);
  }
  for (const auto& [kind, sum] : whole) add_change(kind, sum, numbers);
}

// The same settings as the sampler has them.
CacheOptions replay_options(const SamplerSettings& settings, const ModelConfig& config) {
  const bool dream = config.family->sampler == SamplerKind::kDream;
  return dream ? dream_options(settings).cache : llada_options(settings).cache;
}

}  // namespace

std::string AuditedCache::name() const {
  if (!refresh) return std::string(name_of(kind));
  return fmt::format("{}={}", name_of(kind), *refresh);
}

SamplerSettings AuditedCache::applied_to(const SamplerSettings& settings) const {
  SamplerSettings made = settings;
  made.cache = kind;
  made.cache_refresh = refresh;
  return made;
}

AuditedCache parse_audited_cache(std::string_view text) {
  const std::size_t equals = text.find('=');
  AuditedCache made{.kind = parse_cache_kind(text.substr(0, equals))};
  if (equals == text.npos) return made;
  const std::string_view number = text.substr(equals + 1);
  Index refresh = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), refresh);
  if (error != std::errc{} || end != number.data() + number.size() || refresh < 0) {
    fail_usage("cache is \"{}\", expected passes between two refreshes after \"=\", 0 or more", text);
  }
  if (made.kind == CacheKind::kNone)
    fail_usage("cache is \"{}\": without a cache nothing is refreshed", text);
  made.refresh = refresh;
  return made;
}

QuestionAudit audit_question(const TraceSource& source, const TraceExample& example,
                             std::span<const AuditedCache> caches, Index number) {
  const SamplerSettings& plain = source.sampler;
  const ModelConfig& config = source.model.config();
  check(plain.cache == CacheKind::kNone && source.intervention == nullptr, "the exact run is exact");
  std::vector<FreeRun> cached(caches.size());
  const auto run_cached = [&] {
    for (std::size_t c = 0; c < caches.size(); ++c) {
      cached[c] = run_freely(source, example, caches[c].applied_to(plain), number);
    }
  };
  if (number % 2 == 1) run_cached();
  const FreeRun exact = run_freely(source, example, plain, number);
  if (number % 2 == 0) run_cached();

  std::vector<CacheOptions> options;
  for (const AuditedCache& c : caches) options.push_back(replay_options(c.applied_to(plain), config));
  std::vector<ReplayedCache> replayed = replay(source.model, exact.passes, options, source.cancelled);

  QuestionAudit audit;
  add_scores(exact, example.item, audit.exact);
  for (std::size_t c = 0; c < caches.size(); ++c) {
    CacheAudit made{.cache = caches[c].name(), .numbers = {}, .steps = std::move(replayed[c].steps)};
    add_scores(cached[c], example.item, made.numbers);
    add_differences(exact, cached[c], config, made.numbers);
    add_steps(made.steps, made.numbers);
    add_changes(replayed[c].changes, made.numbers);
    audit.caches.push_back(std::move(made));
  }
  return audit;
}

}  // namespace buoy
