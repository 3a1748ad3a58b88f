"""Holds the permutation test between tasks against a second one.

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


def main():
    directory = Path(sys.argv[1]) if len(sys.argv) == 2 else sys.exit(__doc__)
    profiles = read_profiles(directory / "samples.csv")
    theirs = {(r["panel"], r["row"], r["column"]): r for r in read_table(directory / "figures" / "tasks.csv")}
    pairs = [(m, a, b) for (m, a), (other, b) in combinations(sorted(profiles), 2) if m == other]
    if not pairs or set(pairs) != set(theirs):
        sys.exit(f"FAIL tasks.csv has the pairs {sorted(theirs)}, expected {pairs}")
    problems, low = 0, 1
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
