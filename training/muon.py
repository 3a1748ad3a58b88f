"""Muon: momentum whose matrices are made orthogonal before they are applied, for the weights inside the blocks; AdamW for
the rest (embedding, read-out, norms, biases, convolutions, decays). One learning rate serves both: a Muon update is scaled
to the size AdamW's usually have (0.2 per entry).

Matrices of one shape go through the iteration together, so a step is a few dozen kernels, and nothing in it waits for the
host: it can be captured in a CUDA graph.
"""
import collections

import torch

MOMENTUM, ITERATIONS = 0.95, 5
QUINTIC = 3.4445, -4.7750, 2.0315  # pushes all singular values to about 1 in five rounds


def orthogonal(g):
    """Nearly U Vᵀ of g = U S Vᵀ, for every matrix of [k, m, n]."""
    tall = g.shape[1] > g.shape[2]
    x = g.bfloat16() if g.is_cuda else g.float()
    x = x.transpose(1, 2) if tall else x
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    a, b, c = QUINTIC
    for _ in range(ITERATIONS):
        s = x @ x.transpose(1, 2)
        x = a * x + (b * s + c * (s @ s)) @ x
    return (x.transpose(1, 2) if tall else x).float()


def pieces(model):
    """(parameter, first row, end row) of every matrix Muon moves: weights that do several things are several matrices."""
    for block in model.blocks:
        fused = [(block.gate_up, 2, 0), (block.down, 1, 0)]
        if block.mixer is None:
            fused += [(block.qkv, 3, 0), (block.out, 1, 0)]
        else:
            fused += [(block.mixer.inp, 3, 2 * block.mixer.heads), (block.mixer.out, 1, 0)]
        for p, parts, rest in fused:
            size = (p.shape[0] - rest) // parts
            for i in range(parts):
                yield p, i * size, (i + 1) * size
            if rest:
                yield p, p.shape[0] - rest, p.shape[0]


class Muon:
    def __init__(self, model, decay):
        self.decay = decay
        self.groups = collections.defaultdict(list)
        for p, first, end in pieces(model):
            self.groups[end - first, p.shape[1]].append((p, first, end))
        self.moved = {id(p) for group in self.groups.values() for p, _, _ in group}
        self.momentum = {shape: torch.zeros(len(group), *shape, device=group[0][0].device) for shape, group in self.groups.items()}

    @torch.no_grad()
    def step(self, lr):
        """lr is a tensor, so that a captured step follows it."""
        for shape, group in self.groups.items():
            g = torch.stack([p.grad[first:end] for p, first, end in group])
            m = self.momentum[shape]
            m.lerp_(g, 1 - MOMENTUM)
            update = orthogonal(g.lerp(m, MOMENTUM)) * (0.2 * max(shape) ** 0.5)
            weights = [p[first:end] for p, first, end in group]
            torch._foreach_mul_(weights, 1 - lr * self.decay)
            torch._foreach_add_(weights, list((-lr * update).unbind(0)))

    def state(self):
        return list(self.momentum.values())
