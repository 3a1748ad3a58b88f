// The claims of the paper on attention floating. A contrast, direction or δ is never changed to fit a result:
// what changed, and why, stands in docs/decisions/0010.
#include "buoy/claims/claim_table.h"

namespace buoy {
namespace {

constexpr std::string_view kPaper = "2601.07894";

constexpr ClaimSide kScaleDeep{.quantity = "scale_share", .layers = LayerChoice::kDeepThird};
constexpr ClaimSide kEffectiveDeep{.quantity = "effective_share", .layers = LayerChoice::kDeepThird};
constexpr ClaimSide kRowEntropyDeep{.quantity = "row_entropy", .layers = LayerChoice::kDeepThird};

// What the answer's own rows send straight into the passages of a third of the places.
constexpr ClaimSide passages(SampleNumber number, PlaceChoice places) {
  return {
      .number = number, .quantity = "direct_per_token", .layers = LayerChoice::kDeepHalf, .places = places};
}

constexpr ClaimSide kOtherFirst = passages(SampleNumber::kOtherDraws, PlaceChoice::kFirstThird);
constexpr ClaimSide kOtherMiddle = passages(SampleNumber::kOtherDraws, PlaceChoice::kMiddleThird);
constexpr ClaimSide kOtherLast = passages(SampleNumber::kOtherDraws, PlaceChoice::kLastThird);

constexpr std::string_view kFlowContrast =
    "log of: attention of the rows that wrote the answer, in the pass that committed each, into the gold "
    "passage ÷ "
    "into the passages of the other two thirds of the places, per token, relative to uniform attention, deep "
    "half of the layers; less the same of passages that are not gold but stand in the same third";
constexpr std::string_view kFlowWhy = "a tenth more than a passage draws by standing there";
constexpr std::string_view kFlowCaveat =
    "Places within a third are taken as alike, and attention is not information: a head may look at a "
    "passage and write nothing of it. The log was taken after a first run of a few questions, in which the "
    "ratio "
    "itself had no mean under recency; all else was fixed before.";
constexpr std::string_view kNoGold = "a passage that is not gold in the same place: 0";

// The same claim for each third of the places.
constexpr Claim flow_claim(std::string_view id, std::string_view sentence, PlaceChoice places,
                           const ClaimSide& other) {
  return {.id = id,
          .paper = kPaper,
          .topic = "Flow",
          .sentence = sentence,
          .contrast = kFlowContrast,
          .source = ClaimSource::kByGold,
          .side = passages(SampleNumber::kGoldDraws, places),
          .minus = &other,
          .delta = 0.1,
          .unit = "log ratio",
          .why = kFlowWhy,
          .null = ClaimNull::kStated,
          .null_name = kNoGold,
          .nulls = kFixedNulls,
          .caveat = kFlowCaveat};
}

constexpr std::array kClaims = {
    Claim{.id = "floating-steps",
          .paper = kPaper,
          .topic = "Floating",
          .sentence =
              "The anchors of a masked diffusion model change from one denoising step to the next, more "
              "than those of an autoregressive one.",
          .contrast =
              "turnover of the anchors between consecutive steps that write the answer, over the rows read "
              "at both, mean over layers: masked − autoregressive",
          .scope = ClaimScope::kAgainstCausal,
          .side = {.quantity = "turnover", .part = "fixed writing"},
          .delta = 0.1,
          .unit = "share of anchors per step",
          .why = "a tenth more per step: a whole set more within an answer of some ten to twenty steps",
          .null = ClaimNull::kStated,
          .null_name = kAlike,
          .nulls = kStepNulls,
          .caveat =
              "Keys that hover around the threshold come and go too. Rows that an autoregressive model has "
              "computed never change, so its own turnover is 0 by construction: what the comparison adds "
              "is that the masked model has no such fixed rows."},
    Claim{.id = "floating-layers",
          .paper = kPaper,
          .topic = "Floating",
          .sentence = "The anchors of a masked diffusion model change from one layer to the next, more than "
                      "those of an autoregressive one.",
          .contrast =
              "float index: turnover of the anchors between consecutive layers at the same step, steps that "
              "write the answer, read rows, mean over layers: masked − autoregressive",
          .scope = ClaimScope::kAgainstCausal,
          .side = {.quantity = "float_index", .part = "read writing"},
          .delta = 0.2,
          .unit = "share of anchors per layer",
          .why = "of five anchors one more comes or goes at every layer",
          .null = ClaimNull::kStated,
          .null_name = kAlike,
          .nulls = kFixedNulls,
          .caveat = "Keys that hover around the threshold come and go too."},
    Claim{.id = "no-fixed-sink",
          .paper = kPaper,
          .topic = "Floating",
          .sentence = "An autoregressive model fixes on its first token; a masked diffusion model does not.",
          .contrast =
              "share of the steps that write the answer, and of layers, whose strongest key is the first "
              "token and is an anchor, all rows: masked − autoregressive",
          .scope = ClaimScope::kAgainstCausal,
          .side = {.quantity = "sink_share", .part = "all writing"},
          .direction = ClaimDirection::kBelow,
          .delta = 0.25,
          .unit = "share of steps and layers",
          .why = "a quarter of all steps and layers: no matter of a few odd ones",
          .null = ClaimNull::kStated,
          .null_name = kAlike,
          .nulls = kFixedNulls},
    Claim{
        .id = "anchors-shift-right",
        .paper = kPaper,
        .topic = "Floating",
        .sentence = "Anchors shift to the right as denoising proceeds.",
        .contrast = "slope of the mean anchor position, weighted by attention, over the steps that write the "
                    "answer, as a share of the sequence, read rows, mean over layers",
        .side = {.quantity = "drift_relative", .part = "read writing"},
        .delta = 0.002,
        .unit = "of the sequence per step",
        .why = "a tenth of the sequence within fifty steps",
        .null = ClaimNull::kStated,
        .null_name = "anchors that stay where they are: 0",
        .nulls = kStepNulls,
        .caveat = "A model that fills its answer from left to right also reads from ever further right; the "
                  "frozen run shows what that alone does."},
    Claim{.id = "absorption-weaker",
          .paper = kPaper,
          .topic = "Absorption",
          .sentence =
              "The strongest token of a masked diffusion model absorbs less attention than the sink of "
              "an autoregressive one.",
          .contrast = "attention on the strongest key, finished sequence, mean over layers: masked − "
                      "autoregressive, beyond what the two masks alone do",
          .scope = ClaimScope::kAgainstCausal,
          .side = {.quantity = "absorb_top1", .part = "finished"},
          .direction = ClaimDirection::kBelow,
          .delta = 5,
          .unit = "% of attention",
          .why = "one part in twenty of all attention",
          .null_name = kUniformNull,
          .nulls = kFixedNulls},
    Claim{.id = "absorption-spread",
          .paper = kPaper,
          .topic = "Absorption",
          .sentence = "Attention is spread over more tokens in a masked diffusion model.",
          .contrast =
              "entropy of received attention, finished sequence, mean over heads and layers: masked − "
              "autoregressive, beyond what the two masks alone do",
          .scope = ClaimScope::kAgainstCausal,
          .side = {.quantity = "entropy"},
          .delta = 0.2,
          .unit = "nats",
          .why = "0.2 nats are about a fifth more keys that effectively share the attention",
          .null_name = kUniformNull,
          .nulls = kFixedNulls},
    Claim{
        .id = "shallow-structure",
        .paper = kPaper,
        .topic = "Depth",
        .sentence = "Shallow layers attend to structure.",
        .contrast = "lift of structural tokens, shallow third − deep third of the layers, finished sequence",
        .side = {.quantity = "structural_contrast", .part = "finished"},
        .delta = 0.1,
        .unit = "lift",
        .why = "a tenth of what the number of such tokens would bring by chance",
        .null_name = kUniformNull,
        .nulls = kFixedNulls},
    Claim{.id = "deep-content",
          .paper = kPaper,
          .topic = "Depth",
          .sentence = "Deep layers attend to content.",
          .contrast = "lift of content tokens, shallow third − deep third of the layers, finished sequence",
          .side = {.quantity = "content_contrast", .part = "finished"},
          .direction = ClaimDirection::kBelow,
          .delta = 0.1,
          .unit = "lift",
          .why = "a tenth of what the number of such tokens would bring by chance",
          .null_name = kUniformNull,
          .nulls = kFixedNulls},
    Claim{.id = "deep-sparser",
          .paper = kPaper,
          .topic = "Depth",
          .sentence = "Deep layers share their attention among fewer tokens.",
          .contrast =
              "effective share of keys, exp(entropy of received attention) ÷ N, finished sequence, mean over "
              "heads: shallow third − deep third of the layers",
          .side = {.quantity = "effective_share", .layers = LayerChoice::kShallowThird},
          .minus = &kEffectiveDeep,
          .delta = 0.05,
          .unit = "share of keys",
          .why = "one key in twenty that drops out",
          .null_name = kUniformNull,
          .nulls = kFixedNulls},
    Claim{.id = "deep-sharper",
          .paper = kPaper,
          .topic = "Depth",
          .sentence = "The rows of deep layers are sharper.",
          .contrast =
              "mean entropy of rows, finished sequence, mean over heads: shallow third − deep third of the "
              "layers",
          .side = {.quantity = "row_entropy", .layers = LayerChoice::kShallowThird},
          .minus = &kRowEntropyDeep,
          .delta = 0.2,
          .unit = "nats",
          .why = "0.2 nats are about a fifth fewer keys that a row effectively looks at",
          .null_name = kUniformNull,
          .nulls = kShuffledNull,
          .caveat = "Attention that falls off with distance is no null here: it is fitted to this entropy."},
    Claim{
        .id = "deep-angle",
        .paper = kPaper,
        .topic = "Geometry",
        .sentence = "In deep layers the direction of their keys makes anchors attractive, not their length.",
        .contrast =
            "share of the anchors' lead in score that directions explain − share that lengths explain, "
            "deep third of the layers",
        .side = {.quantity = "angle_share", .layers = LayerChoice::kDeepThird},
        .minus = &kScaleDeep,
        .delta = 0.2,
        .unit = "share of the lead",
        .why = "60 against 40 of what the two explain",
        .null = ClaimNull::kStated,
        .null_name = "direction and length alike: 0",
        .nulls = kShuffledNull,
        .caveat = "What the two do together counts for neither."},
    Claim{.id = "shallow-norm",
          .paper = kPaper,
          .topic = "Geometry",
          .sentence = "In shallow layers the length of their keys makes anchors attractive too.",
          .contrast =
              "share of the anchors' lead in score that lengths explain, shallow third − deep third of "
              "the layers",
          .side = {.quantity = "scale_share", .layers = LayerChoice::kShallowThird},
          .minus = &kScaleDeep,
          .delta = 0.1,
          .unit = "share of the lead",
          .why = "a tenth of the lead",
          .null = ClaimNull::kStated,
          .null_name = "shallow and deep alike: 0",
          .nulls = kShuffledNull},
    Claim{.id = "retrieval-deep",
          .paper = kPaper,
          .topic = "Retrieval",
          .sentence = "Retrieval heads sit in deep layers.",
          .contrast = "share of all copying (copy score, summed over heads) that heads of the deep half do",
          .side = {.number = SampleNumber::kHeadShare,
                   .quantity = "copy",
                   .part = "all",
                   .layers = LayerChoice::kDeepHalf},
          .delta = 0.1,
          .unit = "share of copying",
          .why = "60 against 40",
          .null = ClaimNull::kStated,
          .null_name = "all heads copy alike: the share of heads in the deep half",
          .nulls = kShuffledNull},
    flow_claim("flow-gold-first", "The answer draws on the gold passage when it stands first.",
               PlaceChoice::kFirstThird, kOtherFirst),
    flow_claim("flow-gold-middle", "The answer draws on the gold passage when it stands in the middle.",
               PlaceChoice::kMiddleThird, kOtherMiddle),
    flow_claim("flow-gold-last", "The answer draws on the gold passage when it stands last.",
               PlaceChoice::kLastThird, kOtherLast),
    Claim{.id = "task-anchors",
          .paper = kPaper,
          .topic = "Tasks",
          .sentence = "Which tokens are anchors depends on the task.",
          .contrast =
              "Jensen–Shannon divergence of a sample's anchor profile to the mean profile of each other "
              "task, averaged, − to that of its own task without it",
          .side = {.quantity = "task_contrast"},
          .delta = 0.02,
          .unit = "nats",
          .why = "as far apart as two coins whose chances differ by a fifth (0.4 and 0.6)",
          .null = ClaimNull::kStated,
          .null_name = "other tasks as near as its own: 0",
          .nulls = kShuffledNull,
          .caveat = "Prompts of different tasks differ in length and wording too."},
    Claim{.id = "rag-gain",
          .paper = kPaper,
          .topic = "Answers",
          .sentence = "A masked diffusion model gains more from passages than an autoregressive one.",
          .contrast = "exact match with passages − without: masked − autoregressive",
          .source = ClaimSource::kAnswers,
          .scope = ClaimScope::kAgainstCausal,
          .side = {.number = SampleNumber::kDifference, .quantity = "em", .part = "given", .less = "none"},
          .delta = 5,
          .unit = "points of exact match",
          .why = "one more question in twenty",
          .null = ClaimNull::kStated,
          .null_name = kAlike,
          .caveat = "It compares these two models, with all else that differs between them."},
    Claim{.id = "robust-noise",
          .paper = kPaper,
          .topic = "Answers",
          .sentence = "A masked diffusion model loses less to irrelevant passages.",
          .contrast = "slope of exact match over the share of irrelevant passages: masked − autoregressive",
          .source = ClaimSource::kStress,
          .scope = ClaimScope::kAgainstCausal,
          .side = {.quantity = "em_slope", .part = "irrelevant"},
          .delta = 0.5,
          .unit = "points of exact match per 10 % of passages",
          .why = "5 points, one more question in twenty, from no irrelevant passage to nothing else",
          .null = ClaimNull::kStated,
          .null_name = kAlike,
          .caveat = "A model that never answers has nothing to lose."},
    Claim{.id = "robust-position",
          .paper = kPaper,
          .topic = "Answers",
          .sentence = "A masked diffusion model depends less on where the gold passage stands.",
          .contrast = "share of questions that are answered with the gold passage in some places and not in "
                      "others: masked − autoregressive",
          .source = ClaimSource::kStress,
          .scope = ClaimScope::kAgainstCausal,
          .side = {.number = SampleNumber::kRange, .quantity = "em", .part = "gold-position="},
          .direction = ClaimDirection::kBelow,
          .delta = 5,
          .unit = "% of questions",
          .why = kTwentieth,
          .null = ClaimNull::kStated,
          .null_name = kAlike,
          .caveat = "A model that never answers does not change its mind."},
};

}  // namespace

std::span<const Claim> floating_claims() {
  return kClaims;
}

}  // namespace buoy
