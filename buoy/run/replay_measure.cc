// What is measured of one answer to a question of a stream.
#include <algorithm>
#include <array>
#include <map>

#include "buoy/run/replay_table.h"

namespace buoy {
namespace {

constexpr std::array<ReplayQuantity, 18> kReplayQuantities = {{
    {"em", "Exact match, %", "against the right answers of other questions"},
    {"substring", "Right answer inside the answer, %", "against the right answers of other questions"},
    {"f1", "F1, %", "against the right answers of other questions"},
    {"hit", "Hit: a current passage is found, %", "as many documents drawn at random"},
    {"follows_outdated", "Follows an outdated version, %", "the same without outdated and false passages"},
    {"outdated_passages", "… of passages that state a value, outdated, %", ""},
    {"follows_rumour", "Follows a rumour, %", "the same without outdated and false passages"},
    {"rumour_passages", "… of passages that state a value, rumours, %", ""},
    {"follows_nothing", "Holds no value that was right, outdated or rumoured, %",
     "the same without outdated and false passages"},
    {"stale_cost", "Exact match lost to outdated and false passages, points", "0"},
    {"lift_current", "Attention per token, current ÷ uniform", "uniform attention"},
    {"lift_outdated", "Attention per token, outdated ÷ uniform", "uniform attention"},
    {"lift_rumour", "Attention per token, rumours ÷ uniform", "uniform attention"},
    {"lift_near-miss", "Attention per token, near misses ÷ uniform", "uniform attention"},
    {"lift_unrelated", "Attention per token, unrelated ÷ uniform", "uniform attention"},
    {"gap_outdated", "Current less outdated, of uniform", "uniform attention"},
    {"gap_rumour", "Current less rumours, of uniform", "uniform attention"},
    {"gap_unrelated", "Current less unrelated, of uniform", "uniform attention"},
}};

// Attention of the rows that wrote the answer to the passages of each role, beside uniform attention's.
struct Mass {
  double measured = 0, uniform = 0;
};

std::map<std::string, double> lifts_of(const ReplaySample& sample) {
  std::map<std::string, Mass> sums;
  for (const Measurement& m : sample.seen) {
    if (m.quantity != "direct_per_token" || !m.null) continue;
    for (std::size_t i = 0; i < sample.passages.size(); ++i) {
      if (m.part != "Answer>Doc" + std::to_string(i + 1)) continue;
      Mass& mass = sums[sample.passages[i].role];
      mass.measured += m.value / m.weight;
      mass.uniform += *m.null;
    }
  }
  std::map<std::string, double> lifts;
  for (const auto& [role, mass] : sums) {
    if (!role.empty() && mass.uniform > 0) lifts[role] = mass.measured / mass.uniform;
  }
  return lifts;
}

void add_attention(const ReplaySample& sample, Measurements& out) {
  const std::map<std::string, double> lifts = lifts_of(sample);
  for (const auto& [role, lift] : lifts)
    out.push_back({.quantity = "lift_" + role, .value = lift, .null = 1});
  const auto current = lifts.find("current");
  for (const char* role : {"outdated", "rumour", "unrelated"}) {
    const auto other = lifts.find(role);
    if (current == lifts.end() || other == lifts.end()) continue;
    out.push_back(
        {.quantity = std::string("gap_") + role, .value = current->second - other->second, .null = 0});
  }
}

void add_answer_scores(const ReplaySample& sample, const Event& event,
                       std::span<const std::vector<std::string>* const> others, Measurements& out) {
  const AnswerScore own = score_answer(sample.answer, event.answers);
  AnswerScore null;
  for (const auto* gold : others) {
    const AnswerScore score = score_answer(sample.answer, *gold);
    const double share = 1 / static_cast<double>(others.size());
    null.em += share * score.em;
    null.substring += share * score.substring;
    null.f1 += share * score.f1;
  }
  const auto add = [&](const char* name, double value, double chance) {
    out.push_back({.quantity = name, .value = 100 * value});
    if (!others.empty()) out.back().null = 100 * chance;
  };
  add("em", own.em, null.em);
  add("substring", own.substring, null.substring);
  add("f1", own.f1, null.f1);
}

Index count_role(const ReplaySample& sample, std::string_view role) {
  return std::ranges::count(sample.passages, role, &ReplayPassage::role);
}

// The chance that one of `drawn` documents out of N is among m.
double chance_of_hit(Index N, Index m, Index drawn) {
  double miss = 1;
  for (Index i = 0; i < drawn; ++i)
    miss *=
        static_cast<double>(std::max<Index>(0, N - m - i)) / static_cast<double>(std::max<Index>(1, N - i));
  return 1 - miss;
}

void add_follows(const ReplaySample& sample, const Event& event, std::string_view role,
                 const std::vector<std::string>& wrong, const std::string& quantity, Measurements& out) {
  if (wrong.empty()) return;
  out.push_back({.quantity = quantity, .value = follows(sample.answer, wrong, event.answers) ? 100.0 : 0.0});
  if (sample.control) out.back().null = follows(*sample.control, wrong, event.answers) ? 100.0 : 0.0;
  const Index stating =
      count_role(sample, "current") + count_role(sample, "outdated") + count_role(sample, "rumour");
  if (stating == 0) return;
  out.push_back(
      {.quantity = std::string(role) + "_passages",
       .value = 100 * static_cast<double>(count_role(sample, role)) / static_cast<double>(stating)});
}

}  // namespace

std::span<const ReplayQuantity> replay_quantities() {
  return kReplayQuantities;
}

bool follows(std::string_view answer, std::span<const std::string> wrong,
             std::span<const std::string> right) {
  return score_answer(answer, wrong).substring > 0 && score_answer(answer, right).substring == 0;
}

namespace {

// Neither right nor what an earlier version or a rumour states: made up, or put together of several.
bool follows_nothing(std::string_view answer, const Event& event) {
  const auto holds = [&](const std::vector<std::string>& values) {
    return score_answer(answer, values).substring > 0;
  };
  return !holds(event.answers) && !holds(event.outdated) && !holds(event.rumoured);
}

}  // namespace

Measurements measure_replay(const ReplaySample& sample, const Event& event, const StreamQuestion& question,
                            std::span<const std::vector<std::string>* const> others) {
  Measurements out;
  if (!event.answers.empty()) {
    add_answer_scores(sample, event, others, out);
    out.push_back({.quantity = "hit", .value = count_role(sample, "current") > 0 ? 100.0 : 0.0});
    if (!event.about.empty()) {
      out.back().null =
          100 * chance_of_hit(question.documents, question.current, std::ssize(sample.passages));
    }
    add_follows(sample, event, "outdated", event.outdated, "follows_outdated", out);
    add_follows(sample, event, "rumour", event.rumoured, "follows_rumour", out);
    out.push_back(
        {.quantity = "follows_nothing", .value = follows_nothing(sample.answer, event) ? 100.0 : 0.0});
    if (sample.control) out.back().null = follows_nothing(*sample.control, event) ? 100.0 : 0.0;
    const bool stale = count_role(sample, "outdated") + count_role(sample, "rumour") > 0;
    if (stale && sample.control) {
      const double with = score_answer(sample.answer, event.answers).em,
                   without = score_answer(*sample.control, event.answers).em;
      out.push_back({.quantity = "stale_cost", .value = 100 * (without - with), .null = 0});
    }
  }
  add_attention(sample, out);
  return out;
}

}  // namespace buoy
