"""Quantities of one state that the program in the wheel computes: it reads the model as a file, and its exact numbers become arrays."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Dict, List, Sequence

import numpy as np

from ._convert import numbers
from ._view import program
from .errors import NotFinite, ShapeError


def row(name: str, x: Any, width: int) -> str:
    """One row of finite numbers, as the program reads it."""
    array = numbers(name, x)
    if array.shape != (width,):
        expected = f"({width},)"
        message = f"{name} has shape {array.shape}, expected {expected}: one state"
        raise ShapeError(message, argument=name, expected=expected, given=str(array.shape))
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        message = f"{name}[{bad[0]}] is {array[bad[0]]}"
        raise NotFinite(message, argument=name, column=int(bad[0]), hint="every number must be finite")
    return ",".join(repr(float(number)) for number in array)


def arrays(value: Any) -> Any:
    """Lists of numbers, and lists of such lists of equal length, as arrays; everything else unchanged."""
    if isinstance(value, dict):
        return {key: arrays(part) for key, part in value.items()}
    if not isinstance(value, list):
        return value
    try:
        made = np.array(value)
    except ValueError:
        made = np.array([], dtype=object)
    return made if value and made.dtype.kind in "fi" else [arrays(part) for part in value]


def at_state(model: Any, command: str, state: Sequence[str], options: Sequence[str] = ()) -> Dict[str, Any]:
    """The output of a command for one state of a model."""
    with tempfile.TemporaryDirectory(prefix="catena-") as folder:
        file = os.path.join(folder, "model.json")
        model.save(file)
        found: Dict[str, Any] = json.loads(program(command, file, *state, *options, "--json"))
    states: List[Dict[str, Any]] = found.pop("states")
    found.pop("format", None)
    found.pop("model", None)
    return {**found, **states[0]}


def state_options(model: Any, q: Any, v: Any, tau: Any = None) -> List[str]:
    """A state, and efforts, as options of the program."""
    given = [f"--q={row('q', q, model.nq)}"]
    if v is not None:
        given.append(f"--v={row('v', v, model.nv)}")
    if tau is not None:
        given.append(f"--tau={row('tau', tau, model.nv)}")
    return given
