#include "buoy/analysis/retrieval_heads.h"

#include <algorithm>

#include "buoy/analysis/mean.h"

namespace buoy {
namespace {

struct AnswerToken {
  Index g;         // generated position, from 0
  TokenId token;   // what it became
  Index distinct;  // number of the token among the distinct ones
};

// What heads are asked about; the same for all of them.
struct Question {
  std::vector<AnswerToken> answer;
  Index distinct = 0;  // answer tokens
  Index findable = 0;  // those that occur in the evidence
  Index evidence = 0;  // positions
  double chance = 0;   // of a weight to lie on the evidence
};

Question question_of(const Trace& trace) {
  Question out;
  std::vector<TokenId> evidence, distinct;
  for (Index j = 0; j < trace.N(); ++j) {
    if (trace.evidence[j]) evidence.push_back(trace.tokens[j]);
  }
  out.evidence = std::ssize(evidence);
  Mean chance;
  for (Index g = 0; g < std::ssize(trace.answer.rows); ++g) {
    const Index position = trace.prompt_length + g;
    const RegionKind kind = trace.regions.regions[trace.regions.of[position]].kind;
    const bool is_answer = kind == RegionKind::kAnswer && trace.classes[position] != TokenClass::kEosPad;
    if (!is_answer || trace.answer.rows[g] < 0 || trace.answer.visible[g] < 1) continue;
    const TokenId token = trace.tokens[position];
    const auto known = std::ranges::find(distinct, token);
    out.answer.push_back({.g = g, .token = token, .distinct = known - distinct.begin()});
    if (known == distinct.end()) distinct.push_back(token);
    chance.add(static_cast<double>(out.evidence) / static_cast<double>(trace.answer.visible[g]));
  }
  out.distinct = std::ssize(distinct);
  out.findable = std::ranges::count_if(
      distinct, [&](TokenId token) { return std::ranges::find(evidence, token) != evidence.end(); });
  if (!chance.empty()) out.chance = chance.value();
  return out;
}

struct HeadScore {
  Index copied = 0;
  Mean mass;
};

HeadScore score_head(const Trace& trace, const Question& question, Index head) {
  HeadScore out;
  std::vector<char> copied(question.distinct);
  for (const AnswerToken& token : question.answer) {
    const Index at = token.g * trace.L() * trace.H() + head;
    const Index key = trace.answer.argmax[at];
    if (key >= 0 && trace.evidence[key] && trace.tokens[key] == token.token) copied[token.distinct] = 1;
    out.mass.add(trace.answer.evidence_mass[at]);
  }
  out.copied = std::ranges::count(copied, 1);
  return out;
}

}  // namespace

Measurements retrieval_heads(const Trace& trace, const AnalysisOptions&) {
  Measurements out;
  const Question question = question_of(trace);
  if (question.evidence == 0 || question.answer.empty()) return out;
  std::vector<const char*> parts = {"all"};
  if (trace.header.correct.value_or(false)) parts.push_back("correct");
  for (const char* part : parts) {
    for (Index head = 0; head < trace.L() * trace.H(); ++head) {
      const HeadScore score = score_head(trace, question, head);
      const auto add = [&](const char* quantity, double value) {
        out.push_back({.quantity = quantity,
                       .layer = trace.layers[head / trace.H()],
                       .head = head % trace.H(),
                       .part = part,
                       .value = value});
      };
      const double copied = static_cast<double>(score.copied);
      if (question.findable > 0) add("copy", copied / static_cast<double>(question.findable));
      add("copy_wu", copied / static_cast<double>(question.evidence));
      add("mass", score.mass.value());
      add("lift", score.mass.value() / question.chance);
    }
  }
  return out;
}

}  // namespace buoy
