// The table of claims. A contrast, direction or δ is never changed to fit a result: a better one is a new
// line.
#include <array>

#include "buoy/claims/claims.h"

namespace buoy {
namespace {

constexpr ClaimSide kScaleDeep{.quantity = "scale_share", .layers = LayerChoice::kDeepThird};
constexpr ClaimSide kOtherFirst{
    .number = SampleNumber::kOtherDraws, .quantity = "flow_per_token", .places = PlaceChoice::kFirstThird};
constexpr ClaimSide kOtherMiddle{
    .number = SampleNumber::kOtherDraws, .quantity = "flow_per_token", .places = PlaceChoice::kMiddleThird};
constexpr ClaimSide kOtherLast{
    .number = SampleNumber::kOtherDraws, .quantity = "flow_per_token", .places = PlaceChoice::kLastThird};

constexpr std::string_view kUniformNull = "uniform attention";
constexpr std::string_view kAlike = "both models alike: 0";
constexpr std::string_view kFlowContrast =
    "flow from the answer into the gold passage ÷ into the passages of the other two thirds of the places, "
    "per "
    "token, relative to uniform attention; less the same ratio of passages that are not gold but stand in "
    "the "
    "same third";
constexpr std::string_view kFlowWhy = "a tenth more than a passage draws by standing there";
constexpr std::string_view kFlowCaveat =
    "Places within a third are taken as alike, and rollout treats attention as if it were information.";
constexpr std::string_view kNoGold = "a passage that is not gold in the same place: 0";

constexpr std::array kClaims = {
    Claim{.id = "floating-steps",
          .topic = "Floating",
          .sentence =
              "The anchors of a masked diffusion model change from one denoising step to the next, more "
              "than those of an autoregressive one.",
          .contrast =
              "turnover of the anchors between consecutive steps, read rows, mean over layers: masked − "
              "autoregressive",
          .scope = ClaimScope::kAgainstCausal,
          .side = {.quantity = "turnover", .part = "read"},
          .delta = 0.1,
          .unit = "share of anchors per step",
          .why = "a tenth more per step: a whole set more within an answer of some ten to twenty steps",
          .null = ClaimNull::kStated,
          .null_name = kAlike,
          .caveat =
              "Keys that hover around the threshold come and go too; and of an autoregressive model one "
              "row is read at a step, of a masked one fewer from step to step."},
    Claim{.id = "floating-layers",
          .topic = "Floating",
          .sentence = "The anchors of a masked diffusion model change from one layer to the next, more than "
                      "those of an autoregressive one.",
          .contrast =
              "float index: turnover of the anchors between consecutive layers at the same step, read "
              "rows, mean over layers: masked − autoregressive",
          .scope = ClaimScope::kAgainstCausal,
          .side = {.quantity = "float_index", .part = "read"},
          .delta = 0.2,
          .unit = "share of anchors per layer",
          .why = "of five anchors one more comes or goes at every layer",
          .null = ClaimNull::kStated,
          .null_name = kAlike,
          .caveat = "Keys that hover around the threshold come and go too."},
    Claim{.id = "no-fixed-sink",
          .topic = "Floating",
          .sentence = "An autoregressive model fixes on its first token; a masked diffusion model does not.",
          .contrast = "share of steps and layers whose strongest key is the first token, all rows: masked − "
                      "autoregressive",
          .scope = ClaimScope::kAgainstCausal,
          .side = {.quantity = "first_token_share", .part = "all"},
          .direction = ClaimDirection::kBelow,
          .delta = 0.25,
          .unit = "share of steps and layers",
          .why = "a quarter of all steps and layers: no matter of a few odd ones",
          .null_name = kUniformNull},
    Claim{.id = "absorption-weaker",
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
          .null_name = kUniformNull},
    Claim{.id = "absorption-spread",
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
          .null_name = kUniformNull},
    Claim{
        .id = "shallow-structure",
        .topic = "Depth",
        .sentence = "Shallow layers attend to structure.",
        .contrast = "lift of structural tokens, shallow third − deep third of the layers, finished sequence",
        .side = {.quantity = "structural_contrast", .part = "finished"},
        .delta = 0.1,
        .unit = "lift",
        .why = "a tenth of what the number of such tokens would bring by chance",
        .null_name = kUniformNull},
    Claim{.id = "deep-content",
          .topic = "Depth",
          .sentence = "Deep layers attend to content.",
          .contrast = "lift of content tokens, shallow third − deep third of the layers, finished sequence",
          .side = {.quantity = "content_contrast", .part = "finished"},
          .direction = ClaimDirection::kBelow,
          .delta = 0.1,
          .unit = "lift",
          .why = "a tenth of what the number of such tokens would bring by chance",
          .null_name = kUniformNull},
    Claim{
        .id = "deep-angle",
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
        .caveat = "What the two do together counts for neither."},
    Claim{.id = "shallow-norm",
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
          .null_name = "shallow and deep alike: 0"},
    Claim{.id = "retrieval-deep",
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
          .null_name = "all heads copy alike: the share of heads in the deep half"},
    Claim{.id = "flow-gold-first",
          .topic = "Flow",
          .sentence = "The answer draws on the gold passage when it stands first.",
          .contrast = kFlowContrast,
          .source = ClaimSource::kByGold,
          .side = {.number = SampleNumber::kGoldDraws,
                   .quantity = "flow_per_token",
                   .places = PlaceChoice::kFirstThird},
          .minus = &kOtherFirst,
          .delta = 0.1,
          .unit = "lift",
          .why = kFlowWhy,
          .null = ClaimNull::kStated,
          .null_name = kNoGold,
          .caveat = kFlowCaveat},
    Claim{.id = "flow-gold-middle",
          .topic = "Flow",
          .sentence = "The answer draws on the gold passage when it stands in the middle.",
          .contrast = kFlowContrast,
          .source = ClaimSource::kByGold,
          .side = {.number = SampleNumber::kGoldDraws,
                   .quantity = "flow_per_token",
                   .places = PlaceChoice::kMiddleThird},
          .minus = &kOtherMiddle,
          .delta = 0.1,
          .unit = "lift",
          .why = kFlowWhy,
          .null = ClaimNull::kStated,
          .null_name = kNoGold,
          .caveat = kFlowCaveat},
    Claim{.id = "flow-gold-last",
          .topic = "Flow",
          .sentence = "The answer draws on the gold passage when it stands last.",
          .contrast = kFlowContrast,
          .source = ClaimSource::kByGold,
          .side = {.number = SampleNumber::kGoldDraws,
                   .quantity = "flow_per_token",
                   .places = PlaceChoice::kLastThird},
          .minus = &kOtherLast,
          .delta = 0.1,
          .unit = "lift",
          .why = kFlowWhy,
          .null = ClaimNull::kStated,
          .null_name = kNoGold,
          .caveat = kFlowCaveat},
    Claim{.id = "rag-gain",
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
          .why = "one question in twenty",
          .null = ClaimNull::kStated,
          .null_name = kAlike,
          .caveat = "A model that never answers does not change its mind."},
};

}  // namespace

std::span<const Claim> claims() {
  return kClaims;
}

}  // namespace buoy
