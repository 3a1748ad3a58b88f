"""Attention of sequences that lie one after another, forward and backward. A program owns a tile of queries (or keys) of one head
and walks over the keys (queries) that its sequences have. Tiles need not begin where sequences do, so there are as many as the batch
has rows for."""
import math

import torch
import triton
import triton.language as tl

from packing import rows

# Chosen on an H200 (check_kernels.py --tune). Tiles are queries × keys.
FORWARD = dict(tile=(64, 64), launch=dict(num_warps=4, num_stages=3))
KEYS = dict(tile=(64, 64), launch=dict(num_warps=4, num_stages=3))
QUERIES = dict(tile=(64, 64), launch=dict(num_warps=4, num_stages=3))
LOG2E = 1.4426950408889634
NEVER_ = tl.constexpr(-1e30)  # exp() of it is 0



@triton.jit
def attention_forward(q, k, v, out, lse, seq, first, end, scale, T, row, v_row, out_row,
                      D: tl.constexpr, M: tl.constexpr, N: tl.constexpr, CAUSAL: tl.constexpr):
    m0, h = tl.program_id(0) * M, tl.program_id(1)
    i, d = m0 + tl.arange(0, M), tl.arange(0, D)
    seq_i = tl.load(seq + i)
    low = tl.load(first + m0) // N * N
    high = tl.load(end + (m0 + M - 1))
    if CAUSAL:
        high = tl.minimum(high, m0 + M)
    x = tl.load(q + i[:, None] * row + h * D + d[None, :])
    top = tl.zeros([M], tl.float32) + NEVER_
    total = tl.zeros([M], tl.float32)
    y = tl.zeros([M, D], tl.float32)
    for n0 in range(low, high, N):
        j = n0 + tl.arange(0, N)
        there = j < T
        kj = tl.load(k + j[:, None] * row + h * D + d[None, :], mask=there[:, None], other=0.0)
        vj = tl.load(v + j[:, None] * v_row + h * D + d[None, :], mask=there[:, None], other=0.0)
        seq_j = tl.load(seq + j, mask=there, other=-1)
        seen = seq_i[:, None] == seq_j[None, :]
        if CAUSAL:
            seen = seen & (i[:, None] >= j[None, :])
        s = tl.where(seen, tl.dot(x, tl.trans(kj)) * scale, NEVER_)
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        keep = tl.exp2(top - new)
        total = total * keep + tl.sum(p, 1)
        y = y * keep[:, None] + tl.dot(p.to(tl.bfloat16), vj)
        top = new
    tl.store(out + i[:, None] * out_row + h * D + d[None, :], (y / total[:, None]).to(tl.bfloat16))
    tl.store(lse + h * T + i, top + tl.log2(total))


@triton.jit
def attention_delta(out, dout, delta, T, out_row, dout_row, D: tl.constexpr, M: tl.constexpr):
    i, h, d = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1), tl.arange(0, D)
    y = tl.load(out + i[:, None] * out_row + h * D + d[None, :]).to(tl.float32)
    g = tl.load(dout + i[:, None] * dout_row + h * D + d[None, :]).to(tl.float32)
    tl.store(delta + h * T + i, tl.sum(y * g, 1))


@triton.jit
def attention_backward_keys(q, k, v, dout, lse, delta, dk, dv, seq, first, end, scale, plain_scale, T, row, v_row, dout_row, grad_row,
                            D: tl.constexpr, M: tl.constexpr, N: tl.constexpr, CAUSAL: tl.constexpr):
    n0, h = tl.program_id(0) * N, tl.program_id(1)
    j, d = n0 + tl.arange(0, N), tl.arange(0, D)
    seq_j = tl.load(seq + j)
    low = tl.load(first + n0) // M * M
    if CAUSAL:
        low = n0 // M * M
    high = tl.load(end + (n0 + N - 1))
    kj = tl.load(k + j[:, None] * row + h * D + d[None, :])
    vj = tl.load(v + j[:, None] * v_row + h * D + d[None, :])
    gk = tl.zeros([N, D], tl.float32)
    gv = tl.zeros([N, D], tl.float32)
    for m0 in range(low, high, M):
        i = m0 + tl.arange(0, M)
        there = i < T
        x = tl.load(q + i[:, None] * row + h * D + d[None, :], mask=there[:, None], other=0.0)
        g = tl.load(dout + i[:, None] * dout_row + h * D + d[None, :], mask=there[:, None], other=0.0)
        seq_i = tl.load(seq + i, mask=there, other=-1)
        l = tl.load(lse + h * T + i, mask=there, other=0.0)
        c = tl.load(delta + h * T + i, mask=there, other=0.0)
        seen = seq_j[:, None] == seq_i[None, :]
        if CAUSAL:
            seen = seen & (i[None, :] >= j[:, None])
        p = tl.exp2(tl.where(seen, tl.dot(kj, tl.trans(x)) * scale - l[None, :], NEVER_))  # [N, M]
        gv += tl.dot(p.to(tl.bfloat16), g)
        ds = p * (tl.dot(vj, tl.trans(g)) - c[None, :])
        gk += tl.dot(ds.to(tl.bfloat16), x)
    tl.store(dk + j[:, None] * grad_row + h * D + d[None, :], (gk * plain_scale).to(tl.bfloat16))
    tl.store(dv + j[:, None] * grad_row + h * D + d[None, :], gv.to(tl.bfloat16))


