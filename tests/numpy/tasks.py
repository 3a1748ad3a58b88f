"""Holds the permutation test between tasks, and the contrast of tasks, against second ones.

tasks.py DIR

DIR is what `buoy analyze` wrote. Divergences and p of figures/tasks.csv are computed again from the anchor profiles in samples.csv: the
same thousand deals, drawn by Philox as its paper has it, counted here. Exits 1 when a number is off, or when there is nothing to compare.
"""

import csv
import sys
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import numpy as np

from analyses import entropy

SEED, DEALS = 20260107, 1000


def philox(counter, key):
    """Philox 4x32-10 (Salmon et al. 2011)."""
    low = 0xFFFFFFFF
    for _ in range(10):
        p, q = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [(q >> 32) ^ counter[1] ^ key[0], q & low, (p >> 32) ^ counter[3] ^ key[1], p & low]
        key = [(key[0] + 0x9E3779B9) & low, (key[1] + 0xBB67AE85) & low]
    return counter


def draw(deal, index):
    """Number `index` of a deal's stream, in (0, 1)."""
    words = philox([index // 2, 0, deal, 0], [SEED & 0xFFFFFFFF, SEED >> 32])
    high, low = words[2 * (index % 2) :][:2]
    return (((high << 32 | low) >> 11) + 0.5) * 2.0**-53


def deals(n):
    """Every deal as an order of n samples."""
    for deal in range(DEALS):
        order = list(range(n))
        for i in range(n - 1, 0, -1):
            j = int(draw(deal, i) * (i + 1))
            order[i], order[j] = order[j], order[i]
        yield order


def divergence(a, b):
    p, q = np.mean(a, axis=0), np.mean(b, axis=0)
    return entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2


def compare(a, b):
    samples, seen = np.array(a + b), divergence(a, b)
    as_far = sum(divergence(samples[o[: len(a)]], samples[o[len(a) :]]) >= seen - 1e-12 for o in deals(len(samples)))
    return seen, (1 + as_far) / (1 + DEALS)


def read_table(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read_profiles(path):
    """{(model, task): one profile for each sample, in the order of dataset and name}"""
    cells = defaultdict(dict)
    for row in read_table(path):
        if row["quantity"] == "anchor_profile":
            cells[row["model"], row["task"], row["data"], row["sample"]][row["part"]] = float(row["value"])
    profiles = defaultdict(list)
    for (model, task, *_), profile in sorted(cells.items()):
        profiles[model, task].append([value for _, value in sorted(profile.items())])
    return profiles


def contrasts(directory):
    """{(model, data, sample): task_contrast}, from the profiles alone."""
    asked = {(r["data"], r["sample"]): r["question"] for r in read_table(directory / "questions.csv")}
    samples = defaultdict(dict)
    for row in read_table(directory / "samples.csv"):
        if row["quantity"] == "anchor_profile":
            samples[row["model"], row["task"], row["data"], row["sample"]][row["part"]] = float(row["value"])
    out = {}
    for (model, task, data, sample), profile in samples.items():
        groups = defaultdict(list)
        for (m, other_task, d, s), other in samples.items():
            if m == model and asked[d, s] != asked[data, sample]:
                groups[other_task].append([other[part] for part in profile])
        distances = {name: divergence([list(profile.values())], group) for name, group in groups.items()}
        own = distances.pop(task, None)
        if own is not None and distances:
            out[model, data, sample] = np.mean(list(distances.values())) - own
    return out


def check_contrasts(directory):
    """How many of the written contrasts are missing, unknown or off."""
    mine = contrasts(directory)
    rows = [r for r in read_table(directory / "samples.csv") if r["quantity"] == "task_contrast"]
    theirs = {(r["model"], r["data"], r["sample"]): float(r["value"]) for r in rows}
    off = [k for k in mine.keys() | theirs.keys() if not np.isclose(mine.get(k, np.nan), theirs.get(k, np.nan), rtol=1e-4, atol=1e-6)]
    for key in off[:3]:
        print(f"FAIL task_contrast of {key} is {theirs.get(key)}, expected {mine.get(key)}")
    print(f"{len(mine)} contrasts of tasks compared, {len(off)} complaints")
    return len(off) if mine else 1


def main():
    directory = Path(sys.argv[1]) if len(sys.argv) == 2 else sys.exit(__doc__)
    profiles = read_profiles(directory / "samples.csv")
    theirs = {(r["panel"], r["row"], r["column"]): r for r in read_table(directory / "figures" / "tasks.csv")}
    pairs = [(m, a, b) for (m, a), (other, b) in combinations(sorted(profiles), 2) if m == other]
    if not pairs or set(pairs) != set(theirs):
        sys.exit(f"FAIL tasks.csv has the pairs {sorted(theirs)}, expected {pairs}")
    problems, low = check_contrasts(directory), 1
    for model, a, b in pairs:
        seen, p = compare(profiles[model, a], profiles[model, b])
        row = theirs[model, a, b]
        low = min(low, p)
        if not (np.isclose(seen, float(row["value"]), rtol=1e-4, atol=1e-6) and np.isclose(p, float(row["p"]), rtol=1e-7, atol=0)):
            problems += 1
            print(f"FAIL {model} {a} {b}: {row['value']} with p = {row['p']}, expected {seen:.9g} with p = {p:.9g}")
    print(f"{len(pairs)} pairs of tasks compared, the smallest p is {low:.3f}, {problems} complaints")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
