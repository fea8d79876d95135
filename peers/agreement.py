"""Does catena agree with Pinocchio on real robots?

Every robot is read from the same URDF file by both engines, put into the same random states, and every quantity compared.
Prints the worst relative difference per robot and quantity, writes docs/peers/agreement.md, and ends with code 1 when one
exceeds the tolerance.
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path

import report

report.need("numpy", "pinocchio")

import numpy as np  # noqa: E402
import pinocchio as pin  # noqa: E402

from coordinates import Coordinates, Mismatch, pinocchio_quantities, rotation  # noqa: E402
from program import Program, Refused  # noqa: E402
from speed_results import Point, from_pinocchio, residual, to_pinocchio  # noqa: E402

TOLERANCE = 1e-9
NOTHING = 1e-3  # what vanishes but for round-off of terms of size 1 is compared with this
STATES = 10
SEED = 20


@dataclass(frozen=True)
class Robot:
    """A robot of example-robot-data and the bases to give it."""

    name: str
    urdf: str
    bases: tuple[str, ...] = ("fixed",)
    # Part of the message with which catena may reject the file: what it describes cannot exist.
    impossible: str | None = None


BOTH = ("fixed", "free")
ROBOTS = [
    Robot("Panda", "panda_description/urdf/panda.urdf"),
    Robot("UR5", "ur_description/urdf/ur5_robot.urdf"),
    Robot("Kinova", "kinova_description/robots/kinova.urdf"),
    Robot("xArm 7", "xarm_description/urdf/xarm7.urdf"),
    Robot("Z1", "z1_description/urdf/z1.urdf"),
    Robot("SO-101", "so_arm_description/urdf/so101.urdf"),
    Robot("Allegro hand", "allegro_hand_description/urdf/allegro_right_hand.urdf"),
    Robot("Baxter", "baxter_description/urdf/baxter.urdf"),
    Robot("TIAGo", "tiago_description/robots/tiago.urdf", impossible="is not positive"),
    Robot("PR2", "pr2_description/urdf/pr2.urdf", BOTH),
    Robot("Talos, reduced", "talos_data/robots/talos_reduced.urdf", BOTH),
    Robot("Talos, full", "talos_data/robots/talos_full_v2.urdf", BOTH),
    Robot("G1", "g1_description/urdf/g1_29dof_rev_1_0.urdf", BOTH),
    Robot("G1 with hands", "g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf", BOTH),
    Robot("Romeo", "romeo_description/urdf/romeo_small.urdf", BOTH),
    Robot("iCub", "icub_description/robots/icub.urdf", BOTH, impossible="is not positive"),
    Robot("Human", "human_description/robots/human.urdf", BOTH),
    Robot("Simple humanoid", "simple_humanoid_description/urdf/simple_humanoid.urdf", BOTH),
    Robot("Bolt", "bolt_description/robots/bolt.urdf", BOTH, impossible="but no mass"),
    Robot("Solo 12", "solo_description/robots/solo12.urdf", BOTH),
    Robot("ANYmal B", "anymal_b_simple_description/robots/anymal.urdf", BOTH),
    Robot("ANYmal C", "anymal_c_simple_description/urdf/anymal.urdf", BOTH),
    Robot("HyQ", "hyq_description/robots/hyq_no_sensors.urdf", BOTH),
    Robot("Go2", "go2_description/urdf/go2.urdf", BOTH),
    Robot("B1 with Z1 arm", "b1_description/urdf/b1-z1.urdf", BOTH),
    Robot("Centauro", "centauro_description/urdf/centauro.urdf", BOTH),
    Robot("Iris", "iris_description/robots/iris.urdf", ("free",)),
]


@dataclass
class Comparison:
    """One robot on one base: how large it is and the worst relative difference per quantity."""

    robot: str
    base: str
    freedoms: int
    frames: int
    worst: dict[str, float]

    def exceeding(self):
        """Quantities beyond the tolerance; written so that NaN is among them."""
        return [name for name, value in self.worst.items() if not value <= TOLERANCE]


@dataclass
class Survey:
    """What the script found, all robots together."""

    comparisons: list[Comparison] = field(default_factory=list)
    open: dict[str, str] = field(default_factory=dict)  # by robot: which couplings were left open
    unphysical: dict[str, str] = field(default_factory=dict)  # by robot: the first warning about its inertias
    refused: dict[str, str] = field(default_factory=dict)  # by robot: why catena does not take it
    failures: list[str] = field(default_factory=list)


def robots_folder():
    """Where the wheel of example-robot-data keeps its files."""
    folder = Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots"
    if not folder.is_dir():
        raise Refused("error: example-robot-data is not installed\nhint: run peers/setup.sh first")
    return folder


def reason(refusal):
    """The first line of catena's message, after warnings and notes."""
    lines = str(refusal).splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    return (errors or lines)[0].removeprefix("error: ")


