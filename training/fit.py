"""Chooses how many steps fit into the time there is, once for all kinds, from the speed of the first thousand.

    python3 training/fit.py STEPS_FILE RUN... --until UNIX_TIME --most 20000
Writes the number of steps that the slowest run reaches before UNIX_TIME into STEPS_FILE; train.py --steps-file reads it.
"""
import argparse
import json
import os
import time

FIRST, LAST = 400, 1000  # the speed is measured between these steps


def progress(run):
    try:
        with open(run + "/progress.json") as f:
            return json.load(f)
    except FileNotFoundError:
        return dict(step=0, time=0.0)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("file")
    p.add_argument("runs", nargs="+")
    p.add_argument("--until", type=float, required=True)
    p.add_argument("--most", type=int, required=True)
    p.add_argument("--margin", type=float, default=0.97)
    a = p.parse_args()
    marks, fits = {}, {}
    while len(fits) < len(a.runs) and time.time() < a.until:
        for run in a.runs:
            now = progress(run)
            if now["step"] >= FIRST:
                marks.setdefault(run, now)
            if now["step"] >= LAST and run not in fits:
                speed = (now["step"] - marks[run]["step"]) / (now["time"] - marks[run]["time"])
                fits[run] = int(now["step"] + a.margin * speed * (a.until - now["time"]))
                print(f"{run}: {1000 / speed:.1f} ms a step, {fits[run]} steps fit", flush=True)
        time.sleep(0.2)
    steps = min([a.most, *fits.values()])
    if steps < a.most:
        print(f"steps: {steps} instead of {a.most}", flush=True)
    steps -= steps % 100
    with open(a.file + ".part", "w") as f:
        f.write(f"{steps}\n")
    os.replace(a.file + ".part", a.file)


if __name__ == "__main__":
    main()
