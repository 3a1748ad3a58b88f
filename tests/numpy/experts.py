"""Which experts rows go to, from the recorded routing, and what routing at random would give."""

from itertools import combinations
from math import comb

import numpy as np


def agreement(shares, chance):
    return (np.mean(shares) - chance) / (1 - chance)


def in_common(a, b):
    """Mean share of its experts that a row of a has in common with one of b, every pair once."""
    return (a.astype(float) @ b.T.astype(float)) / a.sum(axis=1, keepdims=True)


def one_hot(experts, count):
    rows = np.zeros((len(experts), count), dtype=bool)
    np.put_along_axis(rows, experts, True, axis=1)
    return rows


def entropy(p):
    p = p[p > 0]
    return -(p * np.log(p)).sum()


def experts(sample):
    if "finished_experts" not in sample.trace:
        return
    count, active = sample.header["experts"]["count"], sample.header["experts"]["active"]
    for i, layer in enumerate(sample.layers):
        yield from finished(sample, i, layer, count, active)
        if "experts" in sample.trace:
            yield from at_steps(sample, i, layer, count, active / count)


def finished(sample, i, layer, count, active):
    chosen = sample.trace["finished_experts"][i]
    rows = chosen[:, 0] >= 0
    n = int(rows.sum())
    if n < 2:
        return
    went = one_hot(chosen[rows], count)
    load = went.sum(axis=0)
    pairs = in_common(went, went)[~np.eye(n, dtype=bool)]
    weights = sample.trace["finished_expert_weights"][i][rows].astype(np.float64)
    weights = weights / weights.sum(axis=1, keepdims=True)
    # An expert has c of the n rows with binomial probability; exact integers, one division.
    chances = [comb(n, c) * active**c * (count - active) ** (n - c) / count**n for c in range(1, n + 1)]
    shares = np.arange(1, n + 1) / (n * active)
    random_entropy = -count * (chances * shares * np.log(shares)).sum()
    numbers = {
        "expert_load_entropy": (entropy(load / load.sum()) / np.log(count), random_entropy / np.log(count)),
        "expert_weight_entropy": (np.mean([entropy(w) for w in weights]) / np.log(active), 1),
        "expert_agreement": (agreement(pairs, active / count), 0),
    }
    for expert in range(count):
        yield "expert_load", layer, expert, "finished", 1 if sample.is_null else load[expert] / load.mean()
    for quantity, (value, null) in numbers.items():
        yield quantity, layer, -1, "finished", null if sample.is_null else value


def at_steps(sample, i, layer, count, chance):
    chosen, mask = sample.trace["experts"][:, i], sample.header["mask_id"]
    together = {"masks": [], "words": [], "masks and words": []}
    kept = {"masks": [], "words": [], "written": []}
    for s, tokens in enumerate(sample.step_tokens):
        went = chosen[s, : len(tokens), 0] >= 0
        masks = one_hot(chosen[s, : len(tokens)][went & (tokens == mask)], count)
        words = one_hot(chosen[s, : len(tokens)][went & (tokens != mask)], count)
        for part, some in [("masks", masks), ("words", words)]:
            if len(some) > 1:
                shares = in_common(some, some)
                together[part].append(agreement([shares[p] for p in combinations(range(len(some)), 2)], chance))
        if len(masks) and len(words):
            together["masks and words"].append(agreement(in_common(masks, words), chance))
        if s == 0 or sample.step_numbers[s] != sample.step_numbers[s - 1] + 1:
            continue
        before = sample.step_tokens[s - 1]
        for j in range(min(len(before), len(tokens))):
            a, b = set(chosen[s - 1, j].tolist()), set(chosen[s, j].tolist())
            if -1 in a | b or before[j] not in (tokens[j], mask):
                continue
            part = "written" if before[j] != tokens[j] else "masks" if tokens[j] == mask else "words"
            kept[part].append(agreement([len(a & b) / len(a)], chance))
    for quantity, parts in [("expert_agreement", together), ("expert_overlap", kept)]:
        for part, values in parts.items():
            if values:
                yield quantity, layer, -1, part, 0 if sample.is_null else np.mean(values)
