"""Does catena read and write SDF files as Drake reads them?

Drake's parser is built on libsdformat, the reference implementation of the format. Takes every SDF file of three packages and of this
repository, and every URDF robot of example-robot-data as catena writes it in SDF, lets both engines read it, and compares inertia matrix
and bias at random states. Writes docs/peers/sdf.md.
"""

import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from program import Program, Refused
from report import DOCS, ROOT, fail, need, origin, rough
from wheels import unpack

need("pydrake", "numpy")

import numpy as np  # noqa: E402
from pydrake.math import RollPitchYaw, RotationMatrix  # noqa: E402
from pydrake.multibody.parsing import Parser  # noqa: E402
from pydrake.multibody.plant import MultibodyPlant  # noqa: E402
from pydrake.multibody.tree import MultibodyForces  # noqa: E402

PACKAGES = ["drake", "pybullet", "gym-ignition-models"]
STATES = 5
ALLOWED = 1e-10
FILES = Path(os.environ.get("SDF_FILES", ROOT / "peers" / "build" / "sdf"))
ROBOTS = "example-robot-data"


def read_by_drake(path):
    """The plant and None, or None and why there is none."""
    plant = MultibodyPlant(0.0)
    parser = Parser(plant)
    path = path.resolve()
    for config in [*path.parent.rglob("model.config"), *path.parent.rglob("model.sdf")]:
        name = config.parent.name
        if not parser.package_map().Contains(name):
            parser.package_map().Add(name, str(config.parent))
    try:
        parser.AddModels(str(path))
        plant.Finalize()
    except Exception as error:  # every kind that the parser may raise
        line = str(error).splitlines()[0].replace(str(path), path.name)
        return None, re.sub(r"/[^ :]*/", "", line).replace("|", "\\|")[:160]
    return plant, None


def read_by_catena(program, path, folder):
    """A file with the model as a tree without dry friction, which Drake does not read; the model; the number of constraints."""
    model = json.loads(program._run("convert", path, "--json"))
    constraints = len(model.pop("constraint", []))
    for joint in model.get("joint", []):
        joint.pop("friction", None)
    tree = Path(folder) / "tree.json"
    tree.write_text(json.dumps(model))
    return tree, model, constraints


def drakes_joint(plant, ours, child):
    """The joint of this name, or the floating one of this link."""
    free = ours.kind == "free"
    wanted = "::" + (child if free else ours.name)
    found = []
    for index in plant.GetJointIndices():
        joint = plant.get_joint(index)
        if free != (joint.type_name() == "quaternion_floating"):
            continue
        part = joint.child_body() if free else joint
        full = f"::{plant.GetModelInstanceName(part.model_instance())}::{part.name()}"
        if full.endswith(wanted):
            found.append(joint)
    if len(found) != 1:
        raise Refused(f"error: {len(found)} joints of Drake are called `{ours.name}`")
    return found[0]


def random_state(plant, joints, rng):
    """A state in Drake's coordinates and in catena's, and the matrix from catena's velocities to Drake's."""
    theirs = np.zeros(plant.num_positions())
    nv = plant.num_velocities()
    ours = np.zeros(sum({"free": 7, "spherical": 4, "universal": 2}.get(o.kind, 1) for o, _ in joints))
    turn = np.zeros((nv, nv))
    for own, joint in joints:
        q, v = joint.position_start(), joint.velocity_start()
        if own.kind == "free":
            rotation = RotationMatrix(RollPitchYaw(rng.uniform(-1, 1, 3)))
            quaternion = rotation.ToQuaternion().wxyz()
            at = rng.uniform(-1, 1, 3)
            theirs[q : q + 7] = [*quaternion, *at]
            ours[own.q : own.q + 7] = [*at, *quaternion]
            turn[v : v + 3, own.v + 3 : own.v + 6] = rotation.matrix()
            turn[v + 3 : v + 6, own.v : own.v + 3] = np.eye(3)
        elif own.kind == "spherical":
            angles = rng.uniform(-1, 1, 3)
            rotation = RotationMatrix(RollPitchYaw(angles))
            theirs[q : q + 3] = angles
            ours[own.q : own.q + 4] = rotation.ToQuaternion().wxyz()
            turn[v : v + 3, own.v : own.v + 3] = rotation.matrix()
        else:
            count = joint.num_positions()
            angles = rng.uniform(-1, 1, count)
            theirs[q : q + count] = ours[own.q : own.q + count] = angles
            turn[v : v + count, own.v : own.v + count] = np.eye(count)
    return theirs, ours, turn


