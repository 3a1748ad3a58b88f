"""Every analysis a second time: plain NumPy over whole attention matrices, written from docs/definitions.md alone.

compare.py holds its numbers against those of `buoy analyze`. The matrices are those of `buoy export`; of the trace only
tokens, regions, classes and evidence are used, and what no matrix holds: the norms of values and outputs and, for a
masked model, the rows that wrote the answer.
"""

from collections import defaultdict

import numpy as np

from experts import experts
from flow import direct_flow, flow
from salience import key_change, salience

EPSILON, MIN_LIFT = 3.0, 2.0  # of the anchor rule
CLASSES = ["bos", "mask", "eos/pad", "whitespace", "punctuation", "template", "function", "content"]
STRUCTURAL = ["whitespace", "punctuation", "template", "function"]
REGION_KINDS = ["bos", "template", "query", "document", "answer", "tail"]
SINK_SHARE, DRAIN = 0.5, 0.2  # a dormant head has more of the one and less of the other


def anchors(received, null):
    """Positions whose excess passes three standard deviations and that receive twice their null."""
    excess = received - null
    deviation = excess.std()
    if deviation < 1e-6 / len(excess):
        return np.zeros(0, dtype=int)
    return np.flatnonzero((excess > EPSILON * deviation) & (received >= MIN_LIFT * null))


def finished_received(sample, i):
    """Head-averaged received attention of layer i on the finished pass, its null, and the anchors in it."""
    received = sample.A[i].mean(axis=(0, 1))
    null = sample.flat(sample.N).mean(axis=0)
    return received, null, anchors(received, null)


def distance(a, b):
    """1 - Jaccard; two empty sets have no distance."""
    a, b = set(a.tolist()), set(b.tolist())
    return 1 - len(a & b) / len(a | b) if a | b else None


def turnover(pairs):
    """Mean distance of those pairs that have one, or none, and the share of those that have none."""
    distances = [distance(a, b) for a, b in pairs]
    known = [d for d in distances if d is not None]
    return np.mean(known) if known else None, distances.count(None) / len(distances)


def drift(sample):
    S = len(sample.steps)
    writing = [sample.is_writing(s) for s in range(S)]
    if S == 0:
        return
    yield "steps", -1, -1, "", S
    yield "writing_steps", -1, -1, "", sum(writing)
    for suffix, counted in [("", [True] * S), (" writing", writing)]:
        for part in ["read", "all"]:
            yield from drift_of_rows(sample, part, suffix, counted)
        for i, layer in enumerate(sample.layers):
            pairs = [still_pair(sample, s, i) for s in range(S - 1) if counted[s]]
            yield from turnover_numbers(layer, "fixed" + suffix, [p for p in pairs if p])


def turnover_numbers(layer, part, pairs, names=("turnover", "both_empty")):
    if not pairs:
        return
    mean, both_empty = turnover(pairs)
    if mean is not None:
        yield names[0], layer, -1, part, mean
    yield names[1], layer, -1, part, both_empty


def still_pair(sample, s, i):
    """Anchors at steps s and s + 1 over the rows that both have, or None: rows that are read at both inside a block,
    all rows of step s where passes only add rows."""
    n, now, then = len(sample.step_tokens[s]), sample.steps[s][i], sample.steps[s + 1][i]
    rows = range(n) if sample.causal else sample.read_rows(s + 1)
    if not sample.causal and not set(rows) <= set(sample.read_rows(s)):
        return None
    null = sample.flat(n)[rows].mean(axis=0)
    return anchors(now[rows].mean(axis=0), null), anchors(then[rows, :n].mean(axis=0), null)


