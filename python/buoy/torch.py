"""Buoy's attention inside PyTorch: outputs as sdpa gives them, and statistics that never hold N×N.

    import buoy.torch

    out, stats = buoy.torch.attention(q, k, v, mask="causal", stats=["column_sums"])
    with buoy.torch.watch(model, stats=["column_sums", "rows"]) as watched:
        model.generate(**inputs)
    watched.calls[0].stats["column_sums"]   # [batch, heads, keys] of the first call of the first layer

Forward only, on CPU and NVIDIA cards, in float32 and bfloat16.
"""
from __future__ import annotations

import dataclasses
import math
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence

import numpy as np
import torch

from . import _core
from .bridge import Mask, block_of, check_positions, check_sizes, wanted_of



class Attended(NamedTuple):
    """What :func:`attention` returns."""
    output: torch.Tensor  #: as q
    stats: dict[str, np.ndarray]  #: by name; empty where nothing was asked for


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Mask = "full", stats: Sequence[str] = (), *,
              scale: float | None = None, key_bias: torch.Tensor | None = None, rows: Iterable[int] | None = None,
              masses: Mapping[str, Sequence[int]] | None = None) -> Attended:
    """softmax(q·kᵀ·scale + bias)·v with Buoy's kernels.

    Args:
        q: ``[batch, heads, T, D]``, as torch.nn.functional.scaled_dot_product_attention takes it.
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
        (output, stats): the output shaped as q; statistics are NumPy arrays.

    Raises:
        UsageError: Shapes, types or devices that do not fit, or tensors that want a gradient while gradients are recorded.
    """
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        if not isinstance(tensor, torch.Tensor):
            raise _core.UsageError(f"{name}: got {type(tensor).__name__}, expected a torch.Tensor")
        if tensor.dim() != 4:
            raise _core.UsageError(f"{name}: got shape {list(tensor.shape)}, expected [batch, heads, positions, head size]")
        check_sizes(name, tensor.shape)
        if tensor.requires_grad and torch.is_grad_enabled():
            raise _core.UsageError(f"{name}: wants a gradient, and this attention has none; use torch.no_grad()")
    q, k, v = q.detach(), k.detach(), v.detach()
    usual = 1 / math.sqrt(q.shape[-1])
    if scale is not None and not math.isclose(scale, usual, rel_tol=1e-6):
        q = q * (scale / usual)
    # [batch, positions, heads, head size]: models that project first and split then have it in this order already.
    rows_q, rows_k, rows_v = (_rows(tensor) for tensor in (q, k, v))
    out = torch.empty_like(rows_q)
    block, offset = block_of(mask)
    first = check_positions(q.shape[2], k.shape[2], block)
    wanted = wanted_of(stats, rows, masses)
    bias = None if key_bias is None else _bias(key_bias, q.shape[0])
    stream, cuda_stream = _streams(q)
    found = _core.attention(rows_q, rows_k, rows_v, out, stream, block, offset, first, bias, wanted, cuda_stream)
    return Attended(out.transpose(1, 2), found)


def _rows(tensor: torch.Tensor) -> torch.Tensor:
    """[batch, positions, heads, head size], contiguous, and where wide loads may begin."""
    made = tensor.transpose(1, 2).contiguous()
    return made.clone() if made.data_ptr() % 16 else made


def _bias(key_bias: torch.Tensor, batch: int) -> list[np.ndarray]:
    bias = key_bias.detach().to("cpu", torch.float32).numpy()
    return [bias if bias.ndim == 1 else bias[at] for at in range(batch)] if bias.ndim == 1 or len(bias) == batch else [bias]


def _streams(q: torch.Tensor) -> tuple[int | None, int]:
    """What DLPack is told of PyTorch's current stream, and the stream itself."""
    if q.device.type != "cuda":
        return None, 0
    stream = torch.cuda.current_stream(q.device).cuda_stream
    return -1, stream  # -1: do not wait; we order streams ourselves


# Inside transformers.


@dataclasses.dataclass
class Call:
    """One call of a layer's attention while a model was watched.

    Attributes:
        layer: Its number.
        call: Which call of this layer it was, from 0.
        stats: By name, batch first.
        queries, keys: How many positions there were.
        mask: "causal" or "full".
    """
    layer: int
    call: int
    stats: dict[str, np.ndarray]
    queries: int
    keys: int
    mask: str


