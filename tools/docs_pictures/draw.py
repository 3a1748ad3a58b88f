#!/usr/bin/env python3
"""Draws the pictures of docs/explained.md into docs/images/explained, from what Buoy wrote: tools/draw_docs runs it.

    draw.py STUDY WORK DIRECTORY        STUDY: of buoy study --keep-traces; WORK: what draw_docs made beside it
"""
import json
import pathlib
import sys

sys.dont_write_bytecode = True
import attention
import measures
from source import Npz, Summaries, read_csv

MODELS = ["mini-mdm", "mini-arm"]
# Of mini-mdm:
LAYER = 7  # anchors among the words of the question and of the answer
READS = 11  # the answer's rows look at the gold passage


def main(study, work, directory):
    study, work, directory = map(pathlib.Path, (study, work, directory))
    directory.mkdir(parents=True, exist_ok=True)
    summaries = Summaries(study / "summaries.csv")
    masked = [Npz(p) for p in sorted((study / "traces").glob("mini-mdm-micro*.npz"))]  # not those of its shuffled twins
    causal = Npz(sorted((study / "traces").glob("mini-arm-micro*.npz"))[0])
    long = next(t for t in masked if t.header["task"] == "long")  # an answer of a whole sentence: most to look at
    generated = json.loads((work / "generated.json").read_text())
    words = dict(zip(generated["ids"], json.loads((work / "words.json").read_text())))
    forward = [(Npz(work / "mdm.npz"), 8, 0, "mini-mdm, layer 8, head 0"), (Npz(work / "arm.npz"), 8, 2, "mini-arm, layer 8, head 2")]

    def layers(quantity, part, title, y_title, models=MODELS):
        return measures.by_layer(summaries, models, quantity, part, title, y_title, "null")

    pictures = {
        "writing": attention.writing(generated, words),
        "received": attention.received(forward, MODELS),
        "null": attention.null(causal, 0),
        "anchors": attention.anchors(long, attention.sharpest_layer(long)),
        "drift": attention.drift(long, LAYER),
        "turnover": attention.turnover(long, LAYER),
        "absorption": layers("absorb_bos", "finished", "How much attention the first token absorbs", "first token, %"),
        "concentration": layers("effective_share", "", "Over how large a share of the keys attention spreads", "effective share of keys"),
        "attribution": measures.attribution(summaries, "mini-mdm"),
        "copying": attention.copying(summaries, MODELS),
        "dormant": attention.dormant(summaries, MODELS),
        "flow": attention.flow(masked[0], READS),
        "gold": layers("answer_to_gold", "", "Flow from the answer into gold over other passages, layer by layer", "gold ÷ others"),
        "classes": layers("content_lift", "finished", "Attention on content words over their share of positions", "lift of content"),
        "tasks": measures.tasks(read_csv(study / "figures" / "tasks.csv"), "mini-mdm"),
        "gains": measures.gains(read_csv(study / "figures" / "scores.csv"), MODELS),
        "stress": measures.stress(read_csv(study / "figures" / "stress_position_curves.csv"), MODELS),
        "interventions": measures.interventions(read_csv(study / "figures" / "interventions.csv"), "mini-mdm"),
        "coverage": measures.coverage(),
        "verdicts": measures.verdicts(),
        "committed": attention.committed(masked),
    }
    for name, picture in pictures.items():
        picture.save(directory / f"{name}.svg")
    print(f"{len(pictures)} pictures in {directory}")


if __name__ == "__main__":
    main(*sys.argv[1:])