def by_drake(plant, context, joints, rng):
    """A random state in catena's coordinates, and what Drake computes there."""
    theirs, q, turn = random_state(plant, joints, rng)
    v = rng.uniform(-1, 1, plant.num_velocities())
    plant.SetPositions(context, theirs)
    plant.SetVelocities(context, turn @ v)
    forces = MultibodyForces(plant)
    plant.CalcForceElementsContribution(context, forces)
    bias = plant.CalcInverseDynamics(context, np.zeros(len(v)), forces)
    inertia = plant.CalcMassMatrix(context)
    state = {"q": q.tolist(), "v": v.tolist(), "a": [0.0] * len(v), "tau": [0.0] * len(v)}
    return state, {"inertia": turn.T @ inertia @ turn, "bias": turn.T @ bias}


def differences(theirs, ours):
    """The largest differences, over the largest entries."""
    found = {}
    for key, expected in theirs.items():
        size = max(np.abs(expected).max(), 1e-9)
        found[key] = float(np.abs(np.asarray(ours[key]) - expected).max() / size)
    return found


def compare(program, path, plant):
    """The worst differences, and the number of constraints left out of the comparison."""
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        tree, model, constraints = read_by_catena(program, path, folder)
        children = {joint["name"]: joint["child"] for joint in model.get("joint", [])}
        joints = [(own, drakes_joint(plant, own, children[own.name])) for own in program.joints(tree)]
        freedoms = program.info(tree)["nv"]
        if freedoms != plant.num_velocities():
            raise Refused(f"error: {freedoms} freedoms, Drake has {plant.num_velocities()}")
        plant.mutable_gravity_field().set_gravity_vector(model.get("gravity", [0, 0, -9.81]))
        context = plant.CreateDefaultContext()
        pairs = [by_drake(plant, context, joints, rng) for _ in range(STATES)]
        answers = program.evaluate(tree, [state for state, _ in pairs], "--frames", "world")
    worst = Counter()
    for (_, theirs), answer in zip(pairs, answers):
        ours = {"inertia": answer["inertia"], "bias": answer["inverse_tau"]}
        for key, value in differences(theirs, ours).items():
            worst[key] = value if not value <= worst[key] else worst[key]
    return worst, constraints


def first_line(refusal):
    text = str(refusal).splitlines()[0].removeprefix("error: ")
    return re.sub(r"/[^ :`]*/", "", text).replace("|", "\\|").replace("<", "\\<")


def row(program, name, path, counts, wrong):
    """A line of the table."""
    plant, why = read_by_drake(path)
    try:
        freedoms = program.info(path)["nv"]
    except Refused as refusal:
        counts["refused"] += 1
        both = "" if plant else f"; Drake: {why}"
        return (name, "–", "–", "–", "–", f"rejected: {first_line(refusal)}{both}")
    counts["accepted"] += 1
    if plant is None:
        counts["not read by Drake"] += 1
        return (name, freedoms, "–", "–", "–", f"accepted; Drake: {why}")
    if freedoms == 0 and plant.num_velocities() == 0:
        counts["without freedoms"] += 1
        return (name, 0, "–", "–", "–", "accepted; nothing moves")
    try:
        worst, constraints = compare(program, path, plant)
    except Refused as refusal:
        counts["not compared"] += 1
        return (name, freedoms, "–", "–", "–", f"accepted; not compared: {first_line(refusal)}")
    largest = max(worst.values(), key=lambda x: math.inf if math.isnan(x) else x)
    impossible = [warning for warning in program.info(path)["warnings"] if "inertia" in warning["message"]]
    if impossible and not largest <= ALLOWED:
        counts["with inertias that Drake replaces"] += 1
        return (name, freedoms, "–", "–", "–", "accepted; not compared: Drake replaces inertias that no rigid body can have")
    counts["compared"] += 1
    if not largest <= ALLOWED:
        wrong.append(name)
    counts["worst"] = max(counts["worst"], largest)
    return (name, freedoms, constraints or "–", rough(worst["inertia"]), rough(worst["bias"]), "accepted")


