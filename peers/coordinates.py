"""The same motion in catena's coordinates and in Pinocchio's.

                      catena                                   Pinocchio
revolute, prismatic   position                                 the same
universal             two angles                               the same
continuous            angle                                    (cos, sin)
spherical             quaternion (w, x, y, z), ω child axes    quaternion (x, y, z, w), ω child axes
free                  x, y, z, quaternion (w, x, y, z);        x, y, z, quaternion (x, y, z, w);
                      velocity of the origin in world axes,    velocity of the origin in body axes,
                      ω in body axes                           ω in body axes

Velocities are related by v_pin = T(q) v_cat, with T a permutation except for the free joint, where velocities of the origin
turn with R(q). Everything else follows: accelerations v̇_pin = T v̇_cat + Ṫ v_cat, forces τ_cat = Tᵀ τ_pin.
"""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

SCALAR_KINDS = ("revolute", "continuous", "prismatic")
POSITIONS = {"spherical": 4, "free": 7, "universal": 2}  # the others have one
FREEDOMS = {"spherical": 3, "free": 6, "universal": 2}


class Mismatch(Exception):
    """The two engines did not read the same mechanism."""


@dataclass(frozen=True)
class Pair:
    """One joint: its kind, and where its coordinates start in each engine."""

    kind: str
    cat_q: int
    cat_v: int
    pin_q: int
    pin_v: int
    pin_nq: int


def rotation(quaternion):
    """Rotation matrix of a unit quaternion (w, x, y, z)."""
    w, x, y, z = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def skew(a):
    """The matrix of a ×."""
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


class Coordinates:
    """Conversions between the coordinates of one mechanism, joints matched by name (the free base by its kind)."""

    def __init__(self, joints, model):
        self.nq = sum(POSITIONS.get(joint.kind, 1) for joint in joints)
        self.model = model
        self.pairs = [self._pair(joint) for joint in joints]
        if len(self.pairs) != model.njoints - 1:
            raise Mismatch(f"catena has {len(self.pairs)} moving joints, Pinocchio {model.njoints - 1}")

    def _pair(self, joint):
        if joint.kind not in (*SCALAR_KINDS, *FREEDOMS):
            raise Mismatch(f"joint `{joint.name}`: no conversion for kind {joint.kind}")
        name = joint.name
        if not self.model.existJointName(name) and joint.kind == "free":
            name = "root_joint"
        if not self.model.existJointName(name):
            raise Mismatch(f"Pinocchio has no joint `{name}`")
        other = self.model.joints[self.model.getJointId(name)]
        if other.nv != FREEDOMS.get(joint.kind, 1):
            raise Mismatch(f"joint `{name}` has {other.nv} freedoms in Pinocchio, but is {joint.kind} in catena")
        return Pair(joint.kind, joint.q, joint.v, other.idx_q, other.idx_v, other.nq)

    def random_positions(self, rng):
        """Angles within ±π, lengths within ±0.5 m, orientations uniform. Limits are not obeyed: dynamics has none."""
        q = np.empty(self.nq)
        for pair in self.pairs:
            if pair.kind in SCALAR_KINDS:
                reach = 0.5 if pair.kind == "prismatic" else np.pi
                q[pair.cat_q] = rng.uniform(-reach, reach)
                continue
            start = pair.cat_q
            if pair.kind == "universal":
                q[start : start + 2] = rng.uniform(-np.pi, np.pi, 2)
                continue
            if pair.kind == "free":
                q[start : start + 3] = rng.uniform(-1, 1, 3)
                start += 3
            quaternion = rng.normal(size=4)
            q[start : start + 4] = quaternion / np.linalg.norm(quaternion)
        return q

    def positions(self, q):
        """Positions for Pinocchio."""
        out = np.empty(self.model.nq)
        for pair in self.pairs:
            here, there = pair.cat_q, pair.pin_q
            if pair.kind == "free":
                out[there : there + 3] = q[here : here + 3]
                here, there = here + 3, there + 3
            if pair.kind in ("free", "spherical"):
                out[there : there + 4] = np.roll(q[here : here + 4], -1)
            elif pair.kind == "universal":
                out[there : there + 2] = q[here : here + 2]
            elif pair.pin_nq == 2:
                out[there : there + 2] = np.cos(q[here]), np.sin(q[here])
            else:
                out[there] = q[here]
        return out

    def transform(self, q):
        """T(q), with v_pin = T v_cat."""
        matrix = np.zeros((self.model.nv, self.model.nv))
        for pair in self.pairs:
            here, there = pair.cat_v, pair.pin_v
            if pair.kind == "free":
                matrix[there : there + 3, here : here + 3] = self._free_rotation(pair, q).T
                here, there = here + 3, there + 3
            size = 3 if pair.kind == "free" else FREEDOMS.get(pair.kind, 1)
            matrix[there : there + size, here : here + size] = np.eye(size)
        return matrix

    def transform_rate_times_velocity(self, q, v):
        """Ṫ v: for the free joint d/dt (Rᵀ) ẋ = −ω × (Rᵀ ẋ), body axes."""
        out = np.zeros(self.model.nv)
        for pair in self.pairs:
            if pair.kind == "free":
                velocity, omega = v[pair.cat_v : pair.cat_v + 3], v[pair.cat_v + 3 : pair.cat_v + 6]
                turned = self._free_rotation(pair, q).T @ velocity
                out[pair.pin_v : pair.pin_v + 3] = -skew(omega) @ turned
        return out

    @staticmethod
    def _free_rotation(pair, q):
        return rotation(q[pair.cat_q + 3 : pair.cat_q + 7])


