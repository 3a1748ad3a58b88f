#!/usr/bin/env python3
"""Makes a golden file for `buoy verify` from a checkpoint with state space layers (docs/ssd.md), in plain PyTorch.

    python3 tools/dump_ssd_golden.py --model tests/goldens/ssd -o golden.npz
    buoy verify --model tests/goldens/ssd --golden golden.npz

Every matrix is written out, T by T; nothing here knows how the models are trained or how Buoy computes them. float32 on the
CPU; --double for float64. Attentions of a state space layer are M_ij² over its row's sum. Needs torch, safetensors' layout is
read by hand.
"""
import argparse
import json
import pathlib

import numpy as np
import torch
import torch.nn.functional as F


def load(directory, dtype):
    directory = pathlib.Path(directory)
    raw = bytearray((directory / "model.safetensors").read_bytes())
    size = int.from_bytes(raw[:8], "little")
    kinds = {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}
    tensors = {}
    for name, about in json.loads(bytes(raw[8:8 + size])).items():
        if name == "__metadata__":
            continue
        begin, end = about["data_offsets"]
        flat = torch.frombuffer(raw[8 + size + begin:8 + size + end], dtype=kinds[about["dtype"]])
        tensors[name] = flat.reshape(about["shape"]).to(dtype)
    return json.loads((directory / "config.json").read_text()), tensors


def decay_matrix(log_a, forward):
    """exp of the sum of log_a over k = j+1..i below the diagonal, or over k = i..j-1 above it. log_a [T, H] → [H, T, T]."""
    T = log_a.shape[0]
    i, j, k = (torch.arange(T).reshape(s) for s in ((T, 1, 1), (1, T, 1), (1, 1, T)))
    between = (k > j) & (k <= i) if forward else (k >= i) & (k < j)
    total = torch.einsum("ijk,kh->hij", between.to(log_a.dtype), log_a)
    keep = (i > j) if forward else (i < j)
    return torch.exp(total) * keep[..., 0].to(log_a.dtype)


class Model:
    def __init__(self, config, tensors):
        self.c, self.t = config, tensors

    def norm(self, x, name):
        return F.rms_norm(x, (x.shape[-1],), self.t[name], self.c["rms_norm_eps"])

    def state_space(self, at, h):
        c, t = self.c, self.t
        T, H, P, n, K = len(h), c["num_attention_heads"], c["head_dim"], c["state_size"], c["conv_kernel"]
        z = F.linear(h, t[at + "in_proj.weight"])
        u, dt = z[:, :-2 * H], z[:, -2 * H:]
        u = F.conv1d(u.T[None], t[at + "conv1d.weight"], t[at + "conv1d.bias"], padding=K // 2, groups=u.shape[1])[0].T
        v, B, C = F.silu(u).split([H * P, H * n, H * n], -1)
        v, B, C = v.reshape(T, H, P), B.reshape(T, H, n), C.reshape(T, H, n)
        dt = F.softplus(dt + t[at + "dt_bias"])
        log_a = -torch.exp(t[at + "A_log"]) * dt
        scores = torch.einsum("ihn,jhn->hij", C, B)
        M = scores * (decay_matrix(log_a[:, :H], True) * dt[:, :H].T[:, None]
                      + decay_matrix(log_a[:, H:], False) * dt[:, H:].T[:, None])
        M = M + torch.diag_embed((F.linear(h, t[at + "fc_D.weight"]) + t[at + "D"]).T)
        y = torch.einsum("hij,jhp->ihp", M, v).reshape(T, H * P)
        energy = M.square()
        return F.linear(self.norm(y, at + "norm.weight"), t[at + "out_proj.weight"]), energy / energy.sum(-1, keepdim=True)

    def attention(self, at, h):
        c, t = self.c, self.t
        T, H, D = len(h), c["num_attention_heads"], c["head_dim"]
        q, k, v = (F.linear(h, t[at + f"{x}_proj.weight"]).reshape(T, H, D) for x in "qkv")
        frequency = c["rope_theta"] ** -(torch.arange(0, D, 2).double() / D)
        angle = torch.outer(torch.arange(T).double(), frequency)
        cos, sin = (torch.cat([f(angle)] * 2, -1)[:, None].to(h.dtype) for f in (torch.cos, torch.sin))
        turn = lambda x: x * cos + torch.cat([-x[..., D // 2:], x[..., :D // 2]], -1) * sin
        A = torch.softmax(torch.einsum("ihd,jhd->hij", turn(q), turn(k)) / D ** 0.5, -1)
        return F.linear(torch.einsum("hij,jhd->ihd", A, v).reshape(T, H * D), t[at + "o_proj.weight"]), A

    def __call__(self, ids):
        x, attentions, hidden = F.embedding(ids, self.t["model.embed_tokens.weight"]), [], []
        for layer, kind in enumerate(self.c["layer_types"]):
            hidden.append(x)
            at = f"model.layers.{layer}."
            h = self.norm(x, at + "input_layernorm.weight")
            mixed, A = self.state_space(at + "mixer.", h) if kind == "ssd" else self.attention(at + "self_attn.", h)
            attentions.append(A)
            x = x + mixed
            h = self.norm(x, at + "post_attention_layernorm.weight")
            w = lambda name: self.t[at + f"mlp.{name}_proj.weight"]
            x = x + F.linear(F.silu(F.linear(h, w("gate"))) * F.linear(h, w("up")), w("down"))
        x = self.norm(x, "model.norm.weight")
        return F.linear(x, self.t["lm_head.weight"]), torch.stack(attentions), torch.stack(hidden + [x])


def generate(model, prompt, mask, steps, length, block):
    """LLaDA's sampler at temperature 0, low_confidence."""
    x = torch.cat([prompt, torch.full((length,), mask)])
    per_block = steps // (length // block)
    for b in range(length // block):
        end = len(prompt) + (b + 1) * block
        masks = int((x[end - block:end] == mask).sum())
        for i in range(per_block):
            p = torch.softmax(model(x)[0], -1)
            sure, best = p.max(-1)
            sure = torch.where((x == mask) & (torch.arange(len(x)) < end), sure, -torch.inf)
            take = sure.topk(masks // per_block + (i < masks % per_block)).indices
            x[take] = best[take]
    return x


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--model", required=True)
    p.add_argument("-o", "--output", required=True)
    p.add_argument("--tokens", type=int, default=29, help="of input_ids, of which the second half is masked")
    p.add_argument("--seed", type=int, default=3)
    p.add_argument("--double", action="store_true")
    a = p.parse_args()
    config, tensors = load(a.model, torch.float64 if a.double else torch.float32)
    model, mask = Model(config, tensors), config["mask_token_id"]
    ids = np.random.default_rng(a.seed).integers(4, config["vocab_size"], a.tokens)
    ids[a.tokens // 2:] = mask
    ids, prompt = torch.tensor(ids), torch.tensor(ids[:a.tokens // 2])
    with torch.inference_mode():
        logits, attentions, hidden = model(ids)
        arrays = {"input_ids": ids, "prompt_ids": prompt, "mask_id": torch.tensor(mask), "logits": logits,
                  "attentions": attentions, "hidden": hidden}
        for steps, length, block in ((8, 8, 8), (4, 8, 4)):
            arrays[f"gen_s{steps}_g{length}_b{block}_cfg0.0"] = generate(model, prompt, mask, steps, length, block)
    np.savez_compressed(a.output, **{k: (v.float() if v.is_floating_point() else v).numpy() for k, v in arrays.items()})


if __name__ == "__main__":
    main()
