"""What users hand over, looked at before the engine sees it: one line says what is wrong."""
from __future__ import annotations

import os
from typing import Any, Iterable, Mapping

from . import _core

MOST = 2**31  #: as a count: what nobody has


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
    found = text(os.fspath(value) if isinstance(value, os.PathLike) else value, what)
    if "\0" in found:
        raise _core.UsageError(f"{what} holds a zero byte")
    return found


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
    try:
        return float(value)
    except (TypeError, ValueError):  # arrays of other things
        raise TypeError(f"{what} is {short(value)}, expected a number") from None


def flag(value: Any, what: str) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{what} is {short(value)}, expected True or False")
    return value


def places(value: Iterable[int], what: str, count: int) -> list[int]:
    """Numbers from 0 to count - 1, each once, in their order."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError(f"{what} is {short(value)}, expected whole numbers")
    found = [whole(one, f"{what}: one") for one in value]
    if not found:
        raise _core.UsageError(f"{what} is empty")
    seen = set()
    for one in found:
        if not 0 <= one < count:
            raise _core.UsageError(f"{what}: holds {one}, expected 0 to {count - 1}")
        if one in seen:
            raise _core.UsageError(f"{what}: holds {one} twice")
        seen.add(one)
    return found


def function(value: Any, what: str) -> None:
    if not callable(value):
        raise TypeError(f"{what} is {short(value)}, expected a function")


def numbers(value: Iterable[int], what: str) -> list[int]:
    """Whole numbers, each once, ascending."""
    try:
        found = sorted({whole(one, what) for one in value})
    except TypeError:
        raise _core.UsageError(f"{what} is {short(value)}, expected whole numbers") from None
    if not found:
        raise _core.UsageError(f"{what} is empty")
    return found


def groups(masses: Mapping[str, Iterable[int]]) -> list[list[int]]:
    """Positions of each group; none stands in two."""
    if not isinstance(masses, Mapping):
        raise TypeError(f"masses is {short(masses)}, expected names and positions, as in {{\"prompt\": range(10)}}")
    if not masses:
        raise _core.UsageError("masses is empty")
    found = []
    for name, positions in masses.items():
        if isinstance(positions, (str, bytes)) or not isinstance(positions, Iterable):
            raise TypeError(f"masses: {name!r} is {short(positions)}, expected positions")
        found.append([whole(position, f"masses: a position of {name!r}") for position in positions])
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
