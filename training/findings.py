"""Puts the numbers that training/findings.sh made into Markdown tables, kind beside kind; of several models their mean and, in
brackets, the lowest and the highest. `python3 training/findings.py OUTPUT…`: several outputs are of models of different seeds that
were not at hand together; their claims then stand beside each other, with an interval over them by Student's t."""
import collections
import csv
import math
import pathlib
import re
import sys

KINDS = ("mdm", "arm", "ssm", "hybrid")


T_975 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)  # Student's t, 1 to 9 degrees of freedom


def rows_of(outs, name):
    """The rows of every output's table, each with a model of its own."""
    rows = []
    for number, out in enumerate(outs):
        path = out / name
        if path.exists():
            with open(path, newline="") as f:
                rows += [r | {"model": f"{r['model']}-{number}"} if len(outs) > 1 else r for r in csv.DictReader(f)]
    return rows


def kind_of(model):
    found = re.fullmatch(r"mini-(\w+?)(-\d+)*", model)
    return found.group(1) if found else model


def number(text):
    return float(text) if text not in ("", None) else None


def digits(x):
    return f"{x:.1f}" if abs(x) >= 10 else f"{x:.3g}"


def spread(values):
    """One number as it is; of several the mean, the lowest and the highest."""
    values = [v for v in values if v is not None]
    if not values:
        return "–"
    mean = digits(sum(values) / len(values))
    return mean if len(values) == 1 else f"{mean} ({digits(min(values))} to {digits(max(values))})"


def table(head, lines):
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for line in lines:
        print("| " + " | ".join(line) + " |")
    print()


def by_kind(title, cells):
    """cells: {row name: {kind: [number of each model]}}."""
    kinds = [k for k in KINDS if any(k in of for of in cells.values())]
    if kinds:
        print(f"## {title}\n")
        table([""] + [f"mini-{k}" for k in kinds],
              [[name] + [spread(of.get(k, [])) for k in kinds] for name, of in cells.items()])


def claims_apart(outs):
    """Claims judged output by output, each with models of its own."""
    met = collections.defaultdict(list)
    for r in rows_of(outs, "study/claims.csv"):
        met[r["claim"], kind_of(r["model"]), r["against"]].append(r)
    print("## Claims\n\nvalue − strictest null of each model; mean with the 95 % interval over models by Student's t; verdicts of each.\n")
    lines = []
    for (claim, kind, against), rows in met.items():
        values = [float(r["value_minus_null"]) for r in rows if r["value_minus_null"]]
        over = "–"
        if 1 < len(values) <= 1 + len(T_975):
            mean = sum(values) / len(values)
            error = math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1) / len(values))
            reach = T_975[len(values) - 2] * error
            over = f"{digits(mean)} [{digits(mean - reach)}, {digits(mean + reach)}], n = {len(values)}"
        lines.append([claim, f"mini-{kind}", against or "–", ", ".join(map(digits, values)) or "–", over,
                      ", ".join(r["verdict"] + (" †" if r["survives_holm"] == "1" else "") for r in rows)])
    table(["claim", "kind", "against", "each", "over models", "verdicts"], lines)


def signed(text):
    x = float(text)
    digits_after = 1 if abs(x) >= 10 else 2 if abs(x) >= 0.1 else 3 if abs(x) >= 0.01 else 4
    return f"{x:+.{digits_after}f}".replace("-", "−")


def over_models(r):
    """A claim on a kind: the mean over its models with the interval over them, and where the questions say something else."""
    if not r["models_lo"]:
        return r["verdict"]
    middle = (float(r["models_lo"]) + float(r["models_hi"])) / 2
    verdict = r["verdict_over_models"]
    cell = f"{signed(middle)} [{signed(r['models_lo'])}, {signed(r['models_hi'])}]: " + (f"**{verdict}**" if verdict == "supported" else verdict)
    if r["verdict"] != verdict:
        cell += f"; by questions {r['verdict']}, {signed(r['value_minus_null'])} [{signed(r['lo'])}, {signed(r['hi'])}]"
    return cell + (" †" if r["survives_holm"] == "1" else "")


def claims_of_kinds(rows):
    print("## Claims\n\nvalue − strictest null: mean over the models of a kind with the 95 % interval over them by Student's t, and the verdict it bears;\n"
          "where the interval over questions bears another one, that too. † the verdict by questions survives Holm's correction.\n")
    kinds = list(dict.fromkeys(r["model"] for r in rows))
    cells = collections.defaultdict(dict)
    for r in rows:
        sign = "> " if r["direction"] == "above" else "< −"
        cells[r["claim"], r["paper"].removeprefix("arXiv:"), sign + r["delta"]][r["model"]] = over_models(r)
    table(["claim", "paper", "δ", *kinds], [[*key, *(of.get(k, "–") for k in kinds)] for key, of in cells.items()])


