"""What the runs of all seeds came to, kind beside kind, from what training/run.sh left in RESULTS.

    python3 training/seeds.py RESULTS            a Markdown table: exact match of every cell, in brackets F1 of long answers, seeds in order
    python3 training/seeds.py RESULTS --curves   the losses as CSV: kind, seed, step, loss
"""
import json
import pathlib
import re
import sys

KINDS = ("arm", "mdm", "hybrid", "ssm")
LONG = ("long", "list", "profile")


def scores(results):
    """{(kind, seed): scores}."""
    found = {}
    for path in sorted(results.glob("mini-*.json")):
        name = re.fullmatch(r"mini-(\w+)-(\d+)", path.stem)
        if name:
            found[name[1], int(name[2])] = json.loads(path.read_text())
    return found


def of_seeds(runs, score, key):
    """A dash where the time for scores had run out."""
    return " / ".join(f"{run[score][key]:.1f}" if key in run[score] else "–" for run in runs)


def cell(runs, key):
    if not any(key in run["exact_match"] for run in runs):
        return "–"
    exact = of_seeds(runs, "exact_match", key)
    return f"{exact} ({of_seeds(runs, 'f1', key)})" if key.split()[-1] in LONG else exact


def table(results):
    found = scores(results)
    kinds = [k for k in KINDS if any(kind == k for kind, _ in found)]
    runs = {k: [found[each] for each in sorted(found) if each[0] == k] for k in kinds}
    keys = list(dict.fromkeys(key for k in kinds for run in runs[k] for key in run["exact_match"]))
    print("| | " + " | ".join(kinds) + " |\n" + "|---" * (1 + len(kinds)) + "|")
    for key in keys:
        print(f"| {key} | " + " | ".join(cell(runs[k], key) for k in kinds) + " |")


def curves(results):
    """A log has a column of losses for every seed that was trained in it."""
    print("kind,seed,step,loss")
    for path in sorted(results.glob("mini-*.log")):
        log, kind = path.read_text(), path.stem.split("-")[1]
        seeds = json.loads(re.search(r"seeds (\[.*?\])", log)[1])
        for step, losses in re.findall(r" (\d+) loss ([\d. ]+) \d+s", log):
            for seed, loss in zip(seeds, losses.split()):
                print(f"{kind},{seed},{step},{loss}")


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--curves"]) or not pathlib.Path(sys.argv[1]).is_dir():
        sys.exit(__doc__)
    (curves if sys.argv[2:] else table)(pathlib.Path(sys.argv[1]))


if __name__ == "__main__":
    main()
