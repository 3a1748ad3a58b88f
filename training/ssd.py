"""The bidirectional state space mixer: y = M v without ever forming M, in chunks.

M_ij = C_i·B_j Δ_j Π a for j < i (forward Δ, a; the product over k = j+1..i), the mirror image for j > i with the
backward Δ, a, and D_i on the diagonal. Both directions share B and C, so inside a chunk they are one matrix product;
between chunks each direction carries a state. Sequences lie one after another and do not see each other.
`python3 training/ssd.py` compares it with M written out, in float64.
"""
import torch
import torch.nn.functional as F

CHUNK = 64
NEVER = -1e30  # exp() of it is 0, and so is its gradient


def within_chunks(v, B, C, dt, f, b, seq):
    """The part of y that comes from the own chunk. v, B, C [c,H,Q,·]; dt, f, b as in ssd_chunks()."""
    i = torch.arange(v.shape[2], device=v.device)
    below = i[:, None] > i[None, :]
    gap = torch.where(below, f[..., :, None] - f[..., None, :], b[..., :, None] - b[..., None, :])
    seen = (seq[:, None, :, None] == seq[:, None, None, :]) & (i[:, None] != i[None, :])
    decay = torch.exp(torch.where(seen, gap, NEVER)) * torch.where(below, dt[0][..., None, :], dt[1][..., None, :])
    return ((C @ B.transpose(-1, -2)) * decay.to(v.dtype)) @ v


def between_chunks(f, b, seq, dtype):
    """How much of the state at the end (start) of chunk c arrives at the start (end) of chunk d: [2, H, d, c]."""
    first, last = seq[:, 0], seq[:, -1]
    d = torch.arange(len(seq), device=seq.device)
    later = d[:, None] > d[None, :]
    weights = []
    for total, linked in ((f[..., -1], later & (first[:, None] == last[None, :])),
                          (b[..., 0], later.T & (last[:, None] == first[None, :]))):
        total = total.double().T  # [H, c]; float64: the sum runs over the whole batch
        inclusive = total.cumsum(1)
        exclusive = inclusive - total
        gap = (exclusive[:, :, None] - inclusive[:, None, :] if not weights else
               exclusive[:, None, :] - inclusive[:, :, None])
        weights.append(torch.exp(torch.where(linked, gap.to(f.dtype), NEVER)))
    return torch.stack(weights).to(dtype)


def ssd_chunks(v, B, C, dt, la, seq):
    """y without its diagonal [T,H,P]. v [T,H,P], B, C [T,H,n]; dt, la [2,T,H]: Δ and log a of both directions, float32
    or better; seq [T] numbers the sequences."""
    T, H, P = v.shape
    pad = -T % CHUNK
    if pad:
        v, B, C, dt, la = (F.pad(x, (0, 0, 0, 0, 0, pad) if x is not dt and x is not la else (0, 0, 0, pad))
                           for x in (v, B, C, dt, la))
        seq = F.pad(seq, (0, pad), value=-1)
    c, Q, n = (T + pad) // CHUNK, CHUNK, B.shape[-1]
    v, B, C = (x.reshape(c, Q, H, -1).transpose(1, 2).contiguous() for x in (v, B, C))
    dt, la = (x.reshape(2, c, Q, H).transpose(2, 3) for x in (dt, la))  # [2,c,H,Q]
    seq = seq.view(c, Q)
    f = la[0].cumsum(-1)                    # decay from the chunk's start to i, with i
    b = la[1].flip(-1).cumsum(-1).flip(-1)  # from i to the chunk's end, with i
    y = within_chunks(v, B, C, dt, f, b, seq)
    to_first, to_last = (seq == seq[:, :1])[:, None], (seq == seq[:, -1:])[:, None]
    leave = torch.stack([dt[0] * torch.exp(f[..., -1:] - f) * to_last, dt[1] * torch.exp(b[..., :1] - b) * to_first], -1)
    enter = torch.stack([torch.exp(f) * to_first, torch.exp(b) * to_last], -1)  # [c,H,Q,2]
    both = lambda x, w: (w.to(x.dtype)[..., None] * x[..., None, :]).flatten(-2)  # [c,H,Q,2n]
    states = both(B, leave).transpose(-1, -2) @ v  # [c,H,2n,P]
    states = states.view(c, H, 2, n * P).permute(2, 1, 0, 3).reshape(2 * H, c, n * P)
    arrived = between_chunks(f, b, seq, v.dtype).view(2 * H, c, c) @ states
    arrived = arrived.view(2, H, c, n, P).permute(2, 1, 0, 3, 4).reshape(c, H, 2 * n, P)
    y = y + both(C, enter) @ arrived
    return y.transpose(1, 2).reshape(T + pad, H, P)[:T]


def written_out(v, B, C, dt, la, seq):
    """The same by the definition: M whole, from sums over all positions before a given one."""
    at = torch.arange(len(v))
    before = torch.cat([torch.zeros_like(la[:, :1]), la.cumsum(1)], 1)  # [2,T+1,H]
    upto, start = before[0, 1:], before[1, :-1]
    forward = torch.exp((upto[:, None] - upto[None]).clamp(max=0)) * dt[0]    # [i,j,H]: k = j+1..i
    backward = torch.exp((start[None] - start[:, None]).clamp(max=0)) * dt[1]  # k = i..j-1
    M = torch.einsum("ihn,jhn->ijh", C, B) * torch.where((at[:, None] > at)[..., None], forward, backward)
    M = M * ((seq[:, None] == seq) & (at[:, None] != at))[..., None]
    return torch.einsum("ijh,jhp->ihp", M, v)


def main():
    torch.manual_seed(1)
    for T, cuts in ((2, []), (64, [7]), (150, [3, 64, 65, 140]), (200, [128]), (200, [])):
        seq = torch.bucketize(torch.arange(T), torch.tensor([0, *cuts]), right=True)
        v, B, C = (torch.randn(T, 2, 5, dtype=torch.double, requires_grad=True) for _ in range(3))
        dt = torch.rand(2, T, 2, dtype=torch.double, requires_grad=True)
        a = torch.rand(2, 1, 2, dtype=torch.double, requires_grad=True)
        inputs = v, B, C, dt, a
        quick, plain = ssd_chunks(v, B, C, dt, -a * dt, seq), written_out(v, B, C, dt, -a * dt, seq)
        weight = torch.randn_like(plain)
        grads = [torch.autograd.grad((y * weight).sum(), inputs) for y in (quick, plain)]
        worst = float((quick - plain).abs().max())
        slope = max(float((p - q).abs().max()) for p, q in zip(*grads))
        print(f"T {T} cuts {cuts}: differs by {worst:.1e}, gradients by {slope:.1e}")
        assert worst < 1e-11 and slope < 1e-9


if __name__ == "__main__":
    main()
