"""The models of the speed comparison, in forms every engine reads.

A tree file holds one body per line, parents first, lines with # are comments:

    NAME KIND PARENT  R (9, by rows)  t (3)  axis (3)  mass  centre (3)  Ixx Iyy Izz Ixy Ixz Iyz

KIND is revolute, prismatic, spherical or free; PARENT counts lines from 1, 0 is the ground. R and t place the joint frame in the
parent's; axis, mass centre and inertia (about the mass centre) are in the body's own frame, which is the joint frame after the
joint's motion. catena and Pinocchio read these files; MuJoCo gets a compiled model made from the same numbers.
"""

from dataclasses import dataclass, field
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin

GRAVITY = np.array([0.0, 0.0, -9.81])
UNUSED = [  # parts of MuJoCo that take no part in smooth dynamics
    "CONSTRAINT", "EQUALITY", "FRICTIONLOSS", "LIMIT", "CONTACT", "SPRING", "DAMPER", "ACTUATION", "SENSOR", "AUTORESET",
]  # fmt: skip
KINDS = {
    "JointModelFreeFlyer": "free",
    "JointModelSpherical": "spherical",
    "JointModelRX": "revolute",
    "JointModelRY": "revolute",
    "JointModelRZ": "revolute",
    "JointModelRevoluteUnaligned": "revolute",
    "JointModelPX": "prismatic",
    "JointModelPY": "prismatic",
    "JointModelPZ": "prismatic",
    "JointModelPrismaticUnaligned": "prismatic",
}
LENGTHS = (6, 7, 12, 24, 50, 100, 300, 1000)  # of chains, on the ground and on a free base
SIZES = {"free": (7, 6), "spherical": (4, 3)}  # positions and velocities; the others have one of each


class Unfit(Exception):
    """A model that cannot take part."""


@dataclass(frozen=True)
class Body:
    """One line of a tree file."""

    name: str
    kind: str
    parent: int
    place: pin.SE3
    axis: np.ndarray
    inertia: pin.Inertia


@dataclass(frozen=True)
class Entry:
    """A model of the comparison: its name, how the page calls it, which targets it is held to."""

    name: str
    title: str
    group: str  # "arm": chains and arms on the ground; "legs": robots on a free base; "": no target
    bodies: list = field(repr=False)

    @property
    def nq(self):
        return sum(SIZES.get(body.kind, (1, 1))[0] for body in self.bodies)

    @property
    def nv(self):
        return sum(SIZES.get(body.kind, (1, 1))[1] for body in self.bodies)


AXES = np.eye(3)[[2, 1, 0]]


def chain(n, kind="revolute", floating=False):
    """catena's embedded chains: rods of 0.2 m along z, axes z, y, x in turn."""
    link = pin.Inertia(1.0, np.array([0, 0, 0.1]), np.diag([0.01, 0.02, 0.015]))
    step = pin.SE3(np.eye(3), np.array([0, 0, 0.2]))
    bodies = [Body("base", "free", 0, pin.SE3.Identity(), AXES[0], link)] if floating else []
    for k in range(n):
        place = step if bodies else pin.SE3.Identity()
        bodies.append(Body(f"link{k + 1}", kind, len(bodies), place, AXES[k % 3], link))
    return bodies


def robot(urdf, free=False, locked=()):
    """A robot of example-robot-data as Pinocchio reads it: links on fixed and locked joints are merged into their parents."""
    path = Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots" / urdf
    model = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if free else []))
    if locked:
        model = pin.buildReducedModel(model, [model.getJointId(name) for name in locked], pin.neutral(model))
    bodies = []
    for k in range(1, model.njoints):
        joint = model.joints[k]
        kind = KINDS.get(joint.shortname())
        if kind is None or model.armature[joint.idx_v] != 0:
            raise Unfit(f"{urdf}: joint `{model.names[k]}` ({joint.shortname()}) has no place in a tree file")
        name = joint.shortname()
        axis = np.eye(3)["XYZ".index(name[-1])] if name[-1] in "XYZ" else np.array([0.0, 0.0, 1.0])
        if name.endswith("Unaligned"):
            axis = joint.extract().axis
        bodies.append(Body(model.names[k], kind, int(model.parents[k]), model.jointPlacements[k], axis, model.inertias[k]))
    return bodies


