"""How fast is forward dynamics of closed chains?

catena's `ClosedChain::forward` (example `closed_speed`) beside Pinocchio's `constraintDynamics`, on the same mechanisms at the same
states: a ring of twelve revolute joints with one loop, and rows of four-bar linkages closed at points. The accelerations must agree
before anything is timed. Pinocchio is called through its Python module; what such a call costs by itself is measured and taken
off. Goals: as fast for one loop, five times as fast for a hundred. Writes
docs/peers/closed-chains.md, and ends with code 1 when a goal is missed.
"""

import json
import os
import re
import subprocess
import sys
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import report  # noqa: E402

report.need("numpy", "pinocchio")

import numpy as np  # noqa: E402
import pinocchio as pin  # noqa: E402

SAME = 1e-9  # relative difference of accelerations that is allowed
GOALS = {"ring": 1.0, "four-bar-100": 5.0}
ROUNDS, SECONDS = 20, 0.02


def shift(x, y, z):
    """A pose without rotation."""
    return pin.SE3(np.eye(3), np.array([x, y, z], dtype=float))


def ring():
    """catena's `chain-12`; the place where its tip is held is where the tip is."""
    model = pin.Model()
    body = pin.Inertia(1.0, np.array([0, 0, 0.1]), np.diag([0.01, 0.02, 0.015]))
    kinds = [pin.JointModelRZ, pin.JointModelRY, pin.JointModelRX]
    joint = 0
    for k in range(12):
        joint = model.addJoint(joint, kinds[k % 3](), shift(0, 0, 0.2 if k else 0), f"joint{k + 1}")
        model.appendBodyToJoint(joint, body, pin.SE3.Identity())
    return model, lambda data: [(joint, shift(0, 0, 0.2), 0, shift(*(data.oMi[joint] * shift(0, 0, 0.2)).translation))]


def four_bars(n):
    """catena's `four-bar-N`, closed at points."""
    model = pin.Model()
    model.gravity.linear = np.array([0, -9.81, 0])
    rod = pin.Inertia(1.0, np.array([0.5, 0, 0]), np.diag([0, 1 / 12, 1 / 12]))
    uprights, levels = [], []
    for k in range(n + 1):
        uprights.append(model.addJoint(0, pin.JointModelRZ(), shift(k, 0, 0), f"foot{k}"))
        model.appendBodyToJoint(uprights[-1], rod, pin.SE3.Identity())
        if k < n:
            levels.append(model.addJoint(uprights[-1], pin.JointModelRZ(), shift(1, 0, 0), f"top{k}"))
            model.appendBodyToJoint(levels[-1], rod, pin.SE3.Identity())
    end = shift(1, 0, 0)
    return model, lambda data: [(levels[k], end, uprights[k + 1], end) for k in range(n)]


def peer(name):
    """The mechanism of this name."""
    return ring() if name == "ring" else four_bars(int(name.rsplit("-", 1)[1]))


def best_of(call):
    """Seconds of one call, the best of several rounds."""
    calls, best = 1, np.inf
    for _ in range(ROUNDS):
        before = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, (time.perf_counter() - before) / calls)
        calls = max(1, int(SECONDS / best))
    return best


def measure(problem):
    """Pinocchio's accelerations and seconds of a problem."""
    model, closing = peer(problem["name"])
    data = model.createData()
    q, v = np.array(problem["q"]), np.array(problem["v"])
    pin.forwardKinematics(model, data, q, v)
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for one, one_from, two, two_from in closing(data):
        constraint = pin.RigidConstraintModel(
            pin.ContactType.CONTACT_3D, model, one, one_from, two, two_from, pin.ReferenceFrame.LOCAL
        )
        models.append(constraint)
        datas.append(constraint.createData())
    pin.initConstraintDynamics(model, data, models, datas)
    tau = np.zeros(model.nv)
    settings = pin.ProximalSettings(1e-12, 1e-8, 20)
    a = pin.constraintDynamics(model, data, q, v, tau, models, datas, settings).copy()
    seconds = best_of(lambda: pin.constraintDynamics(model, data, q, v, tau, models, datas, settings))
    return a, seconds


def call_alone():
    """What a call through Python costs by itself: forward dynamics of one pendulum, which is next to nothing."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelRZ(), pin.SE3.Identity(), "joint")
    model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Identity())
    data = model.createData()
    x = np.zeros(1)
    return best_of(lambda: pin.aba(model, data, x, x, x))


class Ours:
    """What the page calls catena."""

    @staticmethod
    def version():
        text = (report.ROOT / "Cargo.toml").read_text(encoding="utf-8")
        return "catena " + re.search(r'^version = "(.*)"', text, re.MULTILINE).group(1)


TEXT = """# Closed chains compared with Pinocchio

Forward dynamics of closed chains, one state at a time: `ClosedChain::forward` here, `constraintDynamics` there (proximal settings of its
own, called through Python, of which the {alone:.2f} µs of an empty call are subtracted). *ring*: twelve revolute joints, the tip held at a point of
the ground; *four-bar-N*: N rhombuses in a row, neighbours sharing an upright, closed at points. *ratio*: how many times as fast catena is. *difference*: relative difference
of the accelerations. Goals: Pinocchio's speed for the ring, five times its speed for a hundred loops. Missed: {missed}.

{origin}

{table}"""


def main():
    """Runs both and compares."""
    command = ["cargo", "run", "--release", "--quiet", "--package", "catena", "--example", "closed_speed"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True, cwd=report.ROOT).stdout.splitlines()
    alone = call_alone()
    rows, missed = [], []
    for problem in map(json.loads, lines):
        name = problem["name"]
        a, seconds = measure(problem)
        ours = np.array(problem["a"])
        difference = np.max(np.abs(a - ours)) / max(1.0, np.max(np.abs(ours)))
        if not difference < SAME:
            return report.fail(f"{name}: accelerations differ by {difference:.1e}, relative")
        ratio = (seconds - alone) / problem["seconds"]
        rows.append([name, f"{1e6 * problem['seconds']:.2f}", f"{1e6 * (seconds - alone):.2f}", f"{ratio:.1f}", report.rough(difference)])
        if ratio < GOALS.get(name, 0.0):
            missed.append(f"{name}: {ratio:.2f} times as fast, the goal is {GOALS[name]}")
    head = ["mechanism", "catena µs", "Pinocchio µs", "ratio", "difference"]
    print(report.plain(head, rows))
    print(f"a call through Python alone, taken off: {1e6 * alone:.2f} µs")
    for goal in missed:
        print(f"missed: {goal}")
    page = report.DOCS / "closed-chains.md"
    page.write_text(TEXT.format(origin=report.origin("peers/run.sh closed-chains", Ours, "pin", "numpy"), alone=1e6 * alone,
                                table=report.markdown(head, rows), missed=", ".join(missed) or "nothing"), encoding="utf-8")  # fmt: skip
    print(f"wrote {page.relative_to(report.ROOT)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
