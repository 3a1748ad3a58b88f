"""What is recorded of a step, and under which names."""
from __future__ import annotations

import fnmatch
from typing import Any, Callable, Iterable, Mapping, Sequence, Union

from . import _core, given

Record = Union[str, Sequence[str], Callable[[str], bool]]

# What can be kept of a layer's attention: the short name, the end of its long name, and the arrays that come of it.
ATTENTION = {
    "column_sums": ("attn.hook_column_sums", ("column_sums", "column_sums_read")),
    "rows": ("attn.hook_rows", ("row_argmax", "row_max_weight", "row_entropy")),
    "masses": ("attn.hook_masses", ("masses",)),
    "row_means": ("attn.hook_row_means", ("row_means",)),
    "norms": ("attn.hook_norms", ("output_norm", "uniform_norm", "value_norms")),
    "qk_means": ("attn.hook_qk_means", ("score_means", "cosine_means", "norm_means", "key_norms")),
    "pattern": ("attn.hook_pattern", ("pattern",)),
    "states": ("attn.hook_rot_q", ("query_states",)),
}
# Names of TransformerLens that share what is measured.
_ALIASES = {"attn.hook_rot_k": ("states", ("key_states",))}
_ENDS = {end: (short, arrays) for short, (end, arrays) in ATTENTION.items()} | _ALIASES
_SHORT = (*ATTENTION, "logits", "residual")


def hook_names(layers: int) -> list[str]:
    names = ["hook_embed"]
    for layer in range(layers):
        names.append(f"blocks.{layer}.hook_resid_pre")
        names += [f"blocks.{layer}.{end}" for end in _ENDS]
        names.append(f"blocks.{layer}.hook_resid_post")
    return names[:-1] + ["ln_final.hook_normalized", "hook_logits"]


def meaning(name: str, layers: int) -> tuple[str, int, tuple[str, ...]]:
    """What a long name stands for: the short name, the layer or depth, and the arrays."""
    if name == "hook_logits":
        return "logits", 0, ("logits",)
    if name in ("hook_embed", "ln_final.hook_normalized"):
        return "residual", 0 if name == "hook_embed" else layers, ("residual",)
    _, layer, end = name.split(".", 2)
    if end in _ENDS:
        short, arrays = _ENDS[end]
        return short, int(layer), arrays
    return "residual", int(layer) + (end == "hook_resid_post"), ("residual",)


