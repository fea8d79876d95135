"""Conversion of states between the coordinates of catena, Pinocchio and MuJoCo.

|                       | catena                                  | Pinocchio                               | MuJoCo          |
|-----------------------|-----------------------------------------|-----------------------------------------|-----------------|
| revolute, prismatic   | position                                | the same                                | the same        |
| continuous            | angle                                   | (cos, sin)                              | the same        |
| spherical             | quaternion (w, x, y, z), ω child axes   | quaternion (x, y, z, w), ω child axes   | as catena       |
| free                  | x, y, z, quaternion (w, x, y, z);       | x, y, z, quaternion (x, y, z, w);       | as catena       |
|                       | velocity in world axes, ω in the body's | velocity and ω both in body axes        |                 |

Joints are matched by name. Every method takes one state or rows of many. Neither package is imported here.
"""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

import numpy as np

from ._model import Model
from ._convert import numbers
from .errors import InputError, ShapeError

Array = np.ndarray


def rotation(quaternion: Any) -> Array:
    """Rotation matrices (…, 3, 3) of unit quaternions (…, 4) = (w, x, y, z)."""
    w, x, y, z = np.moveaxis(np.asarray(quaternion, dtype=float), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _rows(name: str, x: Any, width: int) -> Array:
    """One state or rows of many, of so many numbers each."""
    array = numbers(name, x)
    if array.shape[-1:] != (width,):
        expected, given = f"(…, {width})", str(array.shape)
        raise ShapeError(f"{name} has shape {given}, expected {expected}", argument=name, expected=expected, given=given)
    return array


def _turn(matrix: Array, x: Array) -> Array:
    return np.einsum("...ij,...j->...i", matrix, x)


def _sizes(kind: str) -> Tuple[int, int]:
    return {"spherical": (4, 3), "free": (7, 6)}.get(kind, (1, 1))


class Pinocchio:
    """Converts between a catena model and a Pinocchio model (`pinocchio.Model`) of the same robot.

    >>> # import pinocchio as pin
    >>> # there = pin.buildModelFromUrdf("arm.urdf", pin.JointModelFreeFlyer())
    >>> # pair = catena.convert.Pinocchio(catena.load("arm.urdf", base="free"), there)
    >>> # pin.rnea(there, there.createData(), pair.q(q), pair.v(q, v), pair.a(q, v, a)) is pair.tau(q, tau)
    """

    def __init__(self, model: Model, other: Any) -> None:
        self.model, self.other = model, other
        self._pairs: List[Tuple[str, int, int, int, int, int]] = []
        freedoms = 0
        for joint in model.joints:
            name = joint.name
            if joint.v.start == joint.v.stop:
                continue  # it follows others
            if joint.kind == "free" and not other.existJointName(name):
                name = "root_joint"
            if not other.existJointName(name):
                raise InputError(f"Pinocchio's model has no joint `{name}`")
            there = other.joints[other.getJointId(name)]
            if joint.kind not in ("revolute", "continuous", "prismatic", "spherical", "free"):
                raise InputError(f"joint `{name}`: joints of kind {joint.kind} cannot be converted")
            if there.nv != _sizes(joint.kind)[1]:
                raise InputError(f"joint `{name}` has {there.nv} freedoms in Pinocchio, but is {joint.kind} in catena")
            self._pairs.append((joint.kind, joint.q.start, joint.v.start, there.idx_q, there.idx_v, there.nq))
            freedoms += there.nv
        if freedoms != other.nv:
            raise InputError(f"catena has {freedoms} freedoms, Pinocchio {other.nv}: they did not read the same robot")

    def q(self, q: Any) -> Array:
        """Positions for Pinocchio."""
        q = _rows("q", q, self.model.nq)
        out = np.empty(q.shape[:-1] + (self.other.nq,))
        for kind, here, _, there, _, size in self._pairs:
            if kind == "free":
                out[..., there : there + 3] = q[..., here : here + 3]
                here, there = here + 3, there + 3
            if kind in ("free", "spherical"):
                out[..., there : there + 4] = np.roll(q[..., here : here + 4], -1, axis=-1)
            elif size == 2:
                out[..., there], out[..., there + 1] = np.cos(q[..., here]), np.sin(q[..., here])
            else:
                out[..., there] = q[..., here]
        return out

    def q_back(self, q: Any) -> Array:
        """Positions for catena."""
        q = _rows("q", q, self.other.nq)
        out = np.empty(q.shape[:-1] + (self.model.nq,))
        for kind, here, _, there, _, size in self._pairs:
            if kind == "free":
                out[..., here : here + 3] = q[..., there : there + 3]
                here, there = here + 3, there + 3
            if kind in ("free", "spherical"):
                out[..., here : here + 4] = np.roll(q[..., there : there + 4], 1, axis=-1)
            elif size == 2:
                out[..., here] = np.arctan2(q[..., there + 1], q[..., there])
            else:
                out[..., here] = q[..., there]
        return out

    def _vector(self, q: Any, x: Any, back: bool) -> Array:
        """v, or τ: linear parts of free joints are rotated by Rᵀ, or back by R."""
        q, x = _rows("q", q, self.model.nq), _rows("the vector", x, self.other.nv if back else self.model.nv)
        out = np.empty(np.broadcast_shapes(q.shape[:-1], x.shape[:-1]) + (self.other.nv,))
        for kind, q_at, here, _, there, _ in self._pairs:
            to, at = (here, there) if back else (there, here)
            size = _sizes(kind)[1]
            part = x[..., at : at + size]
            if kind == "free":
                turn = rotation(q[..., q_at + 3 : q_at + 7])
                turn = turn if back else np.swapaxes(turn, -1, -2)
                out[..., to : to + 3] = _turn(turn, part[..., :3])
                out[..., to + 3 : to + 6] = part[..., 3:]
            else:
                out[..., to : to + size] = part
        return out

    def v(self, q: Any, v: Any) -> Array:
        """Velocities for Pinocchio; q are catena's positions."""
        return self._vector(q, v, False)

    def v_back(self, q: Any, v: Any) -> Array:
        """Velocities for catena; q are catena's positions."""
        return self._vector(q, v, True)

    def tau(self, q: Any, tau: Any) -> Array:
        """Efforts for Pinocchio; q are catena's positions."""
        return self._vector(q, tau, False)

    def tau_back(self, q: Any, tau: Any) -> Array:
        """Efforts for catena; q are catena's positions."""
        return self._vector(q, tau, True)

    def _drift(self, q: Any, v: Any) -> Array:
        """What rotating axes add to accelerations: −ω × (Rᵀ ẋ), body axes."""
        out = np.zeros_like(self.v(q, v))
        there_v = self.v(q, v)
        for kind, _, _, _, there, _ in self._pairs:
            if kind == "free":
                linear, omega = there_v[..., there : there + 3], there_v[..., there + 3 : there + 6]
                out[..., there : there + 3] = -np.cross(omega, linear)
        return out

    def a(self, q: Any, v: Any, a: Any) -> Array:
        """Accelerations for Pinocchio; q, v are catena's."""
        return self._vector(q, a, False) + self._drift(q, v)

    def a_back(self, q: Any, v: Any, a: Any) -> Array:
        """Accelerations for catena; q, v are catena's."""
        return self._vector(q, _rows("a", a, self.other.nv) - self._drift(q, v), True)


class Mujoco:
    """Converts between a catena model and a MuJoCo model (`mujoco.MjModel`) of the same robot: only the order of the coordinates differs.

    Joints are matched by name; free joints, which often have no name, by the body they carry.
    """

    def __init__(self, model: Model, other: Any) -> None:
        self.model, self.other = model, other
        names = {other.joint(k).name: k for k in range(other.njnt)}
        bodies = {other.body(int(other.jnt_bodyid[k])).name: k for k in range(other.njnt)}
        positions: List[int] = []
        velocities: List[int] = []
        for joint in model.joints:
            k: Optional[int] = names.get(joint.name, bodies.get(joint.child))
            if k is None:
                raise InputError(f"MuJoCo's model has no joint `{joint.name}` and no body `{joint.child}` with one")
            nq, nv = joint.q.stop - joint.q.start, joint.v.stop - joint.v.start
            expected = {0: (7, 6), 1: (4, 3)}.get(int(other.jnt_type[k]), (1, 1))
            if (nq, nv) != expected:
                raise InputError(f"joint `{joint.name}` has {expected[1]} freedoms in MuJoCo, but is {joint.kind} in catena")
            positions += range(int(other.jnt_qposadr[k]), int(other.jnt_qposadr[k]) + nq)
            velocities += range(int(other.jnt_dofadr[k]), int(other.jnt_dofadr[k]) + nv)
        if len(velocities) != other.nv:
            raise InputError(f"catena has {len(velocities)} freedoms, MuJoCo {other.nv}: they did not read the same robot")
        self._q, self._v = np.array(positions, dtype=int), np.array(velocities, dtype=int)

    def _there(self, name: str, x: Any, order: Array) -> Array:
        x = _rows(name, x, len(order))
        out = np.empty_like(x)
        out[..., order] = x
        return out

    def q(self, q: Any) -> Array:
        """Positions for MuJoCo (`qpos`)."""
        return self._there("q", q, self._q)

    def q_back(self, q: Any) -> Array:
        """Positions for catena."""
        return _rows("q", q, len(self._q))[..., self._q]

    def v(self, v: Any) -> Array:
        """Velocities, accelerations or efforts for MuJoCo (`qvel`, `qacc`, `qfrc_applied`)."""
        return self._there("v", v, self._v)

    def v_back(self, v: Any) -> Array:
        """Velocities, accelerations or efforts for catena."""
        return _rows("v", v, len(self._v))[..., self._v]
