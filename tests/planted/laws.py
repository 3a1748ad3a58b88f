"""What the heads of the planted models look at, written out.

Every row of a head looks alike, so one vector says everything: A_ij = softmax over the keys j that row i may see of score_j.
Letters: m masks among N tokens, t = WRITTEN − m words written; [x] is 1 for words with the feature x.
"""
import numpy as np

from models import (AMPLITUDE, ASK, DORMANT, FADE, HEADS, HOLD, HUB_LENGTH, LAYERS, LONG_HUB, MATCH, MOVE_FLOOR, MOVE_WIDTH, SINK, STOP_LENGTH,
                    USUAL_LENGTH, WIDTH)
from world import FEATURES, LATE, TOPICS, WRITTEN, in_row


def softmax(scores):
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


class Sequence:
    """The features of a sequence's words as vectors: sequence["bos"] is [1, 0, 0, …]."""

    def __init__(self, words):
        self.features = [FEATURES[word] for word in words]
        self.N, self.m = len(words), words.count("<|mask|>")

    def __getitem__(self, feature):
        return np.array([float(f.get(feature, 0)) for f in self.features])

    def parabola(self, ahead=0):
        """−W (u_j − u_t)², but for what all words of a row share; W = MOVE_WIDTH · USUAL_LENGTH ÷ N."""
        u_t = in_row(WRITTEN - self.m + ahead)
        return MOVE_WIDTH * USUAL_LENGTH / self.N * (2 * u_t * self["u"] - self["uu"])

    def counted(self):
        """Square of what the counting head adds to the length of every row."""
        return AMPLITUDE["masks"]**2 * (self.m**2 + 1) / self.N**2


def shrink(*added):
    """RMS norm divides every row by the same: both sides of a score shrink by it."""
    return 1 / (1 + sum(added) / WIDTH)


def sink(s):
    scores = np.zeros((LAYERS, HEADS, s.N))
    scores[:] = SINK * s["bos"]
    scores[-1] += HOLD * s["late"]
    return scores


def moving(s):
    scores = np.zeros((LAYERS, HEADS, s.N))
    for layer in range(1, LAYERS):
        scores[layer, :2] = shrink(s.counted()) * (MOVE_FLOOR * s["place"] + s.parabola(layer % 2))
    scores[-1, :2] += shrink(s.counted()) * HOLD * s["late"]
    return scores


def depth(s):
    scores = np.zeros((LAYERS, HEADS, s.N))
    scores[:2] = 1 + (STOP_LENGTH - 1) * s["stop"]
    scores[4:] = HUB_LENGTH * (s["hub"] + (LONG_HUB - 1) * s["long"])
    return scores


def reader(s):
    scores = np.zeros((LAYERS, HEADS, s.N))
    topics = np.array([s[topic] for topic in TOPICS])  # [T, N]
    scores[0, 0] = ASK * s["ask"]
    asked = topics @ softmax(scores[0, 0])  # how much of each topic the first layer found asked for
    known = asked @ topics
    late = np.array([topic in LATE for topic in TOPICS])
    written = AMPLITUDE["asked amber"]**2 * asked @ asked + s.counted()
    a = shrink(written)
    scores[1, 0] = a * MATCH * ((asked * late) @ topics + 2 * s["early"])
    scores[2, 3] = a * DORMANT * s["bos"]
    scores[3, :2] = a * FADE * USUAL_LENGTH * s.m / s.N * s["ask"]
    scores[4, 0] = a * (MATCH * (known + s["answer"]) + s.parabola())
    scores[4, 1] = a * MATCH * (known - 2 * (s["answer"] + s["ask"]))
    looked = softmax(scores[4, 0])
    found = np.array([*topics @ looked * AMPLITUDE["found amber"], s["u"] @ looked * AMPLITUDE["found u"],
                      AMPLITUDE["found one"]])
    b = shrink(written, a * found @ found)
    scores[5, 1] = b * MATCH * (known - 2 * (s["answer"] + s["ask"]))
    scores[5, 2] = b * DORMANT * s["bos"]
    return scores


LAWS = {"sink": sink, "sink-causal": sink, "moving": moving, "depth": depth, "reader": reader}


def weights_of(model, words):
    """[LAYERS, HEADS, N]: exp(score_j), scaled so that the largest is 1."""
    scores = LAWS[model](Sequence(words))
    return np.exp(scores - scores.max(axis=-1, keepdims=True))


def attention(model, words, rows=slice(None)):
    """[LAYERS, HEADS, rows, N]"""
    N = len(words)
    seen = np.tril(np.ones((N, N))) if model == "sink-causal" else np.ones((N, N))
    weights = weights_of(model, words)[:, :, None, :] * seen[rows]
    return weights / weights.sum(axis=-1, keepdims=True)


def received(model, words):
    """[LAYERS, HEADS, N]: mean over all rows."""
    weights = weights_of(model, words)
    if model != "sink-causal":
        return weights / weights.sum(axis=-1, keepdims=True)
    shares = 1 / np.cumsum(weights, axis=-1)  # row i divides by what it sees; key j is seen by the rows from j on
    return weights * np.cumsum(shares[..., ::-1], axis=-1)[..., ::-1] / len(words)
