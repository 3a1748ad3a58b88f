"""Tables: pandas' DataFrames where pandas is there, else dicts of arrays."""
from __future__ import annotations

import csv
import io
import re
from typing import Any

import numpy as np

from .arrays import Array

_WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})")  # what int64 holds
_NAME = re.compile(r"-?0\d+|\d{19,}")


def _column(values: list[str]) -> Array:
    """Numbers where all are numbers; what is empty is NaN among them. Names of digits alone (007) stay what they are."""
    if values and all(_WHOLE.fullmatch(value) for value in values):
        return np.array([int(value) for value in values])
    if any(values) and not any("_" in value or _NAME.fullmatch(value) for value in values):
        try:
            return np.array([float(value) if value else np.nan for value in values])
        except ValueError:
            pass
    return np.array(values)


def frame(columns: dict[str, Any]) -> Any:
    """Columns as a DataFrame, or as they are."""
    columns = {name: np.asarray(values) for name, values in columns.items()}
    try:
        import pandas
    except ImportError:
        return columns
    return pandas.DataFrame(columns)


def read_csv(text: str) -> Any:
    """The text of one of Buoy's CSV files as a table."""
    rows = list(csv.reader(io.StringIO(text)))
    if not rows:
        return frame({})
    return frame({name: _column([row[at] for row in rows[1:]]) for at, name in enumerate(rows[0])})
