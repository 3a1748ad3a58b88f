"""Approximate caches a second time, in NumPy: generation with stale keys, and every number of an audit's passes.

usage: caches_test.py BUOY
"""

import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

TREE = Path(__file__).resolve().parent.parent
TOLERANCE = 2e-4  # relative: the command computes in float32, this in float64


def read_safetensors(path):
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header, body = json.loads(raw[8 : 8 + size]), raw[8 + size :]
    tensors = {}
    for name, about in header.items():
        if name == "__metadata__":
            continue
        begin, end = about["data_offsets"]
        if about["dtype"] == "BF16":
            wide = np.frombuffer(body[begin:end], "<u2").astype("<u4") << 16
            values = wide.view("<f4")
        else:
            values = np.frombuffer(body[begin:end], {"F32": "<f4", "F16": "<f2"}[about["dtype"]])
        tensors[name] = values.reshape(about["shape"]).astype(np.float64)
    return tensors


class Llada:
    """The whole model, written out."""

    def __init__(self, directory):
        self.w = read_safetensors(directory / "model.safetensors")
        config = json.loads((directory / "config.json").read_text())
        self.L, self.H, self.E = config["n_layers"], config["n_heads"], config["d_model"]
        self.mask = config["mask_token_id"]
        self.eps, self.theta = config["rms_norm_eps"], config["rope_theta"]
        self.D = self.E // self.H
        assert config["n_kv_heads"] in (None, self.H)

    def norm(self, x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps) * self.w[name]

    def rotate(self, x, positions):
        half = self.D // 2
        angle = np.outer(positions, self.theta ** (-np.arange(half) / half))[:, None, :]
        a, b = x[..., :half], x[..., half:]
        return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], -1)

    def forward(self, tokens, rows, keys, values, given=None):
        """Logits of these rows; keys and values [L][N,H,D] are read for all and replaced for them. `given` takes
        each layer's attention [H, rows, N]."""
        rows = np.asarray(rows)
        x = self.w["model.transformer.wte.weight"][np.asarray(tokens)[rows]]
        for l in range(self.L):
            name = f"model.transformer.blocks.{l}."
            h = self.norm(x, name + "attn_norm.weight")
            q, k, v = ((h @ self.w[f"{name}{p}_proj.weight"].T).reshape(len(rows), self.H, self.D) for p in "qkv")
            keys[l][rows], values[l][rows] = self.rotate(k, rows), v
            scores = np.einsum("thd,nhd->htn", self.rotate(q, rows), keys[l]) / np.sqrt(self.D)
            a = np.exp(scores - scores.max(-1, keepdims=True))
            a /= a.sum(-1, keepdims=True)
            if given is not None:
                given.append(a)
            out = np.einsum("htn,nhd->thd", a, values[l]).reshape(len(rows), self.E)
            x = x + out @ self.w[name + "attn_out.weight"].T
            h = self.norm(x, name + "ff_norm.weight")
            gate = h @ self.w[name + "ff_proj.weight"].T
            x = x + (gate / (1 + np.exp(-gate)) * (h @ self.w[name + "up_proj.weight"].T)) @ self.w[name + "ff_out.weight"].T
        x = self.norm(x, "model.transformer.ln_f.weight")
        head = self.w.get("model.transformer.ff_out.weight", self.w["model.transformer.wte.weight"])
        return x @ head.T

    def states(self, N):
        return [np.zeros((N, self.H, self.D)) for _ in range(self.L)]


def computed_rows(kind, refresh, tokens, mask, start, end, i, before):
    """Which rows pass i of a block [start, end) computes; `before` are the positions the step before wrote."""
    N = len(tokens)
    if i == 0 or (kind == "delayed" and i == 1) or (refresh and i % refresh == 0):
        return list(range(N))
    if kind == "prefix":
        return list(range(start, N))
    if kind == "dual":
        return list(range(start, end))
    return [p for p in range(N) if tokens[p] == mask or p in before]


def softmax(logits):
    p = np.exp(logits - logits.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True)


def generate(model, prompt, length, block, kind, refresh):
    """One token a step, the surest of the block."""
    P = len(prompt)
    tokens = list(prompt) + [model.mask] * length
    keys, values = model.states(len(tokens)), model.states(len(tokens))
    commit, confidence, before = [0] * length, [0.0] * length, []
    for step in range(length):
        start = P + step // block * block
        rows = computed_rows(kind, refresh, tokens, model.mask, start, start + block, step % block, before)
        p = softmax(model.forward(tokens, rows, keys, values))
        open_rows = [r for r in range(start, start + block) if tokens[r] == model.mask]
        best = max(open_rows, key=lambda r: (p[rows.index(r)].max(), -r))
        row = p[rows.index(best)]
        tokens[best], before = int(row.argmax()), [best]
        commit[best - P], confidence[best - P] = step, row.max()
    return tokens[P:], commit, confidence


