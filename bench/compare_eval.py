#!/usr/bin/env python3
"""Question answering in items per second: one by one, in batches, and the same loop in PyTorch, as a Markdown table.

    cmake --preset bench && cmake --build --preset bench
    python3 bench/compare_eval.py --torch python3
    python3 bench/compare_eval.py --torch python3 --threads 1 --clock cpu     # on a busy machine

`--torch` is the command of a Python that has PyTorch and transformers (Debian sid: python3-torch, python3-transformers);
without it only Buoy is measured. All run --rounds times in turn; rates are the best of them, ratios to PyTorch those of the median round. Loading is
not timed. `--clock cpu` counts seconds of the processor instead of those on the wall.
"""
import argparse
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile

from compare import environment

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent

# What, the arguments of eval_bench, those of torch_eval.py.
ROWS = [
    ("mini-arm, passages given", ["--model", "mini-arm", "--passages", "given"], []),
    ("mini-arm, no passages", ["--model", "mini-arm", "--passages", "none"], []),
    ("mini-arm, passages given, 32 tokens", ["--model", "mini-arm", "--passages", "given", "--ignore-eos"], []),
    ("mini-mdm, passages given, 16 steps", ["--model", "mini-mdm", "--passages", "given"], []),
    ("mini-mdm, no passages, 16 steps", ["--model", "mini-mdm", "--passages", "none"], []),
    ("mini-mdm, passages given, 16 steps; PyTorch with the answer's logits only",
     ["--model", "mini-mdm", "--passages", "given"], ["--logits", "answer"]),
]


def last_json(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | more)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)} failed: {done.stderr.strip()}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--torch", help="command of a Python with PyTorch and transformers")
    p.add_argument("--build", type=pathlib.Path, default=ROOT / "build/bench")
    p.add_argument("--data", type=pathlib.Path, default=ROOT / "data/micro_test.jsonl")
    p.add_argument("--items", type=int, default=32)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    p.add_argument("--instructions", choices=("best",), default="best", help=argparse.SUPPRESS)
    p.add_argument("--only", default="", help="rows that begin with this")
    p.add_argument("--scratch", default=tempfile.gettempdir(), help="where prompts go from one to the other")
    a = p.parse_args()

    print("| items/s | one by one | in batches | ratio | PyTorch one by one | in batches | Buoy ÷ PyTorch | in batches | answers "
          "that differ |\n|---|---|---|---|---|---|---|---|---|")
    for what, arguments, torch_arguments in [row for row in ROWS if row[0].startswith(a.only)]:
        work = pathlib.Path(a.scratch) / "buoy-eval-work.json"
        ours = [str(a.build / "eval_bench"), "--data", str(a.data), "--items", str(a.items), "--batch-size",
                str(a.batch_size), "--rounds", "1", "--threads", str(a.threads), "-o", str(work), *arguments]
        ours[ours.index("--model") + 1] = str(ROOT / "models" / ours[ours.index("--model") + 1])
        best, ratios, differ = [0.0] * 4, [], 0
        second = "cpu_s" if a.clock == "cpu" else "s"
        for _ in range(a.rounds):
            made = last_json(ours)
            times = [made[f"one_by_one_items_per_{second}"], made[f"batched_items_per_{second}"]]
            if a.torch:
                theirs = last_json([*shlex.split(a.torch), str(HERE / "torch_eval.py"), str(work), "--batch-sizes", "1",
                                    str(a.batch_size), "--threads", str(a.threads), *torch_arguments], **environment(a))
                times += theirs[f"items_per_{second}"]
                ratios.append((times[0] / times[2], times[1] / times[3]))
                differ = max(differ, *theirs["answers_that_differ"])
            best = [max(best[i], times[i]) for i in range(len(times))]
        one, batched = best[:2]
        cells = [what, f"{one:.1f}", f"{batched:.1f}", f"{batched / one:.2f}"]
        if a.torch:
            cells += [f"{best[2]:.1f}", f"{best[3]:.1f}", *(f"{statistics.median(r):.2f}" for r in zip(*ratios)),
                      f"{differ} of {made['items']}"]
        else:
            cells += [""] * 5
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
