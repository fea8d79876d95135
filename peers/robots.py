"""Which robots of example-robot-data can be used as they are shipped, and with which commands?

Every URDF file of the wheel is read unedited and given to every command that takes a model; then catena and Pinocchio are compared at
random states as in agreement.py. A joint that mimics another has no freedom of its own, as with Pinocchio's `mimic=True`.
Writes docs/peers/robots.md, and ends with code 1 when a file is refused that should not be, or when a difference exceeds the
tolerance.
"""

import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import report

report.need("numpy", "pinocchio")

import numpy as np  # noqa: E402
import pinocchio as pin  # noqa: E402

from agreement import STATES, TOLERANCE, Robot, Survey, compare, reason, robots_folder  # noqa: E402
from coordinates import Mismatch  # noqa: E402
from program import Program, Refused  # noqa: E402

# Files that have no robot to compute with, and the reason in catena's words.
EMPTY = {"ur_description/urdf/ur3.urdf": "the robot has no links"}

# Every command that takes a model, with arguments that keep it short.
COMMANDS = {
    "inverse": ["--random", "1"],
    "forward": ["--random", "1"],
    "evaluate": ["--random", "1"],
    "derivatives": ["--random", "1"],
    "derivatives --forward": ["--random", "1"],
    "factor": ["--random", "1"],
    "regressor": ["--random", "1"],
    "check": ["--states", "2"],
    "count": [],
    "generate": ["--language", "c"],
    "simulate": ["--duration", "0.01", "--audit", "report"],
    "compare": ["--random", "1"],
    "convert": [],
}
SECONDS = 120


@dataclass
class Row:
    """One file."""

    file: str
    freedoms: int = 0
    mimics: int = 0
    is_empty: bool = False
    warnings: list[str] = field(default_factory=list)
    refusals: dict[str, str] = field(default_factory=dict)  # by command: the first line of its message
    worst: float | None = None
    worst_mimic: float | None = None
    note: str = ""


