"""Chooses how many steps fit into the time there is, once for all kinds, from the speed of the first thousand.

    python3 training/fit.py STEPS_FILE RUN... --until UNIX_TIME --most 20000
Writes the number of steps that the slowest run reaches before UNIX_TIME into STEPS_FILE; train.py --steps-file reads it.
"""
import argparse
import json
import os
import time

FIRST, LAST = 300, 1000  # the speed is measured between these steps
PATIENCE = 60  # seconds after the first run's LAST; slower runs are then measured with what they have


def progress(run):
    try:
        with open(run + "/progress.json") as f:
            return json.load(f)
    except FileNotFoundError:
        return dict(step=0, time=0.0)


def measure(a):
    """Steps that fit, by run; a run without any progress is dead and has none."""
    marks, fits, enough = {}, {}, None
    while len(fits) < len(a.runs) and time.time() < a.until:
        late = enough is not None and time.time() > enough + PATIENCE
        for run in a.runs:
            now = progress(run)
            if now["step"] >= FIRST or (late and now["step"] > 0):
                marks.setdefault(run, now)
            moved = run in marks and now["step"] > marks[run]["step"]
            if run not in fits and moved and (now["step"] >= LAST or late):
                enough = enough or time.time()
                speed = (now["step"] - marks[run]["step"]) / (now["time"] - marks[run]["time"])
                fits[run] = int(now["step"] + a.margin * speed * (a.until - now["time"]))
                print(f"{run}: {1000 / speed:.1f} ms a step, {fits[run]} steps fit", flush=True)
        if late and time.time() > enough + 2 * PATIENCE:
            break
        time.sleep(0.2)
    return fits


def main():
    p = argparse.ArgumentParser()
    p.add_argument("file")
    p.add_argument("runs", nargs="+")
    p.add_argument("--until", type=float, required=True)
    p.add_argument("--most", type=int, required=True)
    p.add_argument("--margin", type=float, default=0.97)
    a = p.parse_args()
    fits = measure(a)
    steps = min([a.most, *(n - n % 100 for n in fits.values())])
    print(f"steps: {steps} of at most {a.most}", flush=True)
    with open(a.file + ".part", "w") as f:
        f.write(f"{steps}\n")
    os.replace(a.file + ".part", a.file)


if __name__ == "__main__":
    main()
