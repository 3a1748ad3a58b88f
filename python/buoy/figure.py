"""Figures that show themselves in a notebook."""
from __future__ import annotations

import html
import pathlib
from typing import Any

from . import _core, given


class Page:
    """A page of the explorer that needs no server: a frame in a notebook, a file on request.

    Attributes:
        html: The page.
        height: Of the frame, in pixels.
    """

    def __init__(self, text: str, height: int):
        self.html = text
        self.height = height

    def _repr_html_(self) -> str:
        # A frame of its own origin: the page's script reaches nothing of the notebook.
        return f'<iframe sandbox="allow-scripts allow-downloads" title="Buoy explorer" width="100%" height="{int(self.height)}" ' \
               f'style="border:0" srcdoc="{html.escape(self.html)}"></iframe>'

    def save(self, path: str | pathlib.Path) -> None:
        """Writes it as one HTML file."""
        pathlib.Path(given.path(path, "path")).write_text(self.html, encoding="utf-8")


class Figure:
    """A figure of Buoy's: an SVG in a notebook, a file on request.

    Attributes:
        svg: The drawing.
        caption: What it shows, in words.
        csv: Its numbers, where they come with it.
    """

    def __init__(self, svg: str, caption: str = "", csv: str = "", drawn: _core.DrawnFigure | None = None):
        self.svg = svg
        self.caption = caption
        self.csv = csv
        self._drawn = drawn

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | pathlib.Path) -> None:
        """Writes it as .svg, .png, .pdf, or its numbers as .csv."""
        path = pathlib.Path(given.path(path, "path"))
        kind = path.suffix[1:]
        if kind == "csv":
            path.write_text(self.csv, encoding="utf-8")
        elif kind == "svg":
            path.write_text(self.svg, encoding="utf-8")
        elif self._drawn is not None:
            path.write_bytes(self._drawn.render(kind))
        else:
            raise _core.UsageError(f"{path}: cannot be written as {kind!r}, expected svg or csv")

    def __reduce__(self) -> tuple[Any, ...]:  # a copy has no engine's drawing: it can be written as .svg and .csv
        return Figure, (self.svg, self.caption, self.csv)

    def __repr__(self) -> str:
        return f"<buoy.Figure: {self.caption or 'no caption'}>"


def from_drawn(drawn: _core.DrawnFigure) -> Figure:
    return Figure(drawn.render("svg").decode(), drawn.caption, drawn.csv, drawn)