class Watched:
    """What :func:`watch` records. A context manager: leaving it gives the model its own attention back.

    Attributes:
        calls: All calls, in order.
    """

    def __init__(self, model: Any, stats: Sequence[str], layers: Iterable[int] | None, on_call: Callable[[Call], None] | None):
        self.calls: list[Call] = []
        self._model = model
        self._layers = None if layers is None else set(layers)
        self._wanted = wanted_of(stats, None, None)
        self._stats = [stats] if isinstance(stats, str) else list(stats)
        self._on_call = on_call
        self._counts: dict[int, int] = {}
        self._before: str | None = None

    def __enter__(self) -> Watched:
        register()
        config = self._model.config
        if getattr(self._model, "_buoy_watched", None) is not None:
            raise _core.UsageError("the model is watched already")
        self._before = getattr(config, "_attn_implementation", None) or "eager"
        self._model._buoy_watched = self
        for module in self._model.modules():
            module._buoy_model = _Reference(self)
        _set_implementation(self._model, "buoy")
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Gives the model its own attention back. What was recorded stays."""
        if getattr(self._model, "_buoy_watched", None) is not self:
            return
        self._model._buoy_watched = None
        for module in self._model.modules():
            if "_buoy_model" in module.__dict__:
                del module._buoy_model
        _set_implementation(self._model, self._before)

    def layer(self, number: int) -> list[Call]:
        """The calls of one layer."""
        return [call for call in self.calls if call.layer == number]

    def wants(self, layer: int) -> bool:
        return self._layers is None or layer in self._layers

    def take(self, layer: int, stats: dict[str, np.ndarray], queries: int, keys: int, mask: str) -> None:
        call = Call(layer, self._counts.get(layer, 0), stats, queries, keys, mask)
        self._counts[layer] = call.call + 1
        if self._on_call is not None:
            self._on_call(call)
        else:
            self.calls.append(call)


class _Reference:
    """Keeps torch.nn.Module from taking what it refers to for a part of the module."""

    def __init__(self, watched: Watched):
        self.watched = watched


def watch(model: Any, stats: Sequence[str] = ("column_sums",), *, layers: Iterable[int] | None = None,
          on_call: Callable[[Call], None] | None = None) -> Watched:
    """Records the attention of a transformers model while it runs.

    Args:
        model: Any model of transformers that supports attention implementations (AttentionInterface).
        stats: See :func:`attention`.
        layers: Which layers; all without. The others compute with the same kernels and record nothing.
        on_call: Is handed every :class:`Call` instead of ``calls``: for those who keep running sums.

    Returns:
        A context manager; inside, the model's attention is Buoy's.
    """
    return Watched(model, stats, layers, on_call)


def _set_implementation(model: Any, name: str) -> None:
    if hasattr(model, "set_attn_implementation"):
        model.set_attn_implementation(name)
        return
    for module in model.modules():
        if hasattr(module, "config"):
            module.config._attn_implementation = name


_registered = False


def register() -> None:
    """Makes ``attn_implementation="buoy"`` known to transformers."""
    global _registered
    if _registered:
        return
    try:
        from transformers import AttentionInterface
    except ImportError as missing:
        raise _core.Error(f"transformers with AttentionInterface (4.48 or newer) is needed: {missing}") from None
    AttentionInterface.register("buoy", _transformers_attention)
    try:  # masks as sdpa gets them: none where causal says all
        from transformers import AttentionMaskInterface
        from transformers.masking_utils import sdpa_mask
        AttentionMaskInterface.register("buoy", sdpa_mask)
    except ImportError:
        pass
    _registered = True


def _transformers_attention(module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
                            attention_mask: torch.Tensor | None, dropout: float = 0.0, scaling: float | None = None,
                            is_causal: bool | None = None, **others: Any) -> tuple[torch.Tensor, None]:
    if dropout > 0:
        raise _core.UsageError("dropout is above 0, and this attention is forward only; use model.eval()")
    for name in ("softcap", "sinks", "s_aux"):
        if others.get(name) is not None:
            raise _core.UsageError(f"{type(module).__name__} asks for {name}, which Buoy's attention does not have")
    window = others.get("sliding_window")
    if window is not None and window < key.shape[2]:
        raise _core.UsageError(f"{type(module).__name__} sees a window of {window} positions, of {key.shape[2]}; Buoy's attention has none")
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    mask, bias = _read_mask(attention_mask, query, key, bool(causal))
    reference = getattr(module, "_buoy_model", None)
    layer = getattr(module, "layer_idx", None)
    layer = -1 if layer is None else layer
    watched = None if reference is None else reference.watched
    records = watched is not None and watched.wants(layer)
    output, stats = attention(query, key, value, mask, watched._stats if records else (), scale=scaling, key_bias=bias)
    if records:
        watched.take(layer, stats, query.shape[2], key.shape[2], mask)
    return output.transpose(1, 2), None


def _read_mask(given: torch.Tensor | None, query: torch.Tensor, key: torch.Tensor, causal: bool) -> tuple[str, torch.Tensor | None]:
    """What a mask tensor ``[batch, 1, T, N]`` comes to: causal or full, and keys that are hidden from all (padding)."""
    T, N = query.shape[2], key.shape[2]
    if given is None:
        return ("causal" if causal and T > 1 else "full"), None
    seen = given[..., :N] if given.dtype == torch.bool else given[..., :N] >= 0
    if given.dtype != torch.bool and not torch.all((given[..., :N] == 0) | (given[..., :N] <= torch.finfo(given.dtype).min / 2)):
        raise _core.UsageError("attention_mask holds a bias of its own, which Buoy's attention does not take")
    if seen.shape[1] != 1:
        raise _core.UsageError("attention_mask differs from head to head, which Buoy's attention does not have")
    seen = seen[:, 0].expand(query.shape[0], T, N)
    visible = seen.any(dim=1)  # [batch, N]
    triangle = torch.ones(T, N, dtype=torch.bool, device=seen.device).tril(N - T)
    for name, rule in (("full", None), ("causal", triangle)):
        expected = visible[:, None, :] if rule is None else visible[:, None, :] & rule
        # Rows that see nothing are padding: what they come to is read by nobody.
        if torch.equal(seen & expected, seen) and bool(torch.all((seen == expected) | ~seen.any(dim=2, keepdim=True))):
            bias = None
            if not bool(visible.all()):
                bias = torch.zeros(visible.shape, dtype=torch.float32, device=seen.device).masked_fill(~visible, -math.inf)
            return name, bias
    raise _core.UsageError("attention_mask is neither full nor causal over the keys that are not padding")
