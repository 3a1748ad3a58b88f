// What a replayed stream comes to: scores, hits, answers that follow old versions and rumours, and attention
// to passages by what they are; over the whole stream, over time, and around changes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/analysis/sample_table.h"
#include "buoy/corpus/answer_score.h"
#include "buoy/corpus/event_stream.h"

namespace buoy {

// A passage of a prompt: which version of which document, and what it is to the question
// (DocumentLedger::role_for).
struct ReplayPassage {
  std::string id;
  Index version = 0;
  std::string role;
};

// An answer of a model to a question of the stream.
struct ReplaySample {
  std::string model;
  Index question = 0;  // among the stream's questions, from 0
  std::string answer;
  std::vector<ReplayPassage> passages;  // of the prompt, in order
  std::optional<std::string> control;   // the answer without outdated and false passages, where it is known
  Measurements seen = {};               // "direct_per_token" of the analysis flow; may be empty
};

// A quantity of the tables, in percent unless its label says otherwise. docs/definitions.md defines them.
struct ReplayQuantity {
  std::string_view name, label, null;  // what the null is
};
std::span<const ReplayQuantity> replay_quantities();

// Everything that is measured of one sample. `others` are the right answers of other questions.
Measurements measure_replay(const ReplaySample& sample, const Event& event, const StreamQuestion& question,
                            std::span<const std::vector<std::string>* const> others);

// Whether an answer holds one of `wrong` and no right one.
bool follows(std::string_view answer, std::span<const std::string> wrong, std::span<const std::string> right);

// Questions that follow each other, about as many in each window.
struct ReplayWindow {
  std::string name;           // "61-94": first and last event
  Index first = 0, last = 0;  // places in the stream, from 1
  double middle = 0;          // mean place of its questions
};

struct ReplayRow {
  std::string model;
  std::string scope;  // "all", "window", "change" or "step"
  std::string part;   // the window; "changed -1", "kept 2" …; "changed", "kept"; empty for "all"
  std::string quantity;
  Index n = 0, questions = 0;  // samples that have it; different questions, which are resampled
  double mean = 0;
  std::optional<double> lo, hi, null;
};

struct ReplayTable {
  std::vector<std::string> models;
  std::vector<ReplayWindow> windows;
  std::vector<ReplayRow> rows;

  // nullptr where no sample has it.
  const ReplayRow* find(std::string_view model, std::string_view scope, std::string_view part,
                        std::string_view quantity) const;
};

inline constexpr Index kMostWindows = 12;      // over time
inline constexpr Index kWindowQuestions = 10;  // at least, where there are as many
inline constexpr Index kMostOffset = 3;        // around a change

// `models` in the order of the rows. "step" is what is measured first after a change less what was measured
// last before it. Intervals resample questions (words), so that one asked often counts as one.
ReplayTable make_replay_table(std::span<const Event> events, std::span<const ReplaySample> samples,
                              const std::vector<std::string>& models);

// For a terminal; as CSV with every number; as JSON. `about`: see score_json().
std::string replay_text(const ReplayTable& table);
std::string replay_csv(const ReplayTable& table);
std::string replay_json(const ReplayTable& table, const std::string& about = "");

}  // namespace buoy
