"""Holds the intervals of `buoy analyze` against a second studentised bootstrap.

intervals.py DIR

DIR is what `buoy analyze` wrote, of samples that each ask a question of their own. Every lo and hi of summaries.csv is computed again from
samples.csv as docs/definitions.md has it: the same two thousand resamples, drawn by Philox. Exits 1 when a number is off, or when there is
nothing to compare.
"""

import csv
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np

SEED, RESAMPLES = 20260107, 2000
LOW = np.uint64(0xFFFFFFFF)


def philox(counter, key):
    """Philox 4x32-10 (Salmon et al. 2011) over arrays of counters."""
    c, (k0, k1) = [np.asarray(x, dtype=np.uint64) for x in counter], key
    for _ in range(10):
        p, q = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(q >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), q & LOW, (p >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), p & LOW]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c


@cache
def counts(n):
    """[RESAMPLES, n]: how often each of n questions is drawn."""
    b, index = np.meshgrid(np.arange(RESAMPLES), np.arange(n), indexing="ij")
    nothing = np.zeros_like(b)
    words = philox([index // 2, nothing, b, nothing], (SEED & 0xFFFFFFFF, SEED >> 32))
    high, low = np.where(index % 2, words[2], words[0]), np.where(index % 2, words[3], words[1])
    unit = ((((high << np.uint64(32)) | low) >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53
    drawn = (unit * n).astype(int)
    return np.array([np.bincount(row, minlength=n) for row in drawn])


def interval(values, weights):
    n, theta = len(values), values.sum() / weights.sum()
    u = (values - theta * weights) / weights.mean()
    spread = (u**2).mean()
    if n < 2 or spread < 1e-24 * max(1.0, theta**2):
        return theta, theta
    drawn = counts(n)
    mean = drawn @ u / n
    variance = np.maximum(drawn @ u**2 / n - mean**2, 0)
    t = mean / np.sqrt((variance + spread / n) / (n - 1))
    error = np.sqrt((spread + spread / n) / (n - 1))
    return theta - np.quantile(t, 0.975) * error, theta - np.quantile(t, 0.025) * error


def read_table(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


NAME = ["quantity", "layer", "head", "part"]
PLACE = ["model", "data", "task"]


def main():
    directory = Path(sys.argv[1]) if len(sys.argv) == 2 else sys.exit(__doc__)
    columns = defaultdict(list)
    for row in sorted(read_table(directory / "samples.csv"), key=lambda r: [r[c] for c in [*PLACE, "sample"]]):
        columns[tuple(row[c] for c in NAME)].append(row)
    compared = problems = 0
    for row in read_table(directory / "summaries.csv"):
        if not row["lo"]:
            continue
        mine = [
            (float(r["value"]), float(r["weight"]))
            for r in columns[tuple(row[c] for c in NAME)]
            if all(row[c] in ("*", r[c]) for c in PLACE)
        ]
        values, weights = np.array(mine).T
        if not row["n"] == row["questions"] == str(len(mine)):
            sys.exit(f"FAIL {row}: expected {len(mine)} samples of as many questions")
        lo, hi = interval(values, weights)
        compared += 1
        scale = 1e-5 * max(abs(lo), abs(hi), np.abs(values / weights).max())  # the table has nine digits
        if abs(lo - float(row["lo"])) > scale or abs(hi - float(row["hi"])) > scale:
            problems += 1
            if problems < 9:
                print(f"FAIL {[row[c] for c in [*PLACE, *NAME]]}: [{row['lo']}, {row['hi']}], expected [{lo:.9g}, {hi:.9g}]")
    print(f"{compared} intervals compared, {problems} complaints")
    sys.exit(1 if problems or not compared else 0)


if __name__ == "__main__":
    main()
