"""The type of arrays in annotations."""
from typing import Any

import numpy as np

#: A NumPy array; docstrings say its shape and type.
Array = np.ndarray[Any, Any]