def entries():
    """All models, small before large."""
    fingers = ["panda_finger_joint1", "panda_finger_joint2"]
    arms = [Entry(f"chain-{n}", f"chain, {n} revolute joints", "arm", chain(n)) for n in LENGTHS]
    arms.append(Entry("panda", "Panda, fingers locked", "arm", robot("panda_description/urdf/panda.urdf", locked=fingers)))
    arms.append(Entry("ur5", "UR5", "arm", robot("ur_description/urdf/ur5_robot.urdf")))
    legs = [
        Entry("anymal", "ANYmal B, free", "legs", robot("anymal_b_simple_description/robots/anymal.urdf", True)),
        Entry("hyq", "HyQ, free", "legs", robot("hyq_description/robots/hyq_no_sensors.urdf", True)),
        Entry("g1", "G1, free", "legs", robot("g1_description/urdf/g1_29dof_rev_1_0.urdf", True)),
        Entry("talos", "Talos, reduced, free", "legs", robot("talos_data/robots/talos_reduced.urdf", True)),
    ]
    floating = [Entry(f"floating-chain-{n}", f"free base and {n} joints", "", chain(n, floating=True)) for n in LENGTHS]
    balls = [Entry(f"spherical-chain-{n}", f"chain, {n} spherical joints", "", chain(n, "spherical")) for n in (10, 20)]
    return arms + legs + floating + balls


def numbers(values):
    return " ".join(repr(float(x)) for x in np.asarray(values).ravel())


def write_tree(entry, path):
    lines = [f"# {entry.name}: {entry.nv} freedoms"]
    for body in entry.bodies:
        tensor = body.inertia.inertia
        six = [tensor[0, 0], tensor[1, 1], tensor[2, 2], tensor[0, 1], tensor[0, 2], tensor[1, 2]]
        parts = [body.place.rotation, body.place.translation, body.axis, body.inertia.mass, body.inertia.lever, six]
        lines.append(" ".join([body.name, body.kind, str(body.parent), *map(numbers, parts)]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def pinocchio_model(entry):
    """The model in Python, for conversions of coordinates; its Data would be too large for long chains and is never made."""
    model = pin.Model()
    for body in entry.bodies:
        if body.kind == "free":
            joint = pin.JointModelFreeFlyer()
        elif body.kind == "spherical":
            joint = pin.JointModelSpherical()
        elif body.kind == "prismatic":
            joint = pin.JointModelPrismaticUnaligned(body.axis)
        else:
            joint = pin.JointModelRevoluteUnaligned(body.axis)
        model.addJoint(body.parent, joint, body.place, body.name)
    return model


def write_mujoco(entry, path):
    """Compiles the tree for MuJoCo. Its coordinates are catena's, if the bodies come in the same order."""
    spec = mujoco.MjSpec()
    spec.option.gravity = GRAVITY
    for part in UNUSED:
        spec.option.disableflags |= getattr(mujoco.mjtDisableBit, f"mjDSBL_{part}")
    spec.compiler.balanceinertia = False
    kinds = {
        "free": mujoco.mjtJoint.mjJNT_FREE,
        "spherical": mujoco.mjtJoint.mjJNT_BALL,
        "revolute": mujoco.mjtJoint.mjJNT_HINGE,
        "prismatic": mujoco.mjtJoint.mjJNT_SLIDE,
    }
    placed = [spec.worldbody]
    for body in entry.bodies:
        place = pin.SE3ToXYZQUAT(body.place)
        values, axes = np.linalg.eigh(body.inertia.inertia)
        axes[:, 2] *= np.linalg.det(axes)
        turn = pin.Quaternion(axes)
        added = placed[body.parent].add_body(
            name=body.name,
            pos=place[:3],
            quat=np.roll(place[3:], 1),
            mass=body.inertia.mass,
            ipos=body.inertia.lever,
            iquat=[turn.w, turn.x, turn.y, turn.z],
            inertia=values,
            explicitinertial=True,
        )
        added.add_joint(name=f"{body.name}-joint", type=kinds[body.kind], axis=body.axis)
        placed.append(added)
    model = spec.compile()
    order = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, k) for k in range(1, model.nbody)]
    mujoco.mj_saveModel(model, str(path), None)
    return order


def neutral_states(entry):
    """One state, everything zero but the real parts of quaternions."""
    q = [x for body in entry.bodies for x in {"free": [0, 0, 0, 1, 0, 0, 0], "spherical": [1, 0, 0, 0]}.get(body.kind, [0])]
    rest = np.zeros((1, entry.nv))
    return np.array([q]), rest, rest, rest


def random_states(entry, coordinates, count, seed):
    """Positions (angles within ±π, orientations uniform); velocities, accelerations and efforts within ±1. Such efforts let long
    chains fall; efforts that hold them would make the accelerations a small difference of large numbers, in every engine."""
    rng = np.random.default_rng(seed)
    q = np.array([coordinates.random_positions(rng) for _ in range(count)])
    return q, *rng.uniform(-1, 1, (3, count, entry.nv))


def write_states(path, q, v, vdot, tau):
    """The format is told in peers/speed/engine.h."""
    with open(path, "wb") as file:
        np.array([len(q), q.shape[1], v.shape[1]], dtype="<i8").tofile(file)
        for part in (q, v, vdot, tau):
            np.ascontiguousarray(part, dtype="<f8").tofile(file)
