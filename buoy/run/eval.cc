#include "buoy/run/eval.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iterator>

#include "buoy/base/error.h"
#include "buoy/io/json.h"
#include "buoy/run/share_out.h"
#include "buoy/run/stored_json.h"

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

// Numbers of heads would outweigh all the rest of a run's store.
Measurements without_heads(const Trace& trace, const CollectOptions& options) {
  Measurements kept;
  const TraceWithNull traces(trace);
  for (const Analysis* analysis : options.analyses) {
    for (Measurement& m : measure(*analysis, traces, options.analysis)) {
      if (m.head < 0) kept.push_back(std::move(m));
    }
  }
  return kept;
}

SampleResult result_of(const TraceSource& source, const EvalJob& job, const Generation& made) {
  SampleResult result;
  result.key = job.key;
  result.number = job.number;
  result.task = job.example.item.task;
  result.question = job.example.item.question;
  result.prompt = job.prompt;
  result.answer = answer_text(source, made.generated());
  result.score = score_answer(result.answer, job.example.item.answers);
  result.prompt_tokens = std::ssize(job.example.prompt.ids);
  result.steps = made.steps;
  result.commit_step = made.commit_step;
  result.output_ids.assign(made.generated().begin(), made.generated().end());
  return result;
}

std::vector<SampleResult> answer(const EvalModel& model, std::span<const EvalJob> jobs) {
  const TraceSource& source = model.variants[static_cast<std::size_t>(jobs.front().variant)];
  std::vector<TraceExample> examples;
  std::vector<Index> numbers;
  for (const EvalJob& job : jobs) {
    examples.push_back(job.example);
    numbers.push_back(job.number);
  }
  const auto start = std::chrono::steady_clock::now();
  std::vector<SampleResult> results;
  if (model.trace != nullptr) {
    const std::vector<TracedSample> made = trace_batch(source, examples, SampleStreams(numbers));
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      results.push_back(result_of(source, jobs[i], made[i].generation));
      results.back().seen = without_heads(made[i].trace, *model.trace);
      std::ranges::copy(made[i].dose, std::back_inserter(results.back().seen));
    }
  } else {
    const std::vector<AnsweredSample> made = generate_batch(source, examples, SampleStreams(numbers));
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      results.push_back(result_of(source, jobs[i], made[i].generation));
      results.back().seen = made[i].dose;
    }
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  for (SampleResult& r : results) r.seconds = elapsed.count() / static_cast<double>(jobs.size());
  return results;
}

}  // namespace

std::string to_message(std::span<const SampleResult> results) {
  Json list = Json::array();
  for (const SampleResult& r : results) {
    list.push_back({r.key.model, r.key.data, r.key.condition, r.key.sample, r.number, r.task, r.question,
                    r.prompt, r.answer, r.score.em, r.score.substring, r.score.f1, r.prompt_tokens, r.steps,
                    r.commit_step, r.seconds, measurements_to_json(r.seen), r.output_ids});
  }
  return list.dump();
}

std::vector<SampleResult> from_message(const std::string& text) {
  std::vector<SampleResult> results;
  for (const Json& r : parse_json(text, "message of a rank")) {
    results.push_back({.key = {r[0], r[1], r[2], r[3]},
                       .number = r[4],
                       .task = r[5],
                       .question = r[6],
                       .prompt = r[7],
                       .answer = r[8],
                       .score = {.em = r[9], .substring = r[10], .f1 = r[11]},
                       .prompt_tokens = r[12],
                       .steps = r[13],
                       .commit_step = r[14].get<std::vector<Index>>(),
                       .seconds = r[15],
                       .seen = measurements_from_json(r[16].get<std::string>(), "message of a rank"),
                       .output_ids = r[17].get<std::vector<Index>>()});
  }
  return results;
}

namespace {

// Places in `jobs` of what is still to be done, by variant, similar lengths together, cut into batches.
std::vector<std::vector<std::size_t>> plan_batches(std::span<const EvalJob> jobs, Index batch_size,
                                                   const RunStore& store) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!store.done().contains(jobs[i].key)) open.push_back(i);
  }
  std::ranges::stable_sort(
      open, {}, [&](std::size_t i) { return std::pair(jobs[i].variant, jobs[i].example.prompt.ids.size()); });
  std::vector<std::vector<std::size_t>> batches;
  for (const std::size_t i : open) {
    if (batches.empty() || std::ssize(batches.back()) == batch_size ||
        jobs[batches.back().back()].variant != jobs[i].variant) {
      batches.emplace_back();
    }
    batches.back().push_back(i);
  }
  return batches;
}

std::vector<EvalJob> pick(std::span<const EvalJob> jobs, std::span<const std::size_t> places) {
  std::vector<EvalJob> picked;
  for (const std::size_t i : places) picked.push_back(jobs[i]);
  return picked;
}

}  // namespace

void evaluate(const EvalModel& model, std::vector<EvalJob> jobs, Index batch_size, RunStore& store,
              const std::function<void(Index done)>& progress) {
  for (const std::vector<std::size_t>& batch : plan_batches(jobs, batch_size, store)) {
    store.add(answer(model, pick(jobs, batch)));
    if (progress) progress(std::ssize(batch));
  }
}

void evaluate_on(Ranks& ranks, const EvalModel& model, std::vector<EvalJob> jobs, Index batch_size,
                 RunStore* store, const std::function<void(Index done)>& progress) {
  if (ranks.count() == 1) return evaluate(model, std::move(jobs), batch_size, *store, progress);
  if (!ranks.leads()) {
    return take_work(ranks, [&](const std::string& piece) {
      const auto places = parse_json(piece, "message of rank 0").get<std::vector<std::size_t>>();
      return to_message(answer(model, pick(jobs, places)));
    });
  }
  std::vector<std::string> pieces;
  for (const std::vector<std::size_t>& batch : plan_batches(jobs, batch_size, *store)) {
    pieces.push_back(Json(batch).dump());
  }
  hand_out(ranks, pieces, [&](const std::string& message) {
    const std::vector<SampleResult> results = from_message(message);
    store->add(results);
    if (progress) progress(std::ssize(results));
  });
}

}  // namespace buoy
