"""How fast is catena from Python, compared with Pinocchio and MuJoCo from Python?

One call of inverse and forward dynamics of arms with seven joints; ten thousand states in one call, compared with a Python loop
over Pinocchio and with Pinocchio compiled for this processor; a simulation, compared with the Rust program; and a controller written in Python at
1 kHz, compared with a loop over MuJoCo's steps by the same method. All take turns; the best of many turns counts. Writes docs/peers/python.md, and ends with code 1 when a goal is missed.
"""

import os
import pathlib
import re
import subprocess
import sys
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import report  # noqa: E402

report.need("numpy", "pinocchio", "mujoco", "catena")

import mujoco  # noqa: E402
import numpy as np  # noqa: E402
import pinocchio as pin  # noqa: E402

import catena  # noqa: E402
import speed_models  # noqa: E402
from speed import BUILD, SCRATCH, SEED, Engine  # noqa: E402
from simulation import MuJoCo, chain  # noqa: E402

STATES = 10_000
TURNS = 40
HEAT = 200  # calls in a turn of single calls
ROW = 10  # calls with as many threads in a row
LONG = 1000.0  # s simulated for the comparison with the program: its start takes a small part
SECONDS = 2.0  # s simulated for the comparison with MuJoCo
RATE = 1000.0
KEPT = 10  # steps between samples that are kept


class Program:
    """What `report.origin` asks for the version."""

    @staticmethod
    def version():
        return f"catena {catena.__version__}"


def best(functions, turns=TURNS, calls=1):
    """The shortest time of one call of each function in s, all of them taking turns."""
    found = [float("inf")] * len(functions)
    for _ in range(turns):
        for k, function in enumerate(functions):
            began = time.perf_counter()
            for _ in range(calls):
                function()
            found[k] = min(found[k], (time.perf_counter() - began) / calls)
    return found


def in_rows(function, turns=2 * TURNS):
    """The shortest time of one call on one thread and on two, in s, in rows of calls that take turns: threads are awake as they are in a program
    that computes, and a row that other processes disturb is not the best one."""
    found = [float("inf")] * 2
    for _ in range(turns):
        for k in range(2):
            catena.set_threads(k + 1)
            for _ in range(ROW):
                began = time.perf_counter()
                function()
                found[k] = min(found[k], time.perf_counter() - began)
    return found


def pinocchio_chain(links):
    """The chain as a model of Pinocchio."""
    model = pin.Model()
    parent = 0
    for k, link in enumerate(links):
        axis = np.array(link.axis, dtype=float)
        parent = model.addJoint(parent, pin.JointModelRevoluteUnaligned(axis), link.place, f"joint{k + 1}")
        model.appendBodyToJoint(parent, link.inertia, pin.SE3.Identity())
    return model


def robots():
    """Models of catena and of Pinocchio with the same coordinates."""
    yield "chain of seven revolute joints", "chain-7", catena.model("chain-7"), pinocchio_chain(chain(7))
    folder = pathlib.Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots"
    text = (folder / "panda_description/urdf/panda.urdf").read_text()
    text = re.sub(r"<mimic\b[^>]*?/>", "", text)
    # the fingers are fixed: seven joints are left
    text = re.sub(r'(<joint name="panda_finger_joint\d"\s+type=)"prismatic"', r'\1"fixed"', text)
    there = pin.buildModelFromXML(text)
    here = catena.loads(text, "urdf")
    still = {joint.name: 0.0 for joint in here.joints}
    yield "Panda, fingers fixed", "panda", here.replace(damping=still, friction=still), there


def same(here, there, q, v, a):
    """Both compute the same, or nothing is timed."""
    data = there.createData()
    for k in range(5):
        ours, theirs = here.inverse(q[k], v[k], a[k]), pin.rnea(there, data, q[k], v[k], a[k])
        if not np.allclose(ours, theirs, rtol=1e-9, atol=1e-9):
            raise SystemExit("error: catena and Pinocchio do not compute the same")
        ours, theirs = here.forward(q[k], v[k], a[k]), pin.aba(there, data, q[k], v[k], a[k])
        if not np.allclose(ours, theirs, rtol=1e-8, atol=1e-8):
            raise SystemExit("error: catena and Pinocchio do not compute the same")


class Compiled:
    """Pinocchio's C++ programs (peers/speed), with a model of their list at its random states."""

    def __init__(self, key):
        self.engines = []
        entry = next(entry for entry in speed_models.entries() if entry.name == key)
        SCRATCH.mkdir(parents=True, exist_ok=True)
        tree, states = SCRATCH / "python.tree", SCRATCH / "python.states"
        speed_models.write_tree(entry, tree)
        # one coordinate a joint, in any order: only the time is asked for
        numbers = np.random.default_rng(SEED).uniform(-1, 1, (4, 64, entry.nv))
        speed_models.write_states(states, *numbers)
        for compiler in ("clang", "gcc"):
            program = BUILD / "bin" / f"pinocchio-{compiler}"
            if program.is_file():
                self.engines.append(Engine(f"pinocchio-{compiler}", program, max(os.sched_getaffinity(0))))
                self.engines[-1].load(tree, states)
        if not self.engines:
            raise SystemExit("error: Pinocchio's programs are not built\nhint: run peers/setup.sh first")

    def time(self, quantity):
        """Seconds per state by the fastest way."""
        ways = [(engine, call) for engine in self.engines for call in engine.of(quantity)]
        return min(engine.time(call, 0.05)[0] for _ in range(5) for engine, call in ways) * 1e-9

    def close(self):
        for engine in self.engines:
            engine.close()


