"""What PyTorch does slowly at a width of 160: attention of many short sequences lying one after another, the bidirectional state
space mixer, and its convolution. On a card with Triton kernels (attention_triton.py, conv_triton.py, ssd_triton.py; products take
bfloat16 and add in float32), elsewhere by the plain formulas. check_kernels.py compares the two.
"""
import torch
import torch.nn.functional as F

from ssd import ssd_chunks

try:
    from attention_triton import attention_op
    from conv_triton import conv_op
    from ssd_triton import ssd_op
except ImportError:  # a machine without a card
    attention_op = conv_op = ssd_op = None

CONV_WIDTH = 7


def attention_plain(q, k, v, seq, causal):
    at = torch.arange(q.shape[0], device=q.device)
    allowed = seq[:, None] == seq[None, :]
    if causal:
        allowed = allowed & (at[:, None] >= at[None, :])
    q, k, v = (x.transpose(0, 1)[None] for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed[None, None])[0].transpose(0, 1)


def conv_plain(z, weight, bias, seq):
    """Depthwise, centred, zero beyond a sequence's ends. z [T, channels], weight [channels, 7]."""
    at, y = torch.arange(len(z), device=z.device), bias
    for k in range(7):
        near = at + k - 3
        there = (near >= 0) & (near < len(z))
        there = there & (seq[near.clamp(0, len(z) - 1)] == seq)
        y = y + weight[:, k] * torch.where(there[:, None], z.roll(3 - k, 0), 0)
    return F.silu(y)


def attention(q, k, v, packing, causal):
    """q, k, v [T, H, D]: attention within each sequence."""
    if not q.is_cuda:
        return attention_plain(q, k, v, packing.seq, causal)
    return attention_op(q, k, v, packing.seq, packing.first, packing.end, causal)[0]


def conv(z, weight, bias, packing):
    """silu of the convolution."""
    if not z.is_cuda:
        return conv_plain(z, weight.to(z.dtype), bias.to(z.dtype), packing.seq)
    return conv_op(z, weight, bias, packing.seq)


def ssd(u, dt, la, diagonal, packing):
    """y [T, W]; u [T, 3W] holds v, B and C; dt, la [2, T, H]: Δ and log a, forward and backward; diagonal [T, H]."""
    if not u.is_cuda:
        v, B, C = u.view(len(u), 3, dt.shape[2], -1).unbind(1)
        return (ssd_chunks(v, B, C, dt, la, packing.seq) + v * diagonal[..., None].to(v.dtype)).flatten(1)
    return ssd_op(u, dt, la, diagonal, packing.seq, packing.low, packing.high)[0]
