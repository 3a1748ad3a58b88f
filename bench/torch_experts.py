#!/usr/bin/env python3
"""LLaDA2-mini's shape in PyTorch on a card (bf16, random weights): a layer of experts, a whole pass, and the dense products of the active parameters."""
import argparse
import statistics

import torch
import torch.nn.functional as F

E, L, H, HKV, D, DENSE, MOE, V, EXPERTS, TOP, GROUPS, KEPT, BLOCK, ROTARY = 2048, 20, 16, 4, 128, 5120, 512, 157184, 256, 8, 8, 4, 32, 64
grouped = getattr(F, "grouped_mm", None) or torch._grouped_mm


def random(*shape):
    return torch.randn(shape, device="cuda", dtype=torch.bfloat16) * 0.02


def timed(run, repeat=15):
    times = []
    for i in range(repeat + 3):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        if i >= 3:
            times.append(begin.elapsed_time(end))
    return statistics.median(times)


def route(h, gate, bias):
    s = torch.sigmoid(F.linear(h.float(), gate.float()))
    r = s + bias
    best = r.view(-1, GROUPS, EXPERTS // GROUPS).topk(2, dim=-1).values.sum(-1).topk(KEPT, dim=-1).indices
    keep = torch.zeros(r.shape[0], GROUPS, device=r.device, dtype=torch.bool).scatter_(1, best, True)
    r = r.masked_fill(~keep.repeat_interleave(EXPERTS // GROUPS, dim=1), float("-inf"))
    index = r.topk(TOP, dim=-1).indices
    w = s.gather(1, index)
    return index, w / (w.sum(-1, keepdim=True) + 1e-20) * 2.5


def experts(h, layer):
    gate, bias, up, down, shared_up, shared_down = layer
    index, w = route(h, gate, bias)
    flat = index.flatten()
    order = flat.argsort(stable=True)
    rows = order // TOP
    counts = torch.zeros(EXPERTS, device=h.device, dtype=torch.int32).index_add_(0, flat, torch.ones_like(flat, dtype=torch.int32))
    offsets = counts.cumsum(0).to(torch.int32)
    a = grouped(h[rows], up.transpose(-1, -2), offs=offsets)
    g, u = a.chunk(2, dim=-1)
    y = grouped(F.silu(g) * u, down.transpose(-1, -2), offs=offsets)
    out = torch.zeros(h.shape, device=h.device, dtype=torch.float32).index_add_(0, rows, y.float() * w.flatten()[order, None])
    g, u = F.linear(h, shared_up).chunk(2, dim=-1)
    return out.to(h.dtype) + F.linear(F.silu(g) * u, shared_down)


def make_experts():
    return (random(EXPERTS, E), torch.zeros(EXPERTS, device="cuda"), random(EXPERTS, 2 * MOE, E), random(EXPERTS, E, MOE), random(2 * MOE, E), random(E, MOE))


def rotate(x, cos, sin):
    turned, rest = x[..., :ROTARY], x[..., ROTARY:]
    a, b = turned.chunk(2, dim=-1)
    return torch.cat((turned * cos + torch.cat((-b, a), dim=-1) * sin, rest), dim=-1)


def forward(ids, model, cos, sin, mask):
    table, layers, head, one, head_norm = model
    x = table[ids]
    for qkv, o, feed in layers:
        h = F.rms_norm(x, (E,), one, 1e-6)
        q, k, v = F.linear(h, qkv).view(-1, H + 2 * HKV, D).transpose(0, 1).split((H, HKV, HKV))
        q, k = (rotate(F.rms_norm(t, (D,), head_norm, 1e-6), cos, sin) for t in (q, k))
        a = F.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=mask, enable_gqa=True)[0]
        x = x + F.linear(a.transpose(0, 1).reshape(-1, H * D), o)
        h = F.rms_norm(x, (E,), one, 1e-6)
        if len(feed) == 2:
            g, u = F.linear(h, feed[0]).chunk(2, dim=-1)
            x = x + F.linear(F.silu(g) * u, feed[1])
        else:
            x = x + experts(h, feed)
    return F.linear(F.rms_norm(x, (E,), one, 1e-6), head)


def products(N):
    """The dense products of the parameters that a token goes through, each alone at its own shape."""
    shapes = [((H + 2 * HKV) * D, E, L), (E, H * D, L), (2 * DENSE, E, 1), (E, DENSE, 1), (EXPERTS, E, L - 1),
              (2 * MOE * (TOP + 1), E, L - 1), (E, MOE * (TOP + 1), L - 1), (V, E, 1)]
    total = flops = 0.0
    for out, inner, count in shapes:
        x, w = random(N, inner), random(out, inner)
        total += count * timed(lambda: F.linear(x, w))
        flops += count * 2.0 * N * out * inner
    return total, flops


def attempt(what, run):
    try:
        print(f"{what}: {timed(run):.3f} ms", flush=True)
    except Exception as error:  # a build of PyTorch without it
        print(f"{what}: {type(error).__name__}: {str(error).splitlines()[0][:150]}", flush=True)


@torch.inference_mode()
def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--tokens", default="2048,4096,8192")
    a = p.parse_args()
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}")
    big, weight = random(8192, 8192), random(8192, 8192)
    peak = 2 * 8192 ** 3 / timed(lambda: F.linear(big, weight)) / 1e9
    source, target = (torch.empty(1 << 31, device="cuda", dtype=torch.uint8) for _ in range(2))
    rate = 2 * (1 << 31) / timed(lambda: target.copy_(source)) / 1e9
    read = (1 << 31) / timed(lambda: source.view(torch.int32).sum(dtype=torch.int32)) / 1e9
    print(f"one large product {peak:.0f} TFLOP/s; copying {rate:.2f} TB/s, reading {read:.2f} TB/s")
    del source, target
    model = (random(V, E), [(random((H + 2 * HKV) * D, E), random(E, H * D), (random(2 * DENSE, E), random(E, DENSE)) if l == 0 else make_experts()) for l in range(L)],
             random(V, E), torch.ones(E, device="cuda", dtype=torch.bfloat16), torch.ones(D, device="cuda", dtype=torch.bfloat16))
    for N in map(int, a.tokens.split(",")):
        total, flops = products(N)
        print(f"N {N}: dense products of the active parameters {total:.2f} ms, at the large product's rate {flops / peak / 1e9:.2f} ms")
        h, layer = random(N, E) * 50, model[1][1][2]
        attempt(f"N {N}: a layer of experts, eager", lambda: experts(h, layer))
        compiled = torch.compile(experts, dynamic=False)
        attempt(f"N {N}: a layer of experts, compiled", lambda: compiled(h, layer))
        ids = torch.randint(0, V, (N,), device="cuda")
        angles = torch.outer(torch.arange(N).float(), 1 / 600000 ** (torch.arange(0, ROTARY, 2).float() / ROTARY)).cuda()
        cos, sin = (torch.cat((f(angles), f(angles)), dim=-1).bfloat16() for f in (torch.cos, torch.sin))
        block = torch.arange(N, device="cuda") // BLOCK
        mask = block[:, None] >= block[None, :]
        attempt(f"N {N}: whole pass, eager", lambda: forward(ids, model, cos, sin, mask))
        if N == 2048:
            whole = torch.compile(forward, dynamic=False)
            attempt(f"N {N}: whole pass, compiled", lambda: whole(ids, model, cos, sin, mask))


if __name__ == "__main__":
    main()
