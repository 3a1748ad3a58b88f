#include "study/eval.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include "base/error.h"
#include "io/json.h"

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

std::string to_message(std::span<const SampleResult> results) {
  Json list = Json::array();
  for (const SampleResult& r : results) {
    list.push_back({r.key.model, r.key.data, r.key.condition, r.key.sample, r.number, r.task, r.prompt,
                    r.answer, r.score.em, r.score.substring, r.score.f1, r.prompt_tokens, r.steps,
                    r.commit_step, r.seconds});
  }
  return list.dump();
}

std::vector<SampleResult> from_message(const std::string& text) {
  std::vector<SampleResult> results;
  for (const Json& r : parse_json(text, "message of a rank")) {
    results.push_back({.key = {r[0], r[1], r[2], r[3]},
                       .number = r[4],
                       .task = r[5],
                       .prompt = r[6],
                       .answer = r[7],
                       .score = {.em = r[8], .substring = r[9], .f1 = r[10]},
                       .prompt_tokens = r[11],
                       .steps = r[12],
                       .commit_step = r[13].get<std::vector<Index>>(),
                       .seconds = r[14]});
  }
  return results;
}

namespace {

// Places in `jobs` of what is still to be done, similar lengths together, cut into batches.
std::vector<std::vector<std::size_t>> plan_batches(std::span<const EvalJob> jobs, Index batch_size,
                                                   const RunStore& store) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!store.done().contains(jobs[i].key)) open.push_back(i);
  }
  std::ranges::stable_sort(open, {}, [&](std::size_t i) { return jobs[i].ids.size(); });
  std::vector<std::vector<std::size_t>> batches;
  for (std::size_t first = 0; first < open.size(); first += static_cast<std::size_t>(batch_size)) {
    const std::size_t last = std::min(open.size(), first + static_cast<std::size_t>(batch_size));
    batches.emplace_back(open.begin() + static_cast<Index>(first), open.begin() + static_cast<Index>(last));
  }
  return batches;
}

std::vector<EvalJob> pick(std::span<const EvalJob> jobs, std::span<const std::size_t> places) {
  std::vector<EvalJob> picked;
  for (const std::size_t i : places) picked.push_back(jobs[i]);
  return picked;
}

Index done_before(std::span<const EvalJob> jobs, const RunStore& store) {
  return std::ranges::count_if(jobs, [&](const EvalJob& job) { return store.done().contains(job.key); });
}

// Rank 0: an empty message asks for work, any other brings results; an empty answer says that there is no
// more.
void hand_out(Ranks& ranks, std::span<const EvalJob> jobs, Index batch_size, RunStore& store,
              const std::function<void(Index done)>& progress) {
  const auto batches = plan_batches(jobs, batch_size, store);
  std::size_t next = 0;
  std::vector<int> idle;
  while (std::ssize(idle) < ranks.count() - 1) {
    const RankMessage message = ranks.receive();
    if (!message.text.empty()) {
      const std::vector<SampleResult> results = from_message(message.text);
      store.add(results);
      if (progress) progress(std::ssize(results));
    }
    if (next < batches.size()) {
      ranks.send(message.from, Json(batches[next++]).dump());
    } else {
      idle.push_back(message.from);
    }
  }
  // All together: a rank that went ahead would ask for work of the next model while this one is not done.
  for (const int rank : idle) ranks.send(rank, "");
}

void take_work(Ranks& ranks, const EvalModel& model, std::span<const EvalJob> jobs) {
  ranks.send(0, "");
  while (true) {
    const std::string batch = ranks.receive().text;
    if (batch.empty()) return;
    const auto places = parse_json(batch, "message of rank 0").get<std::vector<std::size_t>>();
    ranks.send(0, to_message(answer(model, pick(jobs, places))));
  }
}

}  // namespace

void evaluate(const EvalModel& model, std::vector<EvalJob> jobs, Index batch_size, RunStore& store,
              const std::function<void(Index done)>& progress) {
  if (progress) progress(done_before(jobs, store));
  for (const std::vector<std::size_t>& batch : plan_batches(jobs, batch_size, store)) {
    store.add(answer(model, pick(jobs, batch)));
    if (progress) progress(std::ssize(batch));
  }
}

void evaluate_on(Ranks& ranks, const EvalModel& model, std::vector<EvalJob> jobs, Index batch_size,
                 RunStore* store, const std::function<void(Index done)>& progress) {
  if (ranks.count() == 1) return evaluate(model, std::move(jobs), batch_size, *store, progress);
  if (!ranks.leads()) return take_work(ranks, model, jobs);
  if (progress) progress(done_before(jobs, *store));
  hand_out(ranks, jobs, batch_size, *store, progress);
}

}  // namespace buoy
