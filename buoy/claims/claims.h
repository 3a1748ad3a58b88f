// Verdicts on what papers claim: each claim is one contrast with its direction and its δ, fixed beforehand,
// and compared with every null that applies to it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buoy/analysis/null_model.h"
#include "buoy/analysis/sample_table.h"
#include "buoy/model/family.h"

namespace buoy {

// Which table a claim is judged from; see Evidence.
enum class ClaimSource { kAnalyses, kByGold, kAnswers, kStress, kInterventions };

// How one number is made from the rows of one sample.
enum class SampleNumber {
  kLayers,     // Σ value ÷ Σ weight over the chosen layers; of the sample itself where it has no layers
  kHeadShare,  // Σ over the heads of the chosen layers ÷ Σ over all heads; null: the share of heads there
  // The log of how many times as much of the answer's attention a gold passage in the chosen third of the
  // places draws as those in the other thirds that are not gold, per token, divided by the same under uniform
  // attention.
  kGoldDraws,
  kOtherDraws,  // the same of the passages in those places that are not gold
  kDifference,  // one part − another
  kRange,       // largest − smallest value of all parts that begin with the name, of two or more
};

// Of the recorded layers: a third is ⌊L/3⌋ of them, at least one, as for the depth contrast of classes;
// the deep half is all but the lower ⌊L/2⌋, as for retrieval heads.
enum class LayerChoice { kAll, kShallowThird, kDeepThird, kDeepHalf };

// Of the places of passages 1 … n: place p belongs to third ⌊3(p−1)/n⌋.
enum class PlaceChoice { kFirstThird, kMiddleThird, kLastThird };

struct ClaimSide {
  SampleNumber number = SampleNumber::kLayers;
  std::string_view quantity, part = "";  // as the analyses name them
  std::string_view less = "";            // kDifference: the part that is taken away
  LayerChoice layers = LayerChoice::kAll;
  PlaceChoice places = PlaceChoice::kFirstThird;
};

// Where the first null of a claim comes from; see also Claim::nulls.
enum class ClaimNull {
  kUniform,  // the same number under uniform attention, sample by sample
  kStated,   // stated with the claim: 0, or a share of heads
};

enum class ClaimDirection { kAbove, kBelow };

// kMasked: of every kind of model that fills masks. kAgainstCausal: each of them − each kind that appends,
// paired by sample.
enum class ClaimScope { kMasked, kAgainstCausal };

struct Claim {
  std::string_view id;        // "floating-steps"
  std::string_view paper;     // arXiv number; one of papers()
  std::string_view topic;     // "Floating"
  std::string_view sentence;  // what is claimed
  std::string_view contrast;  // what is computed
  ClaimSource source = ClaimSource::kAnalyses;
  ClaimScope scope = ClaimScope::kMasked;
  ClaimSide side;
  const ClaimSide* minus = nullptr;  // kMasked only: taken from `side`, both resampled together
  ClaimDirection direction = ClaimDirection::kAbove;
  double delta = 0;       // > 0
  std::string_view unit;  // of the contrast and of δ
  std::string_view why;   // this δ
  ClaimNull null = ClaimNull::kUniform;
  std::string_view null_name;            // that null in words
  std::span<const NullKind> nulls = {};  // those that it must exceed besides
  double beyond = 0;                     // by how much; 0: δ
  std::string_view caveat = "";          // what the contrast cannot rule out; may be empty
};

struct Paper {
  std::string_view arxiv;    // "2601.07894"
  std::string_view subject;  // in a few words, not its title
};

// In the order of the page.
std::span<const Paper> papers();

// The table, paper by paper, in the order of the page. Contrasts, directions and δ were fixed before any
// result was looked at; docs/decisions/0010 names what changed since.
std::span<const Claim> claims();

struct EvidenceModel {
  std::string name;
  Writing writing = Writing::kFillsMasks;
  // Models of one kind, trainings of one recipe by several seeds, are judged together; all write the same
  // way. Empty: a kind of its own, called as the model is.
  std::string kind = "";

  const std::string& kind_name() const { return kind.empty() ? name : kind; }
};

// The same tables made from the traces of a null, with the same keys, names of models included.
struct NullTables {
  NullKind kind = NullKind::kShuffled;
  const SampleTable *analyses = nullptr, *by_gold = nullptr;  // may be missing
};

// What the claims are judged from. Any table may be missing (nullptr): what rests on it is then not measured.
struct Evidence {
  std::vector<EvidenceModel> models;
  const SampleTable* analyses = nullptr;  // what the analyses say, as in StudyResult::table
  const SampleTable* by_gold = nullptr;   // flow, with "gold at 3" as data, as in StudyResult::by_gold
  // In both, samples for which a part of a claim changes no prompt have "same_prompt" with that part (the
  // stressor's name where it has levels): they are left out.
  const SampleTable* answers = nullptr;        // "em" in percent, part "none" (no passages) or "given"
  const SampleTable* stress = nullptr;         // "em", part "gold-position=3"; "em_slope", part "irrelevant"
  const SampleTable* interventions = nullptr;  // "em", part "none" or "mask-anchors=5"
  // Those besides uniform attention, which the analyses bring with them. Of several of one kind the strictest
  // counts.
  std::vector<NullTables> nulls = {};
};

enum class Verdict { kSupported, kNotSupported, kCannotTell, kNotMeasured };

// "supported", "not supported", "cannot tell", "not measured".
std::string_view name_of(Verdict verdict);

// By the 95 % interval [lo, hi] of value − null: supported when it lies beyond δ in the claimed direction,
// not supported when it lies wholly short of δ, else open.
Verdict verdict_of(ClaimDirection direction, double delta, double lo, double hi);

// An interval from fewer questions is no ground for a verdict; nor are scores within so many points of 0 or
// 100 %, where a model has no room to move.
inline constexpr Index kFewestQuestions = 10;
inline constexpr double kNoRoom = 3;

// The contrast of one model by itself.
struct ModelNumber {
  std::string model;
  Index n = 0;  // samples; 0: it has none, and the numbers mean nothing
  double value = 0, null = 0;
  std::string kind = "";  // empty: a kind of its own