def read_by_catena(program, path, base, more):
    """The joints, the flags catena was given, and why the file is unphysical if it is."""
    flags = ["--no-passive", *more] + (["--free-base"] if base == "free" else [])
    try:
        program.joints(path, "--strict", *flags)
        return program.joints(path, *flags), flags, None
    except Refused as refusal:
        return program.joints(path, *flags), flags, reason(refusal)


def read_by_pinocchio(path, base):
    if base == "free":
        return pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    return pin.buildModelFromUrdf(str(path))


def random_states(coordinates, model, data, rng):
    """Random positions; velocities and accelerations within ±1; torques that hold the robot, plus random ones in proportion to
    the inertia each joint sees, so that light fingers are not flung about."""
    states = []
    for _ in range(STATES):
        q = coordinates.random_positions(rng)
        v, a, push = rng.uniform(-1, 1, (3, model.nv))
        there = coordinates.positions(q)
        gravity = pin.computeGeneralizedGravity(model, data, there)
        inertia = np.diag(pin.crba(model, data, there))
        tau = coordinates.transform(q).T @ (gravity + inertia * push)
        states.append({"q": q.tolist(), "v": v.tolist(), "a": a.tolist(), "tau": tau.tolist()})
    return states


def catena_quantities(answer, frames):
    """One answer of `catena evaluate`, arranged as `pinocchio_quantities` does."""
    own = {frame["name"]: frame for frame in answer["frames"]}

    def motion(key):
        return np.array([own[name][key]["angular"] + own[name][key]["linear"] for name in frames])

    return {
        "positions": np.array([own[name]["position"] for name in frames]),
        "rotations": np.array([rotation(own[name]["quaternion"]) for name in frames]),
        "velocities": motion("velocity"),
        "Jacobians": np.array([own[name]["jacobian"] for name in frames]),
        "J̇v": motion("acceleration_bias"),
        "inverse": np.array(answer["inverse_tau"]),
        "inertia": np.array(answer["inertia"]),
        "C·v": np.array(answer["coriolis_v"]),
        "gravity": np.array(answer["gravity"]),
        "forward": np.array(answer["forward_a"]),
        "kinetic": np.array([answer["kinetic_energy"]]),
        "potential": np.array([answer["potential_energy"]]),
        "centre": np.array(answer["centre_of_mass"]),
    }


# What solves equations with the inertia matrix is judged by these: how ill conditioned the matrix is plays no part.
SOLUTIONS = ("∂v̇/∂q", "∂v̇/∂v", "I⁻¹")


def catena_derivatives(of_efforts, of_accelerations):
    """One answer each of `catena derivatives` and `catena derivatives --forward`."""
    keys = {"∂τ/∂q": (of_efforts, "tau_q"), "∂τ/∂v": (of_efforts, "tau_v"), "∂v̇/∂q": (of_accelerations, "a_q"),
            "∂v̇/∂v": (of_accelerations, "a_v"), "I⁻¹": (of_accelerations, "a_tau")}  # fmt: skip
    return {name: np.array(answer[key]) for name, (answer, key) in keys.items()}


