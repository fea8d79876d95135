"""Derivatives along rotations converted to derivatives by the four numbers of a quaternion, for libraries that differentiate by the numbers of q.

Quaternions are normalized before use, so that the derivative along a change of length is zero.
"""

from __future__ import annotations

from typing import Iterator, List, Tuple

import numpy as np

from ._model import Model


def quaternions(model: Model) -> List[Tuple[int, int]]:
    """First position coordinate and first velocity coordinate of every quaternion."""
    found = []
    for joint in model.joints:
        if joint.kind in ("spherical", "free"):
            shift = 3 if joint.kind == "free" else 0
            found.append((joint.q.start + shift, joint.v.start + shift))
    return found


def plain(model: Model) -> Iterator[Tuple[int, int, int]]:
    """First position coordinate, first velocity coordinate and number of the coordinates outside quaternions, joint by joint."""
    for joint in model.joints:
        count = {"free": 3, "spherical": 0}.get(joint.kind, joint.v.stop - joint.v.start)
        if count:
            yield joint.q.start, joint.v.start, count


def unit(model: Model, q: np.ndarray) -> np.ndarray:
    """q with quaternions of length one, (…, nq)."""
    q = np.array(q, dtype=np.float64)
    for at, _ in quaternions(model):
        q[..., at : at + 4] /= np.linalg.norm(q[..., at : at + 4], axis=-1, keepdims=True)
    return q


def increments(model: Model, q: np.ndarray) -> np.ndarray:
    """δ = G dq, (…, nv, nq): the change of a quaternion p as a rotation about the child's axes is 2 p* ∘ dp / |p|²."""
    matrix = np.zeros(q.shape[:-1] + (model.nv, model.nq))
    for at, to, count in plain(model):
        for k in range(count):
            matrix[..., to + k, at + k] = 1.0
    for at, to in quaternions(model):
        p = q[..., at : at + 4]
        w, x, y, z = np.moveaxis(2.0 * p / (p * p).sum(axis=-1, keepdims=True), -1, 0)
        rows = [[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]]
        for i, row in enumerate(rows):
            for k, entry in enumerate(row):
                matrix[..., to + i, at + k] = entry
    return matrix
