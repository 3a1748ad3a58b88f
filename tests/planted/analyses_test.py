#!/usr/bin/env python3
"""Builds the planted models, holds their attention against its law, and what Buoy finds in them against what was planted.

    analyses_test.py BUOY          compares with the tables of docs/planted.md
    analyses_test.py BUOY --write  writes them
"""
import pathlib
import sys
import tempfile

import numpy as np

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import truth
from document import DOCUMENT, compare_tables
from laws import attention, received
from models import MODELS, write_model
from runs import LOOKED_AT, SAMPLES, Buoy, Run
from world import SPACING, WORDS, WRITTEN, write_world

TWINS = [1, 2, 3]  # seeds
EXACT = 1e-4  # attention and laws agree to this; scores of up to 60 are summed in float32
SHOWN = [0, 1, 3, 5]  # layers that the drift figures show
ABSENT = 0.2  # a planted set is not in the twins if they show less than this share of it; a number, if theirs is less than half as large

failures = []


def expect(fact, holds, what=""):
    if not holds:
        failures.append(f"{fact}: {what}")


def check_matrices(buoy, run):
    """Every head of every row, at the first step, halfway and in the end."""
    trace = run.traces[6]
    for ids in [trace["step_tokens"][0], trace["step_tokens"][3], trace["tokens"]]:
        ids = ids[ids >= 0]
        off = np.abs(buoy.matrices(run.model, ids) - attention(run.model, [WORDS[i] for i in ids])).max()
        expect(f"{run.model}: attention follows its law", off < EXACT, f"off by {off:.2g}")


def check_traces(run):
    """What every sample, step and layer received. All rows look alike, so the rows that are read see what all see."""
    causal = run.model == "sink-causal"
    for trace in run.traces:
        off = [np.abs(trace["finished_received"] - received(run.model, trace.words)).max()]
        steps = len(trace["steps"])
        for step, length in enumerate(trace["step_lengths"]):
            words = trace.words_at(step)
            all_rows = received(run.model, words)
            one_row = attention(run.model, words, rows=[-1])[:, :, 0].mean(axis=1)
            expected = {"received_heads": all_rows, "received": all_rows.mean(axis=1), "received_read": one_row}
            if not causal:
                expected["received_staying"] = one_row * (step + 1 < steps)
                expected["received_frozen"] = received(run.model, trace.words_at(0)).mean(axis=1)
            off += [np.abs(trace[name][step][..., :length] - values).max() for name, values in expected.items()]
            sent = [one_row[:, trace.regions()[:length] == name].sum(axis=-1) for name in trace["region_names"]]
            written = trace["commit_step"] == trace["steps"][step]
            off.append(np.abs(trace["answer_mass"][written] - np.transpose(sent)).max())
        expect(f"{run.model} {trace.sample}: the trace follows the law", max(off) < EXACT, f"off by {max(off):.2g}")


def planted_anchors(run):
    return {(trace.sample, step, layer, position)
            for trace in (run.traces[i] for i in LOOKED_AT) for step in range(WRITTEN) for layer in SHOWN
            for position in truth.anchors(run.model, trace.words_at(step), layer)}


def above(run, quantity, least, part=""):
    """{(sample, layer, head)} whose number is at least so large."""
    return {(sample, layer, head) for sample, layer, head, value in run.numbers(quantity, part) if value >= least}


def planted_heads(run, heads):
    return {(trace.sample, layer, head) for trace in run.traces for layer, head in heads(trace.topic)}


# What is planted as a set: model, its name, how it is found, the planted set, the set that was found.
SETS = [
    ("sink", "fixed sink, masked", "anchors, every step", planted_anchors, Run.anchors),
    ("sink-causal", "fixed sink, causal", "anchors, every step", planted_anchors, Run.anchors),
    ("moving", f"anchor that moves {SPACING} places a step", "anchors, every step", planted_anchors, Run.anchors),
    ("depth", "anchors by length below, by angle above", "anchors, every step", planted_anchors, Run.anchors),
    ("reader", "copying heads", "`copy` ≥ 0.5", lambda run: planted_heads(run, truth.copying_heads),
     lambda run: above(run, "copy", 0.5, "all")),
    ("reader", "layers that read the gold passage", "`direct_gold_lift` ≥ 2", lambda run: planted_heads(run, truth.gold_layers),
     lambda run: above(run, "direct_gold_lift", 2)),
    ("sink", "dormant heads", "`dormant`", lambda run: planted_heads(run, truth.dormant_sinks),
     lambda run: above(run, "dormant", 1)),
    ("reader", "dormant heads", "`dormant`", lambda run: planted_heads(run, truth.dormant_heads),
     lambda run: above(run, "dormant", 1)),
]


def mean_of(run, quantity, part="", layers=None):
    values = [n[-1] for n in run.numbers(quantity, part, layers)]
    return np.mean(values) if values else None


def mean_over(run, number):
    return np.mean([number(trace) for trace in run.traces])