def calls():
    """Rows of the two tables of dynamics, and the goals: (words, value, goal)."""
    single, many, goals = [], [], []
    for name, key, here, there in robots():
        compiled = Compiled(key)
        if here.nv != 7 or there.nv != 7:
            raise SystemExit(f"error: {name} has {here.nv} and {there.nv} freedoms, not 7")
        rng = np.random.default_rng(1)
        q, v, a = rng.uniform(-1, 1, (3, STATES, 7))
        same(here, there, q, v, a)
        data = there.createData()
        q0, v0, a0 = q[0].copy(), v[0].copy(), a[0].copy()
        out = np.empty((STATES, 7))
        for question, ours, theirs in (
            ("inverse dynamics", here.inverse, pin.rnea),
            ("forward dynamics", here.forward, pin.aba),
        ):
            one, other = best([lambda: ours(q0, v0, a0), lambda: theirs(there, data, q0, v0, a0)], calls=HEAT)
            single.append([name, question, f"{one * 1e6:.2f}", f"{other * 1e6:.2f}", f"{one / other:.2f}"])
            goals.append((f"one call, {question}, {name}: time ÷ Pinocchio's", one / other, 1.0, False))

            def loop():
                for k in range(STATES):
                    out[k] = theirs(there, data, q[k], v[k], a[k])

            looped = best([loop], turns=5)[0]
            on_one, on_two = in_rows(lambda: ours(q, v, a, out=out))
            program = compiled.time(question.split()[0])
            many.append(
                [
                    name,
                    question,
                    f"{on_one / STATES * 1e9:.0f}",
                    f"{on_two / STATES * 1e9:.0f}",
                    f"{looped / STATES * 1e9:.0f}",
                    f"{looped / on_one:.0f} ×",
                    f"{program * 1e9:.0f}",
                    f"{program / on_one * STATES:.1f} ×",
                    f"{on_one / on_two:.2f} ×",
                ]
            )
            goals.append((f"{STATES} states on one core, {question}, {name}: times a Python loop over Pinocchio", looped / on_one, 40.0, True))
            goals.append((f"{STATES} states on one core, {question}, {name}: times Pinocchio in C++", program / on_one * STATES, 12.0, True))
            goals.append((f"two cores, {question}, {name}: times one", on_one / on_two, 1.8, True))
        compiled.close()
    catena.set_threads(0)
    return single, many, goals


