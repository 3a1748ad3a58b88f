#!/usr/bin/env python3
"""A pass of LLaDA-8B's shape in plain PyTorch on a card (bf16, random weights, logits of all positions), to stand beside `buoy bench`.

Eager operations with scaled_dot_product_attention and nothing recorded; --compile for torch.compile of the same."""
import argparse
import statistics

import torch
import torch.nn.functional as F

E, L, H, MLP, V = 4096, 32, 32, 12288, 126464
D = E // H


def weights():
    def random(*shape):
        return torch.randn(shape, device="cuda", dtype=torch.bfloat16) * 0.02
    one = torch.ones(E, device="cuda", dtype=torch.bfloat16)
    layers = [(one, random(E, E), random(E, E), random(E, E), random(E, E), one, random(MLP, E), random(MLP, E),
               random(E, MLP)) for _ in range(L)]
    return random(V, E), layers, one, random(V, E)


def rotate(x, cos, sin):
    a, b = x.float().chunk(2, dim=-1)
    return (x.float() * cos + torch.cat((-b, a), dim=-1) * sin).to(x.dtype)


def forward(ids, model, cos, sin):
    table, layers, last, head = model
    x = table[ids]
    for norm, q, k, v, o, mlp_norm, gate, up, down in layers:
        h = F.rms_norm(x, (E,), norm, 1e-5)
        q, k, v = (F.linear(h, w).view(-1, H, D).transpose(0, 1) for w in (q, k, v))
        a = F.scaled_dot_product_attention(rotate(q, cos, sin)[None], rotate(k, cos, sin)[None], v[None])[0]
        x = x + F.linear(a.transpose(0, 1).reshape(x.shape), o)
        h = F.rms_norm(x, (E,), mlp_norm, 1e-5)
        x = x + F.linear(F.silu(F.linear(h, gate)) * F.linear(h, up), down)
    return F.linear(F.rms_norm(x, (E,), last, 1e-5), head)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--tokens", default="1024,2048,4096")
    p.add_argument("--repeat", type=int, default=15)
    p.add_argument("--compile", action="store_true")
    a = p.parse_args()
    model = weights()
    run = torch.compile(forward, dynamic=False) if a.compile else forward
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}")
    for tokens in map(int, a.tokens.split(",")):
        ids = torch.randint(0, V, (tokens,), device="cuda")
        angles = torch.outer(torch.arange(tokens).float(), 1 / 500000 ** (torch.arange(0, D, 2).float() / D)).cuda()
        cos, sin = (torch.cat((f(angles), f(angles)), dim=-1) for f in (torch.cos, torch.sin))
        times = []
        with torch.inference_mode():
            for i in range(a.repeat + 2):
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                begin.record()
                run(ids, model, cos, sin)
                end.record()
                torch.cuda.synchronize()
                if i >= 2:
                    times.append(begin.elapsed_time(end))
        print(f"{tokens:6d} tokens: median {statistics.median(times):.2f} ms, best {min(times):.2f} ms", flush=True)


if __name__ == "__main__":
    main()
