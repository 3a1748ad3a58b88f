"""Buoy's attention by itself, over NumPy arrays; buoy.torch has it for PyTorch."""
from __future__ import annotations

import math
from typing import Any, Iterable, Iterator, Mapping, Sequence, Union

import numpy as np

from . import _core
from .arrays import Array

Mask = Union[str, "tuple[str, int]", "tuple[str, int, int]"]
STATS = ("column_sums", "rows", "masses", "row_means", "norms", "qk_means", "pattern")


class Statistics(Mapping[str, Array]):
    """What was measured: arrays by name.

    On a card they are under way when the call returns. Looking at them waits for them; until then nothing does, and the card has work.
    """

    def __init__(self, found: _core.Statistics | dict[str, Array]):
        self._found = found

    def _arrays(self) -> dict[str, Array]:
        if not isinstance(self._found, dict):
            self._found = self._found.take()
        return self._found

    def __getitem__(self, name: str) -> Array:
        arrays = self._arrays()
        if name not in arrays:
            raise KeyError(f"{name!r} was not measured; measured: {', '.join(arrays) or 'nothing'}")
        return arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays())

    def __len__(self) -> int:
        return len(self._arrays())

    def __repr__(self) -> str:
        return f"<buoy.Statistics: {', '.join(f'{name} {list(array.shape)}' for name, array in self.items()) or 'nothing'}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Statistics, (self._arrays(),)


def attention(q: Array, k: Array, v: Array, mask: Mask = "full", stats: Sequence[str] = (), *, scale: float | None = None,
              key_bias: Array | None = None, rows: Iterable[int] | None = None,
              masses: Mapping[str, Sequence[int]] | None = None) -> tuple[Array, Statistics]:
    """softmax(q·kᵀ·scale + bias)·v and its statistics, on the CPU in float32, with no N×N.

    Args:
        q: ``[batch, heads, T, D]``, D even.
        k, v: ``[batch, key heads, N, D]``; heads are a multiple of key heads (GQA).
        mask: ``"full"``, ``"causal"`` or ``("block", size)`` or ``("block", size, offset)``: a query sees its own block and all
            before it. Queries are the last T of the N positions.
        stats: Some of column_sums, rows, masses, row_means, norms, qk_means, pattern; see :class:`Step` for shapes, with batch
            first instead of layers.
        scale: 1/√D unless given.
        key_bias: ``[N]`` or ``[batch, N]``, added before the softmax; -inf hides a key.
        rows: Queries that rows, masses and row_means are measured of; all without.
        masses: Groups of keys by name.

    Returns:
        (output, stats): the output shaped as q, and arrays by name.
    """
    arrays = []
    for name, array in (("q", q), ("k", k), ("v", v)):
        array = np.asarray(array)
        if array.ndim != 4 or array.dtype != np.float32:
            raise _core.UsageError(f"{name}: got {array.dtype} {list(array.shape)}, expected float32 [batch, heads, positions, head size]")
        check_sizes(name, array.shape)
        arrays.append(array)
    q, k, v = arrays
    usual = 1 / math.sqrt(max(q.shape[-1], 1))
    if scale is not None and not math.isclose(scale, usual, rel_tol=1e-6):
        q = q * np.float32(scale / usual)
    rows_q, rows_k, rows_v = (np.require(array.transpose(0, 2, 1, 3), np.float32, ["C", "W"]) for array in (q, k, v))
    out = np.empty_like(rows_q)
    block, offset = block_of(mask)
    first = check_positions(q.shape[2], k.shape[2], block)
    bias = None
    if key_bias is not None:
        bias = list(np.broadcast_to(np.asarray(key_bias, np.float32), (q.shape[0], k.shape[2])))
    found = _core.attention(rows_q, rows_k, rows_v, out, None, block, offset, first, bias, wanted_of(stats, rows, masses), 0)
    return out.transpose(0, 2, 1, 3), Statistics(found.take())


def check_sizes(name: str, shape: Sequence[int]) -> None:
    if 0 in shape:
        raise _core.UsageError(f"{name}: got shape {list(shape)}, expected no size of 0")


def check_positions(queries: int, keys: int, block: int) -> int:
    """The position of the first query."""
    if queries > keys and block:
        raise _core.UsageError(f"q has {queries} positions and k {keys}: with a mask queries are the last positions of k")
    return max(keys - queries, 0)


def block_of(mask: Mask) -> tuple[int, int]:
    if mask == "full":
        return 0, 0
    if mask == "causal":
        return 1, 0
    if isinstance(mask, tuple) and len(mask) in (2, 3) and mask[0] == "block" and all(isinstance(one, int) for one in mask[1:]):
        size, offset = mask[1], sum(mask[2:])
        if size >= 1 and 0 <= offset < size:
            return size, offset
    raise _core.UsageError(f"mask is {mask!r}, expected \"full\", \"causal\", (\"block\", size) or (\"block\", size, offset)")


def wanted_of(stats: Sequence[str], rows: Iterable[int] | None, masses: Mapping[str, Sequence[int]] | None) -> dict[str, Any]:
    names = [stats] if isinstance(stats, str) else list(stats)
    for name in names:
        if name not in STATS:
            raise _core.UsageError(f"stats holds {name!r}, expected some of {', '.join(STATS)}")
    if "masses" in names and masses is None:
        raise _core.UsageError("stats: masses need groups of positions, as in masses={\"prompt\": range(10)}")
    made: dict[str, Any] = {name: True for name in names if name != "masses"}
    if masses is not None:
        made["masses"] = [[int(position) for position in group] for group in masses.values()]
    if rows is not None:
        made["row_list"] = [int(row) for row in rows]
        if not set(made) & {"rows", "row_means", "masses"}:
            raise _core.UsageError("rows has no effect without stats rows, masses or row_means")
    return made