class Plan:
    """What record, layers, heads and masses come to: settings for the engine, and where each name is found."""

    def __init__(self, config: Mapping[str, Any], record: Record, layers: Iterable[int] | None,
                 heads: Iterable[int] | None, masses: Mapping[str, Sequence[int]] | None, hooks: Mapping[str, Any] | None):
        self.count = config["layers"]
        self.watch: dict[str, Any] = {}
        self.names: list[str] = []
        self._by_layers = False  # whether a name was given that layers say more of
        every = range(self.count) if layers is None else given.numbers(layers, "layers")
        if masses is not None:
            self.watch["masses"] = given.groups(masses)
        wanted = self._expand(record, every, "record")
        self.hooks = self._hooked({} if hooks is None else hooks, every)
        wanted += [name for names in self.hooks.values() for name in names]
        if masses is not None and not any(name.endswith("hook_masses") for name in wanted):
            wanted += self._expand(["masses"], every, "record")
        if layers is not None and not self._by_layers:
            raise _core.UsageError("layers has no effect without a short name of attention, as in record=\"column_sums\"")
        known = {name: at for at, name in enumerate(hook_names(self.count))}
        self.names = sorted(set(wanted), key=known.__getitem__)
        self._fill(heads)

    def _hooked(self, hooks: Mapping[str, Any], every: Iterable[int]) -> dict[str, list[str]]:
        """Which long names each pattern of hooks means."""
        if not isinstance(hooks, Mapping):
            raise TypeError(f"hooks is {given.short(hooks)}, expected names and functions, as in {{\"blocks.3.attn.hook_rows\": function}}")
        found = {}
        for pattern, function in hooks.items():
            found[pattern] = self._expand([pattern], every, "hooks")
            for name in found[pattern]:
                if meaning(name, self.count)[0] in ("logits", "residual"):
                    raise _core.UsageError(f"hooks: {pattern!r} means {name!r}, which is no attention; record it and read it from the step")
            given.function(function, f"hooks[{pattern!r}]")
        return found

    def _expand(self, record: Record, every: Iterable[int], what: str) -> list[str]:
        known = hook_names(self.count)
        # Masses are of groups: without any, patterns and functions do not mean them.
        meant = [name for name in known if "masses" in self.watch or not name.endswith("hook_masses")]
        if callable(record):
            return [name for name in meant if record(name)]
        found: list[str] = []
        if not isinstance(record, Iterable):
            raise TypeError(f"{what} is {given.short(record)}, expected names or a function")
        for one in [record] if isinstance(record, str) else record:
            if not isinstance(one, str):
                raise _core.UsageError(f"{what} holds {given.short(one)}, expected names")
            if one in _SHORT:
                found += self._of_short(one, every)
                continue
            matching = [one] if one in known else fnmatch.filter(meant, one)
            if not matching:
                raise _core.UsageError(f"{what}: nothing is called {one!r}; expected one of {', '.join(_SHORT)}, or {self._known_names()}")
            found += matching
        return found

    def _known_names(self) -> str:
        """All long names in one line: those of a layer once."""
        layer = [name.split(".", 2)[2] for name in hook_names(self.count) if name.startswith("blocks.0.")]
        return f"hook_embed, blocks.0 to blocks.{self.count - 1} with {', '.join(layer)}, ln_final.hook_normalized after the last, hook_logits"

    def _of_short(self, short: str, every: Iterable[int]) -> list[str]:
        if short == "logits":
            return ["hook_logits"]
        if short == "residual":
            return ["hook_embed", *(f"blocks.{layer}.hook_resid_post" for layer in range(self.count - 1)), "ln_final.hook_normalized"]
        self._by_layers = True
        for layer in every:
            if not 0 <= layer < self.count:
                raise _core.UsageError(f"layer {layer} was asked for, the model has {self.count}")
        ends = [end for end, (other, _) in _ENDS.items() if other == short]
        return [f"blocks.{layer}.{end}" for layer in every for end in ends]

    def _fill(self, heads: Iterable[int] | None) -> None:
        by_short: dict[str, set[int]] = {}
        for name in self.names:
            short, layer, _ = meaning(name, self.count)
            by_short.setdefault(short, set()).add(layer)
        self.where = {short: sorted(layers) for short, layers in by_short.items()}
        plain = [short for short in self.where if short not in ("pattern", "states", "logits", "residual")]
        # One list of layers for all plain statistics: they are measured together.
        together = sorted(set().union(*(self.where[short] for short in plain))) if plain else []
        for short in plain:
            self.where[short] = together
            if short != "masses":
                self.watch[short] = True
        if "masses" in plain and "masses" not in self.watch:
            raise _core.UsageError("record: masses need groups of positions, as in masses={\"prompt\": range(10)}")
        self.watch["layers"] = together
        self.watch["logits"] = "logits" in self.where
        self.watch["pattern_layers"] = self.where.get("pattern", [])
        self.watch["state_layers"] = self.where.get("states", [])
        self.watch["residual_depths"] = self.where.get("residual", [])
        if heads is not None:
            if not self.watch["pattern_layers"]:
                raise _core.UsageError("heads has no effect without a recorded pattern")
            self.watch["pattern_heads"] = given.numbers(heads, "heads")

    def find(self, kept: Mapping[str, Any], name: str) -> Any:
        short, layer, arrays = meaning(name, self.count) if name in hook_names(self.count) else ("", 0, ())
        if layer not in self.where.get(short, ()):  # not by name: what goes out of one layer goes into the next
            raise KeyError(f"{name!r} was not recorded; recorded: {', '.join(self.names)}")
        if short == "logits":
            return kept["logits"]
        at = self.where[short].index(layer)
        found = tuple(kept[array][at] for array in arrays)
        return found[0] if len(found) == 1 else found
