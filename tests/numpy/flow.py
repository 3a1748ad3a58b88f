"""Flow a second time, rolled out between regions and direct, from whole matrices."""

import numpy as np


def normalise_rows(m):
    total = m.sum(axis=1, keepdims=True)
    return np.divide(m, total, out=np.zeros_like(m), where=total > 0)


def pooled(sample, pooling):
    """Attention between regions, layer by layer."""
    kinds = sample.trace["region_kinds"]
    region = sample.region.copy()
    if pooling == "paper" and (kinds == "answer").any():
        region[kinds[region] == "tail"] = np.flatnonzero(kinds == "answer")[0]
    member = np.eye(len(kinds))[region]  # [N, R]
    if pooling == "paper":
        member[:, kinds == "template"] = 0
    lengths = np.maximum(member.sum(axis=0), 1)
    blocks = [member.T @ a.mean(axis=0) @ member for a in sample.A]
    return [normalise_rows(b / lengths if pooling == "per-token" else b) for b in blocks]


def rollout(layers):
    total = np.eye(len(layers[0]))
    for p in layers:
        total = normalise_rows(p + np.eye(len(p))) @ total
    return normalise_rows(total)


def gold_ratio(row, gold, others):
    """Several gold passages count as their mean, not double."""
    return row[gold].mean() / row[others].mean()


def flow(sample):
    names, kinds = sample.trace["region_names"], sample.trace["region_kinds"]
    present = [r for r in range(len(names)) if (sample.region == r).any()]
    documents = [r for r in present if kinds[r] == "document"]
    gold = [r for r in documents if sample.trace["region_gold"][r]]
    others = [r for r in documents if r not in gold]
    answer = [r for r in present if kinds[r] == "answer"]
    lengths = np.bincount(sample.region, minlength=len(names))
    for pooling, quantity in [("sum", "flow_sum"), ("per-token", "flow_per_token"), ("paper", "flow_paper")]:
        layers = pooled(sample, pooling)
        total = rollout(layers)
        shown = [r for r in present if pooling != "paper" or kinds[r] not in ("template", "tail")]
        for a in shown:
            for b in shown:
                yield quantity, -1, -1, f"{names[a]}>{names[b]}", total[a, b]
        if not (answer and gold and others):
            continue
        row = total[answer[0]]
        null = rollout(pooled(sample.uniform(), pooling))[answer[0]]
        lift = gold_ratio(row, gold, others) / gold_ratio(null, gold, others)
        yield "gold_lift", -1, -1, pooling, lift
        # All of the answer's attention on gold, in every layer and in each alone.
        onto = np.zeros(len(names))
        onto[gold] = 1 / len(gold) if pooling == "per-token" else lengths[gold] / lengths[gold].sum()
        for layer, where in [(-1, slice(None)), *zip(sample.layers, range(len(layers)))]:
            forced = np.array(layers)
            forced[where, answer[0]] = onto
            end = rollout(forced)[answer[0]]
            if end[others].any():
                lift = gold_ratio(end, gold, others) / gold_ratio(null, gold, others)
                yield "rollout_sensitivity" if layer < 0 else "layer_sensitivity", layer, -1, pooling, lift
        top = [r for r in documents if np.isclose(row[r], row[documents].max(), rtol=1e-9)]
        yield "gold_top", -1, -1, pooling, np.mean([r in gold for r in top])  # a tie counts in part
    if answer and gold and others:
        for layer, p in zip(sample.layers, pooled(sample, "sum")):
            yield "answer_to_gold", layer, -1, "", gold_ratio(p[answer[0]], gold, others)


def answer_mass(sample, p):
    """[L, R]: mass on each region of the row that wrote position p, everything generated being Answer."""
    kinds, g = sample.trace["region_kinds"], p - sample.P
    region = sample.region.copy()
    region[sample.P :] = np.flatnonzero(kinds == "answer")[0]
    member = np.eye(len(kinds))[region]
    row = sample.trace["answer_rows"][g]
    if sample.is_null:
        visible = sample.visible(p)
        return np.tile(member[:visible].mean(axis=0), (len(sample.layers), 1))
    if sample.causal:
        return np.array([a[:, row].mean(axis=0) @ member for a in sample.A])
    step = np.flatnonzero(sample.step_numbers == sample.trace["commit_step"][g])
    if len(step):
        return np.array([m[row] @ member[: len(m)] for m in sample.steps[step[0]]])
    return sample.trace["answer_mass"][g].astype(np.float64)


def direct_flow(sample):
    positions = sample.answer_positions()
    if not positions or "answer_mass" not in sample.trace:
        return
    t = sample.trace
    masses = np.array([answer_mass(sample, p) for p in positions])  # [rows, L, R]
    lengths = np.bincount(sample.region, minlength=len(t["region_names"]))
    documents = [r for r in range(len(lengths)) if t["region_kinds"][r] == "document" and lengths[r]]
    each = masses.mean(axis=0) / np.maximum(lengths, 1)  # [L, R]
    gold = [r for r in documents if t["region_gold"][r]]
    others = [r for r in documents if not t["region_gold"][r]]
    for i, layer in enumerate(sample.layers):
        for r in documents:
            yield "direct_per_token", layer, -1, f"Answer>{t['region_names'][r]}", each[i, r]
        for part, which in [("gold", gold), ("other", others)]:
            if which:
                yield "direct_passages", layer, -1, part, each[i, which].mean()
        if gold and others:
            yield "direct_gold_lift", layer, -1, "", each[i, gold].mean() / each[i, others].mean()
            if each[i, gold].mean() > 0:
                yield "direct_gold_log", layer, -1, "", np.log(each[i, gold].mean() / each[i, others].mean())
    steps = t["commit_step"][np.array(positions) - sample.P]
    question = np.flatnonzero(t["region_kinds"] == "query")
    if len(np.unique(steps)) >= 3 and len(question):
        x = (steps - steps.min()) / (steps.max() - steps.min())
        yield "question_trend", -1, -1, "", np.polyfit(x, masses[:, :, question[0]].mean(axis=1), 1)[0]
    places = t["region_documents"].max()
    third = lambda n: [r for r in others if 3 * (t["region_documents"][r] - 1) // places == n]
    if third(0) and third(2):
        density = lambda which: masses.mean(axis=0)[:, which].sum(axis=1) / lengths[which].sum()
        yield "near_far", -1, -1, "", np.log(density(third(2)) / density(third(0))).mean()
