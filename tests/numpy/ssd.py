#!/usr/bin/env python3
"""A second implementation of models with state space mixers (docs/ssd.md): NumPy, float64, every matrix written out N by N.

    python3 tests/numpy/ssd.py MODEL --check GOLDEN.npz      compares; exit code 1 when something is off by more than 1e-5
    python3 tests/numpy/ssd.py MODEL --write GOLDEN.npz      makes one (logits, attentions, hidden, generations)

Attentions of a state space layer are its energy attention, M_ij² divided by its row's sum.
"""
import argparse
import json
import pathlib
import sys

import numpy as np

TYPES = {"F32": ("<f4", 4), "F16": ("<f2", 2), "BF16": ("<u2", 2)}


def read_checkpoint(directory):
    directory = pathlib.Path(directory)
    config = json.loads((directory / "config.json").read_text())
    raw = (directory / "model.safetensors").read_bytes()
    size = int.from_bytes(raw[:8], "little")
    tensors = {}
    for name, about in json.loads(raw[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + at for at in about["data_offsets"])
        values = np.frombuffer(raw[begin:end], TYPES[about["dtype"]][0])
        if about["dtype"] == "BF16":
            values = (values.astype(np.uint32) << 16).view(np.float32)
        tensors[name] = values.astype(np.float64).reshape(about["shape"])
    return config, tensors


def silu(x):
    return x / (1 + np.exp(-x))


def rms(x, weight, epsilon):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def rotate(x, theta):  # [T, H, D]
    T, _, D = x.shape
    angle = np.outer(np.arange(T), theta ** -(np.arange(0, D, 2) / D))[:, None]
    a, b = x[..., :D // 2], x[..., D // 2:]
    return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], -1)


