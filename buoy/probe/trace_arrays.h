// Every numeric array of a trace, declared once: its name in the file, where it is, its shape, what must hold
// of it, and what it would be if attention were uniform. Writing, reading, checking and the null model go
// over it.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "buoy/probe/trace.h"

namespace buoy {

// When an array is there: always, if it was asked for, if the rows that wrote the answer were, or if both
// were.
enum class Presence { kAlways, kIfAsked, kWithAnswerRows, kIfAskedWithAnswerRows };

// What must hold, beside the size and that no number is NaN or infinite.
enum class Holds {
  kNothingMore,
  kRowsSumToOne,        // over the last dimension
  kRowsSumToOneOrZero,  // the same; 0 where a region has no positions, or there is no row
  kPosition,            // -1 … N - 1
  kKeyCount,            // 0 … N
  kLength,              // the prompt's length (at least 1) … N
  kStep,                // -1 … the largest number of a pass
  kShare,               // 0 … 1
  kNotNegative,
  kFlag,    // 0 or 1
  kExpert,  // -1 … the number of experts - 1
};

// What uniform attention makes of an array. With S in its shape: at each step, over the keys there were.
enum class UnderUniform {
  kSame,             // it is not about where attention goes
  kGone,             // the same, and it has a null of its own: no trace without routing has it
  kZero,             // scores and cosines: no key is favoured
  kReceived,         // by every key, from all rows
  kReceivedRead,     // from the rows that are read
  kReceivedStaying,  // from those of them that stay; 0 where none do
  kFlow,             // between regions
  kRowEntropy,       // mean over all rows
  kOutputNorm,       // the uniform_norm that was measured beside it
  kRowArgmax,        // of one row with the keys it could see: the first of them,
  kRowWeight,        // the weight of each,
  kRowLogKeys,       // the entropy,
  kRowEvidence,      // the mass on the evidence,
  kRowRegions,       // the mass on each region, everything generated counting as Answer
};

using ArrayPlace = std::variant<std::vector<float>*, std::vector<double>*, std::vector<Index>*,
                                std::vector<std::int32_t>*, std::vector<std::int8_t>*>;

struct TraceArray {
  std::string_view name;
  std::string_view shape;  // letters of docs/trace.md: N, G, S, L, H, K (key heads), R, X (experts)
  ArrayPlace (*place)(Trace& trace);
  Presence presence;
  Holds holds;
  UnderUniform under_uniform;

  Shape shape_in(const Trace& trace) const;
  bool has_steps() const { return shape.front() == 'S'; }

  // body(values), a vector of the array's own type.
  template <class Body>
  void visit(Trace& trace, const Body& body) const {
    std::visit([&](auto* values) { body(*values); }, place(trace));
  }
  template <class Body>
  void visit(const Trace& trace, const Body& body) const {
    // place() only finds the member; nothing is written.
    std::visit([&](const auto* values) { body(*values); }, place(const_cast<Trace&>(trace)));
  }
};

// Appends one recorded step, at its own length, to the steps of a trace, which has more positions: those that
// are not there yet hold 0, tokens and experts -1.
void append_step(const TraceArray& array, const Trace& step, Trace& trace);

// Empties what has no null among attention's.
void drop_routing(Trace& trace);

// The table.
std::span<const TraceArray> trace_arrays();

// The other arrays of the file, from which the sizes follow: header, tokens, regions, layers and steps.
std::span<const std::string_view> frame_arrays();

}  // namespace buoy
