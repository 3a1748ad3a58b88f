"""Kernels for what PyTorch does slowly at a width of 160: attention of many short sequences lying one after another, the
bidirectional state space mixer, and its convolution; forward and backward. Products take bfloat16 and add in float32.

`python3 training/kernels.py` compares each with plain formulas in float64, values and gradients, and says what they take.
Where Triton is missing (AVAILABLE is False) the plain formulas are used.
"""
import math
import sys
import typing

import torch
import torch.nn.functional as F

from ssd import CHUNK, NEVER, ssd_chunks, written_out

try:
    import triton
    import triton.language as tl
    AVAILABLE = torch.cuda.is_available()
except ImportError:
    AVAILABLE = False

LOG2E = 1.4426950408889634

CONV_WIDTH = 7
TILE = 128  # what a batch's length is a multiple of

# Chosen on an H200 (`python3 training/kernels.py --tune`). Tiles are queries × keys, positions × channels.
FORWARD = dict(tile=(64, 64), launch=dict(num_warps=4, num_stages=3))
KEYS = dict(tile=(64, 64), launch=dict(num_warps=4, num_stages=3))
QUERIES = dict(tile=(64, 64), launch=dict(num_warps=4, num_stages=3))
CONV = dict(tile=(64, 64), launch=dict(num_warps=4))
CONV_BACKWARD = dict(tile=(128, 8, 64), launch=dict(num_warps=4))
SSD, SSD_BACKWARD = dict(num_warps=4), dict(num_warps=4)


class Packing(typing.NamedTuple):
    """Where the sequences of a batch lie; all int32. seq, first, end by position: the sequence's number, its first
    position, the one behind its last; low, high by chunk: the chunks in which its first and its last sequence begin and end."""
    seq: torch.Tensor
    first: torch.Tensor
    end: torch.Tensor
    low: torch.Tensor
    high: torch.Tensor