def pinocchio_derivatives(model, data, coordinates, state, others):
    """∂τ by `computeRNEADerivatives` in catena's coordinates; and for ∂v̇ the right-hand sides of the equations I ∂v̇ = −∂τ that it has
    to solve, with ∂τ at the accelerations that the efforts produce."""

    def slopes(vdot, tau):
        point = Point(*(np.array(state[key]) for key in ("q", "v")), vdot, tau)
        q, v, vdot, _ = to_pinocchio(coordinates, point)
        dq, dv, inertia = (np.array(part) for part in pin.computeRNEADerivatives(model, data, q, v, vdot))
        inertia = np.triu(inertia) + np.triu(inertia, 1).T  # one triangle is filled
        return from_pinocchio("inverse-derivatives", [dq, dv, inertia], coordinates, point, {"inverse": [tau]})[:2]

    dq, dv = slopes(np.array(state["a"]), others["inverse"])
    by_q, by_v = slopes(others["forward"], np.array(state["tau"]))
    return {"∂τ/∂q": dq, "∂τ/∂v": dv, "∂v̇/∂q": -by_q, "∂v̇/∂v": -by_v, "I⁻¹": np.eye(model.nv)}


def weights(name, inertia):
    """What makes the entries of a quantity comparable: with torso and finger joints side by side, efforts are divided and
    accelerations multiplied by the square root of the inertia that the joint sees."""
    root = np.sqrt(np.diag(inertia))
    return {
        "inverse": 1 / root,
        "C·v": 1 / root,
        "gravity": 1 / root,
        "forward": root,
        "inertia": np.outer(1 / root, 1 / root),
        "∂τ/∂q": 1 / root[:, None],
        "∂τ/∂v": 1 / root[:, None],
    }.get(name, 1.0)


def relative_difference(ours, theirs, weight):
    """Largest difference of an entry over the largest entry."""
    if ours.shape != theirs.shape:
        raise Mismatch(f"shapes {ours.shape} and {theirs.shape}")
    scale, difference = np.abs(theirs * weight).max(), np.abs((ours - theirs) * weight).max()
    return float(difference / max(scale, NOTHING))  # NaN stays


def solution_difference(inertia, solution, right):
    """What the equations I x = b leave, over the size of their terms."""
    nothing = NOTHING * np.abs(inertia).max()
    if np.abs(right).max() < nothing:
        return float(np.abs(inertia @ solution - right).max() / nothing)
    return residual(inertia, [solution], [right])


def compare(program, robot, base, path, survey, more=()):
    """Both engines at the same states; `more` are further options for catena."""
    model = read_by_pinocchio(path, base)
    data = model.createData()
    joints, flags, unphysical = read_by_catena(program, path, base, more)
    if unphysical:
        survey.unphysical[robot.name] = unphysical
    coordinates = Coordinates(joints, model)
    states = random_states(coordinates, model, data, np.random.default_rng(SEED))
    frames = [f.name for f in model.frames if f.type == pin.FrameType.BODY and f.name != "universe"]
    answers = program.evaluate(path, states, *flags, "--frames", ",".join(frames))
    slopes = [program.derivatives(path, states, *flags, *more) for more in ([], ["--forward"])]
    worst = {}
    for state, answer, of_efforts, of_accelerations in zip(states, answers, *slopes, strict=True):
        theirs = pinocchio_quantities(model, data, coordinates, state, frames)
        theirs |= pinocchio_derivatives(model, data, coordinates, state, theirs)
        ours = catena_quantities(answer, frames) | catena_derivatives(of_efforts, of_accelerations)
        for name, value in ours.items():
            if name in SOLUTIONS:
                difference = solution_difference(theirs["inertia"], value, theirs[name])
            else:
                difference = relative_difference(value, theirs[name], weights(name, theirs["inertia"]))
            worst[name] = float(np.maximum(difference, worst.get(name, 0.0)))  # NaN stays
    survey.comparisons.append(Comparison(robot.name, base, model.nv, len(frames), worst))


def survey_robot(program, robot, folder, survey):
    path = folder / robot.urdf
    mimics = path.read_text(encoding="utf-8", errors="ignore").count("<mimic")
    if mimics:
        survey.open[robot.name] = f"{mimics} `<mimic>`"
    for base in robot.bases:
        try:
            compare(program, robot, base, path, survey, ["--open-loops"] if mimics else [])
        except Refused as refusal:
            if robot.impossible and robot.impossible in str(refusal):
                survey.refused[robot.name] = reason(refusal)
            else:
                survey.failures.append(f"{robot.name}, {base} base: {refusal}")
        except Mismatch as mismatch:
            survey.failures.append(f"{robot.name}, {base} base: {mismatch}")