def drift_of_rows(sample, part, suffix, counted):
    """`counted`: the steps that are averaged over; a change counts as of the first of its two steps."""
    L, S = len(sample.layers), len(sample.steps)
    sets, excesses = [], []
    for s in range(S):
        n = len(sample.step_tokens[s])
        rows = sample.read_rows(s) if part == "read" else slice(None)
        null = sample.flat(n)[rows].mean(axis=0)
        received = [sample.steps[s][i][rows].mean(axis=0) for i in range(L)]
        sets.append([anchors(r, null) for r in received])
        excesses.append([r - null for r in received])
    name = part + suffix
    at = [s for s in range(S) if counted[s]]
    for i, layer in enumerate(sample.layers):
        yield from turnover_numbers(layer, name, [(sets[s][i], sets[s + 1][i]) for s in at if s + 1 < S])
        if i + 1 < L:
            pairs = [(sets[s][i], sets[s][i + 1]) for s in at]
            yield from turnover_numbers(layer, name, pairs, ("float_index", "float_both_empty"))
        nothing = np.zeros(0, dtype=int)
        runs = run_lengths([sets[s][i] if counted[s] else nothing for s in range(S)], sample.N)
        if runs and len(at) > 1:  # a single step shows no life
            yield "lifetime", layer, -1, name, np.mean(runs)
        centres = [
            (sample.step_numbers[s], np.average(sets[s][i], weights=excesses[s][i][sets[s][i]]))
            for s in at
            if len(sets[s][i])
        ]
        if len(centres) >= 2:
            x, y = np.array(centres).T
            slope = ((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum()
            yield "drift_per_step", layer, -1, name, slope
            yield "drift_relative", layer, -1, name, slope / sample.N
        if at:
            # Where nothing exceeds the null, nothing exceeds it most.
            e = [excesses[s][i] for s in at]
            first = [x.argmax() == 0 and x.std() >= 1e-6 / len(x) for x in e]
            yield "first_token_share", layer, -1, name, np.mean(first)
            yield "sink_share", layer, -1, name, np.mean([f and 0 in sets[s][i] for f, s in zip(first, at)])
            yield "anchor_count", layer, -1, name, np.mean([len(sets[s][i]) for s in at])


def run_lengths(sets, N):
    """For every position, the lengths of its runs of consecutive steps as an anchor."""
    held = np.zeros((len(sets) + 2, N), dtype=int)
    for s, positions in enumerate(sets):
        held[s + 1, positions] = 1
    runs = []
    for column in held.T:
        edges = np.diff(column)
        runs.extend((np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1)).tolist())
    return runs


def absorption(sample):
    for i, layer in enumerate(sample.layers):
        received, _, found = finished_received(sample, i)
        norms = sample.trace["finished_value_norms"][i].astype(np.float64)
        weighted = np.mean(
            [
                w / w.sum()
                for w in (sample.A[i][h].mean(axis=0) * norms[sample.kv(h)] for h in range(sample.H))
            ],
            axis=0,
        )
        # Anchors are found by what they receive; weighted by values it is asked what those same keys carry.
        for part, share in [("finished", received), ("value-weighted", weighted)]:
            yield "absorb_bos", layer, -1, part, 100 * share[0]
            yield "absorb_anchors", layer, -1, part, 100 * share[found].sum()
            yield "absorb_top1", layer, -1, part, 100 * share.max()
        others = np.setdiff1d(np.arange(sample.N), found)
        if len(found) and len(others):
            yield "anchor_value_lead", layer, -1, "", np.mean([n[found].mean() / n[others].mean() - 1 for n in norms])
        if sample.causal or not sample.steps:
            continue
        steps = []
        for s, matrices in enumerate(sample.steps):
            r, null = matrices[i].mean(axis=0), sample.flat(len(sample.step_tokens[s])).mean(axis=0)
            steps.append((r[0], r[anchors(r, null)].sum(), r.max()))
        for name, value in zip(["absorb_bos", "absorb_anchors", "absorb_top1"], np.mean(steps, axis=0)):
            yield name, layer, -1, "steps", 100 * value


def entropy(p):
    p = p[p > 0]
    return -(p * np.log(p)).sum()


def gini(x):
    """Mean absolute difference of all pairs over twice the mean."""
    return np.abs(x[:, None] - x[None, :]).mean() / (2 * x.mean())


def concentration(sample):
    null = sample.flat(sample.N).mean(axis=0)
    for i, layer in enumerate(sample.layers):
        table = []
        for h in range(sample.H):
            matrix = sample.A[i][h]
            r = matrix.mean(axis=0)
            e = entropy(r)
            rows = np.mean([entropy(row) for row in matrix])
            table.append((e, np.exp(e) / sample.N, gini(r), len(anchors(r, null)), rows))
        names = ["entropy", "effective_share", "gini", "anchor_count", "row_entropy"]
        for h, values in [*enumerate(table), (-1, np.mean(table, axis=0))]:
            for name, value in zip(names, values):
                yield name, layer, h, "", value


def column_means(sample, matrix):
    """Mean over the queries that may see a key."""
    sees = sample.sees(sample.N)
    return np.array([matrix[sees[:, j], j].mean() for j in range(sample.N)])


def qk(sample):
    if sample.is_null:
        return
    for i, layer in enumerate(sample.layers):
        found = finished_received(sample, i)[2]
        others = np.setdiff1d(np.arange(sample.N), found)
        if len(found) == 0 or len(others) == 0:
            continue
        if sample.mixer(i) == "ssd":
            yield from qk_of_states(sample, i, layer, found, others)
            continue
        advantage, parts = [], []
        for h in range(sample.H):
            q, k = sample.q[i][h], sample.k[i][sample.kv(h)]
            score, norm = q @ k.T, np.outer(np.linalg.norm(q, axis=1), np.linalg.norm(k, axis=1))
            means = [column_means(sample, m) for m in [score, score / norm, norm]]
            advantage.append([m[found].mean() - m[others].mean() for m in means])
            s, scale = means[0], np.linalg.norm(k, axis=1)
            parts.append(attribute(s, scale, found, others))
        for name, value in zip(["delta_score", "delta_cosine", "delta_norm"], np.mean(advantage, axis=0)):
            yield name, layer, -1, "", value
        total = np.sum(parts, axis=0)
        for name, value in zip(["angle_share", "scale_share", "covariance_share"], total):
            yield name, layer, -1, "", value, total[3]
        for name, value in zip(["angle", "scale", "covariance", "total"], total / sample.H):
            yield f"attribution_{name}", layer, -1, "", value


def qk_of_states(sample, i, layer, found, others):
    """The factors of a state space layer: the score from the matrix, the others as recorded."""
    names = ["score", "cosine", "norm", "recency"]
    advantage, parts = [], []
    for h in range(sample.H):
        factors = [sample.trace[f"finished_{name}_means"][i, h].astype(np.float64) for name in names]
        advantage.append([m[found].mean() - m[others].mean() for m in factors])
        logs = np.log(factors)
        parts.append([m[found].mean() - m[others].mean() for m in logs])
    for name, value in zip(names, np.mean(advantage, axis=0)):
        yield f"delta_{name}", layer, -1, "ssd", value
    _, angle, scale, recency = np.sum(parts, axis=0)
    total = angle + scale + recency
    assert np.isclose(total, np.sum(parts, axis=0)[0], rtol=1e-4, atol=1e-4), "the decomposition is exact"
    for name, value in [("angle_share", angle), ("scale_share", scale), ("recency_share", recency)]:
        yield name, layer, -1, "ssd", value, total
    for name, value in [("angle", angle), ("scale", scale), ("recency", recency), ("total", total)]:
        yield f"attribution_{name}", layer, -1, "ssd", value / sample.H


def attribute(s, scale, found, others):
    """(angle, scale, covariance, total) of one head's score advantage."""
    g = s / scale
    (ka, kb), (ga, gb) = [(x[found].mean(), x[others].mean()) for x in (scale, g)]
    covariance = lambda at: ((scale[at] - scale[at].mean()) * (g[at] - g[at].mean())).mean()
    parts = (
        (ka + kb) / 2 * (ga - gb),
        (ga + gb) / 2 * (ka - kb),
        covariance(found) - covariance(others),
    )
    total = s[found].mean() - s[others].mean()
    assert np.isclose(sum(parts), total, rtol=1e-9, atol=1e-9), "the decomposition is exact"
    return (*parts, total)


def answer_rows(sample, p):
    """([L,H] argmax, [L,H] mass on the evidence, visible keys) of the row that wrote position p."""
    g, L = p - sample.P, len(sample.layers)
    visible = sample.visible(p)
    if sample.is_null:
        seen = sample.evidence[:visible]
        return np.zeros((L, sample.H), dtype=int), np.full((L, sample.H), seen.mean()), visible
    if sample.causal:  # a causal model's row never changes once it is there
        rows = np.array([a[:, p - 1, :] for a in sample.A])
        return rows.argmax(axis=-1), rows[..., sample.evidence].sum(axis=-1), visible
    return sample.trace["answer_argmax"][g], sample.trace["answer_evidence_mass"][g].astype(np.float64), visible


def retrieval_heads(sample):
    positions = sample.answer_positions()
    if not sample.evidence.any() or not positions:
        return
    rows = [answer_rows(sample, p) for p in positions]
    mass = np.mean([r[1] for r in rows], axis=0)
    chance = np.mean([sample.evidence[: r[2]].sum() / r[2] for r in rows])
    in_evidence = set(sample.tokens[sample.evidence].tolist())
    findable = {int(sample.tokens[p]) for p in positions} & in_evidence
    for part in ["all"] + ["correct"] * (sample.header.get("correct") is True):
        for i, layer in enumerate(sample.layers):
            for h in range(sample.H):
                copied = {
                    int(sample.tokens[p])
                    for p, r in zip(positions, rows)
                    if sample.evidence[r[0][i, h]] and sample.tokens[r[0][i, h]] == sample.tokens[p]
                }
                if findable:
                    yield "copy", layer, h, part, len(copied) / len(findable)
                yield "copy_wu", layer, h, part, len(copied) / sample.evidence.sum()
                yield "mass", layer, h, part, mass[i, h]
                yield "lift", layer, h, part, mass[i, h] / chance


def dormant_heads(sample):
    for i, layer in enumerate(sample.layers):
        for h in range(sample.H):
            share = sample.A[i][h].mean(axis=0).max()
            yield "sink_share", layer, h, "", share
            # The values themselves are not exported: what they would give under uniform attention is the trace's word.
            norms = sample.trace["finished_value_norms"][i, sample.kv(h)].astype(np.float64)
            if sample.is_null:
                output = sample.trace["finished_uniform_norm"][i, sample.kv(h)]
            else:
                output = sample.trace["finished_output_norm"][i, h]
            drain = output / norms.mean()
            yield "drain", layer, h, "", drain
            yield "dormant", layer, h, "", float(share > SINK_SHARE and drain < DRAIN)


def class_numbers(received, found, classes):
    """{(quantity, suffix): value} of one pass and layer."""
    numbers = {}
    for name in CLASSES:  # a class without positions has a share, which is 0, but no lift
        here = classes == name
        numbers["class_share", f":{name}"] = received[here].sum()
        if here.any():
            numbers["class_lift", f":{name}"] = received[here].sum() / here.mean()
        if len(found):
            numbers["anchor_class", f":{name}"] = received[found][here[found]].sum() / received[found].sum()
    structural = np.isin(classes, STRUCTURAL)
    for quantity, here in [("structural_lift", structural), ("content_lift", classes == "content")]:
        if here.any():
            numbers[quantity, ""] = received[here].sum() / here.mean()
    return numbers


def classes(sample):
    third = max(1, len(sample.layers) // 3)
    for part in ["finished", "steps"]:
        lifts = defaultdict(list)
        for i, layer in enumerate(sample.layers):
            if part == "finished":
                received, _, found = finished_received(sample, i)
                passes = [class_numbers(received, found, sample.classes)]
            else:
                passes = []
                for s, matrices in enumerate(sample.steps):
                    r, null = matrices[i].mean(axis=0), sample.flat(len(sample.step_tokens[s])).mean(axis=0)
                    passes.append(class_numbers(r, anchors(r, null), sample.classes_at(s)))
            # Mean over the passes in which a number is defined.
            for key in sorted({key for numbers in passes for key in numbers}):
                value = np.mean([numbers[key] for numbers in passes if key in numbers])
                yield key[0], layer, -1, part + key[1], value
                lifts[key].append(value)
        for kind in ["structural", "content"]:
            values = lifts[f"{kind}_lift", ""]
            if len(values) == len(sample.layers) > 1:
                yield f"{kind}_contrast", -1, -1, part, np.mean(values[:third]) - np.mean(values[-third:])


def profile(sample):
    mass = {f"{kind}/{name}": 0.0 for kind in REGION_KINDS for name in CLASSES}
    kinds = sample.trace["region_kinds"][sample.region]
    for i in range(len(sample.layers)):
        received, _, found = finished_received(sample, i)
        for j in found:
            mass[f"{kinds[j]}/{sample.classes[j]}"] += received[j]
    total = sum(mass.values())
    for part, value in mass.items():
        if total > 0:
            yield "anchor_profile", -1, -1, part, value / total


ANALYSES = [
    drift,
    salience,
    key_change,
    absorption,
    concentration,
    qk,
    retrieval_heads,
    dormant_heads,
    flow,
    direct_flow,
    classes,
    profile,
    experts,
]


def compute(sample):
    """{(quantity, layer, head, part): (value, weight, null or None)}"""
    table, null = {}, {}
    for analysis in ANALYSES:
        for target, source in [(table, sample), (null, sample.uniform())]:
            for quantity, layer, head, part, value, *weight in analysis(source):
                key = (quantity, layer, head, part)
                assert key not in target, f"{key} twice"
                target[key] = (float(value), float(*weight or [1.0]))
    return {key: (*pair, null[key][0] if key in null else None) for key, pair in table.items()}
