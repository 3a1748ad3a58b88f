#!/usr/bin/env python3
"""Times Buoy against PyTorch and llama.cpp on the same weights, in turn in one run, and prints Markdown tables.

    cmake --preset bench && cmake --build --preset bench
    python3 bench/compare.py --torch python3 --llama llama-bench --threads 1
    python3 bench/compare.py --torch python3 --threads 1 --instructions avx2

`--torch` is the command of a Python that has PyTorch, `--llama` that of llama.cpp's llama-bench; without them only Buoy is measured.
`--instructions avx2` holds Buoy and PyTorch back where there is AVX-512 too; llama.cpp has no such switch, its command must do so. `avx512` keeps Buoy from AMX, which PyTorch
does not use in float32.
Needs NumPy (to make checkpoints). A round runs every program once, each a few passes; times are the medians of
a round's passes, ratios are taken within a round, and the table has the median round and, in brackets, the least and the greatest. Beside the
clock on the wall stands the processor's time of all threads, which other work on the machine lengthens less.
"""
import argparse
import json
import os
import pathlib
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
SLOW = 10  # GFLOP/s of a core: any tuned BLAS is above it on a processor with AVX2, the reference BLAS far below


def environment(a):
    """OpenBLAS and PyTorch choose kernels by the processor; both can be told, and OpenBLAS's own choice is poor on new ones. It also has threads of
    its own, which wait by spinning: those that PyTorch is not to use cost it several times the time."""
    wide = a.instructions != "avx2" and " avx512f " in pathlib.Path("/proc/cpuinfo").read_text()
    chosen = {"OPENBLAS_CORETYPE": "SkylakeX" if wide else "Haswell"}
    if a.threads:
        chosen |= {"OPENBLAS_NUM_THREADS": str(a.threads), "OMP_NUM_THREADS": str(a.threads)}
    return chosen if wide else chosen | {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"}


def output_of(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | more)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)} failed: {done.stderr.strip()}")
    return done.stdout.strip()


def last_json(command, **more):
    return json.loads(output_of(command, **more).splitlines()[-1])


def buoy(a, model, tokens, record, repeat):
    made = last_json([str(a.build / "forward_bench"), "--model", str(model), "--tokens", str(tokens), "--record", record,
                      "--repeat", str(repeat), "--threads", str(a.threads), "--instructions", a.instructions])
    return made | {"wall": made["median_ms"], "cpu": made["median_cpu_ms"]}


def torch(a, model, tokens, attention, repeat):
    made = last_json([*shlex.split(a.torch), str(HERE / "torch_llada.py"), "--model", str(model), "--tokens", str(tokens),
                      "--attention", attention, "--repeat", str(repeat), "--threads", str(a.threads)], **environment(a))
    if made["product_gflops"] < SLOW:
        sys.exit(f"compare.py: PyTorch multiplies at {made['product_gflops']:.1f} GFLOP/s a core: it runs on a plain BLAS. Install OpenBLAS beside it.")
    return made | {"wall": made["median_ms"], "cpu": made["median_cpu_ms"]}


def llama(a, gguf, tokens, repeat):
    """llama-bench reads the clock on the wall alone: a pass's processor time is the difference of a long and a short run."""
    def run(times):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        made = json.loads(output_of([*shlex.split(a.llama), "-m", str(gguf), "-p", str(tokens), "-n", "0", "-b", str(tokens), "-ub", str(tokens),
                                     "-r", str(times), "-o", "json", *(["-t", str(a.threads)] if a.threads else [])]))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return made[0]["samples_ns"], after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    short, long = run(1), run(1 + repeat)
    return {"wall": statistics.median(long[0]) / 1e6, "cpu": 1e3 * (long[1] - short[1]) / repeat}


def rounds_of(a, jobs):
    """{name: [what each round gave]}, the jobs of a round one after the other."""
    made = {name: [] for name in jobs}
    for number in range(a.rounds):
        for name, job in jobs.items():
            made[name].append(job())
            print(f"round {number + 1}, {name}: {made[name][-1]['wall']:.1f} ms, processor {made[name][-1]['cpu']:.1f} ms", file=sys.stderr, flush=True)
    return made


def compare(what, ours, theirs):
    """A line of the table: times of both, and theirs ÷ ours round by round."""
    cells = [what]
    for clock in ("wall", "cpu"):
        mine, other = ([made[clock] for made in runs] for runs in (ours, theirs))
        ratios = sorted(t / m for m, t in zip(mine, other))
        cells += [f"{statistics.median(mine):.1f} ms", f"{statistics.median(other):.1f} ms",
                  f"**{statistics.median(ratios):.2f}** ({ratios[0]:.2f}–{ratios[-1]:.2f})"]
    print("| " + " | ".join(cells) + " |", flush=True)


