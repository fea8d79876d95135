"""How fast is a simulation of given accuracy?

The Stanford arm and a chain of seven revolute joints fall for two seconds: in catena with DOP853, in SciPy with DOP853 around
Pinocchio's articulated-body algorithm at the same tolerances, and in MuJoCo with its RK4 at the longest step that is as accurate
as catena's run. Everything runs on one core, taking turns. Writes docs/peers/simulation.md, and ends with code 1 when a goal is
missed.
"""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import report  # noqa: E402

report.need("numpy", "scipy", "mujoco", "pinocchio")

import mujoco  # noqa: E402
import numpy as np  # noqa: E402
import pinocchio as pin  # noqa: E402
from scipy.integrate import solve_ivp  # noqa: E402

MODELS = {"stanford": "Stanford arm", "chain-7": "chain of seven revolute joints"}
TURNS = 12
CALLS = 5  # runs of each peer in a turn; the bench makes more by itself
GRAVITY = np.array([0.0, 0.0, -9.81])
GOALS = {"scipy": 20.0, "mujoco": 3.0}
UNUSED = [  # parts of a MuJoCo step that a falling arm does not need
    "CONSTRAINT", "EQUALITY", "FRICTIONLOSS", "LIMIT", "CONTACT", "SPRING", "DAMPER", "ACTUATION", "SENSOR", "AUTORESET",
]  # fmt: skip
SAME = 1e-10  # models must agree to this in their first accelerations, relative


@dataclass(frozen=True)
class Link:
    """A link and the joint that moves it: kind, axis, place of the joint in the parent's joint frame, inertia seen from the
    joint frame."""

    kind: str
    axis: tuple
    place: pin.SE3
    inertia: pin.Inertia


def chain(n):
    """catena's embedded `chain-N`."""
    axes = [(0, 0, 1), (0, 1, 0), (1, 0, 0)]
    body = pin.Inertia(1.0, np.array([0, 0, 0.1]), np.diag([0.01, 0.02, 0.015]))
    step = pin.SE3(np.eye(3), np.array([0, 0, 0.2]))
    return [Link("revolute", axes[k % 3], step if k else pin.SE3.Identity(), body) for k in range(n)]


def stanford():
    """catena's embedded `stanford`: b and α, mass, r and moments of models/stanford.toml. A joint turns about z of the link before
    it, or slides along it; the link's own frame is b further along z, turned by α about x."""
    quarter = np.pi / 2
    rows = [
        ("revolute", 0.2, -quarter, 9.0, (0, -0.1, 0), (0.01, 0.02, 0.01)),
        ("revolute", 0.1, -quarter, 6.0, (0, 0, 0), (0.05, 0.06, 0.01)),
        ("prismatic", 0.0, 0.0, 4.0, (0, 0, 0), (0.4, 0.4, 0.01)),
        ("revolute", 0.6, quarter, 1.0, (0, -0.1, 0), (0.001, 0.001, 0.0005)),
        ("revolute", 0.0, -quarter, 0.6, (0, 0, 0), (0.0005, 0.0005, 0.0002)),
        ("revolute", 0.0, 0.0, 0.5, (0, 0, 0), (0.003, 0.001, 0.002)),
    ]
    links, place = [], pin.SE3.Identity()
    for kind, b, alpha, mass, r, moments in rows:
        own = pin.SE3(pin.utils.rotate("x", alpha), np.array([0, 0, b]))
        body = own.act(pin.Inertia(mass, -np.array(r, dtype=float), np.diag(moments)))
        links.append(Link(kind, (0, 0, 1), place, body))
        place = own
    return links


LINKS = {"stanford": stanford, "chain-7": lambda: chain(7)}


