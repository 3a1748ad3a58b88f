"""A convolution of width 7 over each of the sequences that lie one after another, then silu: u = silu(b + Σ w_k z[t+k−3])."""
import torch
import triton
import triton.language as tl

from packing import rows

# Chosen on an H200 (check_kernels.py --tune). Tiles are positions × channels; CONV_BACKWARD: positions a program, of them at once, channels.
CONV = dict(tile=(64, 64), launch=dict(num_warps=4))
CONV_BACKWARD = dict(tile=(128, 8, 64), launch=dict(num_warps=4))



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
