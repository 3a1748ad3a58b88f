"""Runs the command on planted models and reads what it wrote."""
import csv
import json
import subprocess

import numpy as np

from world import WORDS, WRITTEN

SAMPLES = 8
LOOKED_AT = [5, 6]  # samples whose anchors are compared one by one; 6 asks about a late topic


class Buoy:
    """The command, in a folder that holds the models and the questions."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def __call__(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"FAIL buoy {' '.join(map(str, arguments))}\n{done.stdout}{done.stderr}")

    def matrices(self, model, ids):
        """[L, H, N, N]: whole attention matrices of one pass."""
        self("forward", "--model", self.folder / model, "--ids", ",".join(map(str, ids)), "--attentions", "-o", "pass.npz")
        with np.load(self.folder / "pass.npz") as file:
            return np.concatenate([file[name] for name in sorted(file.files) if name.startswith("attentions")]).squeeze()


class Trace:
    def __init__(self, path):
        with np.load(path) as file:
            self.arrays = {name: file[name] for name in file.files}
        self.header = json.loads(str(self.arrays["header"]))
        self.path, self.sample = path, self.header["sample"]
        self.topic = self.header["question"].split()[0].removeprefix("about-")
        self.words = [WORDS[i] for i in self.arrays["tokens"]]

    def __getitem__(self, name):
        return self.arrays[name]

    def regions(self):
        """[N] the name of each position's region."""
        names = np.empty(len(self.words), dtype=self["region_names"].dtype)
        for begin, end, region in self["region_spans"]:
            names[begin:end] = self["region_names"][region]
        return names

    def words_at(self, step):
        return [WORDS[i] for i in self["step_tokens"][step] if i >= 0]


class Run:
    """Traces of one model and what `buoy analyze` says of them."""

    def __init__(self, buoy, model):
        self.buoy, self.model = buoy, model
        steps = [] if model.startswith("sink-causal") else ["--steps", WRITTEN]
        buoy("trace", "--model", buoy.folder / model, "--data", "questions.jsonl", "--template", "template.txt", "--limit",
             SAMPLES, "--gen-length", WRITTEN, *steps, "--per-head", "-o", f"{model}.traces")
        buoy("analyze", f"{model}.traces", "--figures", "tasks", "--format", "svg", "-o", f"{model}.tables")
        self.traces = [Trace(path) for path in sorted((buoy.folder / f"{model}.traces").glob("*.npz"))]
        with open(buoy.folder / f"{model}.tables" / "samples.csv", newline="") as file:
            self.rows = list(csv.DictReader(file))

    def numbers(self, quantity, part="", layers=None):
        """[(sample, layer, head, value ÷ weight)] of one quantity."""
        return [(r["sample"], int(r["layer"]), int(r["head"]), float(r["value"]) / float(r["weight"]))
                for r in self.rows if r["quantity"] == quantity and r["part"] == part
                and (layers is None or int(r["layer"]) in layers)]

    def anchors(self):
        """{(sample, step, layer, position)} that the drift figures hatch, for the samples looked at one by one."""
        found = set()
        for number in LOOKED_AT:
            trace = self.traces[number]
            self.buoy("analyze", trace.path, "--only", "drift", "--figures", "drift", "--format", "svg", "--overwrite", "-o", "one")
            with open(self.buoy.folder / "one" / "figures" / f"drift_layers_{self.model}.csv", newline="") as file:
                for row in csv.DictReader(file):
                    if row["hatched"] == "1":
                        found.add((trace.sample, int(row["row"]), int(row["panel"].split()[1]), int(row["column"])))
        return found
