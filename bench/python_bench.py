#!/usr/bin/env python3
"""Times generation from Python beside the command, and with a hook that reads column sums at every step.

    PYTHONPATH=build/release/python python_bench.py build/release/buoy [--model mini-mdm] [--length 384] [--rounds 5]

What a pass costs is the processor time of many steps less that of few, so that loading cancels out; best of the rounds, taken in turn.
"""
import argparse
import resource
import subprocess
import time

import buoy

FEW, MANY, ANSWER = 4, 20, 32


def of_command(program, model, ids, steps):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([program, "generate", "--model", model, "--ids", ",".join(map(str, ids)), "--gen-length", str(ANSWER), "--steps", str(steps)],
                   check=True, capture_output=True)
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
    options = parser.parse_args()
    model = buoy.load(options.model)
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

    works = {"command": lambda steps: of_command(options.program, options.model, ids, steps)}
    for name, work in (("python, generate", plain), ("python, run", stepped), ("python, run with column sums", hooked)):
        works[name] = lambda steps, work=work: of_python(work, steps)
    best = {}
    for _ in range(options.rounds):
        for name, work in works.items():
            took = {steps: work(steps) for steps in (FEW, MANY)}
            for steps, seconds in took.items():
                best[name, steps] = min(best.get((name, steps), seconds), seconds)
    base = best["command", MANY] - best["command", FEW]
    for name in works:
        passes = best[name, MANY] - best[name, FEW]
        print(f"{name:32} {passes / (MANY - FEW) * 1e3:8.2f} ms a pass   {passes / base:6.3f}")


if __name__ == "__main__":
    main()
