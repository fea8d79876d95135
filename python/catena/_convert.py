"""Arrays of doubles from what is none: converted where nothing can be misread, refused otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import InputError


def numbers(name: str, x: Any) -> np.ndarray:
    """`x` as a contiguous array of float64. Integers and other floats are converted; the rest is refused."""
    if type(x).__module__.startswith("torch") and hasattr(x, "detach"):
        x = x.detach().cpu()
    try:
        array = np.asarray(x)
    except Exception as error:
        raise InputError(f"{name} is no array of numbers: {error}") from None
    if array.dtype.kind not in "iuf":
        if array.dtype.kind == "O":
            what = "rows of different length or objects"
        else:
            what = {"b": "truth values", "c": "complex numbers"}.get(array.dtype.kind, f"{array.dtype}")
        raise InputError(
            f"{name} holds {what}, not real numbers",
            hint="give float64; integers and other floats are converted",
        )
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise InputError(f"{name} has masked entries", hint="fill them first")
    array = np.ascontiguousarray(array, dtype=np.float64)
    if array.ctypes.data % 8:
        array = array.copy()
    return array