def check_generation(buoy):
    directory = TREE / "tests/goldens/llada"
    model = Llada(directory)
    prompt, length, block = [11, 12, 13, 14, 15, 16, 17], 12, 6
    seen = set()
    for kind, refresh in [("prefix", 0), ("dual", 0), ("dual", 3), ("delayed", 8), ("delayed", 3)]:
        command = [buoy, "generate", "-m", directory, "--device", "cpu", "--ids", ",".join(map(str, prompt)), "--json"]
        command += ["--gen-length", str(length), "--block-length", str(block), "--cache", kind]
        command += ["--cache-refresh", str(refresh)]
        made = json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True).stdout)
        ids, commit, confidence = generate(model, prompt, length, block, kind, refresh)
        assert made["approximate"] is True and made["cache"] == kind, made
        assert made["ids"] == ids and made["commit_step"] == commit, (kind, refresh, made["ids"], ids)
        np.testing.assert_allclose(made["confidence"], confidence, rtol=TOLERANCE, err_msg=f"{kind} {refresh}")
        seen.add(tuple(np.round(confidence, 9)))
    assert len(seen) >= 4, "caches that keep different rows write with different confidence"


def divergence(exact, cached):
    p, q = softmax(exact), softmax(cached)
    return (p * (np.log(p) - np.log(q))).sum(-1).mean()


def relative(kept, exact):
    """[N,H,D] of both; all heads as one vector."""
    d = (kept - exact).reshape(len(kept), -1)
    return np.linalg.norm(d, axis=1) / np.linalg.norm(exact.reshape(len(exact), -1), axis=1)


def audited_steps(model, final, P, commit, block, kind, refresh):
    """What audit_steps.csv says of a cache on the tokens of an exact run."""
    N, steps = len(final), max(commit) + 1
    kept_k, kept_v = model.states(N), model.states(N)
    for step in range(steps):
        tokens = [final[p] if p < P or commit[p - P] < step else model.mask for p in range(N)]
        start = P + min(p for p in range(N - P) if commit[p] >= step) // block * block
        first = min(c for p, c in enumerate(commit) if p // block == (start - P) // block)
        before = [P + p for p, c in enumerate(commit) if c == step - 1]
        rows = computed_rows(kind, refresh, tokens, model.mask, start, start + block, step - first, before)
        read = [p for p in range(start, start + block) if tokens[p] == model.mask]
        keys, values, exact_given, kept_given = model.states(N), model.states(N), [], []
        exact = model.forward(tokens, range(N), keys, values, exact_given)[read]
        cached = model.forward(tokens, rows, kept_k, kept_v, kept_given)[[rows.index(r) for r in read]]
        stale = [p for p in range(N) if p not in set(rows)]
        mass = [a[:, read].mean((0, 1))[stale] for a in exact_given]
        kept_mass = [a[:, [rows.index(r) for r in read]].mean((0, 1))[stale] for a in kept_given]
        change = [(relative(kept_k[l], keys[l]) + relative(kept_v[l], values[l]))[stale] / 2 for l in range(model.L)]
        yield {
            "rows": len(rows),
            "read": len(read),
            "kl": divergence(exact, cached),
            "agree": (exact.argmax(-1) == cached.argmax(-1)).mean(),
            "stale_share": len(stale) / N,
            "stale_mass": np.mean([m.sum() for m in mass]),
            "cached_mass": np.mean([m.sum() for m in kept_mass]),
            "change": np.mean(change) if stale else 0.0,
            "exposure": np.mean([(m * c).sum() for m, c in zip(mass, change)]),
        }


def check_audit(buoy):
    model = Llada(TREE / "models/mini-mdm")
    block = 4
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        shared = ["--device", "cpu", "--gen-length", "8", "--block-length", str(block)]
        with open(TREE / "data/micro_test.jsonl") as file:
            item = json.loads(file.readline())
        item["passages"] = item["passages"][:1]
        (work / "one.jsonl").write_text(json.dumps(item) + "\n")
        data = ["--data", str(work / "one.jsonl")]
        subprocess.run([buoy, "trace", *data, *shared, "-o", work / "t.npz"], check=True, capture_output=True)
        caches = ["--cache", "none,prefix,dual,delayed=3"]
        subprocess.run([buoy, "audit", *data, *shared, *caches, "-o", work / "a"], check=True, capture_output=True)
        trace = np.load(work / "t.npz")
        P = json.loads(str(trace["header"]))["prompt_length"]
        with open(work / "a/audit_steps.csv") as file:
            lines = list(csv.DictReader(file))
        for kind, refresh, name in [("prefix", 0, "prefix"), ("dual", 0, "dual"), ("delayed", 3, "delayed=3")]:
            told = [line for line in lines if line["cache"] == name]
            final, commit = [int(t) for t in trace["tokens"]], [int(c) for c in trace["commit_step"]]
            ours = list(audited_steps(model, final, P, commit, block, kind, refresh))
            assert len(told) == len(ours), (name, len(told), len(ours))
            for line, step in zip(told, ours):
                for column, value in step.items():
                    where = f"{name}, step {line['step']}, {column}"
                    np.testing.assert_allclose(float(line[column]), value, rtol=2e-3, atol=2e-6, err_msg=where)
            assert any(step["kl"] > 1e-4 for step in ours), f"{name}: nothing diverges"
        control = [line for line in lines if line["cache"] == "none"]
        assert control and all(float(line["kl"]) == 0 and float(line["agree"]) == 1 for line in control)


def main():
    buoy = sys.argv[1]
    check_generation(buoy)
    check_audit(buoy)


if __name__ == "__main__":
    main()
