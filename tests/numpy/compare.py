"""Holds `buoy analyze` against the NumPy computation in analyses.py.

compare.py DIR TRACE EXPORT [TRACE EXPORT ...]

DIR is what `buoy analyze` wrote for these traces of one model, EXPORT what `buoy export` wrote for TRACE. Prints for
each quantity how many numbers were compared and the largest difference; exits 1 when a number is off, and when either
side knows a number that the other does not.
"""

import csv
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

from analyses import column_means, compute, entropy
from flow import answer_mass, pooled
from sample import Sample

# Traces are float32. A number is right within one of the two.
RELATIVE, ABSOLUTE = 1e-4, 1e-6
# A slope in positions is a difference of numbers as large as N, so the absolute limit is N times as large.
IN_POSITIONS = "drift_per_step"


def read_table(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def key_of(row):
    return row["quantity"], int(row["layer"]), int(row["head"]), row["part"]


def read_samples(path):
    """{(model, sample): {(quantity, layer, head, part): (value, weight, null or None)}}"""
    tables = defaultdict(dict)
    for row in read_table(path):
        table = tables[row["model"], row["sample"]]
        assert key_of(row) not in table, f"{path}: {row} twice"
        null = float(row["null"]) if row["null"] else None
        table[key_of(row)] = (float(row["value"]), float(row["weight"]), null)
    return tables


class Comparison:
    """Counts what was compared, by quantity."""

    def __init__(self):
        self.count, self.worst = defaultdict(int), defaultdict(float)
        self.complaints = defaultdict(list)

    def numbers(self, quantity, place, mine, theirs, unit=1):
        mine, theirs = np.broadcast_arrays(np.float64(mine), np.float64(theirs))
        off = np.abs(mine - theirs)
        self.count[quantity] += mine.size
        self.worst[quantity] = max(self.worst[quantity], off.max(initial=0.0))
        bad = ~(off <= np.maximum(ABSOLUTE * unit, RELATIVE * np.abs(mine)))
        if bad.any():
            at = np.unravel_index(np.argmax(bad), bad.shape)
            self.complain(quantity, place, f"is {theirs[at]:.9g}, expected {mine[at]:.9g}")

    def complain(self, quantity, place, what):
        self.complaints[quantity].append(f"{place}: {what}")

    def report(self):
        print(f"{'quantity':36} {'compared':>9} {'largest difference':>19}")
        for quantity in sorted(self.count):
            print(f"{quantity:36} {self.count[quantity]:9} {self.worst[quantity]:19.2e}")
        for quantity, lines in sorted(self.complaints.items()):
            print(f"FAIL {quantity}, {len(lines)} times: {lines[0]}")
        print(f"{sum(self.count.values())} numbers compared, {sum(map(len, self.complaints.values()))} complaints")


def compare_samples(comparison, sample, mine, theirs):
    for key in sorted(mine.keys() | theirs.keys()):
        quantity, layer, head, part = key
        place = f"{sample.name} layer {layer} head {head} {part!r}"
        if key not in theirs or key not in mine:
            comparison.complain(quantity, place, "is missing" if key not in theirs else "is unknown to the witness")
            continue
        unit = sample.N if quantity == IN_POSITIONS else 1
        for name, a, b in zip(["", "'s weight", "'s null"], mine[key], theirs[key]):
            if a is not None and b is not None:
                comparison.numbers(quantity + name, place, a, b, unit)
            elif a is not b:
                comparison.complain(quantity + name, place, f"is {b}, expected {a}")


def compare_summaries(comparison, rows, tables, unit):
    """Over all samples: how many, the mean (a ratio of sums), the deviation of the samples, the mean null."""
    groups = defaultdict(list)
    for table in tables:
        for key, numbers in table.items():
            groups[key].append(numbers)
    rows = {key_of(row): row for row in rows if (row["data"], row["task"]) == ("*", "*")}
    for key in sorted(groups.keys() ^ rows.keys()):
        comparison.complain("summary", key, "is missing" if key in groups else "is unknown to the witness")
    for key in groups.keys() & rows.keys():
        values, weights, nulls = zip(*groups[key])
        mine = {"n": len(values), "mean": sum(values) / sum(weights)}
        if len(values) > 1:
            mine["std"] = np.std(np.divide(values, weights), ddof=1)
        if None not in nulls:
            mine["null"] = np.mean(nulls)
        elif rows[key]["null"]:
            comparison.complain("summary: null", key, f"is {rows[key]['null']}, expected none")
        for name, value in mine.items():
            theirs = float(rows[key][name] or "nan")
            comparison.numbers(f"summary: {name}", key, value, theirs, unit if key[0] == IN_POSITIONS else 1)


def compare_tasks(comparison, path, samples, tables):
    """Jensen-Shannon divergence of the tasks' mean profiles; one task has no table."""
    profiles = defaultdict(list)
    for sample, table in zip(samples, tables):
        profile = [pair[0] for key, pair in table.items() if key[0] == "anchor_profile"]
        if profile:
            profiles[sample.header["task"]].append(profile)
    means = {task: np.mean(several, axis=0) for task, several in profiles.items()}
    for row in read_table(path) if len(means) > 1 else []:  # p: tasks.py
        p, q = means[row["row"]], means[row["column"]]
        divergence = entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2
        comparison.numbers("task distance", (row["row"], row["column"]), divergence, float(row["value"]))


def step_means(sample, i, n):
    """Column means of score, cosine and norm over the first n positions of layer i, mean over heads."""
    means = defaultdict(list)
    for h in range(sample.H):
        q, k = sample.q[i][h][:n], sample.k[i][sample.kv(h)][:n]
        score, norm = q @ k.T, np.outer(np.linalg.norm(q, axis=1), np.linalg.norm(k, axis=1))
        for name, matrix in [("score_means", score), ("cosine_means", score / norm), ("norm_means", norm)]:
            means[name].append([matrix[j:, j].mean() for j in range(n)])
    return {name: np.mean(heads, axis=0) for name, heads in means.items()}


def while_writing(sample):
    """Regions as they are while a model writes: all that is generated counts as Answer."""
    region = sample.region.copy()
    region[sample.P :] = np.flatnonzero(sample.trace["region_kinds"] == "answer")[0]
    return region


def compare_trace(comparison, sample):
    """The trace's own sums against the matrices, before anything is made of them."""
    t = sample.trace

    def check(name, mine, theirs):
        comparison.numbers(f"trace: {name}", sample.name, mine, theirs)

    rows_entropy = [[np.mean([entropy(row) for row in matrix]) for matrix in a] for a in sample.A]
    check("head average", [a.mean(axis=0) for a in sample.A], sample.averaged)
    check("finished_received", [a.mean(axis=1) for a in sample.A], t["finished_received"])
    check("finished_row_entropy", rows_entropy, t["finished_row_entropy"])
    check("finished_flow", pooled(sample, "sum"), t["finished_flow"])
    for i, k in enumerate(sample.k):
        if sample.mixer(i) == "attention":
            check("finished_key_norms", np.linalg.norm(k, axis=-1), t["finished_key_norms"][i])
    for s, matrices in enumerate(sample.steps):
        n = len(sample.step_tokens[s])
        check("step_tokens", sample.step_tokens[s], t["step_tokens"][s, :n])
        check("received", [m.mean(axis=0) for m in matrices], t["received"][s, :, :n])
        rows = sample.read_rows(s)
        check("received_read", [m[rows].mean(axis=0) for m in matrices], t["received_read"][s, :, :n])
        check("step_read", np.isin(np.arange(n), rows), t["step_read"][s, :n])
        if not sample.causal:
            first = sample.steps[sample.first_of_length(s)]
            check("received_frozen", [m[rows].mean(axis=0) for m in first], t["received_frozen"][s, :, :n])
            after = sample.read_rows(s + 1) if s + 1 < len(sample.steps) else []
            stay = [r for r in after if set(after) <= set(rows)]
            still = [m[stay].mean(axis=0) if stay else np.zeros(n) for m in matrices]
            check("received_staying", still, t["received_staying"][s, :, :n])
        if sample.causal:  # what it has computed stays: the finished pass has the queries and keys of every step
            for i in range(len(sample.layers)):
                for name, means in step_means(sample, i, n).items():
                    check(name, means, t[name][s, i, :n])
    for i in range(len(sample.layers)):
        if sample.mixer(i) == "ssd":
            for h in range(sample.H):
                others = sample.A[i][h] * (1 - np.eye(sample.N))
                check("finished_score_means", np.sqrt(others.mean(axis=0)), t["finished_score_means"][i, h])
                product = np.prod([t[f"finished_{x}_means"][i, h].astype(float) for x in ("norm", "cosine", "recency")], axis=0)
                check("factors of a state space layer", product, t["finished_score_means"][i, h])
            continue
        for h in range(sample.H):
            score = sample.q[i][h] @ sample.k[i][sample.kv(h)].T
            check("finished_score_means", column_means(sample, score), t["finished_score_means"][i, h])
            scaled = np.where(sample.flat(sample.N) > 0, score / np.sqrt(sample.q[i].shape[-1]), -np.inf)
            a = np.exp(scaled - scaled.max(axis=1, keepdims=True))
            check("softmax of the states", a / a.sum(axis=1, keepdims=True), sample.A[i][h])
    for g in range(sample.N - sample.P):
        row = t["answer_rows"][g]
        if sample.causal and row >= 0:
            rows = np.array([a[:, row, :] for a in sample.A])
            check("answer_argmax", rows.argmax(axis=-1), t["answer_argmax"][g])
            check("answer_weight", rows.max(axis=-1), t["answer_weight"][g])
            check("answer_entropy", [[entropy(x) for x in heads] for heads in rows], t["answer_entropy"][g])
            check("answer_evidence_mass", rows[..., sample.evidence].sum(axis=-1), t["answer_evidence_mass"][g])
            check("answer_visible", row + 1, t["answer_visible"][g])
        s = np.flatnonzero(sample.step_numbers == t["commit_step"][g])
        if row >= 0 and "answer_mass" in t:
            check("answer_mass", answer_mass(sample, sample.P + g), t["answer_mass"][g])
        if row >= 0 and len(s):  # of a masked model's commit step the mean over heads is there
            mass = [m[row, sample.evidence[: len(m)]].sum() for m in sample.steps[s[0]]]
            check("answer_evidence_mass", mass, t["answer_evidence_mass"][g].mean(axis=-1))
            open_regions = while_writing(sample)[: len(sample.step_tokens[s[0]])]
            masses = [
                [m[row, open_regions == b].sum() for b in range(len(t["region_names"]))]
                for m in sample.steps[s[0]]
            ]
            check("answer_mass", masses, t["answer_mass"][g])


def main():
    directory, *files = sys.argv[1:] if len(sys.argv) > 3 else sys.exit(__doc__)
    directory = Path(directory)
    comparison = Comparison()
    samples = [Sample(trace, export) for trace, export in zip(files[::2], files[1::2], strict=True)]
    tables = [compute(sample) for sample in samples]
    theirs = read_samples(directory / "samples.csv")
    for sample, table in zip(samples, tables):
        compare_trace(comparison, sample)
        compare_samples(comparison, sample, table, theirs.pop((sample.header["model"], sample.header["sample"]), {}))
    for place in theirs:
        comparison.complain("sample", place, "is unknown to the witness")
    longest = max(sample.N for sample in samples)
    compare_summaries(comparison, read_table(directory / "summaries.csv"), tables, longest)
    compare_tasks(comparison, directory / "figures" / "tasks.csv", samples, tables)
    comparison.report()
    sys.exit(1 if comparison.complaints else 0)


if __name__ == "__main__":
    main()
