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
import sys
import threading
import warnings
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence

import numpy as np
import torch
from torch.autograd import forward_ad

from . import _core, given
from .arrays import Array
from .bridge import Mask, Statistics, bias_of, block_of, check_positions, check_shapes, factor_of, wanted_of
from .implementations import NAME, Before, give_back, swap, swapped
from .masks import make_mask, outside_graphs, read_mask


class Attended(NamedTuple):
    """What :func:`attention` returns."""
    output: torch.Tensor  #: as q
    stats: Statistics  #: arrays by name; empty where nothing was asked for


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
        scale: 1/√D unless given, above 0. QK means are those of q and k as they are, whatever it is.
        key_bias: ``[N]`` or ``[batch, N]``, added before the softmax; -inf hides a key.
        rows: Queries that rows, masses and row_means are measured of, in this order; all without.
        masses: Groups of keys by name.

    Returns:
        (output, stats): the output shaped as q; statistics are NumPy arrays, fetched from a card when they are first looked at.

    Raises:
        UsageError: Shapes, types or devices that do not fit, or tensors that want a gradient while gradients are recorded.
    """
    _check({"q": q, "k": k, "v": v})
    bias = None if key_bias is None else bias_of(_on_host(key_bias), q.shape[0], k.shape[2])
    return _attend((q, k, v), mask, wanted_of(stats, rows, masses, q.shape[2], k.shape[2]), scale, bias)


def _check(tensors: Mapping[str, Any]) -> None:
    first: torch.Tensor | None = None
    for name, tensor in tensors.items():
        if not isinstance(tensor, torch.Tensor):
            raise _core.UsageError(f"{name}: got {type(tensor).__name__}, expected a torch.Tensor")
        first = tensor if first is None else first
        if tensor.is_nested or tensor.layout != torch.strided:
            raise _core.UsageError(f"{name}: is {'nested' if tensor.is_nested else tensor.layout}, expected a dense tensor")
        if tensor.dim() != 4:
            raise _core.UsageError(f"{name}: got shape {list(tensor.shape)}, expected [batch, heads, positions, head size]")
        if tensor.device.type not in ("cpu", "cuda") or tensor.device != first.device:
            wanted = "the cpu or an NVIDIA card" if tensor is first else f"{first.device}, as the first"
            raise _core.UsageError(f"{name}: lies on {tensor.device}, expected {wanted}")
        if tensor.dtype not in (torch.float32, torch.bfloat16) or tensor.dtype != first.dtype:
            wanted = "float32 or bfloat16" if tensor is first else f"{first.dtype}, as the first"
            raise _core.UsageError(f"{name}: is {tensor.dtype}, expected {wanted}")
        _check_plain(name, tensor)
    check_shapes({name: tensor.shape for name, tensor in tensors.items()})


def _check_plain(name: str, tensor: torch.Tensor) -> None:
    """Its numbers are there, and nobody takes down what becomes of them: this attention would be a constant there."""
    if tensor.requires_grad and torch.is_grad_enabled() or forward_ad.unpack_dual(tensor).tangent is not None:
        raise _core.UsageError(f"{name}: wants a gradient, and this attention has none; use torch.no_grad()")
    proxies = sys.modules.get("torch.fx.experimental.proxy_tensor")
    modes = [getattr(proxies, mode)() for mode in ("get_proxy_mode", "get_innermost_proxy_mode") if hasattr(proxies, mode)]
    if torch.jit.is_tracing() or any(mode is not None for mode in modes):
        raise _core.UsageError(f"{name}: is being traced, and this attention would become a constant; run it outside of traces and exports")
    try:
        found = tensor.numel() == 0 or tensor.data_ptr() != 0
    except RuntimeError:
        found = False
    kind = type(tensor)
    if kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
        raise _core.UsageError(f"{name}: is a {kind.__name__}, expected a plain tensor; run this attention outside of traces and exports")
    if not found:
        raise _core.UsageError(f"{name}: its memory was freed, or it stands for others, as in torch.func; expected a plain tensor")


def _attend(tensors: Sequence[torch.Tensor], mask: Mask, wanted: dict[str, Any], scale: float | None,
            bias: list[Array] | None) -> Attended:
    q, k, v = (tensor.detach() for tensor in tensors)
    # [batch, positions, heads, head size]: models that project first and split then have it in this order already.
    rows_q, rows_k, rows_v = (_rows(tensor) for tensor in (q, k, v))
    out = torch.empty_like(rows_q)
    block, offset = block_of(mask)
    first = check_positions(q.shape[2], k.shape[2], block)
    stream, cuda_stream = _streams(q)
    found = _core.attention(rows_q, rows_k, rows_v, out, stream, block, offset, first, factor_of(scale, q.shape[3]), bias, wanted, cuda_stream)
    return Attended(out.transpose(1, 2), Statistics(found.take() if stream is None else found))


def _rows(tensor: torch.Tensor) -> torch.Tensor:
    """[batch, positions, heads, head size], contiguous, and where wide loads may begin."""
    made = tensor.transpose(1, 2).resolve_neg().contiguous()
    return made.clone() if made.data_ptr() % 16 else made


def _on_host(key_bias: Any) -> Any:
    """NumPy has no bfloat16."""
    if not isinstance(key_bias, torch.Tensor):
        return key_bias
    _check_plain("key_bias", key_bias)
    bias = key_bias.detach().cpu().resolve_neg().resolve_conj()
    return (bias.float() if bias.dtype == torch.bfloat16 else bias).numpy()


def _streams(q: torch.Tensor) -> tuple[int | None, int]:
    """What DLPack is told of PyTorch's current stream, and the stream itself."""
    if q.device.type != "cuda":
        return None, 0
    if torch.cuda.is_current_stream_capturing():
        raise _core.UsageError("a CUDA graph is being captured, and statistics leave the card: run this attention outside of it")
    stream = torch.cuda.current_stream(q.device).cuda_stream
    return -1, stream  # -1: do not wait; we order streams ourselves


