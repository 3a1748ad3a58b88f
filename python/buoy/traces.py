"""Traces: what attention did while a model wrote."""
from __future__ import annotations

import glob
import html
import os
import pathlib
import tempfile
from typing import Any, Iterator, Mapping, Sequence

import numpy as np

from . import _core, given
from .arrays import Array
from .figure import Figure, Page, from_drawn
from .tables import frame

_ANCHORS: dict[str, Any] = {"anchors": "excess", "epsilon": 3.0, "min_lift": 2.0, "top_anchors": 5}


def _anchor_options(options: Mapping[str, Any]) -> tuple[Any, ...]:
    unknown = set(options) - set(_ANCHORS)
    if unknown:
        raise _core.UsageError(f"{sorted(unknown)[0]} is no option of anchors, expected {', '.join(_ANCHORS)}")
    made = {**_ANCHORS, **options}
    return (given.text(made["anchors"], "anchors"), *(given.number(made[name], name) for name in ("epsilon", "min_lift")),
            given.whole(made["top_anchors"], "top_anchors"))


class Trace(Mapping[str, Array]):
    """One example's record: arrays by the names of docs/trace.md, as ``trace["received"]``. They cannot be written through.

    Made by :meth:`Model.trace`, :func:`trace` or :func:`read_trace`.
    """

    def __init__(self, core: _core.Trace):
        self._core = core
        self._arrays = core.arrays()
        self._sequence = core.sequence()

    def __getitem__(self, name: str) -> Array:
        if name not in self._arrays:
            raise KeyError(f"{name!r} was not recorded; recorded: {', '.join(self._arrays)}")
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    @property
    def header(self) -> dict[str, Any]:
        """Model, hashes, settings, question, answers, output."""
        return self._core.header()

    @property
    def texts(self) -> list[str]:
        """Every token of the finished sequence, as a label."""
        found: list[str] = self._sequence["texts"]
        return found

    @property
    def classes(self) -> list[str]:
        """Their classes: bos, mask, content, …"""
        found: list[str] = self._sequence["classes"]
        return found

    @property
    def regions(self) -> list[str]:
        """Names of the regions; ``trace["region_of"]`` says where each position belongs."""
        found: list[str] = self._sequence["regions"]
        return found

    @property
    def prompt_length(self) -> int:
        """How many of the tokens are the prompt."""
        found: int = self._sequence["prompt_length"]
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it as .npz, which numpy and the command line open."""
        self._core.write(given.path(path, "path"))

    def null(self, kind: str = "uniform") -> Trace | None:
        """The same example under attention that knows nothing: uniform, frozen (the first step's) or recency (what is near).

        None where the trace does not have what it takes.
        """
        if not isinstance(kind, str) or kind not in ("uniform", "frozen", "recency"):
            raise _core.UsageError(f"kind is {given.short(kind)}, expected uniform, frozen or recency")
        made = getattr(self._core, kind)()
        return None if made is None else Trace(made)

    def analyze(self, only: str | Sequence[str] = (), **anchors: Any) -> Any:
        """Every number of the analyses, each beside its null under uniform attention.

        Args:
            only: Some of :func:`analyses`; all without.
            **anchors: anchors, epsilon, min_lift, top_anchors, as on the command line.

        Returns:
            A table with the columns analysis, quantity, layer, head, part, value, null; -1 is no layer, no head, NaN no null.
        """
        names = [given.text(name, "only") for name in ([only] if isinstance(only, str) else only)]
        return frame(self._core.measure(names, *_anchor_options(anchors)))

    def figures(self, analysis: str = "drift", **anchors: Any) -> list[Figure]:
        """The figures of an analysis, of this trace alone."""
        return [from_drawn(one) for one in self._core.draw(given.text(analysis, "analysis"), *_anchor_options(anchors))]

    def show(self, analysis: str | None = None, **anchors: Any) -> Figure | Page:
        """The run in the explorer's page, as :meth:`explore`; with an analysis its first figure instead: for drift, who receives attention
        at every step."""
        if analysis is None and not anchors:
            return self.explore()
        return self.figure("drift" if analysis is None else analysis, **anchors)

    def figure(self, analysis: str = "drift", **anchors: Any) -> Figure:
        """The first figure of an analysis."""
        drawn = self._core.draw(given.text(analysis, "analysis"), *_anchor_options(anchors))
        if not drawn:
            raise _core.Error(f"the trace has nothing that {analysis} could draw")
        return from_drawn(drawn[0])

    def explore(self, height: int = 900) -> Page:
        """The explorer's page of this run, with everything that was recorded: shown in a notebook, or saved as one file."""
        return Page(self._core.page(), given.whole(height, "height"))

    def _repr_html_(self) -> str:
        header = self.header
        return f"<p><b>{html.escape(header['model'])}</b>, {self['tokens'].size} tokens, {self['steps'].size} steps: " \
               f"{html.escape(header['output'])}</p>{self.figure()._repr_svg_()}"

    def __reduce__(self) -> tuple[Any, ...]:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.npz")
            self.save(path)
            return _restored, (pathlib.Path(path).read_bytes(),)

    def __repr__(self) -> str:
        return f"<buoy.Trace of {self.header['model']}: {self['tokens'].size} tokens, {self['steps'].size} steps>"


def _restored(file: bytes) -> Trace:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trace.npz"
        path.write_bytes(file)
        return read_trace(path)


def read_trace(path: str | os.PathLike[str]) -> Trace:
    """Reads a trace and checks it. Raises Error naming what is wrong with the file."""
    return Trace(_core.read_trace(given.path(path, "path")))


def read_traces(directory: str | os.PathLike[str]) -> list[Trace]:
    """All traces (*.npz) of a directory, by name."""
    paths = sorted(glob.glob(os.path.join(glob.escape(given.path(directory, "directory")), "*.npz")))
    if not paths:
        raise _core.Error(f"{pathlib.Path(directory)}: holds no traces (*.npz)")
    return [read_trace(path) for path in paths]


def analyses() -> dict[str, str]:
    """The analyses, and what each says."""
    return _core.analyses()
