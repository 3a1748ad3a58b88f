#include "buoy/engine/long_prompts.h"

#include <algorithm>

#include "buoy/base/error.h"
#include "buoy/corpus/words.h"
#include "buoy/io/json.h"
#include "buoy/text/utf8.h"

namespace buoy {
namespace {

// The first words of a passage, with the evidence that is left in them.
QaPassage first_words(const QaPassage& passage, const std::vector<Word>& words, Index count) {
  QaPassage made = passage;
  made.text.resize(static_cast<std::size_t>(words[static_cast<std::size_t>(count - 1)].end));
  const Index length = count_code_points(made.text);
  for (TextSpan& span : made.evidence) span.end = std::min(span.end, length);
  std::erase_if(made.evidence, [](const TextSpan& span) { return span.begin >= span.end; });
  // Without the evidence nothing of the passage is what the question needs.
  if (!passage.evidence.empty() && made.evidence.empty()) made.gold = false;
  return made;
}

// The largest number of [low, high] that `fits`, which holds up to some number and not beyond; `low` does.
Index largest(Index low, Index high, const std::function<bool(Index)>& fits) {
  while (low < high) {
    const Index middle = low + (high - low + 1) / 2;
    fits(middle) ? low = middle : high = middle - 1;
  }
  return low;
}

// A model's tokenizer and prompt, which tell lengths without its weights.
class Lengths {
 public:
  Lengths(const RunSettings& settings, const NamedModel& model)
      : tokenizer_(Tokenizer::load(model.directory)),
        prompt_(choose_prompt(settings.prompt_of(model.given), model.directory)) {}

  Index tokens(const QaItem& item, QueryPlace place) const {
    const std::string text = exact_prompt(prompt_, item, place);
    return std::ssize(tokenizer_.encode(text, prompt_.chat ? SpecialTokens::kNone : SpecialTokens::kAdd));
  }

  // A token stands for a byte at least, so a short text needs no counting.
  bool may_exceed(const QaItem& item, QueryPlace place, Index limit) const {
    constexpr Index kSpecial = 8;  // what a tokenizer adds
    return std::ssize(exact_prompt(prompt_, item, place)) + kSpecial > limit;
  }

 private:
  Tokenizer tokenizer_;
  QuestionPrompt prompt_;
};

struct LongPrompt {
  std::string model, data, condition, sample;
  Index tokens = 0, limit = 0;

  std::string text() const {
    return fmt::format("{} of {} under {} has {} tokens, {} fit {}", quote(sample), data, condition, tokens,
                       limit, model);
  }
};

std::string list_of(const std::vector<LongPrompt>& prompts) {
  constexpr std::size_t kListed = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(prompts.size(), kListed); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : "; ", prompts[i].text());
  }
  return text + (prompts.size() > kListed ? fmt::format("; and {} more", prompts.size() - kListed) : "");
}

class Fitter {
 public:
  explicit Fitter(const RunSettings& settings) : settings_(settings) {}

  void look_at(const NamedModel& model, RunPlan plan) {
    const Lengths lengths(settings_, model);
    made_.apply(plan);  // what another model had to cut stays cut
    for (const PlannedItem& planned : plan.items) {
      const SamplerSettings& sampler = plan.variants[static_cast<std::size_t>(planned.variant)].sampler;
      const Index limit = model.config.context - sampler.gen_length;
      if (!lengths.may_exceed(planned.item, planned.place, limit)) continue;
      const Index tokens = lengths.tokens(planned.item, planned.place);
      if (tokens <= limit) continue;
      found_.push_back({.model = model.name,
                        .data = planned.key.data,
                        .condition = planned.key.condition,
                        .sample = planned.key.sample,
                        .tokens = tokens,
                        .limit = limit});
      if (settings_.too_long == TooLong::kSkip) made_.left_out.insert({planned.key.data, planned.key.sample});
      if (settings_.too_long == TooLong::kCut) cut(lengths, planned, limit);
    }
  }

