"""Arrays of doubles from other arguments: converted where the meaning is certain, rejected otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import InputError


def numbers(name: str, x: Any) -> np.ndarray:
    """`x` as a contiguous array of float64. Integers and other floats are converted; other types are rejected."""
    if type(x).__module__.startswith("torch") and hasattr(x, "detach"):
        x = x.detach().cpu()
    try:
        array = np.asarray(x)
    except ValueError:
        raise InputError(f"{name} is not an array: its rows differ in length") from None
    if array.dtype.kind not in "iuf":
        words = {"b": "booleans", "c": "complex numbers", "U": "text", "S": "bytes", "O": "objects"}
        what = "None" if x is None else words.get(array.dtype.kind, str(array.dtype))
        raise InputError(
            f"{name} holds {what}, not real numbers",
            hint="give float64; integers and other floats are converted",
        )
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise InputError(f"{name} has masked entries", hint="fill them first")
    array = np.asarray(array, dtype=np.float64, order="C")
    if array.ctypes.data % 8:
        array = array.copy()
    return array
