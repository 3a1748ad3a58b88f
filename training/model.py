"""The four networks, one code: causal attention (arm), full attention (mdm), state space mixers (ssm), and these with
attention in every fourth layer (hybrid). Sequences lie one after another, without padding."""
import dataclasses
import inspect
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from ssd import SsdMixer, neighbours

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


try:
    from torch.nn.attention.varlen import varlen_attn
    HAS_WINDOW = "window_size" in inspect.signature(varlen_attn).parameters
except ImportError:
    varlen_attn = None


def attend(q, k, v, starts, longest, causal):
    """q, k, v [T, H, D]; starts [S+1] int32: attention within each sequence only."""
    if not q.is_cuda:
        return attend_dense(q, k, v, starts, causal)
    if HAS_WINDOW:
        return varlen_attn(q, k, v, starts, starts, longest, longest, window_size=(-1, 0) if causal else (-1, -1))
    return varlen_attn(q, k, v, starts, starts, longest, longest, is_causal=causal)


def attend_dense(q, k, v, starts, causal):
    at = torch.arange(q.shape[0], device=q.device)
    which = torch.bucketize(at, starts.long(), right=True)
    allowed = which[:, None] == which[None, :]
    if causal:
        allowed = allowed & (at[:, None] >= at[None, :])
    q, k, v = (x.transpose(0, 1)[None] for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed[None, None])[0].transpose(0, 1)


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

    def attention(self, h, cos, sin, starts, longest):
        T = h.shape[0]
        q, k, v = F.linear(h, self.qkv).view(T, 3, self.shape.heads, self.shape.head).unbind(1)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        y = self.watch(q, k, v) if self.watch else attend(q, k, v, starts, longest, self.causal)
        return F.linear(y.reshape(T, self.shape.width), self.out)

    def forward(self, x, cos, sin, starts, seq, near, longest):
        h = F.rms_norm(x, (self.shape.width,), self.norm1, EPS)
        x = x + (self.attention(h, cos, sin, starts, longest) if self.mixer is None else self.mixer(h, seq, near, EPS))
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

    def hidden(self, tokens, positions, starts, longest):
        """What the last block leaves, before the last norm. starts [S+1] int32 says where sequences begin."""
        x, cos, sin, seq, near = F.embedding(tokens, self.embedding), self.cos[positions], self.sin[positions], None, None
        if any(b.mixer is not None for b in self.blocks):
            seq = torch.bucketize(torch.arange(len(tokens), device=tokens.device), starts.long(), right=True)
            near = neighbours(seq)
        if torch.is_autocast_enabled("cuda"):
            x = x.bfloat16()  # the residual stream too: bandwidth is what a model of this width waits for
        for block in self.blocks:
            x = block(x, cos, sin, starts, seq, near, longest)
        return x

    def logits(self, tokens, positions, starts, longest, rows=None):
        x = self.hidden(tokens, positions, starts, longest)
        return read_out(x if rows is None else x[rows], self.norm, self.head)


def read_out(x, norm, head):
    return F.linear(F.rms_norm(x, norm.shape, norm, EPS), head)
