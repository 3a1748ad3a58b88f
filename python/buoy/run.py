"""Generation step by step: steps, runs, and how callbacks change attention."""
from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from . import _core, given
from .arrays import Array
from .exchange import Exchange
from .plan import Plan, Record, meaning

if TYPE_CHECKING:
    from .model import Generation, Model


@dataclasses.dataclass(frozen=True)
class Change:
    """How a layer's attention is to be changed.

    Attributes:
        key_bias: Added to the scores before the softmax, ``[N]`` or ``[H, N]``; ``-inf`` hides a key.
        head_gain: Scales the output of every head, ``[H]``; 0 cuts it.
    """
    key_bias: Any = None
    head_gain: Any = None


@dataclasses.dataclass(frozen=True)
class Hook:
    """Where a hook function is called: name, step and layer, both from 0."""
    name: str
    step: int
    layer: int


class Step:
    """What was kept of one step of a generation.

    Arrays of attention have one entry for each recorded layer first; ``T`` are the rows of the pass, from position ``first_row`` on,
    ``rows`` those whose logits were read, at ``read_positions``.

    Attributes:
        number: Of the step, from 0.
        tokens_before: What the pass saw, ``[N] int32``; in block families up to the end of the block.
        tokens: The sequence after it.
        committed: Positions that it wrote.
        read_positions: Positions whose rows' logits were read.
        first_row: Position of the first row of the pass; above 0 where earlier ones are cached.
        layers: Which layers the first axis of the sums, rows, masses, norms and means stands for; they are measured together.
        pattern_layers, state_layers: The same of ``pattern``, and of ``query_states`` and ``key_states``.
        depths: The same of ``residual``: 0 is the embedding, l what comes after l layers, the last one the stream after the final norm.
        column_sums, column_sums_read: ``[layers, H, N]``, the attention each key receives from all rows and from read rows.
        row_argmax, row_max_weight, row_entropy: ``[layers, H, rows]``.
        masses: ``[layers, H, rows, groups]``.
        row_means: ``[layers, rows, N]``, mean over heads.
        output_norm, uniform_norm, value_norms: ``[layers, H]``, ``[layers, Hkv]``, ``[layers, Hkv, N]``.
        score_means, cosine_means, norm_means, key_norms: ``[layers, H, N]``, the last ``[layers, Hkv, N]``.
        pattern: ``[pattern layers, heads, T, N]``, heads in ascending order.
        query_states, key_states: ``[state layers, H, T, D]`` and ``[state layers, Hkv, N, D]``, rotated.
        logits: ``[rows, V]``.
        residual: ``[depths, T, E]``.
    """

    def __init__(self, plan: Plan, kept: dict[str, Any]):
        self._plan = plan
        self._kept = kept

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._kept[name]
        except KeyError:
            raise AttributeError(f"step {self._kept['number']} has no {name!r}; recorded: {', '.join(sorted(self._kept))}") from None

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *self._kept]

    @property
    def layers(self) -> list[int]:
        return list(self._plan.watch["layers"])

    @property
    def pattern_layers(self) -> list[int]:
        return list(self._plan.watch["pattern_layers"])

    @property
    def state_layers(self) -> list[int]:
        return list(self._plan.watch["state_layers"])

    @property
    def depths(self) -> list[int]:
        return list(self._plan.watch["residual_depths"])

    @property
    def arrays(self) -> dict[str, Array]:
        """All arrays by name."""
        return {name: value for name, value in self._kept.items() if isinstance(value, np.ndarray)}

    def __getitem__(self, name: str) -> Any:
        """What was recorded under a long name: an array, or a tuple of those that belong together."""
        return self._plan.find(self._kept, name)

    def keys(self) -> list[str]:
        """The long names that were recorded."""
        return list(self._plan.names)

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {list(value.shape)}" for name, value in self.arrays.items())
        return f"<buoy.Step {self._kept['number']}: {shapes}>"


class Run(Iterator[Step]):
    """A generation in steps: an iterator, and a context manager that ends it. Made by :meth:`Model.run`."""

    def __init__(self, model: Model, ids: Any, settings: dict[str, Any], *, record: Record, layers: Iterable[int] | None,
                 heads: Iterable[int] | None, masses: Mapping[str, Sequence[int]] | None, change: Callable[..., Change | None] | None,
                 hooks: Mapping[str, Callable[..., Change | None]] | None):
        self._model = model
        self._plan = Plan(model.config, record, layers, heads, masses, hooks)
        self._result: Generation | None = None
        self._exchange = exchange = Exchange(model._core)
        core, plan = model._core, self._plan
        before = None if change is None else _before(change)
        after = None if not hooks else _after(hooks, plan)
        ids = core.check_run(ids, settings, plan.watch, before is not None or after is not None)
        self._compute = lambda: core.run([ids], settings, plan.watch, before, after, exchange.deliver, exchange.stop)

    def __iter__(self) -> Run:
        return self

    def __next__(self) -> Step:
        exchange = self._exchange
        if exchange.closed:
            raise StopIteration
        step = exchange.ask(self._compute)
        if step is not None:
            return Step(self._plan, step)
        self.close()
        raised, exchange.raised = exchange.raised, None  # with all that its traceback holds
        if raised is not None:
            raise raised
        if exchange.result is not None:
            self._result = self._model._generation(exchange.result)
        raise StopIteration

    def close(self) -> None:
        """Ends the generation; waits for the pass that is running, unless a callback of the model's calls this."""
        self._exchange.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __reduce_ex__(self, protocol: Any) -> Any:  # of copies, the first that goes would end the generation
        raise TypeError("a run cannot be copied or stored; its steps can")

    def __del__(self) -> None:
        exchange = getattr(self, "_exchange", None)
        if exchange is not None and not exchange.closed:
            exchange.close()

    @property
    def result(self) -> Generation | None:
        """What was written, when all steps are over; None before, and where the run was ended early."""
        return self._result

    def finish(self) -> Generation:
        """Takes the remaining steps and returns what was written."""
        for _ in self:
            pass
        if self._result is None:
            raise _core.Error("the run was closed before its end")
        return self._result


def _pair(said: Any, where: str) -> tuple[Any, Any] | None:
    if said is None:
        return None
    if not isinstance(said, Change):
        raise TypeError(f"{where} returned {type(said).__name__}, expected None or buoy.Change")
    return said.key_bias, said.head_gain


def _before(change: Callable[..., Change | None]) -> Callable[..., Any]:
    given.function(change, "change")
    return lambda step, layer, tokens: _pair(change(step, layer, tokens), "change")


def _after(hooks: Mapping[str, Callable[..., Change | None]], plan: Plan) -> Callable[..., Any]:
    by_layer: dict[int, list[tuple[str, tuple[str, ...], Callable[..., Any]]]] = {}
    for pattern, function in hooks.items():
        for name in plan.hooks[pattern]:
            _, layer, arrays = meaning(name, plan.count)
            by_layer.setdefault(layer, []).append((name, arrays, function))

    def called(step: int, layer: int, kept: dict[str, Array]) -> Any:
        answer, answered = None, ""
        for name, arrays, function in by_layer.get(layer, ()):
            value = tuple(kept[array] for array in arrays)
            said = _pair(function(value[0] if len(value) == 1 else value, Hook(name, step, layer)), f"hook {name}")
            if said is not None and answer is not None:  # a layer is computed again with one
                raise _core.UsageError(f"hooks: {answered} and {name} both returned a Change, expected one for a layer")
            answer, answered = (answer, answered) if said is None else (said, name)
        return answer

    return called
