// The claims of other papers. A contrast, direction or δ is never changed to fit a result.
#include "buoy/claims/claim_table.h"

namespace buoy {
namespace {

constexpr ClaimSide kKeyChangeShallow{.quantity = "key_change", .layers = LayerChoice::kShallowThird};
constexpr ClaimSide kKeyChangeRest{.quantity = "key_change", .part = "rest"};

constexpr std::string_view kChance = "as many as chance would keep: 0";
constexpr std::string_view kStableWhy =
    "four of five of the keys that chance would not have kept; beyond the shuffled twin a twentieth, since "
    "the claim is about how much stays, and noise whose input hardly changes stays as well";
constexpr std::string_view kStableCaveat =
    "What stays may stay because little of the input changes between steps: the shuffled twin shows how much "
    "of it that is.";
constexpr double kBeyondNoise = 0.05;

constexpr std::array kFieldRows = {
    Claim{.id = "sinks-exist",
          .paper = "2510.15731",
          .topic = "Sinks",
          .sentence = "A masked diffusion model has attention sinks.",
          .contrast = "attention that the anchors receive, finished sequence, mean over layers",
          .side = {.quantity = "absorb_anchors", .part = "finished"},
          .delta = 5,
          .unit = "% of attention",
          .why = "one part in twenty of all attention",
          .null_name = kUniformNull,
          .nulls = kFixedNulls},
    Claim{.id = "sinks-move",
          .paper = "2510.15731",
          .topic = "Sinks",
          .sentence = "The sinks of a masked diffusion model move while it denoises.",
          .contrast =
              "turnover of the anchors between consecutive steps that write the answer, over all rows as in "
              "the paper, mean over layers",
          .side = {.quantity = "turnover", .part = "all writing"},
          .delta = 0.1,
          .unit = "share of anchors per step",
          .why = "a tenth per step: a whole set within an answer of some ten to twenty steps",
          .null = ClaimNull::kStated,
          .null_name = "anchors that stay: 0",
          .nulls = kStepNulls,
          .caveat = "Keys that hover around the threshold come and go too."},
    Claim{
        .id = "sinks-dispensable",
        .paper = "2510.15731",
        .topic = "Sinks",
        .sentence =
            "A masked diffusion model loses less than an autoregressive one when its sinks are hidden.",
        .contrast = "exact match with the five strongest anchors hidden − unchanged: masked − autoregressive",
        .source = ClaimSource::kInterventions,
        .scope = ClaimScope::kAgainstCausal,
        .side =
            {.number = SampleNumber::kDifference, .quantity = "em", .part = "mask-anchors=5", .less = "none"},
        .delta = 5,
        .unit = "points of exact match",
        .why = kTwentieth,
        .null = ClaimNull::kStated,
        .null_name = kAlike,
        .caveat = "A model that never answers has nothing to lose; anchors may hold evidence."},
    Claim{.id = "sink-wanders",
          .paper = "2602.17664",
          .topic = "Sinks",
          .sentence =
              "The place of the dominant sink varies more over a masked diffusion model's steps than over an "
              "autoregressive one's.",
          .contrast =
              "standard deviation of the position of the strongest key over the steps that write the answer, "
              "as a share of the sequence, all rows, mean over layers: masked − autoregressive",
          .scope = ClaimScope::kAgainstCausal,
          .side = {.quantity = "peak_spread", .part = "all writing"},
          .delta = 0.05,
          .unit = "of the sequence",
          .why = "a twentieth of the sequence: further than from one word to the next",
          .null = ClaimNull::kStated,
          .null_name = kAlike,
          .nulls = kStepNulls,
          .caveat = "Two keys of nearly equal strength that take turns count as wandering."},
    Claim{
        .id = "heads-stable",
        .paper = "2509.24014",
        .topic = "Stability",
        .sentence = "Each head attends to nearly the same keys at all denoising steps.",
        .contrast =
            "share of the tenth most attended keys that are among them at the next step too, by head, steps "
            "that write the answer, all rows, corrected for chance, mean over layers",
        .side = {.quantity = "top_kept", .part = "head writing"},
        .delta = 0.8,
        .unit = "share of keys beyond chance",
        .why = kStableWhy,
        .null = ClaimNull::kStated,
        .null_name = kChance,
        .nulls = kShuffledNull,
        .beyond = kBeyondNoise,
        .caveat = kStableCaveat},
    Claim{.id = "saliency-stable",
          .paper = "2508.02558",
          .topic = "Stability",
          .sentence = "Which tokens matter is nearly the same at all denoising steps.",
          .contrast =
              "share of the tenth most attended keys that are among them at the next step too, mean of all "
              "heads, steps that write the answer, all rows, corrected for chance, mean over layers",
          .side = {.quantity = "top_kept", .part = "mean writing"},
          .delta = 0.8,
          .unit = "share of keys beyond chance",
          .why = kStableWhy,
          .null = ClaimNull::kStated,
          .null_name = kChance,
          .nulls = kShuffledNull,
          .beyond = kBeyondNoise,
          .caveat = kStableCaveat},
    Claim{.id = "proxy-names-keys",
          .paper = "2508.02558",
          .topic = "Stability",
          .sentence = "A cheap proxy, mean query · key, names the keys that matter.",
          .contrast =
              "recall of the tenth most attended keys by the column mean of scores, the largest of three "
              "neighbours, same step, corrected for chance, mean over layers",
          .side = {.quantity = "proxy_recall", .part = "lag 0"},
          .delta = 0.5,
          .unit = "recall beyond chance",
          .why = "half of the keys that chance would not have named",
          .null = ClaimNull::kStated,
          .null_name = kChance,
          .nulls = kShuffledNull,
          .caveat =
              "Near-even attention is nearly linear in the scores, so that the proxy can do well on noise."},
    Claim{.id = "sink-values-small",
          .paper = "2601.19657",
          .topic = "Sinks",
          .sentence = "Sink tokens have small values.",
          .contrast =
              "mean length of the anchors' values ÷ that of the other keys − 1, finished sequence, mean over "
              "key-value heads and layers",
          .side = {.quantity = "anchor_value_lead"},
          .direction = ClaimDirection::kBelow,
          .delta = 0.1,
          .unit = "of the others' length",
          .why = "a tenth shorter",
          .null = ClaimNull::kStated,
          .null_name = "values of equal length: 0",
          .nulls = kShuffledNull},
    Claim{.id = "locality",
          .paper = "2511.21338",
          .topic = "Locality",
          .sentence = "A masked diffusion model attends to what is near.",
          .contrast =
              "ln of the attention per token that the rows that wrote the answer send into passages of the "
              "last third of the places ÷ of the first third, none of them gold, mean over layers",
          .side = {.quantity = "near_far"},
          .delta = 0.2,
          .unit = "ln of the ratio",
          .why = "a fifth more per token for the passages next to the answer",
          .null = ClaimNull::kStated,
          .null_name = "near and far alike: 0",
          .nulls = kShuffledNull,
          .caveat = "Near and far are places of passages, so that distance is all that differs in the mean."},
    Claim{.id = "masks-distract",
          .paper = "2511.21338",
          .topic = "Locality",
          .sentence = "Masks appended to the answer distract a masked diffusion model.",
          .contrast = "exact match with 32 masks more − with none more",
          .source = ClaimSource::kStress,
          .side = {.number = SampleNumber::kDifference,
                   .quantity = "em",
                   .part = "trailing-masks=32",
                   .less = "trailing-masks=0"},
          .direction = ClaimDirection::kBelow,
          .delta = 5,
          .unit = "points of exact match",
          .why = kTwentieth,
          .null = ClaimNull::kStated,
          .null_name = "no change: 0",
          .caveat = "Steps per token may change with the length too."},
    Claim{.id = "mask-queries-suffice",
          .paper = "2510.09309",
          .topic = "Caches",
          .sentence = "The queries of masks alone name the prompt tokens that matter.",
          .contrast =
              "of the tenth of the prompt that all rows attend to most, the share that the read rows put "
              "among theirs, steps that write the answer, corrected for chance, mean over layers",
          .side = {.quantity = "mask_query_agreement", .part = "writing"},
          .delta = 0.5,
          .unit = "recall beyond chance",
          .why = "half of the tokens that chance would not have named",
          .null = ClaimNull::kStated,
          .null_name = kChance,
          .nulls = kShuffledNull},
    Claim{
        .id = "question-fades",
        .paper = "2601.11342",
        .topic = "Answers",
        .sentence = "The answer turns away from the question as denoising proceeds.",
        .contrast =
            "slope of the attention that the row of each token sends into the question, in the pass that "
            "committed it, from the first step that writes the answer (0) to the last (1), mean over layers",
        .side = {.quantity = "question_trend"},
        .direction = ClaimDirection::kBelow,
        .delta = 0.01,
        .unit = "of the row's attention",
        .why = "one part in a hundred of a row from first to last, where the question is a few per cent of "
               "the tokens",
        .null = ClaimNull::kStated,
        .null_name = "no trend: 0",
        .nulls = kFixedNulls,
        .caveat = "Tokens written late may stand further from the question: attention that falls off with "
                  "distance shows what that alone does."},
    Claim{.id = "keys-change-deep",
          .paper = "2510.14973",
          .topic = "Caches",
          .sentence = "Keys change more from step to step in deep layers.",
          .contrast =
              "1 − cosine of a key and itself one step before: deep third − shallow third of the layers",
          .side = {.quantity = "key_change", .layers = LayerChoice::kDeepThird},
          .minus = &kKeyChangeShallow,
          .delta = 0.02,
          .unit = "1 − cosine",
          .why = "a turn by some eleven degrees where there was none",
          .null = ClaimNull::kStated,
          .null_name = "shallow and deep alike: 0",
          .nulls = kShuffledNull},
    Claim{.id = "attended-keys-settled",
          .paper = "2510.14973",
          .topic = "Caches",
          .sentence = "The most attended keys change least.",
          .contrast =
              "1 − cosine of a key and itself one step before: the tenth most attended − the rest, mean over "
              "layers",
          .side = {.quantity = "key_change", .part = "top"},
          .minus = &kKeyChangeRest,
          .direction = ClaimDirection::kBelow,
          .delta = 0.02,
          .unit = "1 − cosine",
          .why = "a turn by some eleven degrees where there was none",
          .null = ClaimNull::kStated,
          .null_name = "all keys alike: 0",
          .nulls = kShuffledNull},
    Claim{.id = "settles-after-commit",
          .paper = "2505.15781",
          .topic = "Caches",
          .sentence = "The key of a token settles one step after it was committed.",
          .contrast =
              "1 − cosine of a token's key and itself one step before: at the step after it was committed − "
              "mean of the later steps",
          .side = {.quantity = "key_change", .part = "settling"},
          .delta = 0.02,
          .unit = "1 − cosine",
          .why = "a turn by some eleven degrees that does not come again",
          .null = ClaimNull::kStated,
          .null_name = "all steps alike: 0",
          .nulls = kShuffledNull},
};

constexpr std::array kPapers = {
    Paper{.arxiv = "2601.07894", .subject = "Attention floating"},
    Paper{.arxiv = "2510.15731", .subject = "Attention sinks in diffusion language models"},
    Paper{.arxiv = "2602.17664", .subject = "The wandering sink"},
    Paper{.arxiv = "2509.24014", .subject = "Sparse attention by head"},
    Paper{.arxiv = "2508.02558", .subject = "Sparse caches by saliency"},
    Paper{.arxiv = "2601.19657", .subject = "What sink tokens carry"},
    Paper{.arxiv = "2511.21338", .subject = "Locality, and masks that distract"},
    Paper{.arxiv = "2510.09309", .subject = "Mask queries name the cache"},
    Paper{.arxiv = "2601.11342", .subject = "Answers that drift from the question"},
    Paper{.arxiv = "2510.14973", .subject = "When keys and values change"},
    Paper{.arxiv = "2505.15781", .subject = "When representations settle"},
};

}  // namespace

std::span<const Claim> field_claims() {
  return kFieldRows;
}

std::span<const Claim> claims() {
  static const std::vector<Claim> all = [] {
    std::vector<Claim> rows;
    for (const std::span<const Claim> part : {floating_claims(), field_claims()})
      rows.insert(rows.end(), part.begin(), part.end());
    return rows;
  }();
  return all;
}

std::span<const Paper> papers() {
  return kPapers;
}

}  // namespace buoy
