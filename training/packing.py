"""Where the sequences of a batch lie that come one after another."""
import typing

import torch

from ssd import CHUNK

TILE = 128  # what a batch's length is a multiple of


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


def rows(x):
    """x [T, H, D] or [T, C] such that all of a position lies together; positions may lie apart."""
    dense = x.stride(-1) == 1 and (x.dim() == 2 or x.stride(1) == x.shape[2])
    return x if dense else x.contiguous()