def main():
    try:
        program = Program()
        versions = unpack(FILES, [*PACKAGES, ROBOTS])
    except (Refused, OSError, subprocess.CalledProcessError) as problem:
        return fail(problem)
    wrong = []
    read, read_counts = [], Counter()
    folders = [FILES / "files" / package.replace("-", "_") for package in PACKAGES]
    folders += [ROOT / "models", ROOT / "crates" / "catena-io" / "tests" / "sdf"]
    for folder in folders:
        for path in sorted([*folder.rglob("*.sdf"), *folder.rglob("*.world")]):
            inside = path.relative_to(folder if folder.is_relative_to(FILES) else ROOT)
            read.append(row(program, str(inside), path, read_counts, wrong))
            print(read[-1], file=sys.stderr)
    written, written_counts = [], Counter()
    robots = FILES / "files" / ROBOTS.replace("-", "_")
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(robots.rglob("*.urdf")):
            name = str(path).split("/robots/", 1)[-1]
            there = Path(folder) / (path.stem + ".sdf")
            try:
                program._run("convert", path, "-o", there)
            except Refused as refusal:
                written_counts["refused"] += 1
                written.append((name, "–", "–", "–", "–", f"rejected: {first_line(refusal)}"))
                continue
            written.append(row(program, name, there, written_counts, wrong))
            print(written[-1], file=sys.stderr)
    text = page(program, versions, read, read_counts, written, written_counts)
    (DOCS / "sdf.md").write_text(text)
    print(text[: text.index("\n| file")])
    if wrong:
        print(f"error: beyond {ALLOWED}: {', '.join(wrong)}", file=sys.stderr)
        return 1
    return 0


def table(rows):
    head = ["file", "freedoms", "constraints", "inertia", "bias", "verdict"]
    lines = [head, ["---", "--:", "--:", "--:", "--:", "---"], *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def page(program, versions, read, read_counts, written, written_counts):
    worst = max(read_counts["worst"], written_counts["worst"])
    return f"""# SDF files read as Drake reads them

**{read_counts['accepted']}** of {len(read)} SDF files are accepted; {read_counts['compared']} of them move and are read by Drake, too. Of
{len(written)} URDF robots {written_counts['accepted']} are written as SDF and read again, {written_counts['compared']} of these by Drake,
too. The worst relative difference of all is **{rough(worst)}** (allowed: {ALLOWED:.0e}).

{origin("peers/run.sh sdf", program, "drake", "numpy")} Files of {', '.join(versions)}, and of this repository.

Drake reads SDF by libsdformat, the reference implementation, which resolves poses, frames, included files and defaults. At {STATES} random
states the inertia matrix and the bias (efforts at zero acceleration, with springs and damping of the joints) are compared. A difference is the
largest one of any entry over the largest entry; the worst state is shown. Constraints are counted and left out of the comparison, and so is
dry friction, which Drake does not read. A file is not compared if nothing in it moves, if a body has no inertia, or if Drake
replaces an inertia that no rigid body can have.

## Files as they are shipped

{table(read)}

## Robots of {ROBOTS}, written as SDF

{table(written)}
"""


if __name__ == "__main__":
    sys.exit(main())