def pack(starts, T):
    """starts [S+1]: where sequences begin, then T. T is a multiple of CHUNK."""
    at = torch.arange(T, device=starts.device, dtype=torch.int32)
    seq = torch.bucketize(at, starts, right=True, out_int32=True) - 1
    first, end = starts.int()[seq], starts.int()[seq + 1]
    return Packing(seq, first, end, first[::CHUNK] // CHUNK, (end[CHUNK - 1::CHUNK] - 1) // CHUNK)


if AVAILABLE:
    NEVER_ = tl.constexpr(NEVER)

    # ---- attention: a program owns a tile of queries (or keys) of one head and walks over the keys (queries) that its
    # ---- sequences have. Tiles need not begin where sequences do, so there are as many as the batch has rows for.

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

    # ---- convolution of width 7 over a sequence, then silu: u = silu(b + Σ w_k z[t+k−3]).

    @triton.jit
    def neighbour(x, i, shift, seq_i, c, inside, seq, T, row):
        """x at positions i + shift of the same sequence, else 0: [M, N] in float32."""
        near = i + shift
        there = (near >= 0) & (near < T)
        there = there & (tl.load(seq + near, mask=there, other=-1) == seq_i)
        return tl.load(x + near[:, None] * row + c[None, :], mask=there[:, None] & inside[None, :], other=0.0).to(tl.float32)

    @triton.jit
    def conv_forward(z, weight, bias, u, seq, T, row, C: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
        i, c = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
        inside = c < C
        seq_i = tl.load(seq + i)
        pre = tl.load(bias + c, mask=inside, other=0.0)[None, :] + tl.zeros([M, N], tl.float32)
        for k in tl.static_range(7):
            pre += neighbour(z, i, k - 3, seq_i, c, inside, seq, T, row) * tl.load(weight + c * 7 + k, mask=inside, other=0.0)[None, :]
        y = pre / (1 + tl.exp(-pre))
        tl.store(u + i[:, None] * C + c[None, :], y.to(tl.bfloat16), mask=inside[None, :] & (i[:, None] >= 0))

    @triton.jit
    def conv_backward_pre(z, weight, bias, du, ds, dweight, seq, T, row, du_row, C: tl.constexpr, R: tl.constexpr,
                          M: tl.constexpr, N: tl.constexpr):
        """The gradient before silu; of weights (rows 0 to 6) and bias (row 7) what these R rows add: dweight [T / R, 8, C].
        Sums of rows are made once, at the end."""
        c = tl.program_id(1) * N + tl.arange(0, N)
        inside = c < C
        w0, w1 = tl.load(weight + c * 7, mask=inside, other=0.0), tl.load(weight + c * 7 + 1, mask=inside, other=0.0)
        w2, w3 = tl.load(weight + c * 7 + 2, mask=inside, other=0.0), tl.load(weight + c * 7 + 3, mask=inside, other=0.0)
        w4, w5 = tl.load(weight + c * 7 + 4, mask=inside, other=0.0), tl.load(weight + c * 7 + 5, mask=inside, other=0.0)
        w6, plus = tl.load(weight + c * 7 + 6, mask=inside, other=0.0), tl.load(bias + c, mask=inside, other=0.0)
        a0, a1 = tl.zeros([M, N], tl.float32), tl.zeros([M, N], tl.float32)
        a2, a3 = tl.zeros([M, N], tl.float32), tl.zeros([M, N], tl.float32)
        a4, a5 = tl.zeros([M, N], tl.float32), tl.zeros([M, N], tl.float32)
        a6, a7 = tl.zeros([M, N], tl.float32), tl.zeros([M, N], tl.float32)
        start = tl.program_id(0) * R
        for r in range(start, start + R, M):
            i = r + tl.arange(0, M)
            seq_i = tl.load(seq + i)
            x0, x1 = neighbour(z, i, -3, seq_i, c, inside, seq, T, row), neighbour(z, i, -2, seq_i, c, inside, seq, T, row)
            x2, x3 = neighbour(z, i, -1, seq_i, c, inside, seq, T, row), neighbour(z, i, 0, seq_i, c, inside, seq, T, row)
            x4, x5 = neighbour(z, i, 1, seq_i, c, inside, seq, T, row), neighbour(z, i, 2, seq_i, c, inside, seq, T, row)
            x6 = neighbour(z, i, 3, seq_i, c, inside, seq, T, row)
            pre = plus[None, :] + w0[None, :] * x0 + w1[None, :] * x1 + w2[None, :] * x2 + w3[None, :] * x3
            pre += w4[None, :] * x4 + w5[None, :] * x5 + w6[None, :] * x6
            s = 1 / (1 + tl.exp(-pre))
            here = inside[None, :] & (i[:, None] >= 0)
            g = tl.load(du + i[:, None] * du_row + c[None, :], mask=here, other=0.0).to(tl.float32) * s * (1 + pre * (1 - s))
            tl.store(ds + i[:, None] * C + c[None, :], g.to(tl.bfloat16), mask=here)
            a0, a1, a2, a3 = a0 + g * x0, a1 + g * x1, a2 + g * x2, a3 + g * x3
            a4, a5, a6, a7 = a4 + g * x4, a5 + g * x5, a6 + g * x6, a7 + g
        mine = dweight + tl.program_id(0) * 8 * C + c
        tl.store(mine, tl.sum(a0, 0), mask=inside)
        tl.store(mine + C, tl.sum(a1, 0), mask=inside)
        tl.store(mine + 2 * C, tl.sum(a2, 0), mask=inside)
        tl.store(mine + 3 * C, tl.sum(a3, 0), mask=inside)
        tl.store(mine + 4 * C, tl.sum(a4, 0), mask=inside)
        tl.store(mine + 5 * C, tl.sum(a5, 0), mask=inside)
        tl.store(mine + 6 * C, tl.sum(a6, 0), mask=inside)
        tl.store(mine + 7 * C, tl.sum(a7, 0), mask=inside)

    @triton.jit
    def conv_backward_input(ds, weight, dz, seq, T, row, C: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
        i, c = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
        inside = c < C
        seq_i = tl.load(seq + i)
        g = tl.zeros([M, N], tl.float32)
        for k in tl.static_range(7):
            g += neighbour(ds, i, 3 - k, seq_i, c, inside, seq, T, C) * tl.load(weight + c * 7 + k, mask=inside, other=0.0)[None, :]
        tl.store(dz + i[:, None] * row + c[None, :], g.to(tl.bfloat16), mask=inside[None, :] & (i[:, None] >= 0))

    # ---- the state space mixer, formulas in ssd.py. A program owns a chunk of one head. u [T, 3HP]: v, B and C side by
    # ---- side, P = n; dt, la [2, T, H]. States [2, H, chunks, n, P]: what a chunk leaves to the next (0: forward, 1: backward).

    @triton.jit
    def decays(dt, la, seq, i, h, T, H, Q: tl.constexpr):
        """Of chunk and head: Δ, cumulated log a, and whether a position is in the chunk's first and last sequence."""
        dt0, dt1 = tl.load(dt + i * H + h), tl.load(dt + (T + i) * H + h)
        la0, la1 = tl.load(la + i * H + h), tl.load(la + (T + i) * H + h)
        f, b = tl.cumsum(la0, 0), tl.cumsum(la1, 0, reverse=True)
        seq_i = tl.load(seq + i)
        start = tl.program_id(0) * Q
        in_first = seq_i == tl.load(seq + start)
        in_last = seq_i == tl.load(seq + (start + Q - 1))
        return dt0, dt1, f, b, tl.sum(la0, 0), tl.sum(la1, 0), seq_i, in_first, in_last

    @triton.jit
    def ssd_states(u, dt, la, seq, states, totals, T, H, chunks, u_row, W: tl.constexpr, P: tl.constexpr, Q: tl.constexpr):
        c, h = tl.program_id(0), tl.program_id(1)
        i, p = c * Q + tl.arange(0, Q), tl.arange(0, P)
        dt0, dt1, f, b, f_all, b_all, seq_i, in_first, in_last = decays(dt, la, seq, i, h, T, H, Q)
        at = u + i[:, None] * u_row + h * P + p[None, :]
        v, B = tl.load(at), tl.load(at + W).to(tl.float32)
        w0 = tl.where(in_last, dt0 * tl.exp(f_all - f), 0.0)
        w1 = tl.where(in_first, dt1 * tl.exp(b_all - b), 0.0)
        to = states + (h * chunks + c) * P * P + p[:, None] * P + p[None, :]
        tl.store(to, tl.dot(tl.trans((B * w0[:, None]).to(tl.bfloat16)), v))
        tl.store(to + H * chunks * P * P, tl.dot(tl.trans((B * w1[:, None]).to(tl.bfloat16)), v))
        tl.store(totals + h * chunks + c, f_all)
        tl.store(totals + (H + h) * chunks + c, b_all)

    @triton.jit
    def ssd_outputs(u, dt, la, diagonal, seq, low, high, states, totals, arrived, y, T, H, chunks, u_row,
                    W: tl.constexpr, P: tl.constexpr, Q: tl.constexpr):
        c, h = tl.program_id(0), tl.program_id(1)
        t, p = tl.arange(0, Q), tl.arange(0, P)
        i = c * Q + t
        square = p[:, None] * P + p[None, :]
        dt0, dt1, f, b, f_all, b_all, seq_i, in_first, in_last = decays(dt, la, seq, i, h, T, H, Q)
        r0 = tl.zeros([P, P], tl.float32)
        for d in range(tl.load(low + c), c):
            r0 = r0 * tl.exp(tl.load(totals + h * chunks + d)) + tl.load(states + (h * chunks + d) * P * P + square)
        r1 = tl.zeros([P, P], tl.float32)
        last = tl.load(high + c)
        for back in range(0, last - c):
            d = last - back
            r1 = r1 * tl.exp(tl.load(totals + (H + h) * chunks + d)) + tl.load(states + ((H + h) * chunks + d) * P * P + square)
        tl.store(arrived + (h * chunks + c) * P * P + square, r0.to(tl.bfloat16))
        tl.store(arrived + ((H + h) * chunks + c) * P * P + square, r1.to(tl.bfloat16))
        at = u + i[:, None] * u_row + h * P + p[None, :]
        v, B, C = tl.load(at), tl.load(at + W), tl.load(at + 2 * W)
        below = t[:, None] > t[None, :]
        seen = (seq_i[:, None] == seq_i[None, :]) & (t[:, None] != t[None, :])
        gap = tl.where(below, f[:, None] - f[None, :], b[:, None] - b[None, :])
        decay = tl.exp(tl.where(seen, gap, NEVER_)) * tl.where(below, dt0[None, :], dt1[None, :])
        out = tl.dot((tl.dot(C, tl.trans(B)) * decay).to(tl.bfloat16), v)
        e0, e1 = tl.where(in_first, tl.exp(f), 0.0), tl.where(in_last, tl.exp(b), 0.0)
        wide = C.to(tl.float32)
        out += tl.dot((wide * e0[:, None]).to(tl.bfloat16), r0.to(tl.bfloat16))
        out += tl.dot((wide * e1[:, None]).to(tl.bfloat16), r1.to(tl.bfloat16))
        out += v.to(tl.float32) * tl.load(diagonal + i * H + h)[:, None]
        tl.store(y + i[:, None] * W + h * P + p[None, :], out.to(tl.bfloat16))

    @triton.jit
    def ssd_backward_arrived(u, dt, la, seq, dy, darrived, T, H, chunks, u_row, dy_row, W: tl.constexpr, P: tl.constexpr, Q: tl.constexpr):
        """The gradient of the states that arrive at a chunk, by its own outputs."""
        c, h = tl.program_id(0), tl.program_id(1)
        i, p = c * Q + tl.arange(0, Q), tl.arange(0, P)
        dt0, dt1, f, b, f_all, b_all, seq_i, in_first, in_last = decays(dt, la, seq, i, h, T, H, Q)
        C = tl.load(u + i[:, None] * u_row + 2 * W + h * P + p[None, :]).to(tl.float32)
        g = tl.load(dy + i[:, None] * dy_row + h * P + p[None, :])
        e0, e1 = tl.where(in_first, tl.exp(f), 0.0), tl.where(in_last, tl.exp(b), 0.0)
        to = darrived + (h * chunks + c) * P * P + p[:, None] * P + p[None, :]
        tl.store(to, tl.dot(tl.trans((C * e0[:, None]).to(tl.bfloat16)), g))
        tl.store(to + H * chunks * P * P, tl.dot(tl.trans((C * e1[:, None]).to(tl.bfloat16)), g))

    @triton.jit
    def ssd_backward(u, dt, la, diagonal, seq, low, high, totals, arrived, darrived, dy, du, ddt, dla, ddiagonal, T, H, chunks, u_row, dy_row,
                     W: tl.constexpr, P: tl.constexpr, Q: tl.constexpr):
        c, h = tl.program_id(0), tl.program_id(1)
        t, p = tl.arange(0, Q), tl.arange(0, P)
        i = c * Q + t
        square = p[:, None] * P + p[None, :]
        dt0, dt1, f, b, f_all, b_all, seq_i, in_first, in_last = decays(dt, la, seq, i, h, T, H, Q)
        first, last = tl.load(low + c), tl.load(high + c)
        s0 = tl.zeros([P, P], tl.float32)  # gradient of the state that this chunk leaves forward
        for back in range(0, last - c):
            d = last - back
            s0 = s0 * tl.exp(tl.load(totals + h * chunks + d)) + tl.load(darrived + (h * chunks + d) * P * P + square)
        s1 = tl.zeros([P, P], tl.float32)
        for d in range(first, c):
            s1 = s1 * tl.exp(tl.load(totals + (H + h) * chunks + d)) + tl.load(darrived + ((H + h) * chunks + d) * P * P + square)
        r0 = tl.load(arrived + (h * chunks + c) * P * P + square)
        r1 = tl.load(arrived + ((H + h) * chunks + c) * P * P + square)
        whole = tl.load(seq + c * Q) == tl.load(seq + (c * Q + Q - 1))
        df_all = tl.where(whole, tl.exp(f_all) * tl.sum(tl.sum(r0.to(tl.float32) * s0, 1), 0), 0.0)
        db_all = tl.where(whole, tl.exp(b_all) * tl.sum(tl.sum(r1.to(tl.float32) * s1, 1), 0), 0.0)

        at = u + i[:, None] * u_row + h * P + p[None, :]
        v, B, C = tl.load(at), tl.load(at + W), tl.load(at + 2 * W)
        g = tl.load(dy + i[:, None] * dy_row + h * P + p[None, :])
        # Inside the chunk.
        below = t[:, None] > t[None, :]
        seen = (seq_i[:, None] == seq_i[None, :]) & (t[:, None] != t[None, :])
        gap = tl.where(below, f[:, None] - f[None, :], b[:, None] - b[None, :])
        e = tl.exp(tl.where(seen, gap, NEVER_))
        dtj = tl.where(below, dt0[None, :], dt1[None, :])
        s = tl.dot(C, tl.trans(B)) * e
        gv = tl.dot(g, tl.trans(v))
        ds = (gv * e * dtj).to(tl.bfloat16)
        dC, dB = tl.dot(ds, B), tl.dot(tl.trans(ds), C)
        dv = tl.dot(tl.trans((s * dtj).to(tl.bfloat16)), g)
        x = s * gv  # gradient of the weights, times the weights without Δ
        ddt0 = tl.sum(tl.where(below, x, 0.0), 0)
        ddt1 = tl.sum(tl.where(below, 0.0, x), 0)
        df = tl.sum(tl.where(below, x * dtj, 0.0), 1) - ddt0 * dt0
        db = tl.sum(tl.where(below, 0.0, x * dtj), 1) - ddt1 * dt1
        # What arrives.
        e0, e1 = tl.where(in_first, tl.exp(f), 0.0), tl.where(in_last, tl.exp(b), 0.0)
        wide = C.to(tl.float32)
        x0 = tl.dot(g, tl.trans(r0)) * e0[:, None]
        x1 = tl.dot(g, tl.trans(r1)) * e1[:, None]
        dC += x0 + x1
        df += tl.sum(x0 * wide, 1)
        db += tl.sum(x1 * wide, 1)
        # What leaves.
        leave0, leave1 = tl.where(in_last, tl.exp(f_all - f), 0.0), tl.where(in_first, tl.exp(b_all - b), 0.0)
        w0, w1 = dt0 * leave0, dt1 * leave1
        wide_B = B.to(tl.float32)
        z0 = tl.dot(v, tl.trans(s0.to(tl.bfloat16)))
        z1 = tl.dot(v, tl.trans(s1.to(tl.bfloat16)))
        dB += z0 * w0[:, None] + z1 * w1[:, None]
        dv += tl.dot((wide_B * w0[:, None]).to(tl.bfloat16), s0.to(tl.bfloat16))
        dv += tl.dot((wide_B * w1[:, None]).to(tl.bfloat16), s1.to(tl.bfloat16))
        q0, q1 = tl.sum(z0 * wide_B, 1), tl.sum(z1 * wide_B, 1)
        ddt0 += q0 * leave0
        ddt1 += q1 * leave1
        df -= q0 * w0
        db -= q1 * w1
        df_all += tl.sum(q0 * w0, 0)
        db_all += tl.sum(q1 * w1, 0)

        dv += g.to(tl.float32) * tl.load(diagonal + i * H + h)[:, None]
        tl.store(ddiagonal + i * H + h, tl.sum(g.to(tl.float32) * v.to(tl.float32), 1))
        to = du + i[:, None] * (3 * W) + h * P + p[None, :]
        tl.store(to, dv.to(tl.bfloat16))
        tl.store(to + W, dB.to(tl.bfloat16))
        tl.store(to + 2 * W, dC.to(tl.bfloat16))
        tl.store(ddt + i * H + h, ddt0)
        tl.store(ddt + (T + i) * H + h, ddt1)
        tl.store(dla + i * H + h, tl.cumsum(df, 0, reverse=True) + df_all)
        tl.store(dla + (T + i) * H + h, tl.cumsum(db, 0) + db_all)

def rows(x):
    """x [T, H, D] or [T, C] such that all of a position lies together; positions may lie apart."""
    dense = x.stride(-1) == 1 and (x.dim() == 2 or x.stride(1) == x.shape[2])
    return x if dense else x.contiguous()


# Each operation is opaque to torch.compile, which fuses what is around it.

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


@torch.library.custom_op("micro::conv", mutates_args=())
def conv_op(z: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, seq: torch.Tensor) -> torch.Tensor:
    T, C = z.shape
    z, u = rows(z), torch.empty(T, C, dtype=z.dtype, device=z.device)
    M, N = CONV["tile"]
    conv_forward[(T // M, -(-C // N))](z, weight.contiguous(), bias, u, seq, T, z.stride(0), C, M, N, **CONV["launch"])
    return u


@conv_op.register_fake
def _(z, weight, bias, seq):
    return torch.empty(z.shape, dtype=z.dtype, device=z.device)


@torch.library.custom_op("micro::conv_backward", mutates_args=())
def conv_backward_op(z: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, du: torch.Tensor,
                     seq: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    (T, C), z, du, weight = z.shape, rows(z), rows(du), weight.contiguous()
    ds, dz = (torch.empty(T, C, dtype=z.dtype, device=z.device) for _ in range(2))
    (R, M, N), parts = CONV_BACKWARD["tile"], torch.empty(T // CONV_BACKWARD["tile"][0], 8, C, device=z.device)
    conv_backward_pre[(T // R, -(-C // N))](z, weight, bias, du, ds, parts, seq, T, z.stride(0), du.stride(0), C, R, M, N,
                                           **CONV_BACKWARD["launch"])
    M, N = CONV["tile"]
    conv_backward_input[(T // M, -(-C // N))](ds, weight, dz, seq, T, C, C, M, N, **CONV["launch"])
    total = parts.sum(0)
    return dz, total[:7].t().contiguous(), total[7].clone()


@conv_backward_op.register_fake
def _(z, weight, bias, du, seq):
    return tuple(torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (z, weight, bias))


def _conv_keep(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def _conv_grad(ctx, du):
    z, weight, bias, seq = ctx.saved_tensors
    return *conv_backward_op(z, weight, bias, du, seq), None


conv_op.register_autograd(_conv_grad, setup_context=_conv_keep)


@torch.library.custom_op("micro::ssd", mutates_args=())
def ssd_op(u: torch.Tensor, dt: torch.Tensor, la: torch.Tensor, diagonal: torch.Tensor, seq: torch.Tensor, low: torch.Tensor,
           high: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    (T, W3), H, u, dt, la, diagonal = u.shape, dt.shape[2], rows(u), dt.contiguous(), la.contiguous(), diagonal.contiguous()
    W, chunks = W3 // 3, T // CHUNK
    P = W // H
    states = torch.empty(2, H, chunks, P, P, device=u.device)
    totals = torch.empty(2, H, chunks, device=u.device)
    arrived = torch.empty(2, H, chunks, P, P, device=u.device, dtype=u.dtype)
    y = torch.empty(T, W, device=u.device, dtype=u.dtype)
    grid, sizes = (chunks, H), (T, H, chunks, u.stride(0), W, P, CHUNK)
    ssd_states[grid](u, dt, la, seq, states, totals, *sizes, **SSD)
    ssd_outputs[grid](u, dt, la, diagonal, seq, low, high, states, totals, arrived, y, *sizes, **SSD)
    return y, totals, arrived


@ssd_op.register_fake
def _(u, dt, la, diagonal, seq, low, high):
    (T, W3), H = u.shape, dt.shape[2]
    W, chunks = W3 // 3, T // CHUNK
    return (u.new_empty(T, W), u.new_empty(2, H, chunks, dtype=torch.float32), u.new_empty(2, H, chunks, W // H, W // H))


@torch.library.custom_op("micro::ssd_backward", mutates_args=())
def ssd_backward_op(u: torch.Tensor, dt: torch.Tensor, la: torch.Tensor, diagonal: torch.Tensor, seq: torch.Tensor, low: torch.Tensor,
                    high: torch.Tensor, totals: torch.Tensor, arrived: torch.Tensor,
                    dy: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    (T, W3), H, u, dt, la, dy = u.shape, dt.shape[2], rows(u), dt.contiguous(), la.contiguous(), rows(dy)
    diagonal = diagonal.contiguous()
    W, chunks = W3 // 3, T // CHUNK
    P = W // H
    darrived = torch.empty(2, H, chunks, P, P, device=u.device)
    du, ddt, dla = torch.empty(T, W3, device=u.device, dtype=u.dtype), torch.empty_like(dt), torch.empty_like(la)
    ddiagonal = torch.empty_like(diagonal)
    grid, sizes = (chunks, H), (T, H, chunks, u.stride(0), dy.stride(0), W, P, CHUNK)
    ssd_backward_arrived[grid](u, dt, la, seq, dy, darrived, *sizes, **SSD)
    ssd_backward[grid](u, dt, la, diagonal, seq, low, high, totals, arrived, darrived, dy, du, ddt, dla, ddiagonal, *sizes, **SSD_BACKWARD)
    return du, ddt, dla, ddiagonal


@ssd_backward_op.register_fake
def _(u, dt, la, diagonal, seq, low, high, totals, arrived, dy):
    return tuple(torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (u, dt, la, diagonal))


def _ssd_keep(ctx, inputs, output):
    ctx.save_for_backward(*inputs, *output[1:])


def _ssd_grad(ctx, dy, *_):
    return *ssd_backward_op(*ctx.saved_tensors, dy), None, None, None


ssd_op.register_autograd(_ssd_grad, setup_context=_ssd_keep)


# ---- The same by the plain formulas, for processors and to compare with.

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


# ---- Comparison and times.

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
        off = [float((a.double().cpu() - b).norm() / b.norm()) for a, b in zip((y, *grads), (want, *wants))]
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
    device = "cuda" if AVAILABLE else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = False
    worst = max(compare(T, mean, device, seed) for seed, (T, mean) in enumerate(((1024, 90), (512, 10), (2048, 700), (1024, 5000))))
    print(f"largest error {worst:.1e}, limit 1e-2")
    if worst > 1e-2:
        sys.exit(1)
    if device == "cuda":
        times()
    if "--tune" in sys.argv:
        tune()


if __name__ == "__main__":
    main()
