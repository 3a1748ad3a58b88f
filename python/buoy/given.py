"""What users hand over, looked at before the engine sees it: one line says what is wrong."""
from __future__ import annotations

import os
from typing import Any

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


def short(value: Any) -> str:
    """One line, whatever it is."""
    said = " ".join(repr(value).split())
    return said if len(said) <= 80 else f"{said[:77]}..."