def table(survey):
    """Head and rows; a difference beyond the tolerance is marked."""
    quantities = list(survey.comparisons[0].worst)
    head = ["robot", "base", "freedoms", "frames", *quantities]
    rows = []
    for one in survey.comparisons:
        bad = one.exceeding()
        cells = [report.rough(one.worst[name]) + (" !" if name in bad else "") for name in quantities]
        rows.append([one.robot, one.base, one.freedoms, one.frames, *cells])
    return head, rows


def listed(entries):
    return "".join(f"- {name}: {text}\n" for name, text in entries.items())


def page(survey, program):
    """The text of docs/peers/agreement.md."""
    robots = {one.robot for one in survey.comparisons}
    largest = max(max(one.worst.values()) for one in survey.comparisons)
    left_open = {name: what for name, what in survey.open.items() if name in robots}
    parts = [
        "# Agreement with Pinocchio\n",
        f"{len(robots)} robots of example-robot-data, on a fixed base, a free one or both ({len(survey.comparisons)} models), "
        f"each in {STATES} random states: the worst relative difference between catena and Pinocchio is "
        f"**{report.rough(largest)}** (allowed: {report.rough(TOLERANCE)}).\n",
        report.origin("peers/run.sh agreement", program, "pin", "example-robot-data", "numpy") + "\n",
        "Both engines read the same URDF file, as it is shipped. A difference is the largest one of any entry, over the largest entry of "
        "that quantity at that state; the table shows the worst state. So that light fingers are weighted like the trunk, efforts "
        "are first divided, and accelerations multiplied, by the square root of the inertia of each freedom (its diagonal entry of "
        "the inertia matrix). Frames are all links of the file; velocities, "
        "Jacobians and J̇v are in world axes at the frame's origin. Forward dynamics is the O(n) factorization here and "
        "`aba` there, inverse dynamics `rnea`, inertia `crba`, C·v `computeCoriolisMatrix`, derivatives "
        "`computeRNEADerivatives`, taken to our coordinates by the chain rule; ∂v̇ and I⁻¹ are put into the equations I ∂v̇ = −∂τ with "
        "Pinocchio's I and ∂τ, and the remainder is shown over the size of the terms, as in [speed.md](speed.md). Damping and friction of the "
        "joints, which Pinocchio leaves out, are switched off (`--no-passive`). The coordinates of a free base differ (velocity "
        "of the origin in world axes here, in body axes there); [coordinates.py](../../peers/coordinates.py) converts "
        "everything to ours.\n",
        report.markdown(*table(survey)),
    ]
    if left_open:
        parts += [
            "## Couplings left open\n",
            "Pinocchio ignores `mimic` by default; here catena leaves them open, too (`--open-loops`). With its own mimic joints: [robots.md](robots.md).\n",
            listed(left_open),
        ]
    if survey.unphysical:
        parts += [
            "## Files that describe impossible bodies\n",
            "catena reads these with a warning and rejects them with `--strict`. The first warning of each:\n",
            listed(survey.unphysical),
        ]
    if survey.refused:
        parts += [
            "## Files rejected\n",
            "catena rejects these, with the reason; Pinocchio reads them without a message:\n",
            listed(survey.refused),
        ]
    return "\n".join(parts)


def main():
    survey = Survey()
    try:
        program, folder = Program(), robots_folder()
        for robot in ROBOTS:
            survey_robot(program, robot, folder, survey)
    except (Refused, OSError) as problem:
        return report.fail(problem)
    for one in survey.comparisons:
        for name in one.exceeding():
            survey.failures.append(f"{one.robot}, {one.base} base: {name} differs by {report.rough(one.worst[name])}")
    if survey.comparisons:
        print(report.plain(*table(survey)))
    for name, why in survey.refused.items():
        print(f"refused: {name}: {why}")
    for failure in survey.failures:
        print(f"failed: {failure}", file=sys.stderr)
    if survey.failures:
        return 1
    report.write("agreement.md", page(survey, program))
    return 0


if __name__ == "__main__":
    sys.exit(main())
