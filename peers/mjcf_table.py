"""Does catena read MJCF files as MuJoCo does?

Takes every XML file of five packages with robots and environments, lets both engines read it, and compares inertia matrix, bias and
acceleration at random states. Writes docs/peers/mjcf.md.
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

need("mujoco", "numpy")

import mujoco  # noqa: E402
import numpy as np  # noqa: E402

PACKAGES = ["dm_control", "gymnasium", "gymnasium-robotics", "robosuite", "metaworld"]
STATES = 5
ALLOWED = 1e-9
WANTED_SHARE = 0.8
FILES = Path(os.environ.get("MJCF_FILES", ROOT / "peers" / "build" / "mjcf"))


def read_by_mujoco(path):
    """The model without constraints and actuators, and None; or None and why there is none."""
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        line = str(error).splitlines()[0]
        return None, re.sub(r"'[^']*/([^'/]*)'", r"'\1'", line)
    off = mujoco.mjtDisableBit
    if model.opt.disableflags & int(off.mjDSBL_FRICTIONLOSS):
        model.dof_frictionloss[:] = 0
    model.opt.disableflags |= int(off.mjDSBL_CONSTRAINT) | int(off.mjDSBL_ACTUATION)
    return model, None


def beyond(model):
    """What the model has that catena does not claim to support."""
    features = []
    if any(kind not in (0, int(mujoco.mjtWrap.mjWRAP_JOINT)) for kind in model.wrap_type):
        features.append("spatial tendon")
    if model.opt.density > 0 or model.opt.viscosity > 0:
        features.append("fluid")
    if model.nflex > 0:
        features.append("flex")
    return features


def read_by_catena(program, path, folder):
    """A file with the model as a tree, and the number of constraints that were taken out of it."""
    model = json.loads(program._run("convert", path, "--json"))
    constraints = len(model.pop("constraint", []))
    tree = Path(folder) / "tree.json"
    tree.write_text(json.dumps(model))
    return tree, constraints


def random_positions(model, rng):
    q = np.zeros(model.nq)
    for k in range(model.njnt):
        at, kind = model.jnt_qposadr[k], mujoco.mjtJoint(model.jnt_type[k])
        if kind == mujoco.mjtJoint.mjJNT_FREE:
            q[at : at + 3] = rng.uniform(-1, 1, 3)
            at += 3
        if kind in (mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL):
            quaternion = rng.normal(size=4)
            q[at : at + 4] = quaternion / np.linalg.norm(quaternion)
        elif model.jnt_limited[k]:
            q[at] = rng.uniform(*model.jnt_range[k])
        else:
            q[at] = rng.uniform(-1, 1) * (math.pi if kind == mujoco.mjtJoint.mjJNT_HINGE else 0.5)
    return q


def by_mujoco(model, rng):
    """A random state, and what MuJoCo computes there."""
    data = mujoco.MjData(model)
    data.qpos[:] = random_positions(model, rng)
    data.qvel[:] = rng.uniform(-1, 1, model.nv)
    mujoco.mj_forward(model, data)
    inertia = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, inertia)
    friction = model.dof_frictionloss * np.sign(data.qvel)
    bias = data.qfrc_bias - data.qfrc_passive + friction
    # damping is not held: where it is 1e11, the difference of both would have no digits left
    tau = data.qfrc_bias + np.diag(inertia) * rng.uniform(-1, 1, model.nv)
    data.qfrc_applied[:] = tau - friction
    mujoco.mj_forward(model, data)
    state = {"q": data.qpos.tolist(), "v": data.qvel.tolist(), "a": [0.0] * model.nv, "tau": tau.tolist()}
    return state, {"inertia": inertia, "bias": bias, "acceleration": data.qacc.copy()}


def differences(theirs, ours):
    """The largest differences, over the largest entries; every freedom in units in which its own inertia is 1."""
    root = np.sqrt(np.diag(theirs["inertia"]))
    units = {"inertia": 1 / np.outer(root, root), "bias": 1 / root, "acceleration": root}
    found = {}
    for key, unit in units.items():
        expected, got = theirs[key] * unit, np.asarray(ours[key]) * unit
        size = np.abs(expected).max()
        difference = np.abs(got - expected).max()
        # NaN is a difference
        found[key] = float(difference / size) if size > 0 else float(difference)
    return found


def compare(program, path, model, rng):
    """The worst differences, and the number of constraints left out of the comparison."""
    with tempfile.TemporaryDirectory() as folder:
        tree, constraints = read_by_catena(program, path, folder)
        pairs = [by_mujoco(model, rng) for _ in range(STATES)]
        answers = program.evaluate(tree, [state for state, _ in pairs], "--frames", "world")
    worst = Counter()
    for (_, theirs), answer in zip(pairs, answers):
        ours = {"inertia": answer["inertia"], "bias": answer["inverse_tau"], "acceleration": answer["forward_a"]}
        for key, value in differences(theirs, ours).items():
            worst[key] = value if not value <= worst[key] else worst[key]
    return worst, constraints


def first_line(refusal):
    text = str(refusal).splitlines()[0].removeprefix("error: ")
    return re.sub(r"`[^`]*/([^`/]*)`", r"`\1`", text).replace("|", "\\|").replace("<", "\\<")


def main():
    try:
        program = Program()
        versions = unpack(FILES, PACKAGES)
    except (Refused, OSError, subprocess.CalledProcessError) as problem:
        return fail(problem)
    rows, counts, wrong = [], Counter(), []
    worst_of_all = 0.0
    only = sys.argv[1:]
    for path in sorted((FILES / "files").rglob("*.xml")):
        name = str(path.relative_to(FILES / "files")).split("/", 1)[1]
        if only and not any(part in name for part in only):
            continue
        model, why = read_by_mujoco(path)
        if model is None:
            counts["not a model for MuJoCo"] += 1
            rows.append((name, "–", "–", "–", "–", "–", f"MuJoCo: {why}"))
            continue
        if model.nv == 0:
            counts["without freedoms"] += 1
            rows.append((name, 0, "–", "–", "–", "–", "nothing moves"))
            continue
        features = beyond(model)
        kind = "beyond" if features else "within"
        counts[kind] += 1
        rng = np.random.default_rng(1)
        try:
            worst, constraints = compare(program, path, model, rng)
        except Refused as refusal:
            counts[f"{kind}, refused"] += 1
            rows.append((name, model.nv, "–", "–", "–", "–", f"rejected: {first_line(refusal)}"))
            print(rows[-1], file=sys.stderr)
            continue
        counts[f"{kind}, accepted"] += 1
        largest = max(worst.values(), key=lambda x: math.inf if math.isnan(x) else x)
        if not largest <= ALLOWED:
            wrong.append(name)
            print(name, dict(worst), file=sys.stderr)
        worst_of_all = max(worst_of_all, largest)
        numbers = [rough(worst[key]) for key in ("inertia", "bias", "acceleration")]
        rows.append((name, model.nv, constraints or "–", *numbers, "accepted"))
    share = counts["within, accepted"] / max(1, counts["within"])
    text = page(program, versions, rows, counts, share, worst_of_all)
    if not only:
        (DOCS / "mjcf.md").write_text(text)
    print(text[: text.index("\n| file")])
    if wrong or share < WANTED_SHARE:
        print(f"error: beyond {ALLOWED}: {', '.join(wrong) or 'none'}; accepted {share:.1%}", file=sys.stderr)
        return 1
    return 0


def page(program, versions, rows, counts, share, worst):
    head = ["file", "freedoms", "constraints", "inertia", "bias", "acceleration", "verdict"]
    lines = [head, ["---", "--:", "--:", "--:", "--:", "--:", "---"], *rows]
    table = "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)
    total = sum(counts[key] for key in ("within", "beyond", "without freedoms", "not a model for MuJoCo"))
    return f"""# MJCF files read as MuJoCo reads them

{total} XML files of {len(PACKAGES)} packages. MuJoCo compiles {total - counts['not a model for MuJoCo']} of them, of which
{counts['without freedoms']} have no freedoms. Of the other {counts['within'] + counts['beyond']}, {counts['within']} have no spatial
tendons, fluid or deformable bodies; catena accepts **{counts['within, accepted']}** of these ({share:.1%}). On all files that it accepts the
worst relative difference from MuJoCo is **{rough(worst)}** (allowed: {ALLOWED:.0e}).

{origin("peers/run.sh mjcf", program, "mujoco", "numpy")} Files of {', '.join(versions)}.

Both engines read the same file. At {STATES} random states inertia matrix, bias (efforts at zero acceleration, with springs, damping and
friction of the joints) and acceleration under random efforts are compared, without contacts, limits, equality constraints and
actuators. A difference is the largest one of any entry over the largest entry, every freedom in units in which its own inertia is 1; the
worst state is shown. The constraints of a file are counted; they are left out of the comparison, because they are soft
in MuJoCo.

{table}
"""


if __name__ == "__main__":
    sys.exit(main())
