#include "study/eval.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include "base/error.h"

namespace buoy {

std::string Condition::name() const {
  switch (kind) {
    case Kind::kNone:
      return "none";
    case Kind::kGiven:
      return "given";
    case Kind::kFirst:
      return fmt::format("first {}", count);
    case Kind::kRetrieved:
      break;
  }
  return fmt::format("retrieved {}", count);
}

Condition parse_condition(const std::string& text) {
  if (text == "none") return {.kind = Condition::Kind::kNone};
  if (text == "given") return {.kind = Condition::Kind::kGiven};
  Index count = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || rest != text.data() + text.size() || count < 1) {
    fail_usage("passages \"{}\": expected none, given or a number from 1 on", text);
  }
  return {.kind = Condition::Kind::kFirst, .count = count};
}

QaItem under(const Condition& condition, const QaItem& item, const Retrieve& retrieve) {
  QaItem made = item;
  switch (condition.kind) {
    case Condition::Kind::kNone:
      made.passages.clear();
      break;
    case Condition::Kind::kGiven:
      break;
    case Condition::Kind::kFirst:
      made.passages.resize(std::min(made.passages.size(), static_cast<std::size_t>(condition.count)));
      break;
    case Condition::Kind::kRetrieved:
      made.passages = retrieve(item.question, condition.count);
      break;
  }
  return made;
}

namespace {

std::vector<SampleResult> answer(const EvalModel& model, std::span<const EvalJob> jobs) {
  std::vector<std::vector<TokenId>> prompts;
  std::vector<Index> streams;
  for (const EvalJob& job : jobs) {
    prompts.push_back(job.ids);
    streams.push_back(job.number);
  }
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Generation> made = model.generate(prompts, nullptr, SampleStreams(streams));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  std::vector<SampleResult> results;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const EvalJob& job = jobs[i];
    const std::string text = answer_text(model.tokenizer, model.model.config(), made[i].generated());
    results.push_back({.key = job.key,
                       .number = job.number,
                       .task = job.item.task,
                       .prompt = job.prompt,
                       .answer = text,
                       .score = score_answer(text, job.item.answers),
                       .prompt_tokens = std::ssize(job.ids),
                       .steps = made[i].steps,
                       .commit_step = made[i].commit_step,
                       .seconds = elapsed.count() / static_cast<double>(jobs.size())});
  }
  return results;
}

}  // namespace

void evaluate(const EvalModel& model, std::vector<EvalJob> jobs, Index batch_size, RunStore& store,
              const std::function<void(Index done)>& progress) {
  const Index before = std::ssize(jobs);
  std::erase_if(jobs, [&](const EvalJob& job) { return store.done().contains(job.key); });
  if (progress) progress(before - std::ssize(jobs));
  std::ranges::stable_sort(jobs, {}, [](const EvalJob& job) { return job.ids.size(); });
  const std::span<const EvalJob> all(jobs);
  for (std::size_t first = 0; first < jobs.size();) {
    const std::size_t count = std::min(jobs.size() - first, static_cast<std::size_t>(batch_size));
    store.add(answer(model, all.subspan(first, count)));
    first += count;
    if (progress) progress(static_cast<Index>(count));
  }
}

}  // namespace buoy