  const std::string& kind_name() const { return kind.empty() ? model : kind; }
};

// The contrast over the models of its kinds: by Student's t, since models are few. Each model counts once, by
// its mean over all questions.
struct ModelSpread {
  Index models = 0, against = 0;                // how many; one of the two is at least 2
  double deviation = 0, against_deviation = 0;  // over the models of each kind; 0 of one model
  double lo = 0, hi = 0;                        // 95 % interval of value − null
  double error = 0;                             // standard error; 0: all models say the same
};

// The contrast beside one null, over the samples that have both.
struct NullResult {
  std::string name;     // "uniform" or "stated", then those of Claim::nulls
  Index n = 0;          // samples (pairs); 0: there are none, and the numbers below mean nothing
  Index questions = 0;  // that these samples ask: the units that are resampled
  double value = 0, null = 0;
  double excess = 0, lo = 0, hi = 0;  // value − null with its 95 % interval, bootstrap over questions
  double error = 0;                   // standard error of the excess
  double delta = 0;                   // what the excess must go beyond
  double p = 1;                       // of value − null = ±δ, two-sided
  std::string left_out = "";          // why it does not count; empty: it does
  std::optional<ModelSpread> over_models = {};  // where a kind has several models
};

// Why this interval is no ground for a verdict, in words: too few questions, or no spread. Empty where it is
// one.
std::string why_no_ground(const NullResult& null);

// A null that has fewer of the samples is left out.
inline constexpr double kLeastCovered = 0.5;

// What holds of models of this kind, not of these alone: by the same rule as over questions, of the null that
// is strictest over models.
struct OverModels {
  std::string strictest;  // its name
  double excess = 0, delta = 0;
  ModelSpread spread;
  Verdict verdict = Verdict::kCannotTell;
  std::string note;  // why it cannot be told, or what is taken as it is; may be empty
};

struct ClaimResult {
  const Claim* claim = nullptr;
  // Kinds: a model that has no other of its kind beside it goes by its own name.
  std::string model;    // empty: there is no masked model
  std::string against;  // of comparisons: the causal one; empty: there is none
  // Beside every null; the first is the claim's own. Empty: not measured, and the numbers below mean nothing.
  std::vector<NullResult> nulls = {};
  // Of the strictest, the one whose excess goes least beyond its δ:
  std::string strictest = "";  // its name
  Index n = 0, questions = 0;
  double value = 0, null = 0, excess = 0, lo = 0, hi = 0, delta = 0;
  // Of a verdict for or of none: the largest of the nulls that count, since all must be exceeded. Of one
  // against, where one is enough: that of the strictest, times how many there are. Nothing where nothing can
  // be told.
  std::optional<double> p;
  bool survives = false;                    // the verdict stands by Holm's correction over all that have a p
  Verdict verdict = Verdict::kNotMeasured;  // over questions, of these models
  std::optional<OverModels> over_models = {};  // where a kind has several models and it was measured
  std::string note;  // why it was not measured or cannot be told, and which nulls are left out; may be empty
  std::vector<ModelNumber> each = {};  // the same of every model by itself, to read beside it
};

// Holm's step-down rule: which of these p are significant at `level` when all of them were looked at.
std::vector<bool> holm(std::span<const double> p, double level);

// The verdict in words, and where a kind has several models which of the two intervals bears it: "supported",
// "supported over questions and over 3 models", "supported over questions, cannot tell over 3 models".
std::string verdict_words(const ClaimResult& result);

// Every claim for every kind of masked model, and against every causal one where it compares; at least one
// result for each claim. Samples of all data sets count alike, and so do the models of a kind.
std::vector<ClaimResult> judge(const Evidence& evidence);
// The same of other claims than the table's, which must outlive the results.
std::vector<ClaimResult> judge(const Evidence& evidence, std::span<const Claim> claims);

// claim,paper,topic,model,against,n,questions,value,null,value_minus_null,lo,hi,direction,delta,unit,each,
// strictest_null,nulls,p,survives_holm,verdict,models,models_against,spread,spread_against,models_lo,models_hi,
// verdict_over_models,note. `each`: the value of every model by itself, "mini-mdm=0.2;mini-arm=0.7". `nulls`:
// what each null that counts comes to, "stated=0;frozen=0.1".
std::string claims_csv(std::span<const ClaimResult> results);

}  // namespace buoy
