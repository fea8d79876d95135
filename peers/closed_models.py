"""The closed chains of the comparison: trees with loops, in the form Pinocchio's program reads (speed_models.py), and two more kinds of lines:

    gravity X Y Z
    loop KIND BODY R (9, by rows) t (3) BODY R (9) t (3)

KIND is point or frame; R and t place the frames that coincide on the two bodies, body 0 being the ground. A universal joint turns about
x, then y. catena has the same mechanisms by name (bench `closed`): that they are the same shows when results are compared.
"""

from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin

import speed_models
from speed_models import Body

DOWN, ALONG = np.array([0.0, 0.0, -9.81]), np.array([0.0, -9.81, 0.0])
TIP = np.array([0, 0, 0.2])


def shift(*place):
    """A pose without rotation."""
    return pin.SE3(np.eye(3), np.array(place, dtype=float))


@dataclass(frozen=True)
class Loop:
    """Two frames that coincide, or their origins."""

    kind: str
    one: int
    on_one: pin.SE3
    two: int
    on_two: pin.SE3


@dataclass(frozen=True)
class Mechanism:
    """A closed chain: its name, what the page says about it, the tree, its loops, and springs by body (stiffness, rest)."""

    name: str
    title: str
    bodies: list = field(repr=False)
    loops: list = field(repr=False)
    gravity: np.ndarray = field(default_factory=lambda: DOWN)
    springs: dict = field(default_factory=dict)

    def efforts(self, joints, q, tau):
        """Efforts with those of the springs, for an engine that has none."""
        tau = tau.copy()
        for joint in joints:
            if joint.name in self.springs:
                stiffness, rest = self.springs[joint.name]
                tau[:, joint.v] -= stiffness * (q[:, joint.q] - rest)
        return tau


def python_model(bodies):
    """The tree in Python, for kinematics and coordinates."""
    model = pin.Model()
    for body in bodies:
        if body.kind == "free":
            joint = pin.JointModelFreeFlyer()
        elif body.kind == "universal":
            joint = pin.JointModelUniversal(body.axis, np.array([0.0, 1.0, 0.0]))
        elif body.kind == "prismatic":
            joint = pin.JointModelPrismaticUnaligned(body.axis)
        else:
            joint = pin.JointModelRevoluteUnaligned(body.axis)
        model.addJoint(body.parent, joint, body.place, body.name)
    return model


def held_chain(name, title, n, kind):
    """A chain whose tip is held where it is at a first state."""
    bodies = speed_models.chain(n)
    model = python_model(bodies)
    data = model.createData()
    pin.forwardKinematics(model, data, np.array([0.3 + 0.2 * np.sin(k) for k in range(n)]))
    tip = data.oMi[n] * shift(*TIP)
    ground = tip if kind == "frame" else shift(*tip.translation)
    return Mechanism(name, title, bodies, [Loop(kind, n, shift(*TIP), 0, ground)])


def four_bars(n):
    """Rhombuses in a row, neighbours sharing an upright, closed at points."""
    rod = pin.Inertia(1.0, np.array([0.5, 0, 0]), np.diag([0, 1 / 12, 1 / 12]))
    bodies, uprights, levels = [], [], []

    def add(name, parent, place):
        bodies.append(Body(name, "revolute", parent, place, np.array([0.0, 0.0, 1.0]), rod))
        return len(bodies)

    for k in range(n + 1):
        uprights.append(add(f"upright{k}", 0, shift(k, 0, 0)))
        if k < n:
            levels.append(add(f"level{k}", uprights[-1], shift(1, 0, 0)))
    end = shift(1, 0, 0)
    loops = [Loop("point", levels[k], end, uprights[k + 1], end) for k in range(n)]
    title = f"{n} rhombus{'' if n == 1 else 'es'} in a row, closed at points: {3 * n} rows, {n} of them dependent"
    return Mechanism(f"four-bar-{n}", title, bodies, loops, ALONG)


def stewart():
    """A plate on six legs: universal joints on the ground, springs in the legs, points on the plate."""
    plate = pin.Inertia(20.0, np.zeros(3), np.diag([1.8, 1.8, 3.6]))
    cylinder = pin.Inertia(4.0, np.array([0, 0, 0.3]), np.diag([0.12, 0.12, 0.004]))
    rod = pin.Inertia(2.0, np.array([0, 0, -0.3]), np.diag([0.06, 0.06, 0.001]))
    x, z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
    bodies, loops = [Body("plate", "free", 0, pin.SE3.Identity(), z, plate)], []

    def on(radius, degrees):
        return shift(radius * np.cos(np.radians(degrees)), radius * np.sin(np.radians(degrees)), 0)

    for k in range(6):
        third = 120.0 * (k // 2)
        foot, top = (third + 10, third + 50) if k % 2 == 0 else (third + 110, third + 70)
        bodies.append(Body(f"cylinder{k}", "universal", 0, on(1.0, foot), x, cylinder))
        bodies.append(Body(f"rod{k}", "prismatic", len(bodies), pin.SE3.Identity(), z, rod))
        loops.append(Loop("point", len(bodies), pin.SE3.Identity(), 1, on(0.6, top)))
    springs = {f"rod{k}": (4000.0, 1.12) for k in range(6)}
    return Mechanism("stewart", "a plate on six legs: 24 freedoms of the tree, 18 rows", bodies, loops, springs=springs)


def mechanisms():
    """All of them, small before large."""
    return [
        held_chain("loop-7", "7 revolute joints, the tip held in all six directions", 7, "frame"),
        held_chain("loop-100", "100 revolute joints, the tip held in all six directions", 100, "frame"),
        held_chain("ring", "12 revolute joints, the tip held at a point: 3 rows", 12, "point"),
        *map(four_bars, (1, 10, 100)),
        stewart(),
    ]


def write_tree(mechanism, path):
    """The tree file with its loops."""
    entry = speed_models.Entry(mechanism.name, mechanism.title, "", mechanism.bodies)
    speed_models.write_tree(entry, path)
    numbers = speed_models.numbers
    lines = ["gravity " + numbers(mechanism.gravity)]
    for loop in mechanism.loops:
        sides = [(loop.one, loop.on_one), (loop.two, loop.on_two)]
        told = [f"{body} {numbers(pose.rotation)} {numbers(pose.translation)}" for body, pose in sides]
        lines.append(" ".join(["loop", loop.kind, *told]))
    with path.open("a", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
