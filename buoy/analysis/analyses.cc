#include "buoy/analysis/analyses.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "buoy/analysis/absorption.h"
#include "buoy/analysis/classes.h"
#include "buoy/analysis/concentration.h"
#include "buoy/analysis/dormant_heads.h"
#include "buoy/analysis/drift.h"
#include "buoy/analysis/experts.h"
#include "buoy/analysis/flow.h"
#include "buoy/analysis/key_change.h"
#include "buoy/analysis/qk.h"
#include "buoy/analysis/retrieval_heads.h"
#include "buoy/analysis/salience.h"
#include "buoy/analysis/task_dependence.h"
#include "buoy/base/error.h"

namespace buoy {
namespace {

constexpr std::array<Analysis, 12> kAnalyses = {{
    {"drift", "Do anchors stay in place?",
     "A few tokens, the anchors, draw far more attention than the others. "
     "This follows them from step to step and from layer to layer: turnover 0 means that they stay, 1 that "
     "all are "
     "replaced.",
     drift},
    {"salience", "Do the same tokens stay important?",
     "Of every ten tokens the one that receives most attention is followed from step to step, 1 meaning that "
     "the same tokens stay on top and 0 that chance would keep as many. "
     "The proxies say how many of those tokens could be named beforehand: from mean scores, or by the masks "
     "alone.",
     salience},
    {"keys", "Do keys come to rest?",
     "A masked model computes the key of every token anew at every step; this says how far keys turn from a "
     "step to the next, 0 meaning not at all. "
     "The most attended keys stand apart from the rest, and tokens are followed from the step that wrote "
     "them.",
     key_change},
    {"absorption", "How much attention do a few tokens absorb?",
     "Of every 100 parts of attention, this counts those that go to the first token, to the anchors, and to "
     "the "
     "strongest token. "
     "The value-weighted variant counts what is really carried on: a token with an empty value absorbs "
     "attention but "
     "passes nothing along.",
     absorption},
    {"concentration", "Over how many tokens does attention spread?",
     "An effective share of 1 means that all tokens receive the same attention; near 0, that a handful "
     "receives all. "
     "Row entropy looks at it from the other side: how many tokens a single token looks at.",
     concentration},
    {"qk", "Why do anchors attract attention?",
     "A token scores high when its key points the way queries look, or when its key is long. "
     "This splits the lead of the anchors into those two causes and what they do together.",
     qk},
    {"heads", "Which heads fetch the answer from the evidence?",
     "While an answer token is written, each head looks somewhere; a retrieval head looks at that very token "
     "in the "
     "passage that holds the answer. "
     "Copy counts how many answer tokens a head finds this way, mass how much of its attention lies on the "
     "evidence.",
     retrieval_heads},
    {"dormant", "Which heads do nothing?",
     "Some heads park their attention on one token whose value is nearly empty. "
     "A head counts as dormant on a sample when one key takes over half of its attention and its output is "
     "less than a "
     "fifth as long as a typical value.",
     dormant_heads},
    {"flow", "Where does the answer take its information from?",
     "The text is cut into regions (question, passages, answer): direct flow is where the rows look that "
     "write the "
     "answer, rolled-out flow follows attention between regions through all layers. "
     "A gold lift above 1 means that the answer draws more on the passage that holds the evidence than on "
     "the "
     "others, compared with uniform attention.",
     flow},
    {"classes", "Structure or content?",
     "Tokens are sorted into structure (spaces, punctuation, template and function words) and content; lift "
     "1 means as "
     "much attention as their number would bring by chance. "
     "The contrast says whether shallow layers favour a kind more than deep ones.",
     classes},
    {"tasks", "Do anchors depend on the task?",
     "For each question this notes on which kinds of token, in which region, the anchors stand. "
     "Profiles of two tasks that differ more than reshuffled samples do mean that anchors follow the task.",
     profile},
    {"experts", "Which experts do tokens go to?",
     "In a model with experts a router sends every token through a few of many; this says how evenly they "
     "are "
     "used, and whether a token keeps its experts from one step to the next, 1 meaning all of them and 0 as "
     "many as chance. "
     "Masks and words stand apart, and so does the step at which a mask becomes a word.",
     experts},
}};

using Key = std::tuple<std::string_view, Index, Index, std::string_view>;

Key key_of(const Measurement& m) {
  return {m.quantity, m.layer, m.head, m.part};
}

}  // namespace

std::span<const Analysis> analyses() {
  return kAnalyses;
}

const Analysis* find_analysis(std::string_view name) {
  const auto it = std::ranges::find(kAnalyses, name, &Analysis::name);
  return it == kAnalyses.end() ? nullptr : &*it;
}

Measurements measure(const Analysis& analysis, const TraceWithNull& traces, const AnalysisOptions& options) {
  const Measurements expected = analysis.function(traces.null, options);
  std::map<Key, double> nulls;
  for (const Measurement& m : expected) nulls.emplace(key_of(m), m.value / m.weight);
  Measurements out = analysis.function(*traces.trace, options);
  for (Measurement& m : out) {
    const auto null = nulls.find(key_of(m));
    if (null != nulls.end()) m.null = null->second;
    if (!std::isfinite(m.value)) {
      fail("sample {}: {} of layer {}, head {}, part \"{}\" is {}, expected a finite number",
           traces.trace->header.sample, m.quantity, m.layer, m.head, m.part, m.value);
    }
  }
  return out;
}

}  // namespace buoy