# What is planted as a number: model, its name, the quantity, what it must be, what was measured.
NUMBERS = [
    ("sink", "attention on the first token, %", "`absorb_bos`, layer 0", lambda run: mean_over(run, lambda t: truth.absorbed(t.words)),
     lambda run: mean_of(run, "absorb_bos", "finished", [0])),
    ("sink", "steps with a sink at the first token", "`sink_share`, layers 0–4", lambda _: 1,
     lambda run: mean_of(run, "sink_share", "all writing", range(5))),
    ("sink", "values of sinks, beyond others'", "`anchor_value_lead`, layers 0–4", lambda _: -1,
     lambda run: mean_of(run, "anchor_value_lead", layers=range(5))),
    ("sink-causal", "steps with a sink at the first token", "`sink_share`, layers 0–4", lambda _: 1,
     lambda run: mean_of(run, "sink_share", "all writing", range(5))),
    ("sink", "anchors that change from step to step", "`turnover`, fixed rows", lambda _: 0,
     lambda run: mean_of(run, "turnover", "fixed writing")),
    ("moving", "places a step", "`drift_per_step`, layers 1–4", lambda _: SPACING,
     lambda run: mean_of(run, "drift_per_step", "all", range(1, 5))),
    ("moving", "anchors that change from step to step", "`turnover`, fixed rows, layers 1–4", lambda _: 1,
     lambda run: mean_of(run, "turnover", "fixed writing", range(1, 5))),
    ("moving", "how far the strongest key wanders, of N", "`peak_spread`, layers 1–4",
     lambda run: mean_over(run, lambda t: truth.peak_spread(t.words)),
     lambda run: mean_of(run, "peak_spread", "all writing", range(1, 5))),
    ("moving", "anchors that change from layer to layer", "`float_index`, layers 1–3", lambda _: 1,
     lambda run: mean_of(run, "float_index", "all", range(1, 4))),
    ("depth", "share of direction, layers of length", "`angle_share`, layers 0–1", lambda _: 0,
     lambda run: mean_of(run, "angle_share", layers=[0, 1])),
    ("depth", "share of direction, layers of angle", "`angle_share`, layers 4–5",
     lambda run: mean_over(run, lambda t: truth.angle_share(t.words)), lambda run: mean_of(run, "angle_share", layers=[4, 5])),
    ("depth", "share of length, layers of length", "`scale_share`, layers 0–1", lambda _: 1,
     lambda run: mean_of(run, "scale_share", layers=[0, 1])),
    ("depth", "structure, below − above", "`structural_contrast`",
     lambda run: mean_over(run, lambda t: truth.class_contrast(t.words, t["token_classes"], truth.STRUCTURAL)),
     lambda run: mean_of(run, "structural_contrast", "finished")),
    ("depth", "content, below − above", "`content_contrast`",
     lambda run: mean_over(run, lambda t: truth.class_contrast(t.words, t["token_classes"], ["content"])),
     lambda run: mean_of(run, "content_contrast", "finished")),
    ("reader", "attention to the question, last − first step", "`question_trend`", lambda run: mean_over(run, truth.question_trend),
     lambda run: mean_of(run, "question_trend")),
]
# Noise has anchors in other places in every layer: this number alone shows nothing. Against a causal model it does.
IN_TWINS_TOO = ["`float_index`, layers 1–3"]


def share(part, whole):
    return len(part) / len(whole) if whole else None


def cell(number, digits=2):
    if number is None:
        return "–"
    text = f"{number:.{digits}f}" if isinstance(number, float) and abs(number) >= 0.5 * 10**-digits else f"{abs(number):.0f}"
    return text.replace("-", "−")


def table_of_sets(runs, twins):
    rows = []
    for model, name, how, plant, find in SETS:
        planted, found = plant(runs[model]), find(runs[model])
        precision, recall = share(planted & found, found), share(planted & found, planted)
        expect(f"{model}: {name} found, and nothing else", precision == recall == 1,
               f"precision {cell(precision)}, recall {cell(recall)}; first amiss {sorted(planted ^ found)[:3]}")
        in_twins = [(plant(twin), find(twin)) for twin in twins[model]]
        all_found = sum(len(f) for _, f in in_twins)
        right = sum(len(p & f) for p, f in in_twins)
        wanted = sum(len(p) for p, _ in in_twins)
        expect(f"{model}: {name} not found in the twins", right < ABSENT * wanted, f"{right} of {wanted}")
        rows.append([name, f"`{model}`", how, cell(len(planted)), cell(len(found)), cell(precision), cell(recall),
                     cell(all_found), cell(right / all_found if all_found else None), cell(right / wanted)])
    return rows


def table_of_numbers(runs, twins):
    rows = []
    for model, name, how, plant, find in NUMBERS:
        planted, found = plant(runs[model]), find(runs[model])
        expect(f"{model}: {name} is as planted", abs(found - planted) <= 1e-3 * max(1, abs(planted)), f"{found}, not {planted}")
        in_twins = [find(twin) for twin in twins[model]]
        if how not in IN_TWINS_TOO and planted:
            there = np.mean([n or 0 for n in in_twins])
            expect(f"{model}: {name} is not so in the twins", there / planted < 0.5, f"{in_twins}")
        rows.append([name, f"`{model}`", how, cell(float(planted)), cell(found), ", ".join(map(cell, in_twins))])
    return rows


def main(program, *flags):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write_world(folder, SAMPLES, seed=1)
        buoy = Buoy(pathlib.Path(program).resolve(), folder)
        runs, twins = {}, {}
        for model in MODELS:
            write_model(model, folder / model)
            runs[model] = Run(buoy, model)
            check_matrices(buoy, runs[model])
            check_traces(runs[model])
            twins[model] = []
            for seed in TWINS:
                buoy("shuffle", "--model", folder / model, "--seed", seed, "-o", f"{model}-twin-{seed}")
                twins[model].append(Run(buoy, f"{model}-twin-{seed}"))
        for trace in runs["reader"].traces:
            expect(f"reader {trace.sample}: writes the answer", trace.header["correct"], trace.header["output"])
        tables = {"sets": table_of_sets(runs, twins), "numbers": table_of_numbers(runs, twins)}
    failures.extend(compare_tables(DOCUMENT, tables, write="--write" in flags))
    print("\n".join(f"FAIL {line}" for line in failures) or f"{len(MODELS)} models, {len(SETS) + len(NUMBERS)} things planted and found")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
