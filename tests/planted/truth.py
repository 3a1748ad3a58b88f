"""What was planted, said in words and positions: what a right analysis must find in a trace, and nothing else."""
import numpy as np

from laws import LAWS, Sequence, received
from models import HEADS, HUB_LENGTH, LAYERS, LONG_HUB
from world import FEATURES, LATE, PLACES, SPACING, WRITTEN


def with_feature(words, feature):
    return {j for j, word in enumerate(words) if FEATURES[word].get(feature)}


def anchors(model, words, layer):
    """Positions of the anchors that a layer was given, for a sequence of these words."""
    late = with_feature(words, "late")
    if layer == LAYERS - 1 and late and model != "depth":
        return late
    if model.startswith("sink"):
        return {0}
    if model == "moving":
        t = WRITTEN - words.count("<|mask|>")
        return {words.index(f"place{t + layer % 2}")} if layer > 0 else set()
    return with_feature(words, "stop") if layer < 2 else with_feature(words, "hub") if layer > 3 else set()


def copying_heads(_):
    """That copy more than one word."""
    return {(4, 0)}


def dormant_heads(_):
    return {(2, 3), (5, 2)}


def dormant_sinks(topic):
    """All heads of `sink`, where they look at the first token."""
    return {(layer, head) for layer in range(LAYERS - (topic in LATE)) for head in range(HEADS)}


def gold_layers(topic):
    """Layers with a head that looks into the gold passage while the answer is written."""
    return {(1, -1), (4, -1), (5, -1)} if topic in LATE else {(4, -1), (5, -1)}


def absorbed(words):
    """% of attention on the first token of the masked sink, layer 0."""
    return 100 * received("sink", words)[0, 0, 0]


def angle_share(words):
    """Of the lead of the hubs in `depth`: the share that is left when the longer keys of some of them are taken out.

    Keys of hubs have the lengths c and c·LONG_HUB and look along the query (g = 1), others have c and look across (g = 0). With h the
    mean length of the hubs' keys the lead is h, and of it (h + c)/2 · 1 is direction.
    """
    hubs = [LONG_HUB if FEATURES[word].get("long") else 1 for word in words if FEATURES[word].get("hub")]
    h = HUB_LENGTH * np.mean(hubs)
    return (h + HUB_LENGTH) / 2 / h


def class_contrast(words, classes, members):
    """Lift of the classes in `depth`, layers 0 and 1 − layers 4 and 5."""
    inside = np.isin(classes, members)
    scores = LAWS["depth"](Sequence(words))

    def lift(layer):
        weights = np.exp(scores[layer, 0])
        return weights[inside].sum() / weights.sum() / inside.mean()
    return lift(0) - lift(5)


def peak_spread(words):
    """Deviation of the places that the anchor of `moving` takes, as a share of the sequence."""
    return SPACING * np.std(np.arange(WRITTEN)) / len(words)


def question_trend(trace):
    """Slope of what the rows of `reader` send into the question, over the steps from 0 to 1, mean over heads and layers."""
    sent = [received("reader", trace.words_at(step))[:, :, trace.regions() == "Query"].sum(axis=-1).mean()
            for step in trace["commit_step"]]
    return np.polyfit(trace["commit_step"] / (WRITTEN - 1), sent, 1)[0]


STRUCTURAL = ["whitespace", "punctuation", "template", "function"]
assert WRITTEN + 2 <= PLACES
