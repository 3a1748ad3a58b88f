"""The four networks, one code: causal attention (arm), full attention (mdm), state space mixers (ssm), and these with
attention in every fourth layer (hybrid). Sequences lie one after another, without padding."""
import dataclasses
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from kernels import CONV_WIDTH, attention, conv, ssd
from packing import TILE, pack

BOS, EOS, MASK, PAD = 0, 1, 2, 3
EPS = 1e-5
KINDS = ("arm", "mdm", "ssm", "hybrid")


@dataclasses.dataclass
class Shape:
    """One for all four kinds; the state space layers' MLP is smaller by what their mixer has more."""
    vocabulary: int = 2048
    width: int = 160
    layers: int = 12
    heads: int = 5
    mlp: int = 432
    ssd_mlp: int = 416
    context: int = 2048
    theta: float = 500000.0

    @property
    def head(self):
        return self.width // self.heads


def layer_types(kind, layers):
    """"attention" or "ssd" for each layer."""
    if kind in ("arm", "mdm"):
        return ["attention"] * layers
    return ["attention" if kind == "hybrid" and i % 4 == 3 else "ssd" for i in range(layers)]


class SsdMixer(nn.Module):
    """What ssd.py says, of inputs that a projection and a convolution make."""
    def __init__(self, width, heads):
        super().__init__()
        self.width, self.heads = width, heads
        self.inp = nn.Parameter(torch.empty(3 * width + 2 * heads, width))
        self.conv_w, self.conv_b = nn.Parameter(torch.randn(3 * width, CONV_WIDTH) * 0.2), nn.Parameter(torch.zeros(3 * width))
        dt = torch.exp(torch.rand(2 * heads) * (math.log(0.1) - math.log(0.001)) + math.log(0.001))
        self.dt_bias = nn.Parameter(dt + torch.log(-torch.expm1(-dt)))  # softplus of it is dt
        self.a_log = nn.Parameter(torch.log(torch.empty(2 * heads).uniform_(1, 16)))
        self.fc_d, self.d = nn.Parameter(torch.empty(heads, width)), nn.Parameter(torch.ones(heads))
        self.norm = nn.Parameter(torch.ones(width))
        self.out = nn.Parameter(torch.empty(width, width))

    def forward(self, h, packing):
        T, W, H = h.shape[0], self.width, self.heads
        u = conv(F.linear(h, self.inp[:3 * W]), self.conv_w, self.conv_b, packing)
        # Δ and D in one product, filled up to 16 rows: narrower ones take the card's slow way.
        few = torch.cat([self.inp[3 * W:], self.fc_d, torch.zeros_like(self.inp[:-3 * H % 16])])
        z = F.linear(h, few).to(torch.promote_types(h.dtype, torch.float32))
        dt = F.softplus(z[:, :2 * H] + self.dt_bias).view(T, 2, H).transpose(0, 1)  # forward, backward
        la = -torch.exp(self.a_log).view(2, 1, H) * dt
        y = ssd(u, dt, la, z[:, 2 * H:3 * H] + self.d, packing)
        return F.linear(F.rms_norm(y, (W,), self.norm.to(y.dtype), EPS), self.out)


class Block(nn.Module):
    """Takes plain tensors, so that all blocks of a kind share what torch.compile makes of one."""
    def __init__(self, shape, kind, causal):
        super().__init__()
        self.causal, self.watch = causal, None  # watch(q, k, v) computes the attention instead, to look at it
        W = shape.width
        mlp = shape.mlp if kind == "attention" else shape.ssd_mlp
        self.shape = shape
        self.norm1, self.norm2 = nn.Parameter(torch.ones(W)), nn.Parameter(torch.ones(W))
        if kind == "attention":
            self.mixer = None
            self.qkv, self.out = nn.Parameter(torch.empty(3 * W, W)), nn.Parameter(torch.empty(W, W))
        else:
            self.mixer = SsdMixer(W, shape.heads)
        self.gate_up, self.down = nn.Parameter(torch.empty(2 * mlp, W)), nn.Parameter(torch.empty(W, mlp))

    def attention(self, h, cos, sin, packing):
        T = h.shape[0]
        q, k, v = F.linear(h, self.qkv).view(T, 3, self.shape.heads, self.shape.head).unbind(1)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        y = self.watch(q, k, v) if self.watch else attention(q, k, v, packing, self.causal)
        return F.linear(y.reshape(T, self.shape.width), self.out)

    def forward(self, x, cos, sin, packing):
        h = F.rms_norm(x, (self.shape.width,), self.norm1, EPS)
        x = x + (self.attention(h, cos, sin, packing) if self.mixer is None else self.mixer(h, packing))
        gate, up = F.linear(F.rms_norm(x, (self.shape.width,), self.norm2, EPS), self.gate_up).chunk(2, -1)
        return x + F.linear(F.silu(gate) * up, self.down)


def rotate(x, cos, sin):
    low, high = x.chunk(2, -1)
    return torch.cat([low * cos - high * sin, high * cos + low * sin], -1).to(x.dtype)


class Model(nn.Module):
    def __init__(self, kind, shape=Shape()):
        super().__init__()
        self.kind, self.causal, self.shape = kind, kind == "arm", shape
        self.embedding = nn.Parameter(torch.empty(shape.vocabulary, shape.width))
        self.blocks = nn.ModuleList(Block(shape, t, self.causal) for t in layer_types(kind, shape.layers))
        self.norm = nn.Parameter(torch.ones(shape.width))
        self.head = nn.Parameter(torch.empty(shape.vocabulary, shape.width))
        for name, p in self.named_parameters():
            if p.dim() > 1 and "conv" not in name:
                residual = name.endswith((".out", ".down"))
                nn.init.normal_(p, std=0.02 / (math.sqrt(2 * shape.layers) if residual else 1))
        frequency = shape.theta ** -(torch.arange(0, shape.head, 2).double() / shape.head)
        angle = torch.outer(torch.arange(shape.context).double(), frequency).float()
        self.register_buffer("cos", angle.cos()[:, None, :], persistent=False)
        self.register_buffer("sin", angle.sin()[:, None, :], persistent=False)

    def hidden(self, tokens, starts):
        """What the last block leaves, before the last norm. starts [S+1] int32: where sequences begin, then their end. What
        fills the last tile up is a sequence of its own, and cut off again."""
        T = len(tokens)
        missing = -T % TILE
        if missing:
            tokens, starts = F.pad(tokens, (0, missing), value=PAD), F.pad(starts, (0, 1), value=T + missing)
        packing = pack(starts, T + missing)
        at = torch.arange(T + missing, device=tokens.device) - packing.first
        x, cos, sin = F.embedding(tokens, self.embedding), self.cos[at], self.sin[at]
        if torch.is_autocast_enabled("cuda"):
            x = x.bfloat16()  # the residual stream too: bandwidth is what a model of this width waits for
        for block in self.blocks:
            x = block(x, cos, sin, packing)
        return x[:T]

    def logits(self, tokens, starts, rows=None):
        x = self.hidden(tokens, starts)
        return read_out(x if rows is None else x[rows], self.norm, self.head)


def read_out(x, norm, head):
    return F.linear(F.rms_norm(x, norm.shape, norm, EPS), head)