def compare_mini(a):
    scratch = pathlib.Path(a.scratch)
    jobs = {record: (lambda record=record: buoy(a, a.model, 512, record, a.repeat)) for record in ("none", "columns", "all")}
    if a.torch:
        for attention in ("eager", "sdpa"):
            jobs[attention] = lambda attention=attention: torch(a, a.model, 512, attention, a.repeat)
    if a.llama:
        gguf = scratch / "buoy-mini.gguf"
        subprocess.run([sys.executable, str(HERE / "make_gguf.py"), str(a.model), str(gguf)], check=True, stdout=sys.stderr)
        jobs["llama"] = lambda: llama(a, gguf, 512, a.repeat)
    made = rounds_of(a, jobs)
    name = a.model.name
    if a.torch:
        compare(f"{name}, N = 512: column sums; PyTorch eager, attentions returned", made["columns"], made["eager"])
        compare(f"{name}, N = 512: column sums; PyTorch sdpa, nothing recorded", made["columns"], made["sdpa"])
        compare(f"{name}, N = 512: plain; PyTorch sdpa", made["none"], made["sdpa"])
    if a.llama:
        compare(f"{name}, N = 512: column sums; llama.cpp, one row's logits", made["columns"], made["llama"])
        compare(f"{name}, N = 512: plain; llama.cpp, one row's logits", made["none"], made["llama"])
    compare(f"{name}, N = 512: plain; with column sums", made["none"], made["columns"])
    compare(f"{name}, N = 512: plain; with all statistics", made["none"], made["all"])


def compare_large(a):
    """In both types that weights come in: bf16, as public checkpoints are, may take other units. All compute in float32."""
    for dtype in ("bfloat16", "float32"):
        name, large = f"374M random LLaDA, weights in {dtype}, N = 512", pathlib.Path(a.scratch) / f"buoy-random-374m-{dtype}"
        if not (large / "model.safetensors").exists():
            subprocess.run([sys.executable, str(HERE / "make_checkpoint.py"), str(large), "--dtype", dtype], check=True, stdout=sys.stderr)
        jobs = {"plain": lambda: buoy(a, large, 512, "none", 3), "columns": lambda: buoy(a, large, 512, "columns", 3)}
        if a.torch:
            jobs["sdpa"] = lambda: torch(a, large, 512, "sdpa", 3)
        if a.llama:
            gguf = large / "model.gguf"
            if not gguf.exists():
                subprocess.run([sys.executable, str(HERE / "make_gguf.py"), str(large), str(gguf)], check=True, stdout=sys.stderr)
            jobs["llama"] = lambda: llama(a, gguf, 512, 3)
        made = rounds_of(a, jobs)
        if a.torch:
            compare(f"{name}: plain; PyTorch sdpa", made["plain"], made["sdpa"])
        if a.llama:
            compare(f"{name}: plain; llama.cpp, one row's logits", made["plain"], made["llama"])
        compare(f"{name}: plain; with column sums", made["plain"], made["columns"])


def measure_memory(a):
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


def measure_start(a):
    start = []
    for _ in range(5):
        begin = time.perf_counter()
        subprocess.run([str(a.build / "buoy"), "generate", "--model", str(a.model), "--ids", "0,17", "--gen-length", "1"],
                       check=True, capture_output=True)
        start.append(time.perf_counter() - begin)
    print(f"\nStart-up: `buoy generate` of one token {1e3 * statistics.median(start):.0f} ms.", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--torch", help="command of a Python with PyTorch")
    p.add_argument("--llama", help="command of llama.cpp's llama-bench")
    p.add_argument("--build", type=pathlib.Path, default=ROOT / "build/bench")
    p.add_argument("--model", type=pathlib.Path, default=ROOT / "models/mini-mdm")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--repeat", type=int, default=10, help="passes of the small model a program and round (default 10)")
    p.add_argument("--threads", type=int, default=0, help="0: all")
    p.add_argument("--instructions", choices=("best", "avx512", "avx2"), default="best")
    p.add_argument("--only", choices=("mini", "large", "memory", "start"), help="one part")
    p.add_argument("--scratch", default=tempfile.gettempdir(), help="where checkpoints go (3 GiB); the commands must see it under this path")
    a = p.parse_args()
    if a.only in (None, "mini", "large"):
        print("| Buoy; what it is compared with | Buoy | the other | ratio | Buoy, processor | the other | ratio |\n|---|---|---|---|---|---|---|")
    for name, part in (("mini", compare_mini), ("large", compare_large), ("start", measure_start), ("memory", measure_memory)):
        if a.only in (None, name):
            part(a)


if __name__ == "__main__":
    main()