@triton.jit
def attention_backward_queries(q, k, v, dout, lse, delta, dq, seq, first, end, scale, plain_scale, T, row, v_row, dout_row, grad_row,
                               D: tl.constexpr, M: tl.constexpr, N: tl.constexpr, CAUSAL: tl.constexpr):
    m0, h = tl.program_id(0) * M, tl.program_id(1)
    i, d = m0 + tl.arange(0, M), tl.arange(0, D)
    seq_i = tl.load(seq + i)
    low = tl.load(first + m0) // N * N
    high = tl.load(end + (m0 + M - 1))
    if CAUSAL:
        high = tl.minimum(high, m0 + M)
    x = tl.load(q + i[:, None] * row + h * D + d[None, :])
    g = tl.load(dout + i[:, None] * dout_row + h * D + d[None, :])
    l = tl.load(lse + h * T + i)
    c = tl.load(delta + h * T + i)
    gq = tl.zeros([M, D], tl.float32)
    for n0 in range(low, high, N):
        j = n0 + tl.arange(0, N)
        there = j < T
        kj = tl.load(k + j[:, None] * row + h * D + d[None, :], mask=there[:, None], other=0.0)
        vj = tl.load(v + j[:, None] * v_row + h * D + d[None, :], mask=there[:, None], other=0.0)
        seq_j = tl.load(seq + j, mask=there, other=-1)
        seen = seq_i[:, None] == seq_j[None, :]
        if CAUSAL:
            seen = seen & (i[:, None] >= j[None, :])
        p = tl.exp2(tl.where(seen, tl.dot(x, tl.trans(kj)) * scale - l[:, None], NEVER_))
        ds = p * (tl.dot(g, tl.trans(vj)) - c[:, None])
        gq += tl.dot(ds.to(tl.bfloat16), kj)
    tl.store(dq + i[:, None] * grad_row + h * D + d[None, :], (gq * plain_scale).to(tl.bfloat16))


@torch.library.custom_op("micro::attention", mutates_args=())
def attention_op(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, seq: torch.Tensor, first: torch.Tensor, end: torch.Tensor,
                 causal: bool) -> tuple[torch.Tensor, torch.Tensor]:
    (T, H, D), q, k, v = q.shape, rows(q), rows(k), rows(v)
    k = k if k.stride(0) == q.stride(0) else k.contiguous()
    q = q if k.stride(0) == q.stride(0) else q.contiguous()
    out, lse = torch.empty(T, H, D, dtype=q.dtype, device=q.device), torch.empty(H, T, device=q.device)
    M, N = FORWARD["tile"]
    attention_forward[(T // M, H)](q, k, v, out, lse, seq, first, end, LOG2E / math.sqrt(D), T, q.stride(0), v.stride(0), H * D,
                                   D, M, N, causal, **FORWARD["launch"])
    return out, lse


@attention_op.register_fake
def _(q, k, v, seq, first, end, causal):
    return torch.empty(q.shape, dtype=q.dtype, device=q.device), q.new_empty(q.shape[1], q.shape[0], dtype=torch.float32)


@torch.library.custom_op("micro::attention_backward", mutates_args=())
def attention_backward_op(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor, lse: torch.Tensor, dout: torch.Tensor,
                          seq: torch.Tensor, first: torch.Tensor, end: torch.Tensor, causal: bool) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    (T, H, D), q, k, v, dout = q.shape, rows(q), rows(k), rows(v), rows(dout)
    k = k if k.stride(0) == q.stride(0) else k.contiguous()
    q = q if k.stride(0) == q.stride(0) else q.contiguous()
    dq, dk, dv = (torch.empty(T, H, D, dtype=q.dtype, device=q.device) for _ in range(3))
    delta = torch.empty(H, T, device=q.device)
    attention_delta[(T // 128, H)](out, dout, delta, T, H * D, dout.stride(0), D, 128)
    numbers = LOG2E / math.sqrt(D), 1 / math.sqrt(D), T, q.stride(0), v.stride(0), dout.stride(0), H * D, D
    M, N = KEYS["tile"]
    attention_backward_keys[(T // N, H)](q, k, v, dout, lse, delta, dk, dv, seq, first, end, *numbers, M, N, causal, **KEYS["launch"])
    M, N = QUERIES["tile"]
    attention_backward_queries[(T // M, H)](q, k, v, dout, lse, delta, dq, seq, first, end, *numbers, M, N, causal, **QUERIES["launch"])
    return dq, dk, dv


@attention_backward_op.register_fake
def _(q, k, v, out, lse, dout, seq, first, end, causal):
    return tuple(torch.empty(q.shape, dtype=q.dtype, device=q.device) for _ in range(3))


def _attention_keep(ctx, inputs, output):
    q, k, v, seq, first, end, ctx.causal = inputs
    ctx.save_for_backward(q, k, v, *output, seq, first, end)


def _attention_grad(ctx, dout, _):
    q, k, v, out, lse, seq, first, end = ctx.saved_tensors
    return *attention_backward_op(q, k, v, out, lse, dout, seq, first, end, ctx.causal), None, None, None, None


attention_op.register_autograd(_attention_grad, setup_context=_attention_keep)