def claims(outs):
    if len(outs) > 1:
        claims_apart(outs)
        return
    rows = rows_of(outs, "study/claims.csv")
    if not rows:
        return
    if any(r["models"] for r in rows):
        claims_of_kinds(rows)
        return
    print("## Claims\n\nvalue − strictest null with the 95 % interval over questions; over models by Student's t; † survives Holm's correction.\n")
    lines = []
    for r in rows:
        if not r["value"]:
            lines.append([r["claim"], r["model"] or "–", r["against"] or "–", "–", "–", "–", f"{r['verdict']}: {r['note']}"])
            continue
        excess, lo, hi = (digits(float(r[k])) for k in ("value_minus_null", "lo", "hi"))
        over = "–"
        if r["models"]:
            over = f"[{digits(float(r['models_lo']))}, {digits(float(r['models_hi']))}], n = {r['models']}"
            over += f" and {r['models_against']}" if r["models_against"] else ""
            over += f": {r['verdict_over_models']}"
        lines.append([r["claim"], r["model"], r["against"] or "–", f"{excess} [{lo}, {hi}]", r["strictest_null"], over,
                      r["verdict"] + (" †" if r["survives_holm"] == "1" else "")])
    table(["claim", "kind", "against", "value − null", "null", "over models", "verdict"], lines)


# Means over layers; of two layers' kinds apart.
DRIFT = {"turnover, same rows, writing steps": ("turnover", "fixed writing"), "float index over layers, read rows": ("float_index", "read"),
         "anchors a step, read rows": ("anchor_count", "read"), "first token strongest and an anchor": ("sink_share", "all writing"),
         "attention on the strongest token, %": ("absorb_top1", "finished"), "attention on anchors, %": ("absorb_anchors", "finished"),
         "top tenth kept": ("top_kept", "mean writing")}
FLOW = {"near ÷ far passages, ln": ("near_far", "")}
DRAWS = {"attention layers: angle": ("attribution_angle", ""), "attention layers: scale": ("attribution_scale", ""),
         "attention layers: together": ("attribution_covariance", ""), "state space layers: angle": ("attribution_angle", "ssd"),
         "state space layers: scale": ("attribution_scale", "ssd"), "state space layers: recency": ("attribution_recency", "ssd")}


def layer_means(outs):
    """{(quantity, part): {model: mean over layers}}."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for r in rows_of(outs, "study/summaries.csv"):
        if r["head"] == "-1":
            found[r["quantity"], r["part"]][r["model"]].append(float(r["mean"]))
    return {key: {m: sum(v) / len(v) for m, v in models.items()} for key, models in found.items()}


def kinds_of(models):
    cells = collections.defaultdict(list)
    for model, value in models.items():
        cells[kind_of(model)].append(value)
    return cells


def gold_lifts(outs):
    """ln of what the answer's rows give gold beside other passages, mean over layers and questions: the quotients themselves have no mean
    to speak of where rows see little beyond their neighbours."""
    found = collections.defaultdict(list)
    for r in rows_of(outs, "study/samples.csv"):
        if r["quantity"] == "direct_gold_lift" and r["head"] == "-1" and float(r["value"]) > 0:
            found[r["model"]].append(math.log(float(r["value"])))
    return {m: sum(v) / len(v) for m, v in found.items()}


def attention(outs):
    means = layer_means(outs)
    for title, names in (("Do anchors float?", DRIFT), ("What draws them", DRAWS), ("Does flow follow gold?", FLOW)):
        cells = {}
        for name, key in names.items():
            models = means.get(key, {})
            if names is DRAWS:  # as a share of the lead
                total = means.get(("attribution_total", key[1]), {})
                models = {m: v / total[m] for m, v in models.items() if total.get(m)}
            cells[name] = kinds_of(models)
        if names is FLOW:
            cells["answer's rows: gold ÷ other passages, wherever they stand, ln"] = kinds_of(gold_lifts(outs))
        by_kind(title, cells)


def scores(outs):
    for folder, title in (("scores", "Memory beside looking up: exact match, %"), ("scores-several", "Several facts, long answers: F1, %")):
        cells, score = collections.defaultdict(lambda: collections.defaultdict(list)), "em" if folder == "scores" else "f1"
        for r in rows_of(outs, f"{folder}/scores.csv"):
            asked = (r["passages"] == "none") == (r["column"].split("/")[0] == "memory")
            if r["score"] == score and r["mean"] and asked and not r["column"].startswith("mean"):
                cells[f"{r['column']}, n = {r['n']}"][kind_of(r["model"])].append(float(r["mean"]))
        by_kind(title, cells)


def stress(outs):
    for folder, title in (("stress", "one or two facts"), ("stress-chains", "chains of facts at the middle level")):
        cells = collections.defaultdict(lambda: collections.defaultdict(list))
        for r in rows_of(outs, f"{folder}/robustness.csv"):
            if r["score"] == "em":
                name = f"{r['stressor']}, n = {r['loss_n']}"
                cells[f"{name}: at its easiest"][kind_of(r["model"])].append(number(r["baseline"]))
                cells[f"{name}: lost at its worst"][kind_of(r["model"])].append(number(r["loss"]))
        by_kind(f"Robustness, {title}: exact match, points", cells)


def interventions(outs):
    cells = collections.defaultdict(lambda: collections.defaultdict(list))
    for r in rows_of(outs, "intervene/interventions.csv"):
        if r["quantity"] != "em" or r["part"]:
            continue
        what = "as it is" if not r["against"] else f"− {r['against']}"
        cells[f"{r['condition']}, {what}"][kind_of(r["model"])].append(number(r["mean"]))
    by_kind("Interventions: exact match, %, and changes", cells)


def main():
    outs = [pathlib.Path(out) for out in sys.argv[1:]]
    if not outs or not all(out.is_dir() for out in outs):
        sys.exit("usage: findings.py OUTPUT… (folders that training/findings.sh made)")
    for part in (claims, attention, scores, stress, interventions):
        part(outs)


if __name__ == "__main__":
    main()
