"""Compares the kernels with plain formulas in float64, values and gradients, and says what they take.

    python3 training/check_kernels.py [--tune]       --tune also times other tiles and numbers of warps
"""
import sys

import torch

from attention_triton import FORWARD, KEYS, QUERIES
from conv_triton import CONV, CONV_BACKWARD
from kernels import attention, attention_plain, conv, conv_plain, ssd
from packing import Packing, pack
from ssd import written_out
from ssd_triton import SSD, SSD_BACKWARD


def made_up(T, mean, generator):
    """Starts of sequences of about this many positions."""
    cuts, at = [0], 0
    while True:
        at += 1 + int(torch.empty(()).exponential_(1 / mean, generator=generator).item())
        if at >= T:
            break
        cuts.append(at)
    return torch.tensor([*cuts, T], dtype=torch.int32)


def cases(T, starts, device, generator):
    """(name, kernel, plain, inputs in float32): plain takes float64."""
    random = lambda *shape: torch.randn(*shape, generator=generator)
    H, D, W = 5, 32, 160
    packing = Packing(*(x.to(device) for x in pack(starts, T)))
    seq = packing.seq.cpu()
    for causal in (False, True):
        yield (f"attention{' causal' * causal}", lambda q, k, v, c=causal: attention(q, k, v, packing, c),
               lambda q, k, v, c=causal: attention_plain(q, k, v, seq, c), [random(T, H, D) * 2 for _ in range(3)], 3)
    yield ("convolution", lambda z, w, b: conv(z, w, b, packing), lambda z, w, b: conv_plain(z, w, b, seq),
           [random(T, 3 * W), random(3 * W, 7) * 0.3, random(3 * W) * 0.1], 1)
    dt = torch.rand(2, T, H, generator=generator) * 0.2
    la = -torch.rand(2, T, H, generator=generator) * 0.3

    def plain(u, dt, la, diagonal):
        v, B, C = u.view(T, 3, H, D).unbind(1)
        return (written_out(v, B, C, dt, la, seq) + v * diagonal[..., None]).flatten(1)
    yield "state space", lambda u, dt, la, d: ssd(u, dt, la, d, packing), plain, [random(T, 3 * W), dt, la, random(T, H)], 1


def compare(T, mean, device, seed):
    """Values and gradients; the first `halves` inputs are bfloat16. Relative errors in the Frobenius norm."""
    generator, worst = torch.Generator().manual_seed(seed), 0.0
    starts = made_up(T, mean, generator)
    for name, kernel, plain, inputs, halves in cases(T, starts, device, generator):
        inputs = [x.bfloat16().float() if i < halves else x for i, x in enumerate(inputs)]
        ours = [(x.bfloat16() if i < halves else x).to(device).requires_grad_() for i, x in enumerate(inputs)]
        exact = [x.double().requires_grad_() for x in inputs]
        y, want = kernel(*ours), plain(*exact)
        weight = torch.randn(want.shape, generator=generator).bfloat16()
        grads = torch.autograd.grad(y, ours, weight.to(device))
        wants = torch.autograd.grad(want, exact, weight.double())
        off = [float((a.detach().double().cpu() - b.detach()).norm() / b.detach().norm()) for a, b in zip((y, *grads), (want, *wants))]
        print(f"T {T} {len(starts) - 1} sequences, {name}: values {off[0]:.1e}, gradients {' '.join(f'{x:.1e}' for x in off[1:])}", flush=True)
        worst = max(worst, *(x if x == x else 1e9 for x in off))
    return worst


def timed(run, repeat=20):
    """Microseconds of the card; a graph, as the host takes longer than the kernels."""
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            run()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(repeat):
            run()
    graph.replay()
    began, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    began.record()
    graph.replay()
    ended.record()
    torch.cuda.synchronize()
    return 1e3 * began.elapsed_time(ended) / repeat


def times(names=(), T=32768, mean=275):
    generator = torch.Generator().manual_seed(7)
    for name, kernel, _, inputs, halves in cases(T, made_up(T, mean, generator), "cuda", generator):
        if names and name not in names:
            continue
        inputs = [(x.bfloat16() if i < halves else x).cuda().requires_grad_() for i, x in enumerate(inputs)]
        g = torch.randn_like(kernel(*inputs))
        forward = timed(lambda: kernel(*inputs))
        both = timed(lambda: torch.autograd.grad(kernel(*inputs), inputs, g))
        print(f"{name}: forward {forward:.0f} µs, backward {both - forward:.0f} µs", flush=True)


def tune():
    """Times of other tiles and numbers of warps and stages."""
    trials = [(FORWARD, "attention", t) for t in ((64, 64), (64, 32), (64, 128), (128, 32))]
    trials += [(KEYS, "attention", t) for t in ((32, 64), (64, 64), (32, 128), (64, 32))]
    trials += [(QUERIES, "attention", t) for t in ((64, 32), (64, 64), (128, 32))]
    trials += [(CONV, "convolution", t) for t in ((32, 64), (16, 128), (8, 512))]
    trials += [(CONV_BACKWARD, "convolution", t) for t in ((128, 8, 64), (64, 8, 64), (128, 16, 32), (128, 8, 128))]
    trials += [(SSD, "state space", None), (SSD_BACKWARD, "state space", None)]
    for held, name, tile in trials:
        before = dict(held)
        which = next(n for n, x in globals().items() if x is held)
        ways = [dict(num_warps=4), dict(num_warps=4, maxnreg=168), dict(num_warps=8, maxnreg=128), dict(num_warps=8, maxnreg=80)]
        for launch in ways if tile is None else [dict(num_warps=4, num_stages=3)]:
            held.update(dict(tile=tile, launch=launch) if tile else launch)
            print(which, tile, launch, end=" ", flush=True)
            try:
                times([name])
            except Exception as error:  # a tile too large for the chip's memory is no reason to stop
                print(repr(error)[:200])
            if tile is None:
                held.clear()
            held.update(before)


def main():
    if not torch.cuda.is_available():
        sys.exit("check_kernels.py: no card is here")
    worst = max(compare(T, mean, "cuda", seed) for seed, (T, mean) in enumerate(((1024, 90), (512, 10), (2048, 700), (1024, 5000))))
    print(f"largest error {worst:.1e}, limit 1e-2")
    if worst > 1e-2:
        sys.exit(1)
    times()
    if "--tune" in sys.argv:
        tune()


if __name__ == "__main__":
    main()