class Bench:
    """catena's own bench, one process per turn."""

    def __init__(self):
        build = ["cargo", "bench", "--quiet", "--package", "catena", "--bench", "simulation", "--no-run"]
        done = subprocess.run([*build, "--message-format=json"], cwd=report.ROOT, stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise OSError("the bench of catena cannot be built")
        messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        programs = [m["executable"] for m in messages if m.get("executable")]
        if not programs:
            raise OSError("cargo did not say where the bench of catena is")
        self.program, self.number = programs[-1], None

    def run(self, model, rk4=None):
        wishes = ["--json", "--model", model, *(["--rk4", str(rk4)] if rk4 else [])]
        done = subprocess.run([self.program, *wishes], capture_output=True, text=True)
        if done.returncode != 0:
            raise OSError(done.stderr.strip() or "the bench of catena failed")
        answer = json.loads(done.stdout)
        self.number = answer["version"]
        return answer

    def version(self):
        return f"catena {self.number}"


class PinocchioScipy:
    """SciPy's solve_ivp around Pinocchio's aba."""

    def __init__(self, links):
        self.model = pin.Model()
        self.model.gravity.linear = GRAVITY
        parent = 0
        for k, link in enumerate(links):
            if link.kind == "prismatic":
                joint = pin.JointModelPZ()
            else:
                joint = {(1, 0, 0): pin.JointModelRX, (0, 1, 0): pin.JointModelRY, (0, 0, 1): pin.JointModelRZ}[link.axis]()
            parent = self.model.addJoint(parent, joint, link.place, f"joint{k + 1}")
            self.model.appendBodyToJoint(parent, link.inertia, pin.SE3.Identity())
        self.data = self.model.createData()
        self.none = np.zeros(self.model.nv)

    def acceleration(self, q, v):
        return pin.aba(self.model, self.data, q, v, self.none).copy()

    def run(self, task, relative, absolute, samples=1):
        n, model, data, none, aba, join = self.model.nv, self.model, self.data, self.none, pin.aba, np.concatenate

        def derivative(_, y):
            v = y[n:]
            return join((v, aba(model, data, y[:n], v, none)))

        start, span = np.concatenate([task["q"], task["v"]]), (0.0, task["duration"])
        # with one sample the end alone is kept: the cheapest way to use solve_ivp
        at = np.linspace(0.0, task["duration"], samples) if samples > 1 else span[1:]
        began = time.perf_counter()
        end = solve_ivp(derivative, span, start, "DOP853", t_eval=at, rtol=relative, atol=absolute)
        seconds = time.perf_counter() - began
        if not end.success:
            raise OSError(f"SciPy: {end.message}")
        return end.y[:, -1], seconds, end.nfev

    def call(self, task, calls=2000):
        """Time of one call of aba from Python, without SciPy and without the function around it."""
        q, v = np.array(task["q"]), np.array(task["v"])
        model, data, none, aba = self.model, self.data, self.none, pin.aba
        began = time.perf_counter()
        for _ in range(calls):
            aba(model, data, q, v, none)
        return (time.perf_counter() - began) / calls


class MuJoCo:
    """MuJoCo's RK4, with every part of a step that is not needed here switched off."""

    def __init__(self, links):
        spec = mujoco.MjSpec()
        spec.option.gravity = GRAVITY
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_RK4
        for part in UNUSED:
            spec.option.disableflags |= getattr(mujoco.mjtDisableBit, f"mjDSBL_{part}")
        body = spec.worldbody
        for k, link in enumerate(links):
            principal = np.diag(link.inertia.inertia)
            if not np.allclose(link.inertia.inertia, np.diag(principal), atol=1e-15):
                raise OSError("the inertia of a link is not along the axes of its joint")
            place = pin.SE3ToXYZQUAT(link.place)
            body = body.add_body(
                name=f"link{k + 1}",
                pos=place[:3],
                quat=np.roll(place[3:], 1),
                mass=link.inertia.mass,
                ipos=link.inertia.lever,
                inertia=principal,
                explicitinertial=True,
            )
            kind = mujoco.mjtJoint.mjJNT_SLIDE if link.kind == "prismatic" else mujoco.mjtJoint.mjJNT_HINGE
            body.add_joint(name=f"joint{k + 1}", type=kind, axis=link.axis)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)

    def _reset(self, task):
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:] = task["q"], task["v"]

    def acceleration(self, task):
        self._reset(task)
        mujoco.mj_forward(self.model, self.data)
        return self.data.qacc.copy()

    def run(self, task, steps):
        self.model.opt.timestep = task["duration"] / steps
        self._reset(task)
        began = time.perf_counter()
        mujoco.mj_step(self.model, self.data, nstep=steps)
        seconds = time.perf_counter() - began
        return np.concatenate([self.data.qpos, self.data.qvel]), seconds

    def steps_for(self, task, wanted):
        """The smallest number of steps whose error is not larger than wanted; it falls with the fourth power."""
        few, many = 1, 64
        while not self.error(task, many) <= wanted:
            few, many = many, 2 * many
            if many > 10_000_000:
                raise OSError("MuJoCo does not reach the error wanted")
        while many - few > max(1, many // 200):
            middle = (few + many) // 2
            few, many = (few, middle) if self.error(task, middle) <= wanted else (middle, many)
        return many

    def error(self, task, steps):
        return error(self.run(task, steps)[0], task)


def error(y, task):
    """As in the bench: the largest difference, relative to values larger than 1."""
    exact = np.concatenate([task["reference"]["q"], task["reference"]["v"]])
    return float(np.max(np.abs(y - exact) / np.maximum(np.abs(exact), 1)))


@dataclass
class Row:
    """A way to do it: best time, evaluations, error."""

    name: str
    seconds: float = np.inf
    evaluations: int = 0
    error: float = np.nan
    seen: list = field(default_factory=list)

    def note(self, seconds, evaluations, off):
        self.seconds = min(self.seconds, seconds)
        self.evaluations, self.error = evaluations, off
        self.seen.append(seconds)


@dataclass
class Comparison:
    """Everything about one model."""

    task: dict
    rows: dict
    steps: int
    call: float
    witness: float

    def times(self, peer):
        """How many times as fast as the peer catena is."""
        return self.rows[peer].seconds / self.rows["catena"].seconds


def check_models(name, task, scipy, mujoco_):
    """All three must mean the same machine."""
    q, v, ours = np.array(task["q"]), np.array(task["v"]), np.array(task["acceleration"])
    for peer, theirs in (("Pinocchio", scipy.acceleration(q, v)), ("MuJoCo", mujoco_.acceleration(task))):
        off = np.max(np.abs(theirs - ours)) / np.max(np.abs(ours))
        if not off <= SAME:
            raise OSError(f"{name}: the accelerations of {peer} differ by {off:.1e}: not the same model")


def compare(name, bench):
    links = LINKS[name]()
    scipy, engine = PinocchioScipy(links), MuJoCo(links)
    task = bench.run(name)
    check_models(name, task, scipy, engine)
    witness = error(scipy.run(task, 1e-13, 1e-13)[0], task)
    steps = engine.steps_for(task, task["runs"]["integration"]["error"])
    rows = {
        "catena": Row("catena, DOP853, compiled"),
        "simulation": Row("catena, whole simulation, compiled"),
        "general": Row("catena, DOP853, general recursion"),
        "rk4": Row(f"catena, RK4, {steps} steps, compiled"),
        "scipy": Row("SciPy DOP853 + Pinocchio `aba`"),
        "sampled": Row("the same with samples"),
        "mujoco": Row(f"MuJoCo, RK4, {steps} steps"),
    }
    call, samples = np.inf, round(task["duration"] / task["interval"]) + 1
    tolerances = task["relative"], task["absolute"]
    for _ in range(TURNS):
        ours = bench.run(name, steps)["runs"]
        for key, row in (("integration", "catena"), ("simulation", "simulation"), ("general", "general"), ("rk4", "rk4")):
            rows[row].note(ours[key]["seconds"], ours[key]["evaluations"], ours[key]["error"])
        for _ in range(CALLS):
            for row, wanted in (("scipy", 1), ("sampled", samples)):
                y, seconds, evaluations = scipy.run(task, *tolerances, wanted)
                rows[row].note(seconds, evaluations, error(y, task))
            y, seconds = engine.run(task, steps)
            rows["mujoco"].note(seconds, 4 * steps, error(y, task))
        call = min(call, scipy.call(task))
    return Comparison(task, rows, steps, call, witness)


HEAD = ["", "time", "evaluations", "µs per evaluation", "simulated s/s", "error", "time ÷ catena's", "catena's ÷ time"]


def table(comparison):
    rows = []
    for row in comparison.rows.values():
        rows.append(
            [
                row.name,
                f"{1e3 * row.seconds:.3f} ms",
                row.evaluations,
                f"{1e6 * row.seconds / row.evaluations:.2f}",
                f"{comparison.task['duration'] / row.seconds:.0f}",
                report.rough(row.error),
                f"{row.seconds / comparison.rows['catena'].seconds:.1f}",
                f"{comparison.rows['catena'].seconds / row.seconds:.3f}",
            ]
        )
    return HEAD, rows


def processor():
    """The processor's name, where the system tells it."""
    try:
        lines = open("/proc/cpuinfo").read().splitlines()
    except OSError:
        return "unknown processor"
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown processor"


def numbers(values):
    return ", ".join(f"{x:g}" for x in values)


def goals(comparisons):
    rows = []
    for peer, goal in GOALS.items():
        name = {"scipy": "SciPy DOP853 + Pinocchio", "mujoco": "MuJoCo RK4 at the same error"}[peer]
        times = {model: c.times(peer) for model, c in comparisons.items()}
        met = "yes" if min(times.values()) >= goal else "no"
        rows.append([name, *(f"{x:.1f} ×" for x in times.values()), f"{goal:.0f} ×", met])
    return ["catena is faster than", *(MODELS[m] for m in comparisons), "goal", "reached"], rows


def shortfall(comparisons):
    """What is missing where a goal is not reached."""
    lines = []
    for peer, goal in GOALS.items():
        for model, c in comparisons.items():
            if not c.times(peer) >= goal:
                ours = c.rows["catena"]
                needed = c.rows[peer].seconds / goal
                lines.append(
                    f"- {MODELS[model]}: {c.times(peer):.1f} times as fast as {c.rows[peer].name}, not {goal:.0f}. An evaluation would have "
                    f"to take {1e6 * needed / ours.evaluations:.2f} µs, integrator included; it takes "
                    f"{1e6 * ours.seconds / ours.evaluations:.2f} µs."
                )
    return "Goals missed:\n\n" + "\n".join(lines) + "\n" if lines else ""


def page(comparisons, bench):
    task = next(iter(comparisons.values())).task
    parts = [
        "# Speed of simulation\n",
        f"Two robots fall for {task['duration']:g} s. How long does it take to compute that?\n",
        report.markdown(*goals(comparisons)),
        shortfall(comparisons),
        report.origin("peers/run.sh simulation", bench, "pin", "scipy", "mujoco", "numpy")[:-1] + f", {processor()}, one core.\n",
    ]
    for name, comparison in comparisons.items():
        rows = comparison.rows
        parts += [
            f"## {MODELS[name][0].upper()}{MODELS[name][1:]} (`{name}`)\n",
            f"From rest at q = ({numbers(comparison.task['q'])}).\n",
            report.markdown(*table(comparison)),
            f"One call of `aba` from Python takes {1e6 * comparison.call:.2f} µs: {rows['scipy'].evaluations} of them are "
            f"{1e3 * comparison.call * rows['scipy'].evaluations:.2f} ms, "
            f"{comparison.call * rows['scipy'].evaluations / rows['catena'].seconds:.1f} times the time of catena's integration. The rest of "
            "SciPy's time is Python. SciPy and Pinocchio at tolerance 1e-13 end "
            f"{report.rough(comparison.witness)} away from the reference.\n",
        ]
    relative, absolute = report.rough(task["relative"]), report.rough(task["absolute"])
    ours = max(c.rows["catena"].error for c in comparisons.values())
    parts += [
        "## What is compared\n",
        f"- *catena, DOP853, compiled*: rtol {relative}, atol {absolute}, from the start to the end, nothing recorded, with accelerations "
        "from machine code that catena generates for the model, as `catena simulate` does. Making it took "
        + " and ".join(f"{1e3 * c.task['made_in']:.1f} ms" for c in comparisons.values())
        + ", once, which is not in the times, as building the models is not in those of the peers; the row *general recursion* does without. "
        "catena integrates the work of "
        "the efforts and the dissipated energy as well, two components that stay zero here; they are not part of the error norm "
        "of the motion, which is SciPy's.\n"
        f"- *catena, whole simulation, compiled*: the same with a sample every {task['interval']:g} s (dense output, accelerations, energies) and "
        "the audit of energy and inverse dynamics at every sample.\n"
        f"- *SciPy DOP853 + Pinocchio*: `solve_ivp` with the same tolerances around `pinocchio.aba`, as a Python user would write it. "
        "Only the end is kept (`t_eval`), or 201 samples in the second row, the counterpart of catena's whole simulation without energies "
        "and audit. Most of its time is the interpreter's and NumPy's on short arrays, not Pinocchio's: this measures the usual way of "
        "use, not Pinocchio's C++ library. The same tolerance does not give the same error: see the column.\n"
        "- *MuJoCo RK4*: the smallest number of steps (to 0.5 %) that gives an error no larger than that of catena's DOP853, in one "
        "call of `mj_step` with `nstep`, so that the loop runs in C; contacts, constraints, actuation, sensors and the other parts that "
        "a falling arm does not need are switched off. A method of order 4 with a fixed step needs many more evaluations than one of "
        "order 8 at such an error; at coarser ones the difference is smaller (figure below).\n"
        "- *catena, RK4*: our classical method with MuJoCo's number of steps, to separate the engine from the method.\n",
        "Error: the largest difference of any final position or velocity to a run of Verner's 9(8) method at tolerance 1e-13, relative "
        f"where the value is larger than 1 (rad, m, rad/s, m/s); at most {report.rough(ours)} for catena. A change of the second "
        "joint's initial position grows at most two hundredfold in these two seconds. Initial accelerations of the three engines agree to "
        f"{report.rough(SAME)}. Times are the best of {TURNS} turns in which the engines alternate ({TURNS * CALLS} runs of each peer, "
        "more of catena), building of models not counted. catena alone: "
        "`cargo bench -p catena --bench simulation`.\n",
        WORK_PRECISION,
    ]
    return "\n".join(part for part in parts if part)


WORK_PRECISION = """\
## Which integrator?

![Error after 2 s against evaluations of forward dynamics, for eight integrators on three models](work-precision.svg)

Error after 2 s of falling against evaluations of forward dynamics, from the same poses and for three rods on spherical joints
(`pendulum-3`): tolerances from 1e-3 to 1e-13 for the five methods with variable steps, step halving for the three others.
Drawn by `cargo run --release -p catena-plot --example work_precision`.

Below an error of about 1e-7 DOP853 and Verner's 9(8) need the fewest evaluations, increasingly so the more digits are
wanted; at larger errors the five methods with variable steps are close together. RK4 takes three to six times as many
evaluations as the best at an error of 1e-6, and twenty to fifty times as many at 1e-12. Semi-implicit Euler and the implicit
midpoint rule serve the energy of very long runs, not accuracy.
"""


def main():
    try:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    except (AttributeError, OSError):
        print("note: this system does not let a program choose its core", file=sys.stderr)
    try:
        bench = Bench()
        comparisons = {name: compare(name, bench) for name in MODELS}
    except (OSError, ValueError) as problem:
        return report.fail(problem)
    for name, comparison in comparisons.items():
        print(f"\n{MODELS[name]}, {comparison.task['duration']:g} s")
        print(report.plain(*table(comparison)))
        spread = {key: np.median(row.seen) / row.seconds for key, row in comparison.rows.items()}
        print("median ÷ best: " + ", ".join(f"{key} {value:.2f}" for key, value in spread.items()))
        print(f"one call of aba: {1e6 * comparison.call:.2f} µs; witness {report.rough(comparison.witness)}")
    print()
    print(report.plain(*goals(comparisons)))
    report.write("simulation.md", page(comparisons, bench))
    missed = [peer for peer, goal in GOALS.items() if not all(c.times(peer) >= goal for c in comparisons.values())]
    for peer in missed:
        print(f"failed: catena is not {GOALS[peer]:.0f} times as fast as {peer}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