def convolve(x, weight, bias):  # [T, C], [C, 1, K]
    T, K = len(x), weight.shape[-1]
    padded = np.concatenate([np.zeros((K // 2, x.shape[1])), x, np.zeros((K // 2, x.shape[1]))])
    return bias + sum(weight[:, 0, k] * padded[k:k + T] for k in range(K))


def matrix_of(B, C, step, decay, diagonal):
    """M [T, T] of one head; step and decay are [2, T], forward and backward."""
    T = len(B)
    M = np.zeros((T, T))
    for i in range(T):
        M[i, i] = diagonal[i]
        product = 1.0
        for j in range(i - 1, -1, -1):
            product *= decay[0][j + 1]
            M[i, j] = C[i] @ B[j] * step[0][j] * product
        product = 1.0
        for j in range(i + 1, T):
            product *= decay[1][j - 1]
            M[i, j] = C[i] @ B[j] * step[1][j] * product
    return M


class Model:
    def __init__(self, directory):
        self.config, self.tensors = read_checkpoint(directory)

    def matrices(self, layer, h):
        """What a state space layer makes of its normed input: M [H, T, T] and v [T, H, P]."""
        c, t, at = self.config, self.tensors, f"model.layers.{layer}.mixer."
        T, H, P, n = len(h), c["num_attention_heads"], c["head_dim"], c["state_size"]
        z = h @ t[at + "in_proj.weight"].T
        u = silu(convolve(z[:, :-2 * H], t[at + "conv1d.weight"], t[at + "conv1d.bias"]))
        v, B, C = u[:, :H * P], u[:, H * P:H * (P + n)], u[:, H * (P + n):]
        B, C = B.reshape(T, H, n), C.reshape(T, H, n)
        step = np.log1p(np.exp(z[:, -2 * H:] + t[at + "dt_bias"]))  # [T, 2H]
        decay = np.exp(-np.exp(t[at + "A_log"]) * step)
        diagonal = h @ t[at + "fc_D.weight"].T + t[at + "D"]
        M = np.stack([matrix_of(B[:, k], C[:, k], (step[:, k], step[:, H + k]), (decay[:, k], decay[:, H + k]),
                                diagonal[:, k]) for k in range(H)])
        return M, v.reshape(T, H, P)

    def state_space(self, layer, h):
        c, t, at = self.config, self.tensors, f"model.layers.{layer}.mixer."
        M, v = self.matrices(layer, h)
        y = np.einsum("hij,jhp->ihp", M, v).reshape(len(h), -1)
        energy = M * M
        return rms(y, t[at + "norm.weight"], c["rms_norm_eps"]) @ t[at + "out_proj.weight"].T, \
            energy / energy.sum(-1, keepdims=True)

    def attention(self, layer, h):
        c, t, at = self.config, self.tensors, f"model.layers.{layer}.self_attn."
        T, H, D = len(h), c["num_attention_heads"], c["head_dim"]
        q, k, v = ((h @ t[at + f"{x}_proj.weight"].T).reshape(T, H, D) for x in "qkv")
        q, k = rotate(q, c["rope_theta"]), rotate(k, c["rope_theta"])
        A = softmax(np.einsum("ihd,jhd->hij", q, k) / np.sqrt(D))
        return np.einsum("hij,jhd->ihd", A, v).reshape(T, -1) @ t[at + "o_proj.weight"].T, A

    def forward(self, ids):
        """logits [T, V], attentions [L, H, T, T], hidden [L + 1, T, E]"""
        c, t = self.config, self.tensors
        x, attentions, hidden = t["model.embed_tokens.weight"][ids], [], []
        for layer, kind in enumerate(c["layer_types"]):
            hidden.append(x)
            at = f"model.layers.{layer}."
            h = rms(x, t[at + "input_layernorm.weight"], c["rms_norm_eps"])
            mixed, A = self.state_space(layer, h) if kind == "ssd" else self.attention(layer, h)
            attentions.append(A)
            x = x + mixed
            h = rms(x, t[at + "post_attention_layernorm.weight"], c["rms_norm_eps"])
            gate, up = h @ t[at + "mlp.gate_proj.weight"].T, h @ t[at + "mlp.up_proj.weight"].T
            x = x + (silu(gate) * up) @ t[at + "mlp.down_proj.weight"].T
        x = rms(x, t["model.norm.weight"], c["rms_norm_eps"])
        return x @ t["lm_head.weight"].T, np.stack(attentions), np.stack(hidden + [x])

    def generate(self, prompt, steps, length, block):
        """LLaDA's sampler at temperature 0, surest tokens first."""
        mask = self.config["mask_token_id"]
        x = np.concatenate([prompt, np.full(length, mask)])
        per_block = steps // (length // block)
        for b in range(length // block):
            end = len(prompt) + (b + 1) * block
            masks = int((x[end - block:end] == mask).sum())
            for i in range(per_block):
                p = softmax(self.forward(x)[0])
                best = p.argmax(-1)
                sure = np.where((x == mask) & (np.arange(len(x)) < end), p.max(-1), -np.inf)
                take = np.argsort(-sure, kind="stable")[:masks // per_block + (i < masks % per_block)]
                x[take] = best[take]
        return x


def golden_of(model, ids, prompt):
    logits, attentions, hidden = model.forward(ids)
    arrays = {"input_ids": ids, "prompt_ids": prompt, "mask_id": np.array(model.config["mask_token_id"]),
              "logits": logits, "attentions": attentions, "hidden": hidden}
    for steps, length, block in ((8, 8, 8), (4, 8, 4)):
        arrays[f"gen_s{steps}_g{length}_b{block}_cfg0.0"] = model.generate(prompt, steps, length, block)
    return {k: v.astype(np.float32 if v.dtype == np.float64 else np.int64) for k, v in arrays.items()}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model")
    p.add_argument("--check")
    p.add_argument("--write")
    p.add_argument("--tokens", type=int, default=29)
    a = p.parse_args()
    model = Model(a.model)
    if a.check:
        golden = dict(np.load(a.check))
        ids, prompt = golden["input_ids"].astype(int), golden["prompt_ids"].astype(int)
    else:
        draw = np.random.default_rng(3)
        ids = draw.integers(4, model.config["vocab_size"], a.tokens)
        ids[a.tokens // 2:] = model.config["mask_token_id"]
        prompt = ids[:a.tokens // 2]
    made = golden_of(model, ids, prompt)
    if a.write:
        np.savez_compressed(a.write, **made)
    if not a.check:
        return 0
    failed = 0
    for name, want in golden.items():
        if name not in made:
            print(f"?     {name}")
            failed += 1
        elif np.issubdtype(want.dtype, np.integer):
            same = np.array_equal(made[name], want)
            print(f"{'ok   ' if same else 'FAIL '} {name}")
            failed += not same
        else:
            off = np.abs(made[name] - want).max() / (1 if name == "attentions" else np.abs(want).max())
            print(f"{'ok   ' if off < 1e-5 else 'FAIL '} {name}: {off:.1e}")
            failed += not off < 1e-5
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