def asked(program, scratch, command, path):
    """None where the command takes the model, the first line of its message where it does not."""
    more = list(COMMANDS[command])
    if command in ("generate", "convert"):
        more += ["-o", str(scratch / ("out" if command == "generate" else "out.toml"))]
        for old in scratch.glob("out*"):
            subprocess.run(["rm", "-r", str(old)], check=True)
    words = command.split()
    try:
        done = subprocess.run(
            [program.path, words[0], path, *words[1:], *more], capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return f"takes more than {SECONDS} s"
    if done.returncode == 0:
        return None
    lines = [line for line in done.stderr.splitlines() if not line.startswith(("warning", " "))]
    return (lines or ["no message"])[0].removeprefix("error: ")


def mimic_difference(program, path, flags):
    """Inverse dynamics and inertia matrix against Pinocchio's own mimic joints, relative to the largest entry."""
    try:
        model = pin.buildModelFromXML(path.read_text(encoding="utf-8"), mimic=True)
    except ValueError as problem:
        raise Mismatch(f"Pinocchio with mimic=True: {problem}") from problem
    data = model.createData()
    joints = program.joints(path, *flags)
    places = {}
    for joint in joints:
        if model.existJointName(joint.name):
            there = model.joints[model.getJointId(joint.name)]
            if there.nv == 1 and joint.v is not None:
                places[joint.v] = there
    if len(places) != model.nv:
        raise Mismatch(f"{len(places)} plain freedoms here, {model.nv} there")
    order = [places[k].idx_v for k in range(model.nv)]
    rng = np.random.default_rng(20)
    states = [dict(zip("qva", rng.uniform(-1, 1, (3, model.nv)).tolist())) for _ in range(STATES)]
    worst = 0.0
    for state, answer in zip(states, program.evaluate(path, states, *flags), strict=True):
        q, (v, a) = np.empty(model.nq), np.empty((2, model.nv))
        v[order], a[order] = state["v"], state["a"]
        for k, angle in enumerate(state["q"]):
            joint = places[k]
            # joints that turn without limits have a cosine and a sine
            q[joint.idx_q : joint.idx_q + joint.nq] = [angle] if joint.nq == 1 else [np.cos(angle), np.sin(angle)]
        tau = pin.rnea(model, data, q, v, a)[order]
        inertia = pin.crba(model, data, q)
        inertia = (np.triu(inertia) + np.triu(inertia, 1).T)[np.ix_(order, order)]
        for ours, theirs in ((answer["inverse_tau"], tau), (answer["inertia"], inertia)):
            worst = max(worst, float(np.abs(np.array(ours) - theirs).max() / np.abs(theirs).max()))
    return worst


def refused_there(path):
    """What Pinocchio says to a file without a robot."""
    try:
        pin.buildModelFromXML(path.read_text(encoding="utf-8"))
    except ValueError as problem:
        return str(problem).splitlines()[0]
    raise Mismatch(f"{path.name}: Pinocchio reads it")


def survey_file(program, folder, path, scratch):
    row = Row(str(path.relative_to(folder)))
    text = path.read_text(encoding="utf-8", errors="ignore")
    row.mimics = text.count("<mimic")
    try:
        joints = program.info(path)
    except Refused as refusal:
        if row.file not in EMPTY or EMPTY[row.file] not in str(refusal):
            raise
        row.note = f"{reason(refusal)}; Pinocchio rejects it, too: {refused_there(path)}"
        row.is_empty = True
        return row
    row.freedoms = joints["nv"]
    # a body without joints: what commands say is of the body on the ground, what is compared is the body that floats
    base = "free" if row.freedoms == 0 else "fixed"
    row.warnings = [warning["message"] for warning in joints["warnings"]]
    for command in COMMANDS:
        message = asked(program, scratch, command, path)
        if message:
            row.refusals[command] = message
    survey = Survey()
    try:
        more = ["--open-loops"] if row.mimics else []
        compare(program, Robot(path.stem, row.file), base, path, survey, more)
        row.worst = max(survey.comparisons[0].worst.values())
    except (Refused, Mismatch) as problem:
        row.note = reason(problem)
    if row.mimics:
        try:
            row.worst_mimic = mimic_difference(program, path, ["--no-passive"])
        except (Refused, Mismatch) as problem:
            row.note = "; ".join(filter(None, [row.note, reason(problem)]))
    return row


def shown(number):
    return "" if number is None else report.rough(number) + ("" if number <= TOLERANCE else " !")


def table(rows):
    head = ["file", "freedoms", "mimic", "warnings", "commands", "Pinocchio", "its mimic joints"]
    cells = []
    for row in rows:
        taken = f"{len(COMMANDS) - len(row.refusals)} of {len(COMMANDS)}" if not row.is_empty else "none"
        cells.append(
            [row.file, row.freedoms, row.mimics or "", len(row.warnings) or "", taken, shown(row.worst),
             shown(row.worst_mimic)]
        )  # fmt: skip
    return head, cells


def page(rows, program):
    loaded = [row for row in rows if not row.is_empty]
    still = [row for row in loaded if row.freedoms == 0]
    all_commands = [row for row in loaded if not row.refusals]
    numbers = [x for row in rows for x in (row.worst, row.worst_mimic) if x is not None]
    parts = [
        "# Robots as they are shipped\n",
        f"{len(rows)} URDF files of example-robot-data, none of them edited: {len(loaded)} are read by the plain command; "
        f"{len(rows) - len(loaded)} has no links and is rejected by Pinocchio, too. {len(still)} of those read are a single body without "
        "joints: a warning says that nothing can move and that `--free-base` lets it float; floating it is compared. "
        f"{len(all_commands)} are accepted by all {len(COMMANDS)} commands below. The worst relative difference "
        f"from Pinocchio is {report.rough(max(numbers))} (allowed: {report.rough(TOLERANCE)}).\n",
        report.origin("peers/run.sh robots", program, "pin", "example-robot-data", "numpy") + "\n",
        "The commands are " + ", ".join(f"`{name}`" for name in COMMANDS) + ". The column *Pinocchio* is the largest difference of all quantities of "
        "[agreement.md](agreement.md); files with `mimic` joints are compared with them left open (`--open-loops`), as Pinocchio "
        "reads them by default, and in the last column with its own mimic joints (`mimic=True`): inverse dynamics and inertia "
        "matrix of the independent freedoms.\n",
        report.markdown(*table(rows)),
    ]
    refused = [(row, command, why) for row in loaded for command, why in row.refusals.items()]
    if refused:
        parts += ["## Commands that reject a file\n",
                  "".join(f"- {row.file}: `{command}`: {why}\n" for row, command, why in refused)]  # fmt: skip
    noted = [row for row in rows if row.note]
    if noted:
        parts += ["## Not compared\n", "".join(f"- {row.file}: {row.note}\n" for row in noted)]
    warned = [row for row in rows if row.warnings]
    if warned:
        parts += ["## Warnings\n", "The first of each file:\n", "".join(f"- {row.file}: {row.warnings[0]}\n" for row in warned)]
    return "\n".join(parts)


def main():
    rows = []
    try:
        program, folder = Program(), robots_folder()
        with tempfile.TemporaryDirectory() as scratch:
            for path in sorted(folder.rglob("*.urdf")):
                rows.append(survey_file(program, folder, path, Path(scratch)))
                print(f"{rows[-1].file}: {rows[-1].freedoms} freedoms, {len(rows[-1].refusals)} refusals", flush=True)
    except (Refused, OSError) as problem:
        return report.fail(problem)
    print(report.plain(*table(rows)))
    failures = [
        f"{row.file}: differs by {report.rough(number)}"
        for row in rows
        for number in (row.worst, row.worst_mimic)
        if number is not None and not number <= TOLERANCE
    ]
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    report.write("robots.md", page(rows, program))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
