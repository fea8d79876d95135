"""Inverse kinematics: positions and motions that bring frames to their targets."""

from __future__ import annotations

from typing import Any, List, Mapping, NamedTuple, Optional, Tuple

import numpy as np

from ._convert import by_name, numbers
from .errors import InputError, NotFinite, ShapeError

Array = np.ndarray


class Reached(NamedTuple):
    """Positions, whether all targets are met within the tolerance, the largest remaining error (m or rad), iterations."""

    q: Array
    converged: bool
    residual: float
    iterations: int


class Followed(NamedTuple):
    """A motion: times (T,), q (T, nq), v and a (T, nv); whether every instant converged, and the largest remaining error of each (m or rad), (T,)."""

    t: Array
    q: Array
    v: Array
    a: Array
    converged: bool
    residual: Array


def _rows(name: str, target: Any, instants: Optional[int], is_pose_allowed: bool) -> List[List[float]]:
    """A target at one instant (none given) or at each of several, as rows of 3 or 12 numbers."""
    array = numbers(name, target)
    lead = () if instants is None else (instants,)
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        at = [int(k) for k in bad[0]]
        raise NotFinite(
            f"{name} is {array[tuple(at)]} at [{', '.join(map(str, at))}]",
            argument=name,
            row=None if instants is None else at[0],
            column=at[-1] if at else None,
            hint="every number must be finite",
        )
    if array.shape == lead + (3,):
        return array.reshape(-1, 3).tolist()
    if array.shape == lead + (4, 4) and is_pose_allowed:
        poses = array.reshape(-1, 4, 4)
        rotations = poses[:, :3, :3]
        orthogonal = np.allclose(rotations @ rotations.swapaxes(1, 2), np.eye(3), atol=1e-6)
        if not (orthogonal and (np.linalg.det(rotations) > 0).all()):
            raise InputError(f"{name} is not a pose: its upper left 3×3 block is not a rotation")
        if not np.allclose(poses[:, 3], [0.0, 0.0, 0.0, 1.0], rtol=0.0, atol=1e-9):
            raise InputError(
                f"{name} is not a pose: its last row is not 0, 0, 0, 1", hint="the origin is its last column; is the matrix transposed?"
            )
        return poses[:, :3].reshape(-1, 12).tolist()
    before = "" if instants is None else f"{instants}, "
    expected = f"({before}3)" if instants is not None else "(3,)"
    if is_pose_allowed:
        expected += f" for a position or ({before}4, 4) for a pose"
    raise ShapeError(
        f"{name} has shape {array.shape}, expected {expected}", argument=name, expected=expected, given=str(array.shape)
    )


def wanted(
    targets: Optional[Mapping[str, Any]], centre: Any, instants: Optional[int] = None
) -> List[Tuple[Optional[str], List[List[float]]]]:
    """The targets of frames by name, and of the mass centre, which has no name."""
    found: List[Tuple[Optional[str], List[List[float]]]] = []
    for frame, target in by_name("targets", targets or {}, '{"hand": pose}').items():
        found.append((frame, _rows(f"the target of `{frame}`", target, instants, True)))
    if centre is not None:
        found.append((None, _rows("the target of the mass centre", centre, instants, False)))
    if not found:
        raise InputError("there is no target", hint='give {"hand": pose} or centre=(x, y, z)')
    return found
