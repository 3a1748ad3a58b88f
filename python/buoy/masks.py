"""What the masks of transformers come to: full or causal, and keys that are hidden (padding). Imported by buoy.torch alone."""
from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch

from . import _core
from .arrays import Array


class Rule(NamedTuple):
    """What a mask says."""
    name: str  #: "full" or "causal"
    keys: int  #: how many of the keys somebody may see: those after them are room of a cache that nothing was written to
    bias: list[Array] | None  #: of each sequence, -inf where a key is hidden from all its rows; None: no key is


def make_mask(*arguments: Any, **named: Any) -> torch.Tensor | None:
    """A mask for attention that knows its rules: as sdpa gets it, but padding of causal and full attention stays ``[batch, keys]``.

    transformers calls it (AttentionMaskInterface). Nothing that it makes for these two holds T×N.
    """
    from transformers import masking_utils
    rule = {masking_utils.causal_mask_function: ("causal", "allow_is_causal_skip"),
            masking_utils.bidirectional_mask_function: ("full", "allow_is_bidirectional_skip")}.get(named.get("mask_function"))
    padding = named.get("attention_mask")
    if not arguments and rule is not None and named.get(rule[1]) and padding is not None and padding.ndim == 2 \
            and named.get("local_size") is None and _whole(named, padding):
        if bool(padding.all()):
            return None
        made = padding.bool().clone()
        made._buoy_rule = rule[0]
        return made
    return masking_utils.sdpa_mask(*arguments, **named)


def outside_graphs(function: Any) -> Any:
    """What torch.compile makes of a model calls the function as it is."""
    return torch.compiler.disable(function) if hasattr(torch, "compiler") and hasattr(torch.compiler, "disable") else function


def _whole(named: dict[str, Any], padding: torch.Tensor) -> bool:
    """Whether queries are the last of all keys, each of which the padding speaks of."""
    sizes = [size for size in map(named.get, ("q_length", "kv_length", "q_offset", "kv_offset")) if isinstance(size, int)]
    if len(sizes) != 4:  # another version of transformers, or a cache of fixed size
        return False
    queries, keys, first_query, first_key = sizes
    if named["mask_function"].__name__.startswith("causal") and first_query + queries != keys:
        return False
    return first_key == 0 and padding.shape[-1] == keys


def read_mask(given: torch.Tensor | None, query: torch.Tensor, key: torch.Tensor, causal: bool) -> Rule:
    """Reads the mask that a layer is handed. Raises UsageError for those that Buoy's attention does not have."""
    T, N = query.shape[2], key.shape[2]
    if given is None:
        return Rule("causal" if causal and T > 1 else "full", N, None)
    # All layers of a pass are handed one and the same mask, and reading it waits for the card.
    own = getattr(given, "_buoy_rule", None)
    version = 0 if own is not None else None if given.is_inference() else given._version
    place = (version, T, N, query.shape[0], causal)
    known: tuple[Any, Rule] | None = getattr(given, "_buoy_read", None)
    if known is not None and known[0] == place and version is not None:
        return known[1]
    found = _read_padding(given, N, own or ("causal" if causal else "full"), T) if given.ndim == 2 else _read_whole(given, query, N)
    given._buoy_read = (place, found)
    return found


def _read_padding(padding: torch.Tensor, N: int, rule: str, T: int) -> Rule:
    if padding.shape[1] != N:
        raise _core.UsageError(f"attention_mask: got shape {list(padding.shape)}, expected [batch, {N}]")
    return Rule(rule if T > 1 else "full", N, _bias(padding.bool()))


def _bias(visible: torch.Tensor) -> list[Array] | None:
    seen = visible.cpu().numpy()
    return None if seen.all() else list(np.where(seen, np.float32(0), np.float32(-math.inf)))


def _read_whole(given: torch.Tensor, query: torch.Tensor, N: int) -> Rule:
    """Of a mask ``[batch, 1, T, keys]``."""
    T = query.shape[2]
    if given.ndim != 4:
        raise _core.UsageError(f"attention_mask: got shape {list(given.shape)}, expected [batch, 1, queries, keys]")
    given = given[..., :N]
    if given.dtype != torch.bool and not torch.all((given == 0) | (given <= torch.finfo(given.dtype).min / 2)):
        raise _core.UsageError("attention_mask holds a bias of its own, which Buoy's attention does not take")
    seen = given if given.dtype == torch.bool else given >= 0
    if seen.shape[1] != 1:
        raise _core.UsageError("attention_mask differs from head to head, which Buoy's attention does not have")
    seen = seen[:, 0].expand(query.shape[0], T, N)
    keys = int(seen.any(dim=0).any(dim=0).nonzero().max()) + 1 if bool(seen.any()) else N
    if keys < T:
        keys = N
    seen = seen[..., :keys]
    visible = seen.any(dim=1)  # [batch, keys]
    triangle = torch.ones(T, keys, dtype=torch.bool, device=seen.device).tril(keys - T)
    for name, rule in (("full", None), ("causal", triangle)):
        expected = visible[:, None, :] if rule is None else visible[:, None, :] & rule
        if torch.equal(seen, expected.expand_as(seen)):
            return Rule(name, keys, _bias(visible))
    raise _core.UsageError("attention_mask is neither full nor causal over the keys that are not padding")
