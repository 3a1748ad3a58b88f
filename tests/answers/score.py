#!/usr/bin/env python3
"""Scores the pairs of pairs.jsonl as SQuAD 2.0 and the paper's scripts define it, apart from Buoy: compares with the values in the file, or --write puts them there."""
import collections
import json
import pathlib
import re
import string
import sys

PAIRS = pathlib.Path(__file__).with_name("pairs.jsonl")


def normalise(text):
    kept = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split())


def f1(prediction, gold):
    got, want = prediction.split(), gold.split()
    if not got or not want:  # SQuAD 2.0: no answer against no answer
        return float(got == want)
    common = sum((collections.Counter(got) & collections.Counter(want)).values())
    if common == 0:
        return 0.0
    precision, recall = common / len(got), common / len(want)
    return 2 * precision * recall / (precision + recall)


def score(pair):
    got = normalise(pair["prediction"])
    golds = [normalise(gold) for gold in pair["golds"]]
    return {
        "normalised": got,
        "em": max((float(got == gold) for gold in golds), default=0.0),
        "substring": max((float(gold != "" and gold in got) for gold in golds), default=0.0),
        "f1": max((f1(got, gold) for gold in golds), default=0.0),
    }


def main():
    pairs = [json.loads(line) for line in PAIRS.read_text(encoding="ascii").splitlines()]
    if sys.argv[1:] == ["--write"]:
        PAIRS.write_text("".join(json.dumps({**pair, **score(pair)}) + "\n" for pair in pairs), encoding="ascii")
        return
    wrong = [number for number, pair in enumerate(pairs, 1) if {**pair, **score(pair)} != pair]
    if wrong or len(pairs) != 500:
        sys.exit(f"{PAIRS.name}: {len(pairs)} pairs, expected 500; other scores on lines {wrong}")
    print(f"{len(pairs)} pairs agree")


if __name__ == "__main__":
    main()
