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
    default:
      throw InternalError("a shape has a letter that no size has");
  }
}

// Where an array is.
template <auto member>
ArrayPlace sequence(Trace& t) {
  return &(t.*member);
}
template <auto member>
ArrayPlace step(Trace& t) {
  return &(t.steps.*member);
}
template <auto member>
ArrayPlace answer(Trace& t) {
  return &(t.answer.*member);
}
template <auto member>
ArrayPlace finished(Trace& t) {
  return &(t.finished.*member);
}

using enum Presence;
using enum Holds;
using enum UnderUniform;

constexpr TraceArray kArrays[] = {
    {"evidence", "N", sequence<&Trace::evidence>, kAlways, kNothingMore, kSame},
    {"commit_step", "G", sequence<&Trace::commit_step>, kAlways, kNothingMore, kSame},
    {"confidence", "G", sequence<&Trace::confidence>, kAlways, kNothingMore, kSame},

    {"step_lengths", "S", step<&StepRecord::lengths>, kAlways, kLength, kSame},
    {"step_tokens", "SN", step<&StepRecord::tokens>, kAlways, kNothingMore, kSame},
    {"received", "SLN", step<&StepRecord::received>, kIfAsked, kRowsSumToOne, kReceived},
    {"received_read", "SLN", step<&StepRecord::received_read>, kIfAsked, kRowsSumToOne, kReceivedRead},
    {"received_heads", "SLHN", step<&StepRecord::received_heads>, kIfAsked, kRowsSumToOne, kReceived},
    {"flow", "SLRR", step<&StepRecord::flow>, kIfAsked, kRowsSumToOneOrZero, kFlow},
    {"score_means", "SLN", step<&StepRecord::score_means>, kIfAsked, kNothingMore, kZero},
    {"cosine_means", "SLN", step<&StepRecord::cosine_means>, kIfAsked, kNothingMore, kZero},
    {"norm_means", "SLN", step<&StepRecord::norm_means>, kIfAsked, kNothingMore, kSame},

    {"answer_rows", "G", answer<&AnswerRecord::rows>, kIfAsked, kPosition, kSame},
    {"answer_visible", "G", answer<&AnswerRecord::visible>, kWithAnswerRows, kKeyCount, kSame},
    {"answer_argmax", "GLH", answer<&AnswerRecord::argmax>, kWithAnswerRows, kPosition, kRowArgmax},
    {"answer_weight", "GLH", answer<&AnswerRecord::weight>, kWithAnswerRows, kNothingMore, kRowWeight},
    {"answer_entropy", "GLH", answer<&AnswerRecord::entropy>, kWithAnswerRows, kNothingMore, kRowLogKeys},
    {"answer_evidence_mass", "GLH", answer<&AnswerRecord::evidence_mass>, kWithAnswerRows, kNothingMore,
     kRowEvidence},

    {"finished_received", "LHN", finished<&FinishedRecord::received>, kAlways, kRowsSumToOne, kReceived},
    {"finished_row_entropy", "LH", finished<&FinishedRecord::row_entropy>, kAlways, kNothingMore,
     kRowEntropy},
    {"finished_output_norm", "LH", finished<&FinishedRecord::output_norm>, kAlways, kNothingMore,
     kOutputNorm},
    {"finished_uniform_norm", "LK", finished<&FinishedRecord::uniform_norm>, kAlways, kNothingMore, kSame},
    {"finished_value_norms", "LKN", finished<&FinishedRecord::value_norms>, kAlways, kNothingMore, kSame},
    {"finished_key_norms", "LKN", finished<&FinishedRecord::key_norms>, kAlways, kNothingMore, kSame},
    {"finished_score_means", "LHN", finished<&FinishedRecord::score_means>, kAlways, kNothingMore, kZero},
    {"finished_cosine_means", "LHN", finished<&FinishedRecord::cosine_means>, kAlways, kNothingMore, kZero},
    {"finished_norm_means", "LHN", finished<&FinishedRecord::norm_means>, kAlways, kNothingMore, kSame},
    {"finished_flow", "LRR", finished<&FinishedRecord::flow>, kAlways, kRowsSumToOneOrZero, kFlow},
};

constexpr std::string_view kFrame[] = {"header",           "tokens",      "token_texts",  "token_classes",
                                       "layers",           "steps",       "region_names", "region_kinds",
                                       "region_documents", "region_gold", "region_spans"};

}  // namespace

Shape TraceArray::shape_in(const Trace& trace) const {
  Shape sizes;
  for (const char letter : shape) sizes.push_back(size_of_letter(letter, trace));
  return sizes;
}

std::span<const TraceArray> trace_arrays() {
  return kArrays;
}

std::span<const std::string_view> frame_arrays() {
  return kFrame;
}

}  // namespace buoy