def pinocchio_quantities(model, data, coordinates, state, frames):
    """What Pinocchio computes at a state, expressed in catena's coordinates."""
    q_cat, v_cat, vdot_cat, tau_cat = (np.asarray(state[key]) for key in ("q", "v", "a", "tau"))
    q = coordinates.positions(q_cat)
    transform = coordinates.transform(q_cat)
    drift = coordinates.transform_rate_times_velocity(q_cat, v_cat)
    v, vdot = transform @ v_cat, transform @ vdot_cat + drift
    tau = np.linalg.solve(transform.T, tau_cat)

    inverse = pin.rnea(model, data, q, v, vdot).copy()
    gravity = pin.computeGeneralizedGravity(model, data, q).copy()
    coriolis = pin.computeCoriolisMatrix(model, data, q, v) @ v
    forward = pin.aba(model, data, q, v, tau).copy()
    inertia = np.triu(pin.crba(model, data, q))
    inertia += np.triu(inertia, 1).T
    return frame_quantities(model, data, (q, v, drift), transform, frames) | {
        "inverse": transform.T @ inverse,
        "inertia": transform.T @ inertia @ transform,
        "C·v": transform.T @ (coriolis + inertia @ drift),
        "gravity": transform.T @ gravity,
        "forward": np.linalg.solve(transform, forward - drift),
        "kinetic": np.array([pin.computeKineticEnergy(model, data, q, v)]),
        "potential": np.array([pin.computePotentialEnergy(model, data, q)]),
        "centre": pin.centerOfMass(model, data, q).copy(),
    }


def frame_quantities(model, data, motion, transform, frames):
    """Placements, velocities, Jacobians and J̇v of frames: world axes, at the frame's origin, angular part first.

    J̇v is the acceleration at v̇_cat = 0, so the accelerations of `motion` are Ṫ v.
    """
    q = motion[0]
    pin.forwardKinematics(model, data, *motion)
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    angular_first = [3, 4, 5, 0, 1, 2]
    out = {"positions": [], "rotations": [], "velocities": [], "Jacobians": [], "J̇v": []}
    for name in frames:
        frame = model.getFrameId(name, pin.FrameType.BODY)
        placement = data.oMf[frame]
        out["positions"].append(placement.translation.copy())
        out["rotations"].append(placement.rotation.copy())
        out["velocities"].append(pin.getFrameVelocity(model, data, frame, axes).vector[angular_first])
        out["Jacobians"].append(pin.getFrameJacobian(model, data, frame, axes)[angular_first] @ transform)
        out["J̇v"].append(pin.getFrameClassicalAcceleration(model, data, frame, axes).vector[angular_first])
    return {name: np.array(values) for name, values in out.items()}
