#!/usr/bin/env python3
"""Writes the orders in which a LLaDA fills its masks, in NumPy and float64: tests/goldens/order/*.npz.

    python3 tests/numpy/orders.py

Two models: the random one of tests/goldens, and the bundled one, whose confidences are so near 1 that float32 takes many of them for
equal. Refuses to write where what decided was close enough for a float32 pass to decide otherwise.
"""
import sys
from pathlib import Path

import numpy as np

TREE = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TREE / "tests"))
from caches_test import Llada, softmax  # noqa: E402

# A passage and a question of MicroWorld in mini-mdm's tokens.
MICRO = [0, 408, 398, 280, 224, 20, 29, 451, 423, 596, 605, 284, 224, 937, 22, 17, 451, 423, 596, 604, 1324, 402, 406, 29, 570, 805, 319,
         270, 451, 423, 596, 651, 435, 407, 409, 29]
CLOSE = 1e-3  # of what is missing to 1, or to 0: a pass in float32 is off by less than a tenth of it


def rounded(p, kind):
    if kind == "f64":
        return p
    bits = np.float32(p).view(np.uint32)
    if kind == "f32":
        return float(np.float32(p))
    return float(((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32))


def check_margin(sure, taken, kind):
    """sure: {position: probability}. Moving all of them by CLOSE, against each other, must not change the choice."""
    low = {p: rounded(c - CLOSE * min(c, 1 - c), kind) for p, c in sure.items()}
    high = {p: rounded(c + CLOSE * min(c, 1 - c), kind) for p, c in sure.items()}
    for t in taken:
        for left in sure.keys() - set(taken):
            equal = low[t] == high[t] == low[left] == high[left] and t < left
            assert low[t] > high[left] or equal, (kind, t, sure[t], left, sure[left])


def generate(model, prompt, steps, length, block, kind):
    """LLaDA's sampler at temperature 0: tokens, and the step that wrote each generated one."""
    P, per_block = len(prompt), steps // (length // block)
    tokens, order = list(prompt) + [model.mask] * length, [-1] * length
    for step in range(steps):
        end = P + (step // per_block + 1) * block
        p = softmax(model.forward(tokens, range(len(tokens)), model.states(len(tokens)), model.states(len(tokens))))
        sure = {i: p[i].max() for i in range(P, end) if tokens[i] == model.mask}
        quota = block // per_block + (step % per_block < block % per_block)
        taken = sorted(sure, key=lambda i: (-rounded(sure[i], kind), i))[:quota]
        check_margin(sure, taken, kind)
        for i in taken:
            tokens[i], order[i - P] = int(p[i].argmax()), step
    return tokens, order


def main():
    out = TREE / "tests/goldens/order"
    out.mkdir(exist_ok=True)
    llada = np.load(TREE / "tests/goldens/llada/golden.npz")
    for name, directory, prompt, settings in (
            ("llada", TREE / "tests/goldens/llada", llada["prompt_ids"].tolist(), ((8, 16, 8), (16, 16, 16))),
            ("mini-mdm", TREE / "models/mini-mdm", MICRO, ((8, 16, 16),))):
        model = Llada(directory)
        arrays = {"input_ids": np.array(prompt), "prompt_ids": np.array(prompt)}
        for steps, length, block in settings:
            for kind in ("f64", "f32", "bf16"):
                rest = f"s{steps}_g{length}_b{block}_cfg0.0"
                tokens, order = generate(model, prompt, steps, length, block, kind)
                arrays[f"order_{kind}_{rest}"] = np.array(order)
                print(name, rest, kind, order)
                if kind == "f64":
                    arrays[f"gen_{rest}"] = np.array(tokens)
        np.savez(out / f"{name}.npz", **arrays)


if __name__ == "__main__":
    main()
