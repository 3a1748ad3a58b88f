"""The state space mixer, formulas in ssd.py. A program owns a chunk of one head. u [T, 3HP]: v, B and C side by side, P = n; dt, la
[2, T, H]. States [2, H, chunks, n, P]: what a chunk leaves to the next (0: forward, 1: backward)."""
import torch
import triton
import triton.language as tl

from packing import rows
from ssd import CHUNK

SSD, SSD_BACKWARD = dict(num_warps=4), dict(num_warps=4)  # chosen on an H200 (check_kernels.py --tune)
NEVER_ = tl.constexpr(-1e30)  # exp() of it is 0



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
