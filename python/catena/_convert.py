"""Arrays of doubles from other arguments: converted where the meaning is certain, rejected otherwise."""

from __future__ import annotations

from typing import Any, List, Mapping

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


def real(name: str, x: Any) -> float:
    """`x` as a number; whether its value makes sense is for the caller to see."""
    array = np.asarray(x) if isinstance(x, (int, float, np.number, np.ndarray)) and not isinstance(x, bool) else None
    if array is None or array.shape != () or array.dtype.kind not in "iuf":
        raise InputError(f"{name} must be a number, not {x!r}")
    return float(array)


def whole(name: str, x: Any, least: int = 0) -> int:
    """`x` as a whole number."""
    if isinstance(x, bool) or not isinstance(x, (int, np.integer)) or not least <= x < 2**63:
        raise InputError(f"{name} must be a whole number{f' from {least} on' if least else ''}, not {x!r}")
    return int(x)


def word(name: str, x: Any) -> str:
    """`x` as a name."""
    if not isinstance(x, str):
        raise InputError(f"{name} must be text, not {x!r}")
    return x


def names(name: str, x: Any) -> List[str]:
    """`x` as a list of names; one name may stand alone."""
    listed = [x] if isinstance(x, str) else list(x) if np.iterable(x) and not isinstance(x, (bytes, Mapping)) else None
    if listed is None or not all(isinstance(entry, str) for entry in listed):
        raise InputError(f"{name} must be a name or a list of names, not {x!r}")
    return listed


def by_name(name: str, x: Any, example: str) -> Mapping[str, Any]:
    """`x` as a dictionary whose keys are names."""
    if not isinstance(x, Mapping):
        raise InputError(f"{name} must be a dictionary of names, not {type(x).__name__}", hint=f"for example {example}")
    wrong = next((key for key in x if not isinstance(key, str)), None)
    if wrong is not None:
        raise InputError(f"{name}: {wrong!r} is not a name", hint=f"for example {example}")
    return x
