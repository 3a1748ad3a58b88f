#include "buoy/probe/trace_arrays.h"

#include "buoy/base/error.h"

namespace buoy {
namespace {

Index size_of_letter(char letter, const Trace& t) {
  switch (letter) {
    case 'N':
      return t.N();
    case 'G':
      return t.G();
    case 'S':
      return t.S();
    case 'L':
      return t.L();
    case 'H':
      return t.H();
    case 'K':
      return t.Hkv();
    case 'R':
      return t.R();
    case 'X':
      return t.X();
    default:
      throw InternalError("a shape has a letter that no size has");
  }
}

// Where an array is.
template <auto member>
ArrayPlace in_sequence(Trace& t) {
  return &(t.*member);
}
template <auto member>
ArrayPlace in_step(Trace& t) {
  return &(t.steps.*member);
}
template <auto member>
ArrayPlace in_answer(Trace& t) {
  return &(t.answer.*member);
}
template <auto member>
ArrayPlace in_finished(Trace& t) {
  return &(t.finished.*member);
}

constexpr std::string_view kFrame[] = {"header",           "tokens",      "token_texts",  "token_classes",
                                       "layers",           "steps",       "region_names", "region_kinds",
                                       "region_documents", "region_gold", "region_spans"};

}  // namespace

Shape TraceArray::shape_in(const Trace& trace) const {
  Shape sizes;
  for (const char letter : shape) sizes.push_back(size_of_letter(letter, trace));
  return sizes;
}

void append_step(const TraceArray& array, const Trace& step, Trace& trace) {
  array.visit(step, [&](const auto& from) {
    using Values = std::remove_cvref_t<decltype(from)>;
    using Value = typename Values::value_type;
    Values& to = *std::get<Values*>(array.place(trace));
    const std::size_t positions = array.shape.find('N');
    if (positions == array.shape.npos) {
      to.insert(to.end(), from.begin(), from.end());
      return;
    }
    Index each = 1;  // values a position
    for (const char letter : array.shape.substr(positions + 1)) each *= size_of_letter(letter, trace);
    const Index now = step.steps.lengths.front(), width = now * each;
    const Value filling = std::is_same_v<Value, TokenId> ? Value{-1} : Value{0};
    for (auto row = from.begin(); row != from.end(); row += width) {
      to.insert(to.end(), row, row + width);
      to.insert(to.end(), static_cast<std::size_t>((trace.N() - now) * each), filling);
    }
  });
}

void drop_routing(Trace& trace) {
  for (const TraceArray& array : trace_arrays()) {
    if (array.under_uniform == UnderUniform::kGone) array.visit(trace, [](auto& values) { values.clear(); });
  }
}

std::span<const TraceArray> trace_arrays() {
  using enum Presence;
  using enum Holds;
  using enum UnderUniform;
  static constexpr TraceArray kArrays[] = {
      {"evidence", "N", in_sequence<&Trace::evidence>, kAlways, kFlag, kSame},
      {"commit_step", "G", in_sequence<&Trace::commit_step>, kAlways, kStep, kSame},
      {"confidence", "G", in_sequence<&Trace::confidence>, kAlways, kNothingMore, kSame},

      {"step_lengths", "S", in_step<&StepRecord::lengths>, kAlways, kLength, kSame},
      {"step_tokens", "SN", in_step<&StepRecord::tokens>, kAlways, kNothingMore, kSame},
      {"received", "SLN", in_step<&StepRecord::received>, kIfAsked, kRowsSumToOne, kReceived},
      {"received_read", "SLN", in_step<&StepRecord::received_read>, kIfAsked, kRowsSumToOne, kReceivedRead},
      {"received_heads", "SLHN", in_step<&StepRecord::received_heads>, kIfAsked, kRowsSumToOne, kReceived},
      {"step_read", "SN", in_step<&StepRecord::read>, kIfAsked, kFlag, kSame},
      {"guesses", "SN", in_step<&StepRecord::guesses>, kIfAsked, kNothingMore, kSame},
      {"guess_confidence", "SN", in_step<&StepRecord::guess_confidence>, kIfAsked, kNothingMore, kSame},
      {"received_staying", "SLN", in_step<&StepRecord::received_staying>, kIfAsked, kRowsSumToOneOrZero,
       kReceivedStaying},
      {"received_frozen", "SLN", in_step<&StepRecord::received_frozen>, kIfAsked, kRowsSumToOne,
       kReceivedRead},
      {"flow", "SLRR", in_step<&StepRecord::flow>, kIfAsked, kRowsSumToOneOrZero, kFlow},
      {"score_means", "SLN", in_step<&StepRecord::score_means>, kIfAsked, kNothingMore, kZero},
      {"cosine_means", "SLN", in_step<&StepRecord::cosine_means>, kIfAsked, kNothingMore, kZero},
      {"norm_means", "SLN", in_step<&StepRecord::norm_means>, kIfAsked, kNothingMore, kSame},
      {"key_change", "SLN", in_step<&StepRecord::key_change>, kIfAsked, kNothingMore, kSame},
      {"experts", "SLNX", in_step<&StepRecord::experts>, kIfAsked, kExpert, kGone},
      {"expert_weights", "SLNX", in_step<&StepRecord::expert_weights>, kIfAsked, kNothingMore, kGone},

      {"answer_rows", "G", in_answer<&AnswerRecord::rows>, kIfAsked, kPosition, kSame},
      {"answer_visible", "G", in_answer<&AnswerRecord::visible>, kWithAnswerRows, kKeyCount, kSame},
      {"answer_argmax", "GLH", in_answer<&AnswerRecord::argmax>, kWithAnswerRows, kPosition, kRowArgmax},
      {"answer_weight", "GLH", in_answer<&AnswerRecord::weight>, kWithAnswerRows, kShare, kRowWeight},
      {"answer_entropy", "GLH", in_answer<&AnswerRecord::entropy>, kWithAnswerRows, kNotNegative,
       kRowLogKeys},
      {"answer_evidence_mass", "GLH", in_answer<&AnswerRecord::evidence_mass>, kWithAnswerRows, kShare,
       kRowEvidence},
      {"answer_mass", "GLR", in_answer<&AnswerRecord::region_mass>, kIfAskedWithAnswerRows,
       kRowsSumToOneOrZero, kRowRegions},

      {"finished_received", "LHN", in_finished<&FinishedRecord::received>, kAlways, kRowsSumToOne, kReceived},
      {"finished_row_entropy", "LH", in_finished<&FinishedRecord::row_entropy>, kAlways, kNotNegative,
       kRowEntropy},
      {"finished_output_norm", "LH", in_finished<&FinishedRecord::output_norm>, kAlways, kNotNegative,
       kOutputNorm},
      {"finished_uniform_norm", "LK", in_finished<&FinishedRecord::uniform_norm>, kAlways, kNotNegative,
       kSame},
      {"finished_value_norms", "LKN", in_finished<&FinishedRecord::value_norms>, kAlways, kNotNegative,
       kSame},
      {"finished_key_norms", "LKN", in_finished<&FinishedRecord::key_norms>, kAlways, kNotNegative, kSame},
      {"finished_score_means", "LHN", in_finished<&FinishedRecord::score_means>, kAlways, kNothingMore,
       kZero},
      {"finished_cosine_means", "LHN", in_finished<&FinishedRecord::cosine_means>, kAlways, kNothingMore,
       kZero},
      {"finished_norm_means", "LHN", in_finished<&FinishedRecord::norm_means>, kAlways, kNothingMore, kSame},
      {"finished_recency_means", "LHN", in_finished<&FinishedRecord::recency_means>, kIfAsked, kShare, kSame},
      {"finished_flow", "LRR", in_finished<&FinishedRecord::flow>, kAlways, kRowsSumToOneOrZero, kFlow},
      {"finished_experts", "LNX", in_finished<&FinishedRecord::experts>, kIfAsked, kExpert, kGone},
      {"finished_expert_weights", "LNX", in_finished<&FinishedRecord::expert_weights>, kIfAsked, kNothingMore,
       kGone},
  };
  return kArrays;
}

std::span<const std::string_view> frame_arrays() {
  return kFrame;
}

}  // namespace buoy
