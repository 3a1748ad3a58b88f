"""A trace and its exported matrices as NumPy arrays, and the same sample under uniform attention."""

import json

import numpy as np


class Sample:
    """One trace with its matrices. A: attention of the finished pass, [L][H,N,N]; steps: head-averaged, [S][L][n,n]."""

    is_null = False

    def __init__(self, trace_path, export_path):
        self.trace = t = dict(np.load(trace_path))
        self.header = json.loads(str(t["header"]))
        self.name = f"{self.header['model']} {self.header['sample']}"
        self.causal = self.header["kind"] == "causal"
        self.mask = self.header.get("mask")  # in blocks, where it is there
        self.layers = [int(l) for l in t["layers"]]
        self.tokens = t["tokens"]
        self.N = len(self.tokens)
        self.P = self.header["prompt_length"]
        self.H, self.Hkv = self.header["heads"], self.header["key_heads"]
        self.classes = t["token_classes"]
        self.evidence = t["evidence"] == 1
        self.region = np.zeros(self.N, dtype=int)
        for begin, end, region in t["region_spans"]:
            self.region[begin:end] = region
        export = np.load(export_path, allow_pickle=True)

        def wide(name):
            return export[name].astype(np.float64)

        self.A = [wide(f"layer_{l}_full_attention_heads") for l in self.layers]
        self.averaged = [wide(f"layer_{l}_full_attention") for l in self.layers]
        self.q = [wide(f"layer_{l}_query_states") for l in self.layers]
        self.k = [wide(f"layer_{l}_key_states") for l in self.layers]
        data = export["step_attention_data"]
        self.step_numbers = np.array([d["step"] for d in data])
        self.step_tokens = [d["sequence"] for d in data]
        self.steps = [[d[f"layer_{l}_attention_avg"].astype(np.float64) for l in self.layers] for d in data]

    def mixer(self, i):
        """Of recorded layer i: "attention" or "ssd"."""
        return self.header["mixers"][self.layers[i]] if "mixers" in self.header else "attention"

    def kv(self, h):
        return h // (self.H // self.Hkv)

    def read_rows(self, s):
        """The rows whose logits are read at a step."""
        tokens = self.step_tokens[s]
        if self.causal:
            return [len(tokens) - 1]
        masks = [p for p in range(self.P, len(tokens)) if tokens[p] == self.header["mask_id"]]
        if self.mask:  # the sequence ends with the block at hand
            return masks
        sampler = self.header["settings"]["sampler"]
        block = sampler.get("block_length", self.N - self.P)
        end = self.P + ((masks[0] - self.P) // block + 1) * block
        shift = 1 if "alg" in sampler else 0  # Dream predicts a position from the row before
        return [max(0, p - shift) for p in masks if p < end]

    def is_writing(self, s):
        """Whether a step commits a token of the answer, which ends with its first EOS."""
        of_answer = self.trace["region_kinds"][self.region[self.P :]] == "answer"
        return bool((self.trace["commit_step"][of_answer] == self.step_numbers[s]).any())

    def classes_at(self, s):
        tokens = self.step_tokens[s]
        classes = self.classes[: len(tokens)].astype("<U16")
        if "mask_id" in self.header:
            classes[tokens == self.header["mask_id"]] = "mask"
        return classes

    def answer_positions(self):
        """Generated positions that hold a token of the answer."""
        kinds = self.trace["region_kinds"][self.region]
        rows = self.trace["answer_rows"]
        return [
            p
            for p in range(self.P, self.N)
            if kinds[p] == "answer" and self.classes[p] != "eos/pad" and rows[p - self.P] >= 0
        ]

    def uniform(self):
        """The same sample under uniform attention with the same mask: the null model."""
        other = object.__new__(Sample)
        other.__dict__.update(self.__dict__)
        flat = self.flat(self.N)
        other.A = [np.broadcast_to(flat, (self.H, self.N, self.N))] * len(self.layers)
        other.steps = [[self.flat(len(tokens))] * len(self.layers) for tokens in self.step_tokens]
        other.is_null = True
        return other

    def sees(self, n):
        """Which of n rows sees which key."""
        if self.mask:
            block = (np.arange(n) + self.mask["offset"]) // self.mask["block"]
            return block[None, :] <= block[:, None]
        return np.tril(np.ones((n, n), dtype=bool)) if self.causal else np.ones((n, n), dtype=bool)

    def visible(self, p):
        """How many keys the row that writes position p sees; row p-1 of a causal model sees p."""
        return p if self.causal else int(self.sees(self.N)[p].sum())

    def first_of_length(self, s):
        """The first recorded step as long as step s: block families grow by blocks."""
        return next(i for i, tokens in enumerate(self.step_tokens) if len(tokens) == len(self.step_tokens[s]))

    def flat(self, n):
        a = self.sees(n).astype(np.float64)
        return a / a.sum(axis=1, keepdims=True)
