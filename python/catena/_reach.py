"""Inverse kinematics: positions that put frames where they are wanted.

Levenberg and Marquardt's method on the manifold of the joints: with e the twist that takes every frame to its target and J the
Jacobians of all of them, the step is

    δ = Jᵀ (J Jᵀ + λ 1)⁻¹ e,        q ← q ⊕ δ

λ falls while steps help and rises while they do not. Freedoms that a step would push beyond their limits are held and the step is
taken with the others. Loops are closed after each step (`assemble`).
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

import numpy as np

from .errors import Error, InputError

Array = np.ndarray


class Reached(NamedTuple):
    """Positions, whether they put the frames within the tolerance, what is left (m and rad, the largest), steps taken."""

    q: Array
    converged: bool
    residual: float
    iterations: int


def rotation_vector(rotation: Array) -> Array:
    """The axis times the angle, in [0, π], of a rotation matrix."""
    sine = 0.5 * np.array(
        [rotation[2, 1] - rotation[1, 2], rotation[0, 2] - rotation[2, 0], rotation[1, 0] - rotation[0, 1]]
    )
    length, cosine = float(np.linalg.norm(sine)), 0.5 * (float(np.trace(rotation)) - 1.0)
    angle = float(np.arctan2(length, cosine))
    if length > 1e-6:
        return sine * (angle / length)
    if cosine > 0:
        return sine
    # half a turn: the axis is the largest column of R + 1
    columns = 0.5 * (rotation + np.eye(3))
    k = int(np.argmax(np.diag(columns)))
    return columns[:, k] * (angle / np.sqrt(columns[k, k]))


def _checked(model: Any, targets: Mapping[str, Any]) -> List[Tuple[str, Array, Optional[Array]]]:
    """Frame, position, rotation (if one is wanted) of each target."""
    found = []
    for frame, target in targets.items():
        target = np.asarray(target, dtype=float)
        if not np.isfinite(target).all():
            raise InputError(f"the target of `{frame}` is not finite")
        if target.shape == (3,):
            found.append((frame, target, None))
            continue
        if target.shape != (4, 4):
            raise InputError(f"the target of `{frame}` has shape {target.shape}, expected (3,) for a position or (4, 4) for a pose")
        rotation = target[:3, :3]
        if not (np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-6) and np.linalg.det(rotation) > 0):
            raise InputError(f"the target of `{frame}` has no rotation in its upper left corner")
        found.append((frame, target[:3, 3], rotation))
    return found


def reach(
    model: Any,
    targets: Mapping[str, Any],
    start: Any,
    *,
    centre: Any,
    limits: bool,
    tolerance: float,
    iterations: int,
) -> Reached:
    """See `Model.reach`."""
    wanted = _checked(model, targets)
    if not wanted and centre is None:
        raise InputError("reach: nothing is wanted", hint='give {"hand": pose} or centre=(x, y, z)')
    q = np.array(model.neutral() if start is None else start, dtype=float)
    loops = bool(model.constraints)
    if loops:
        q = model.assemble(q).q
    plain: List[Tuple[int, int, float, float]] = []
    for joint in model.joints:
        if joint.q.stop - joint.q.start == joint.v.stop - joint.v.start:
            for k, pair in enumerate(joint.limits):
                if limits and pair is not None:
                    plain.append((joint.q.start + k, joint.v.start + k, pair[0], pair[1]))
    for at, _, low, high in plain:
        q[at] = min(max(q[at], low), high)

    def errors(q: Array) -> Array:
        parts = []
        for frame, position, rotation in wanted:
            pose = model.pose(q, frame)
            if rotation is not None:
                parts.append(rotation_vector(rotation @ pose[:3, :3].T))
            parts.append(position - pose[:3, 3])
        if centre is not None:
            parts.append(np.asarray(centre, dtype=float) - model.momenta(q).centre)
        return np.concatenate(parts)

    def jacobian(q: Array) -> Array:
        parts = []
        for frame, _, rotation in wanted:
            rows = model.jacobian(q, frame)
            parts.append(rows if rotation is not None else rows[3:])
        if centre is not None:
            parts.append(model.centroidal(q).matrix[3:] / model.mass)
        return np.concatenate(parts)

    e, damping, count = errors(q), 1e-4, 0
    while np.abs(e).max() > tolerance and count < iterations and damping < 1e10:
        count += 1
        rows = jacobian(q)
        held: List[int] = []
        while True:
            free = rows.copy()
            free[:, held] = 0.0
            delta = free.T @ np.linalg.solve(free @ free.T + damping * np.eye(len(e)), e)
            beyond = [
                v for at, v, low, high in plain
                if v not in held and (q[at] + delta[v] < low - 1e-12 or q[at] + delta[v] > high + 1e-12) and q[at] in (low, high)
            ]
            if not beyond:
                break
            held += beyond
        moved = model.step(q, delta)
        for at, _, low, high in plain:
            moved[at] = min(max(moved[at], low), high)
        try:
            if loops:
                moved = model.assemble(moved).q
            left = errors(moved)
        except Error:
            damping *= 10
            continue
        if np.linalg.norm(left) < np.linalg.norm(e):
            q, e, damping = moved, left, max(damping / 10, 1e-14)
        else:
            damping *= 10
    residual = float(np.abs(e).max())
    return Reached(q, residual <= tolerance, residual, count)
