#!/usr/bin/env python3
"""Times a state space model beside its twin with attention and the same scan in PyTorch, in turn, and prints a Markdown table.

    cmake --preset bench && cmake --build --preset bench --target forward_bench
    python3 bench/compare_ssd.py --torch python3

All are random weights in the shape of the bundled set. Each row's jobs run in turn, --rounds times; the best processor times of
one thread are shown, which other work on the machine lengthens least. "slope" is how time grows with N between this row and the
one before, as a power: 1 is linear. `--torch` is the command of a Python that has PyTorch and safetensors; it also writes the checkpoints.
"""
import argparse
import math
import pathlib
import shlex
import tempfile

from compare import HERE, ROOT, environment, last_json


def torch(a, *flags):
    return last_json([*shlex.split(a.torch), str(HERE / "torch_ssd.py"), *flags], **environment(a))


def passes(a, kind, tokens, record):
    return lambda: last_json([str(a.build / "forward_bench"), "--model", f"{a.scratch}/mini-{kind}", "--tokens", str(tokens), "--record",
                              record, "--repeat", str(a.repeat), "--threads", str(a.threads), "--instructions", a.instructions])


def jobs(a, tokens):
    named = {f"mini-{kind} {name}": passes(a, kind, tokens, record)
             for kind in ("ssm", "mdm") for name, record in (("plain", "none"), ("recorded", "all"))}
    named["PyTorch, mini-ssm plain"] = lambda: torch(a, "--model", f"{a.scratch}/mini-ssm", "--tokens", str(tokens),
                                                     "--repeat", str(a.repeat), "--threads", str(a.threads))
    return named


def best_of(a, tokens):
    """Milliseconds by name, the best of all rounds."""
    named = jobs(a, tokens)
    rounds = [{name: job()["best_cpu_ms"] for name, job in named.items()} for _ in range(a.rounds)]
    return {name: min(r[name] for r in rounds) for name in named}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--torch", default="python3", help="command of a Python with PyTorch")
    p.add_argument("--build", type=pathlib.Path, default=ROOT / "build/bench")
    p.add_argument("--tokens", type=int, nargs="+", default=[512, 2048, 8192])
    p.add_argument("--rounds", type=int, default=2)
    p.add_argument("--repeat", type=int, default=2)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--instructions", choices=("best", "avx512", "avx2"), default="best")
    p.add_argument("--scratch", default=tempfile.gettempdir(), help="where the random checkpoints go (18 MB)")
    a = p.parse_args()
    for kind in ("ssm", "mdm"):
        torch(a, "--make", kind, "--model", f"{a.scratch}/mini-{kind}")
    before = None
    for tokens in a.tokens:
        times = best_of(a, tokens)
        if before is None:
            print("| N | " + " | ".join(f"{name} | slope" for name in times) + " | PyTorch ÷ recorded | mdm ÷ ssm, recorded |")
            print("|---" * (2 * len(times) + 3) + "|")
        cells = []
        for name, ms in times.items():
            slope = math.log(ms / before[1][name]) / math.log(tokens / before[0]) if before else None
            cells.append(f"{ms:.0f} ms | " + (f"{slope:.2f}" if slope is not None else "–"))
        ssm = times["mini-ssm recorded"]
        print(f"| {tokens} | " + " | ".join(cells) + f" | {times['PyTorch, mini-ssm plain'] / ssm:.2f} | "
              f"{times['mini-mdm recorded'] / ssm:.2f} |", flush=True)
        before = tokens, times


if __name__ == "__main__":
    main()