# Inside transformers.


@dataclasses.dataclass
class Call:
    """One call of a layer's attention while a model was watched.

    Attributes:
        layer: Its number; -1 where the model does not number it.
        call: Which call of this layer it was, from 0.
        stats: Arrays by name, batch first. Those of a card are fetched when they are first looked at.
        queries, keys: How many positions there were.
        mask: "causal" or "full".
        name: Of the module, as ``model.named_modules()`` has it.
    """
    layer: int
    call: int
    stats: Statistics
    queries: int
    keys: int
    mask: str
    name: str


class Watched:
    """What :func:`watch` records. A context manager: leaving it gives the model its own attention back.

    Attributes:
        calls: All calls, in order.
    """

    def __init__(self, model: Any, stats: Sequence[str], layers: Iterable[int] | None, on_call: Callable[[Call], None] | None,
                 masses: Mapping[str, Sequence[int]] | None = None):
        self.calls: list[Call] = []
        self._model = model
        self._layers = None if layers is None else set(given.numbers(layers, "layers"))
        if on_call is not None:
            given.function(on_call, "on_call")
        self._wanted = wanted_of(stats, None, masses)
        self._on_call = on_call
        self._counts: dict[str, int] = {}
        self._before: Before = []
        self._counting = threading.Lock()
        self._reached = False

    def __enter__(self) -> Watched:
        register()
        if not hasattr(self._model, "config") or not hasattr(self._model, "modules"):
            raise _core.UsageError(f"model: got {type(self._model).__name__}, expected a model of transformers")
        if any(_watcher(module) is not None for module in self._model.modules()):
            raise _core.UsageError("the model is watched already")
        numbers = {module.layer_idx for module in self._model.modules() if isinstance(getattr(module, "layer_idx", None), int)}
        for layer in sorted((self._layers or set()) - numbers) if numbers else ():
            raise _core.UsageError(f"layers: {layer} was asked for, {type(self._model).__name__} has {min(numbers)} to {max(numbers)}")
        for name, module in self._model.named_modules():
            module._buoy_place = _Place(self, name)
        try:
            self._before = swap(self._model)
            if not swapped(self._before):
                raise _core.UsageError(f"{type(self._model).__name__} computes its attention by itself, not through transformers' AttentionInterface")
        except BaseException as raised:
            self.close()
            if isinstance(raised, (ValueError, ImportError)) and not isinstance(raised, _core.Error):
                raise _core.UsageError(f"{type(self._model).__name__}: {' '.join(str(raised).split())}") from None
            raise
        self._reached = False
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        self.close()
        if kind is None and not self._reached:
            warnings.warn("nothing was recorded: the watched model computed no attention that transformers handed on", stacklevel=2)

    def close(self) -> None:
        """Gives the model its own attention back. What was recorded stays."""
        before, self._before = self._before, []
        give_back(before)
        for module in self._model.modules() if hasattr(self._model, "modules") else ():
            if _watcher(module) is self:
                del module._buoy_place

    def layer(self, number: int) -> list[Call]:
        """The calls of one layer."""
        return [call for call in self.calls if call.layer == number]

    def _wants(self, layer: int) -> bool:
        self._reached = True
        return self._layers is None or layer in self._layers

    def _wanted_of(self, keys: int) -> dict[str, Any]:
        """Positions of groups that are not there yet count nothing."""
        if "masses" not in self._wanted:
            return self._wanted
        return {**self._wanted, "masses": [[at for at in group if at < keys] for group in self._wanted["masses"]]}

    def _take(self, call: Call) -> None:
        with self._counting:  # threads may share the model
            call.call = self._counts.get(call.name, 0)
            self._counts[call.name] = call.call + 1
        if self._on_call is not None:
            self._on_call(call)
        else:
            self.calls.append(call)


