"""Buoy's attention by itself, over NumPy arrays; buoy.torch has it for PyTorch."""
from __future__ import annotations

import math
from typing import Any, Iterable, Iterator, Mapping, Sequence, Union

import numpy as np

from . import _core, given
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
        scale: 1/√D unless given, above 0. QK means are those of q and k as they are, whatever it is.
        key_bias: ``[N]`` or ``[batch, N]``, added before the softmax; -inf hides a key.
        rows: Queries that rows, masses and row_means are measured of, in this order; all without.
        masses: Groups of keys by name.

    Returns:
        (output, stats): the output shaped as q, and arrays by name.
    """
    q, k, v = (np.asarray(array) for array in (q, k, v))
    for name, array in (("q", q), ("k", k), ("v", v)):
        if array.ndim != 4 or array.dtype != np.float32:
            raise _core.UsageError(f"{name}: got {array.dtype} {list(array.shape)}, expected float32 [batch, heads, positions, head size]")
    check_shapes({"q": q.shape, "k": k.shape, "v": v.shape})
    wanted = wanted_of(stats, rows, masses, q.shape[2], k.shape[2])
    bias = None if key_bias is None else bias_of(key_bias, q.shape[0], k.shape[2])
    rows_q, rows_k, rows_v = (np.require(array.transpose(0, 2, 1, 3), np.float32, ["C", "W"]) for array in (q, k, v))
    out = np.empty_like(rows_q)
    block, offset = block_of(mask)
    first = check_positions(q.shape[2], k.shape[2], block)
    found = _core.attention(rows_q, rows_k, rows_v, out, None, block, offset, first, factor_of(scale, q.shape[3]), bias, wanted, 0)
    return out.transpose(0, 2, 1, 3), Statistics(found.take())


def check_shapes(shapes: Mapping[str, Sequence[int]]) -> None:
    """Of q, k and v as they were handed over, [batch, heads, positions, head size]."""
    for name, shape in shapes.items():
        if 0 in shape:
            raise _core.UsageError(f"{name}: got shape {list(shape)}, expected no size of 0")
    (query, q), (key, k), (value, v) = ((name, list(shape)) for name, shape in shapes.items())
    if v != k:
        raise _core.UsageError(f"{value}: got shape {v}, expected {k}, as {key}")
    if (k[0], k[3]) != (q[0], q[3]):
        raise _core.UsageError(f"{key}: got shape {k}, expected [{q[0]}, key heads, positions, {q[3]}], as {query} has {q}")
    if q[1] % k[1]:
        raise _core.UsageError(f"{query} has {q[1]} heads, which {k[1]} heads of {key} cannot be shared by")
    if q[3] % 2:
        raise _core.UsageError(f"{query}: heads have size {q[3]}, expected an even one")


def factor_of(scale: float | None, size: int) -> float:
    """What scores are multiplied by besides 1/√D: 1 where the scale is the usual one. QK means know neither."""
    usual = 1 / math.sqrt(size)
    if scale is None:
        return 1.0
    factor = given.number(scale, "scale") / usual
    # Smaller and larger ones are no float32, or leave nothing of the scores.
    if not 1e-30 < factor < 1e30:
        raise _core.UsageError(f"scale is {scale}, expected a number above 0")
    return 1.0 if math.isclose(factor, 1, rel_tol=1e-6) else factor


def bias_of(key_bias: Any, batch: int, keys: int) -> list[Array]:
    """[keys] or [batch, keys] as one row for each sequence; what the numbers are is looked at where they are read."""
    bias = np.asarray(key_bias)
    if bias.shape not in ((keys,), (batch, keys)):
        raise _core.UsageError(f"key_bias: got shape {list(bias.shape)}, expected [{keys}] or [{batch}, {keys}]")
    return [bias] * batch if bias.ndim == 1 else list(bias)


def check_positions(queries: int, keys: int, block: int) -> int:
    """The position of the first query."""
    if queries > keys and block:
        raise _core.UsageError(f"q has {queries} positions and k {keys}: with a mask queries are the last positions of k")
    return max(keys - queries, 0)


_LARGEST_BLOCK = 2**30


def block_of(mask: Mask) -> tuple[int, int]:
    if isinstance(mask, str):
        if mask in ("full", "causal"):
            return int(mask == "causal"), 0
    elif isinstance(mask, tuple) and len(mask) in (2, 3) and isinstance(mask[0], str) and mask[0] == "block":
        size, offset = (given.whole(one, f"mask: {what}") for one, what in zip((*mask[1:], 0), ("a size", "an offset")))
        if 1 <= size <= _LARGEST_BLOCK and 0 <= offset < size:
            return size, offset
    raise _core.UsageError(f"mask is {given.short(mask)}, expected \"full\", \"causal\", (\"block\", size) or (\"block\", size, offset)")


def wanted_of(stats: Sequence[str], rows: Iterable[int] | None, masses: Mapping[str, Sequence[int]] | None,
              queries: int = given.MOST, keys: int = given.MOST) -> dict[str, Any]:
    """What is to be measured, for the engine. Sizes that are not known yet are looked at there."""
    if not isinstance(stats, Iterable):
        raise TypeError(f"stats is {given.short(stats)}, expected some of {', '.join(STATS)}")
    names = [stats] if isinstance(stats, str) else list(stats)
    for name in names:
        if not isinstance(name, str) or name not in STATS:
            raise _core.UsageError(f"stats holds {given.short(name)}, expected some of {', '.join(STATS)}")
    if "masses" in names and masses is None:
        raise _core.UsageError("stats: masses need groups of positions, as in masses={\"prompt\": range(10)}")
    made: dict[str, Any] = {name: True for name in names if name != "masses"}
    if masses is not None:
        made["masses"] = given.groups(masses)
        for position in (one for group in made["masses"] for one in group):
            if position >= keys:
                raise _core.UsageError(f"masses: holds {position}, expected 0 to {keys - 1}")
    if rows is not None:
        made["row_list"] = given.places(rows, "rows", queries)
        if not set(made) & {"rows", "row_means", "masses"}:
            raise _core.UsageError("rows has no effect without stats rows, masses or row_means")
    return made