  Fitting finish(RunObserver* observer) {
    if (found_.empty()) return made_;
    const std::string count =
        fmt::format("{} prompt{} too long", found_.size(), found_.size() == 1 ? " is" : "s are");
    if (settings_.too_long == TooLong::kFail) {
      fail("{}: {}. --too-long skip leaves their questions out, --too-long cut shortens their passages",
           count, list_of(found_));
    }
    if (observer == nullptr) return made_;
    observer->warn(
        settings_.too_long == TooLong::kSkip
            ? fmt::format("{}: {} questions are left out for all models and conditions: {}", count,
                          made_.left_out.size(), list_of(found_))
            : fmt::format("{}: passages are cut for all models alike: {}", count, list_of(found_)));
    return made_;
  }

 private:
  void cut(const Lengths& lengths, const PlannedItem& planned, Index limit) {
    const std::tuple key(planned.key.data, planned.key.condition, planned.key.sample);
    QaItem item = planned.item;
    const auto fits = [&](const std::vector<QaPassage>& passages) {
      item.passages = passages;
      return lengths.tokens(item, planned.place) <= limit;
    };
    const auto shorter = cut_to_fit(planned.item.passages, fits);
    if (!shorter) fail("{}, even without passages: nothing is left to cut", found_.back().text());
    made_.cut[key] = *shorter;
  }

  const RunSettings& settings_;
  Fitting made_;
  std::vector<LongPrompt> found_;
};

}  // namespace

std::optional<std::vector<QaPassage>> cut_to_fit(
    const std::vector<QaPassage>& passages, const std::function<bool(const std::vector<QaPassage>&)>& fits) {
  const auto first = [&](Index count) { return std::vector(passages.begin(), passages.begin() + count); };
  if (!fits({})) return std::nullopt;
  const Index whole = largest(0, std::ssize(passages), [&](Index count) { return fits(first(count)); });
  std::vector<QaPassage> kept = first(whole);
  if (whole == std::ssize(passages)) return kept;
  const QaPassage& next = passages[static_cast<std::size_t>(whole)];
  const std::vector<Word> words = split_words(next.text);
  const auto with_words = [&](Index count) {
    std::vector<QaPassage> made = kept;
    if (count > 0) made.push_back(first_words(next, words, count));
    return made;
  };
  return with_words(largest(0, std::ssize(words), [&](Index count) { return fits(with_words(count)); }));
}

void Fitting::apply(RunPlan& plan) const {
  std::erase_if(plan.items, [&](const PlannedItem& planned) {
    return left_out.contains({planned.key.data, planned.key.sample});
  });
  for (PlannedItem& planned : plan.items) {
    const auto found = cut.find({planned.key.data, planned.key.condition, planned.key.sample});
    if (found != cut.end()) planned.item.passages = found->second;
  }
}

Fitting fit_prompts(const RunSettings& settings, const std::vector<NamedModel>& models,
                    const std::function<RunPlan(const NamedModel&)>& plan, RunObserver* observer) {
  Fitter fitter(settings);
  for (const NamedModel& model : models) fitter.look_at(model, plan(model));
  return fitter.finish(observer);
}

std::vector<NamedItems> fit_questions(const RunSettings& settings, const std::vector<NamedModel>& models,
                                      std::vector<NamedItems> data, RunObserver* observer) {
  const std::string condition = "given";
  const auto plan = [&](const NamedModel& model) {
    RunPlan made{.variants = {{.sampler = settings.sampler_of(model.given)}}, .items = {}};
    for (const NamedItems& set : data) {
      for (const QaItem& item : set.items)
        made.items.push_back({.key = {model.name, set.name, condition, item.id}, .item = item});
    }
    return made;
  };
  const Fitting fitting = fit_prompts(settings, models, plan, observer);
  bool any = false;
  for (NamedItems& set : data) {
    std::erase_if(set.items, [&](const QaItem& item) {
      return fitting.left_out.contains({set.name, item.id});
    });
    for (QaItem& item : set.items) {
      const auto cut = fitting.cut.find({set.name, condition, item.id});
      if (cut != fitting.cut.end()) item.passages = cut->second;
    }
    any = any || !set.items.empty();
  }
  if (!any && !fitting.left_out.empty()) fail("no question is left: all prompts are too long");
  return data;
}

}  // namespace buoy
