"""What users hand over, looked at before the engine sees it: one line says what is wrong."""
from __future__ import annotations

import os
from typing import Any, Iterable, Mapping, Sequence

from . import _core


def text(value: Any, what: str) -> str:
    """A text. Raises TypeError for anything else, UsageError for one that no encoding has."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is {short(value)}, expected text")
    try:
        value.encode()
    except UnicodeEncodeError as wrong:
        raise _core.UsageError(f"{what}: holds half of a character at {wrong.start} ({value[wrong.start]!a}), expected text") from None
    return value


def path(value: Any, what: str) -> str:
    """A text or a path, as text."""
    return text(os.fspath(value) if isinstance(value, os.PathLike) else value, what)


def whole(value: Any, what: str) -> int:
    """A whole number of 32 bits."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{what} is {short(value)}, expected a whole number")
    number = int(value.__index__())
    if not -2**31 <= number < 2**31:
        raise _core.UsageError(f"{what} is {number}, which is out of range")
    return number


def number(value: Any, what: str) -> float:
    if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
        raise TypeError(f"{what} is {short(value)}, expected a number")
    return float(value)


def flag(value: Any, what: str) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{what} is {short(value)}, expected True or False")
    return value


def numbers(value: Iterable[int], what: str) -> list[int]:
    """Whole numbers, each once, ascending."""
    try:
        found = sorted({int(one) for one in value})
    except (TypeError, ValueError):
        raise _core.UsageError(f"{what} is {short(value)}, expected whole numbers") from None
    if not found:
        raise _core.UsageError(f"{what} is empty")
    return found


def groups(masses: Mapping[str, Sequence[int]]) -> list[list[int]]:
    """Positions of each group; none stands in two."""
    found = [[whole(position, "masses: a position") for position in positions] for positions in masses.values()]
    everything = [position for group in found for position in group]
    if any(position < 0 for position in everything):
        raise _core.UsageError("masses: positions count from 0")
    if len(everything) != len(set(everything)):
        raise _core.UsageError("masses: a position stands in two groups")
    return found


def short(value: Any) -> str:
    """One line, whatever it is."""
    said = " ".join(repr(value).split())
    return said if len(said) <= 80 else f"{said[:77]}..."
