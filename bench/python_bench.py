#!/usr/bin/env python3
"""Times generation from Python beside the command, and with a hook that reads column sums at every step.

    PYTHONPATH=build/release/python python_bench.py build/release/buoy [--model mini-mdm] [--length 384] [--rounds 5] [--threads 0]

What a pass costs is the processor time of many steps less that of few, so that loading cancels out. Two readings of the rounds, taken
in turn: the best of each, and the median of the ratios within a round with its quartiles, which a lucky moment of one side does not move.
"""
import argparse
import resource
import statistics
import subprocess
import time

import buoy

FEW, MANY, ANSWER = 4, 20, 32


def of_command(program, model, ids, steps, threads):
    limit = ["--threads", str(threads)] if threads else []
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([program, "generate", "--model", model, "--ids", ",".join(map(str, ids)), "--gen-length", str(ANSWER), "--steps", str(steps),
                    *limit], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def of_python(work, steps):
    before = time.process_time()
    work(steps)
    return time.process_time() - before


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--model", default="mini-mdm")
    parser.add_argument("--length", type=int, default=384)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0, help="of both; 0: all cores")
    options = parser.parse_args()
    model = buoy.load(options.model, threads=options.threads)
    ids = [20 + i % 50 for i in range(options.length)]

    def plain(steps):
        model.generate(ids, gen_length=ANSWER, steps=steps)

    def stepped(steps):
        for _ in model.run(ids, gen_length=ANSWER, steps=steps):
            pass

    def hooked(steps):
        total = 0.0
        for step in model.run(ids, gen_length=ANSWER, steps=steps, record="column_sums"):
            total += float(step.column_sums[:, :, 0].sum())
        return total

    works = {"command": lambda steps: of_command(options.program, options.model, ids, steps, options.threads)}
    for name, work in (("python, generate", plain), ("python, run", stepped), ("python, run with column sums", hooked)):
        works[name] = lambda steps, work=work: of_python(work, steps)
    best, rounds = {}, []
    for _ in range(options.rounds):
        passes = {}
        for name, work in works.items():
            took = {steps: work(steps) for steps in (FEW, MANY)}
            passes[name] = took[MANY] - took[FEW]
            for steps, seconds in took.items():
                best[name, steps] = min(best.get((name, steps), seconds), seconds)
        rounds.append(passes)
    base = best["command", MANY] - best["command", FEW]
    print(f"{'':32} {'best':>7} ms a pass, ratio   median ms, ratio (quartiles)")
    for name in works:
        passes = best[name, MANY] - best[name, FEW]
        ratios = [r[name] / r["command"] for r in rounds]
        low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
        median = statistics.median(r[name] for r in rounds)
        print(f"{name:32} {passes / (MANY - FEW) * 1e3:8.2f} {passes / base:15.3f} "
              f"{median / (MANY - FEW) * 1e3:11.2f} {middle:7.3f} ({low:.3f}-{high:.3f})")


if __name__ == "__main__":
    main()