def simulations():
    """A simulation compared with the program, and a controller in Python compared with MuJoCo."""
    here, rows, goals = catena.model("chain-7"), [], []
    start = np.array([0.1, 1.6, 0.2, -0.3, 0.4, 0.1, 0.2])
    here.simulate(start, duration=1)
    interval = LONG / 2000
    command = [sys.executable, "-m", "catena", "simulate", "chain-7", "--q", ",".join(map(str, start)), "--interval", str(interval)]

    def program(duration):
        subprocess.run([*command, "--duration", str(duration)], check=True, capture_output=True)

    ways = [lambda: here.simulate(start, duration=LONG, rtol=1e-8, interval=interval), lambda: program(LONG), lambda: program(interval)]
    ours, theirs, started = best(ways, turns=8)
    # what starting the process takes is taken off
    theirs -= started
    rows.append([f"{LONG:.0f} s of the chain, DOP853, rtol 1e-8: `simulate`", f"{ours * 1e3:.1f} ms", "the program", f"{theirs * 1e3:.1f} ms"])
    goals.append(("a simulation: time ÷ that of the program", ours / theirs, 1.1, False))

    target, mj = np.full(7, 0.3), MuJoCo(chain(7))
    mj.model.opt.timestep = 1 / RATE
    # the loop keeps what catena's run keeps of a sample, energies included
    mj.model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    steps = int(SECONDS * RATE)
    record = [np.empty((steps // KEPT, width)) for width in (7, 7, 7, 7, 2)]

    def control(t, q, v):
        return 40 * (target - q) - 8 * v

    def catena_run():
        return here.simulate(start, duration=SECONDS, control=control, rate=RATE)

    def catena_euler():
        return here.simulate(start, duration=SECONDS, control=control, rate=RATE, method="semi-implicit-euler")

    traced = catena.traced(control, here)

    def traced_run():
        return here.simulate(start, duration=SECONDS, control=traced, rate=RATE)

    def traced_euler():
        return here.simulate(start, duration=SECONDS, control=traced, rate=RATE, method="semi-implicit-euler")

    def mujoco_run(integrator):
        mj.model.opt.integrator = integrator
        mujoco.mj_resetData(mj.model, mj.data)
        data, row = mj.data, 0
        data.qpos[:] = start
        for k in range(steps):
            data.qfrc_applied[:] = control(k / RATE, data.qpos, data.qvel)
            mujoco.mj_step(mj.model, data)
            if (k + 1) % KEPT == 0:
                for kept, now in zip(record, (data.qpos, data.qvel, data.qacc, data.qfrc_applied, data.energy)):
                    kept[row] = now
                row += 1

    q, kinds = start.copy(), mujoco.mjtIntegrator
    ways = [catena_run, catena_euler, traced_run, traced_euler, lambda: mujoco_run(kinds.mjINT_RK4), lambda: mujoco_run(kinds.mjINT_EULER)]
    runge, euler, runge_traced, euler_traced, their_runge, their_euler = best(ways, turns=12)
    between = np.abs(traced_run().q - catena_run().q).max()
    if not between < 1e-11:
        raise SystemExit(f"error: the traced and the called controller end {between:.1e} apart")
    alone = best([lambda: control(0.0, q, q)], calls=1000)[0] * steps
    mujoco_run(kinds.mjINT_RK4)
    apart = np.abs(catena_run().q[-1] - mj.data.qpos).max()
    if apart > 1e-6:
        raise SystemExit(f"error: catena and MuJoCo end {apart:.1e} apart")
    words = f"{SECONDS:.0f} s with a controller in Python at 1 kHz"
    for method, ours, theirs in (("Runge–Kutta 4", runge, their_runge), ("semi-implicit Euler", euler, their_euler)):
        rows.append([f"{words}, {method}, audited", f"{ours * 1e3:.1f} ms", "loop over `mj_step`, same method", f"{theirs * 1e3:.1f} ms"])
        goals.append((f"a controller in Python at 1 kHz, {method}: times MuJoCo's loop", theirs / ours, 3.0, True))
    for method, ours, theirs in (("Runge–Kutta 4", runge_traced, their_runge), ("semi-implicit Euler", euler_traced, their_euler)):
        rows.append(
            [
                f"{SECONDS:.0f} s with the controller traced (`catena.traced`), Python not called, {method}, audited",
                f"{ours * 1e3:.1f} ms",
                "loop over `mj_step` that calls the function, same method",
                f"{theirs * 1e3:.1f} ms",
            ]
        )
    rows.append(["the controller alone takes", f"{alone * 1e3:.1f} ms", "of either loop that calls it", ""])
    words = (
        "Both loops call the same function with the same inputs at the same instants, step by a method of the same order and keep a sample of the motion and its energies every 10 ms; "
        f"catena's run also has an audit, for which it repeats some steps in halves. Since the function itself takes {alone * 1e3:.1f} ms of either loop, a simulation that took no time at all would be "
        f"{their_runge / alone:.1f} times MuJoCo's loop with Runge–Kutta 4 and {their_euler / alone:.1f} times with semi-implicit Euler. "
        "The rows with the controller traced do not call the function: they have no goal, and say nothing about a function that must be called.\n"
    )
    return rows, goals, words


def verdicts(goals):
    """What is reached of each goal."""
    rows, missed = [], 0
    for words, value, goal, at_least in goals:
        met = value >= goal if at_least else value <= goal
        missed += not met
        rows.append([words, f"{value:.2f}", f"{'≥' if at_least else '≤'} {goal:g}", "yes" if met else "no"])
    return rows, missed


def main():
    single, many, goals = calls()
    runs, more, words = simulations()
    rows, missed = verdicts(goals + more)
    parts = [
        "# Speed from Python\n",
        report.origin("peers/run.sh python", Program, "pin", "mujoco", "numpy") + f" One process, best of many turns; the load of the {os.cpu_count()} cores was {os.getloadavg()[0]:.1f}.\n",
        "## One call, µs\n",
        report.markdown(["model", "question", "catena", "Pinocchio", "ratio"], single),
        f"\n## {STATES:,} states, ns per state\n",
        report.markdown(
            ["model", "question", "one core", "two cores", "Python loop over Pinocchio", "loop ÷ one core", "Pinocchio in C++", "C++ ÷ one core", "one core ÷ two"], many
        ),
        f"\nArrays of float64 in, `out=` given. One core and two take turns in blocks of {ROW} calls. The loop stores its results in the rows of an array. Pinocchio in C++ is its fastest way, compiled for this processor, as in [speed.md](speed.md), here by "
        + " and ".join(sorted(path.name.removeprefix("pinocchio-") for path in (BUILD / "bin").glob("pinocchio-*") if not path.suffix))
        + ".\n",
        "## Motion in time\n",
        report.markdown(["catena from Python", "time", "compared with", "time"], runs),
        "\n" + words,
        "\n## Goals\n",
        report.markdown(["", "measured", "goal", "met"], rows),
    ]
    text = "\n".join(parts) + "\n"
    print(text)
    (report.DOCS / "python.md").write_text(text)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