class _Place:
    """What a module of a watched model knows. Not a part of the module, for all that torch.nn.Module sees."""

    def __init__(self, watched: Watched | None, name: str):
        self.watched = watched
        self.name = name

    def __reduce__(self) -> tuple[Any, ...]:  # a copy of the model, or one that was stored, is watched by nobody
        return _Place, (None, self.name)


def _watcher(module: Any) -> Watched | None:
    place: _Place | None = module.__dict__.get("_buoy_place")
    return None if place is None else place.watched


def watch(model: Any, stats: Sequence[str] = ("column_sums",), *, layers: Iterable[int] | None = None,
          on_call: Callable[[Call], None] | None = None, masses: Mapping[str, Sequence[int]] | None = None) -> Watched:
    """Records the attention of a transformers model while it runs.

    Args:
        model: Any model of transformers that supports attention implementations (AttentionInterface).
        stats: See :func:`attention`.
        layers: Which layers; all without. The others compute with the same kernels and record nothing.
        on_call: Is handed every :class:`Call` instead of ``calls``: for those who keep running sums. On a card, looking at the call's
            statistics waits for them, in every layer.
        masses: Groups of keys by name; positions that a call does not have yet count nothing.

    Returns:
        A context manager; inside, the model's attention is Buoy's.
    """
    return Watched(model, stats, layers, on_call, masses)


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
    AttentionInterface.register(NAME, outside_graphs(_transformers_attention))
    try:  # masks as sdpa gets them: none where causal says all
        from transformers import AttentionMaskInterface
        AttentionMaskInterface.register(NAME, outside_graphs(make_mask))
    except ImportError:
        pass
    _registered = True


def _transformers_attention(module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
                            attention_mask: torch.Tensor | None, dropout: float = 0.0, scaling: float | None = None,
                            is_causal: bool | None = None, **others: Any) -> tuple[torch.Tensor, None]:
    if dropout > 0:
        raise _core.UsageError("dropout is above 0, and this attention is forward only; use model.eval()")
    for name in ("softcap", "sinks", "s_aux", "position_bias"):
        if others.get(name) is not None:
            raise _core.UsageError(f"{type(module).__name__} asks for {name}, which Buoy's attention does not have")
    window = others.get("sliding_window")
    if window is not None and window < key.shape[2]:
        raise _core.UsageError(f"{type(module).__name__} sees a window of {window} positions, of {key.shape[2]}; Buoy's attention has none")
    if others.get("output_attentions"):
        raise _core.UsageError("output_attentions asks for weights of N×N, which Buoy's attention does not keep; watch with stats=[\"pattern\"]")
    _check({f"{type(module).__name__}: {name}": tensor for name, tensor in (("query", query), ("key", key), ("value", value))})
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    rule = read_mask(attention_mask, query, key, bool(causal))
    key, value = key[:, :, :rule.keys], value[:, :, :rule.keys]
    place: _Place | None = getattr(module, "_buoy_place", None)
    layer = getattr(module, "layer_idx", None)
    layer = -1 if layer is None else layer
    watched = None if place is None or place.watched is None or not place.watched._wants(layer) else place.watched
    output, stats = _attend((query, key, value), rule.name, {} if watched is None else watched._wanted_of(key.shape[2]), scaling, rule.bias)
    if place is not None and watched is not None:
        watched._take(Call(layer, 0, stats, query.shape[2], key.shape[2], rule.name, place.name))
    return output.transpose(1, 2), None
