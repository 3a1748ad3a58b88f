#!/usr/bin/env python3
"""Times Buoy against PyTorch on the same weights, alternating in one run, and prints a Markdown table.

    cmake --preset bench && cmake --build --preset bench
    python3 bench/compare.py --torch python3
    python3 bench/compare.py --torch python3 --instructions avx2 --threads 1 --clock cpu

`--torch` is the command of a Python that has PyTorch; without it only Buoy is measured. `--instructions avx2` holds both back
where there is AVX-512 too. Needs NumPy (to make the large random checkpoint). Each pair is run --rounds times in turn; the best
times are shown and divided: of the clock on the wall, or of the processor, which other work on the machine lengthens less.
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
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent


def environment(instructions):
    """OpenBLAS and PyTorch choose kernels by the processor; both can be told, and OpenBLAS's own choice is poor on new ones."""
    wide = instructions == "best" and " avx512f " in pathlib.Path("/proc/cpuinfo").read_text()
    chosen = {"OPENBLAS_CORETYPE": "SkylakeX" if wide else "Haswell"}
    return chosen if wide else chosen | {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"}


def last_json(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | more)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)} failed: {done.stderr.strip()}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def buoy(a, model, tokens, record, repeat):
    return last_json([str(a.build / "forward_bench"), "--model", str(model), "--tokens", str(tokens), "--record", record,
                      "--repeat", str(repeat), "--threads", str(a.threads), "--instructions", a.instructions])


def torch(a, model, tokens, attention, repeat):
    return last_json([*shlex.split(a.torch), str(HERE / "torch_llada.py"), "--model", str(model), "--tokens",
                      str(tokens), "--attention", attention, "--repeat", str(repeat), "--threads", str(a.threads)],
                     **environment(a.instructions))


def alternate(a, *jobs):
    """The best time of each job over all rounds, run in turn: on a shared machine the rest is other people's work."""
    best = "best_cpu_ms" if a.clock == "cpu" else "best_ms"
    times = [[job()[best] for job in jobs] for _ in range(a.rounds)]
    return [min(column) for column in zip(*times)]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--torch", help="command of a Python with PyTorch")
    p.add_argument("--build", type=pathlib.Path, default=ROOT / "build/bench")
    p.add_argument("--model", type=pathlib.Path, default=ROOT / "models/mini-mdm")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--threads", type=int, default=0, help="0: all")
    p.add_argument("--instructions", choices=("best", "avx2"), default="best")
    p.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    p.add_argument("--skip-large", action="store_true", help="leave out the 374-million-parameter shape")
    p.add_argument("--scratch", default=tempfile.gettempdir(), help="where the large checkpoint goes (1.5 GiB)")
    a = p.parse_args()

    print("| what | Buoy | PyTorch | ratio |\n|---|---|---|---|")
    mini = lambda record: (lambda: buoy(a, a.model, 512, record, 20))
    if a.torch:
        for attention, record, name in (("eager", "columns", "eager, attentions returned; Buoy with column sums"),
                                        ("sdpa", "none", "sdpa, nothing recorded; Buoy plain")):
            ours, theirs = alternate(a, mini(record), lambda: torch(a, a.model, 512, attention, 20))
            print(f"| mini-mdm, N = 512: {name} | {ours:.1f} ms | {theirs:.1f} ms | {theirs / ours:.2f} |", flush=True)
    plain, columns, everything = alternate(a, mini("none"), mini("columns"), mini("all"))
    print(f"| mini-mdm, N = 512: column sums over plain | {columns:.1f} ms | | {columns / plain:.2f} |")
    print(f"| mini-mdm, N = 512: all statistics over plain | {everything:.1f} ms | | {everything / plain:.2f} |", flush=True)

    if not a.skip_large:
        large = pathlib.Path(a.scratch) / "buoy-random-374m"
        if not (large / "model.safetensors").exists():
            subprocess.run([sys.executable, str(HERE / "make_checkpoint.py"), str(large)], check=True, stdout=sys.stderr)
        ours = lambda: buoy(a, large, 512, "none", 3)
        if a.torch:
            mine, theirs = alternate(a, ours, lambda: torch(a, large, 512, "sdpa", 3))
            print(f"| 374M random LLaDA, N = 512, float32, sdpa | {mine:.0f} ms | {theirs:.0f} ms | {theirs / mine:.2f} |",
                  flush=True)
        else:
            print(f"| 374M random LLaDA, N = 512, float32 | {alternate(a, ours)[0]:.0f} ms | | |", flush=True)

    start = []
    for _ in range(5):
        begin = time.perf_counter()
        subprocess.run([str(a.build / "buoy"), "generate", "--model", str(a.model), "--ids", "0,17", "--gen-length", "1"],
                       check=True, capture_output=True)
        start.append(time.perf_counter() - begin)
    print(f"| start-up: `buoy generate` of one token | {1e3 * statistics.median(start):.0f} ms | | |", flush=True)

    print("\n| N | plain | with all statistics | memory above N = 512 |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:  # the mini model's shape with a context of 8192
        subprocess.run([sys.executable, str(HERE / "make_checkpoint.py"), scratch, "--layers", "12", "--width", "192",
                        "--heads", "6", "--mlp", "512", "--vocabulary", "2048"], check=True, stdout=sys.stderr)
        base = None
        for tokens in (512, 1024, 2048, 4096, 8192):
            plain = buoy(a, scratch, tokens, "none", 1)
            full = buoy(a, scratch, tokens, "all", 1)
            base = base or full["peak_mib"]
            print(f"| {tokens} | {plain['peak_mib']:.0f} MiB, {plain['median_ms']:.0f} ms | {full['peak_mib']:.0f} MiB, "
                  f"{full['median_ms']:.0f} ms | {full['peak_mib'] - base:.0f} MiB |", flush=True)


if __name__ == "__main__":
    main()
