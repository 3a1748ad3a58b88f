#!/usr/bin/env python3
"""The LLaDA transformer in plain PyTorch, for timing against: eager with attentions returned, or sdpa without.

Prints one JSON line like forward_bench. Reads the same checkpoint and the same kind of input (random ids)."""
import argparse
import json
import pathlib
import struct
import time

import torch
import torch.nn.functional as F


def load(directory):
    path = pathlib.Path(directory)
    config = json.loads((path / "config.json").read_text())
    raw = torch.from_file(str(path / "model.safetensors"), dtype=torch.uint8,
                          size=(path / "model.safetensors").stat().st_size)
    length = struct.unpack("<Q", bytes(raw[:8].tolist()))[0]
    header = json.loads(bytes(raw[8:8 + length].tolist()))
    types = {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}
    weights = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + o for o in entry["data_offsets"])
        weights[name] = raw[begin:end].clone().view(types[entry["dtype"]]).reshape(entry["shape"]).float()
    return config, weights


class Llada:
    def __init__(self, directory, tokens):
        self.config, self.w = load(directory)
        c = self.config
        self.H, self.D = c["n_heads"], c["d_model"] // c["n_heads"]
        frequencies = 1.0 / c["rope_theta"] ** (torch.arange(0, self.D, 2).float() / self.D)
        angles = torch.outer(torch.arange(tokens).float(), frequencies)
        angles = torch.cat((angles, angles), dim=-1)
        self.cos, self.sin = angles.cos(), angles.sin()

    def norm(self, x, weight):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.config["rms_norm_eps"]) * weight

    def rotate(self, x):
        a, b = x.chunk(2, dim=-1)
        return x * self.cos + torch.cat((-b, a), dim=-1) * self.sin

    @torch.inference_mode()
    def forward(self, ids, attention):
        w, attentions = self.w, []
        x = w["model.transformer.wte.weight"][ids]
        for layer in range(self.config["n_layers"]):
            block = f"model.transformer.blocks.{layer}."
            h = self.norm(x, w[block + "attn_norm.weight"])
            q, k, v = (F.linear(h, w[block + n + "_proj.weight"]).view(-1, self.H, self.D).transpose(0, 1)
                       for n in "qkv")
            q, k = self.rotate(q), self.rotate(k)
            if attention == "eager":
                a = torch.softmax(q @ k.transpose(1, 2) / self.D ** 0.5, dim=-1)
                attentions.append(a)
                o = a @ v
            else:
                o = F.scaled_dot_product_attention(q[None], k[None], v[None])[0]
            x = x + F.linear(o.transpose(0, 1).reshape(x.shape), w[block + "attn_out.weight"])
            h = self.norm(x, w[block + "ff_norm.weight"])
            h = F.silu(F.linear(h, w[block + "ff_proj.weight"])) * F.linear(h, w[block + "up_proj.weight"])
            x = x + F.linear(h, w[block + "ff_out.weight"])
        x = self.norm(x, w["model.transformer.ln_f.weight"])
        return F.linear(x, w["model.transformer.ff_out.weight"]), attentions


def product_rate():
    """GFLOP/s of one product of 512 × 512, by the processor's time."""
    x, best = torch.rand(512, 512), 0.0
    for _ in range(5):
        begin = time.process_time()
        for _ in range(4):
            x @ x
        best = max(best, 4 * 2 * 512**3 / (time.process_time() - begin) / 1e9)
    return best


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--model", required=True)
    p.add_argument("--tokens", type=int, default=512)
    p.add_argument("--attention", choices=["eager", "sdpa"], default="eager")
    p.add_argument("--repeat", type=int, default=10)
    p.add_argument("--threads", type=int, default=0, help="0: PyTorch's own choice")
    p.add_argument("--check", help="an npz of `buoy forward --attentions` with the same model: compare, do not time")
    a = p.parse_args()
    if a.threads:
        torch.set_num_threads(a.threads)
    if a.check:
        import numpy as np
        file = np.load(a.check)
        ids = torch.from_numpy(file["input_ids"])
        logits, attentions = Llada(a.model, len(ids)).forward(ids, "eager")
        largest = logits.abs().max().item()
        print(json.dumps({
            "logits_error_of_largest": (logits - torch.from_numpy(file["logits"])).abs().max().item() / largest,
            "attention_error": (torch.stack(attentions) - torch.from_numpy(file["attentions"])).abs().max().item()}))
        return
    model = Llada(a.model, a.tokens)
    ids = torch.randint(0, model.config["vocab_size"], (a.tokens,), generator=torch.Generator().manual_seed(5))
    times, cpu = [], []
    for _ in range(a.repeat + 1):
        start, processor = time.perf_counter(), time.process_time()
        model.forward(ids, a.attention)
        times.append(time.perf_counter() - start)
        cpu.append(time.process_time() - processor)
    times, cpu = sorted(times[1:]), sorted(cpu[1:])
    print(json.dumps({"tokens": a.tokens, "attention": a.attention, "torch": torch.__version__,
                      "threads": torch.get_num_threads(), "product_gflops": product_rate(), "median_ms": 1e3 * times[len(times) // 2],
                      "best_ms": 1e3 * times[0], "median_cpu_ms": 1e3 * cpu[len(cpu) // 2], "best_cpu_ms": 1e3 * cpu[0]}))


if __name__ == "__main__":
    main()
