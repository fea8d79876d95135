"""How fast are many simulations of one robot, compared with `mujoco.rollout`, `mjbatch` and single runs?

Steps per second and core of semi-implicit Euler and Runge–Kutta 4 at the same step size, contacts and limits off: a chain of seven
revolute joints, a Panda, an ANYmal on a free base. MuJoCo gets the model that catena writes as MJCF, and both must reach the same states
before anything is timed. Then a Monte Carlo study of falls of the Stanford arm with variable steps, compared with single runs, from Python and by the bench
`ensembles`. All in one process, taking turns; the best of many turns counts. Writes docs/peers/ensembles.md, and ends with code 1 when a goal is missed.
"""

import os
import re
import sys

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import report  # noqa: E402

report.need("numpy", "mujoco", "catena")

import importlib.metadata  # noqa: E402
import json  # noqa: E402
import pathlib  # noqa: E402
import subprocess  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402

import mujoco  # noqa: E402
import mujoco.rollout  # noqa: E402
import numpy as np  # noqa: E402

import catena  # noqa: E402
from mujoco_steps import free_model  # noqa: E402

# mjbatch needs a MuJoCo of its own version
MJBATCH = os.environ.get("MJBATCH") or str(report.ROOT / "peers" / "build" / "mjbatch" / "bin" / "python")
STEP = 1e-3
STEPS = 100
MEMBERS = 512
TURNS = 15
FALLS = 20_000  # of the 100,000 that are asked for
SINGLE = 300
METHODS = {"semi-implicit-euler": "EULER", "rk4": "RK4"}


class Program:
    """What `report.origin` asks for the version."""

    @staticmethod
    def version():
        return f"catena {catena.__version__}"


def best(functions, turns=TURNS, clock=time.process_time):
    """The shortest time of one call of each function in s, all of them taking turns: processor time, which other programs disturb little."""
    found = [float("inf")] * len(functions)
    for _ in range(turns):
        for k, function in enumerate(functions):
            began = clock()
            function()
            found[k] = min(found[k], clock() - began)
    return found


def free(model):
    """The model without damping and friction in its joints."""
    still = {joint.name: 0.0 for joint in model.joints if joint.kind != "free"}
    return model.replace(damping=still, friction=still)


def robots():
    """The models."""
    yield "chain of seven revolute joints", catena.model("chain-7")
    found = importlib.metadata.files("example-robot-data")
    folder = next(pathlib.Path(file.locate()).resolve() for file in found if file.name == "panda.urdf").parents[2]
    text = (folder / "panda_description/urdf/panda.urdf").read_text()
    text = re.sub(r"<mimic\b[^>]*?/>", "", text)
    # the fingers are fixed: seven joints are left
    text = re.sub(r'(<joint name="panda_finger_joint\d"\s+type=)"prismatic"', r'\1"fixed"', text)
    yield "Panda, fingers fixed", free(catena.loads(text, "urdf"))
    anymal = (folder / "anymal_b_simple_description/robots/anymal.urdf").read_text()
    # placeholder inertias that no body has, and MuJoCo refuses: their products are left out
    anymal = re.sub(r'(ix[yz]|iyz)="(1e-6|0\.000001)"', r'\1="0"', anymal)
    yield "ANYmal, free base", free(catena.loads(anymal, "urdf", base="free"))


class Rollout:
    """`mujoco.rollout` on one core, or on more."""

    def __init__(self, arm, method, threads=1):
        self.model = free_model(arm.to_mjcf(), METHODS[method], STEP)
        self.data = [mujoco.MjData(self.model) for _ in range(threads)]
        self.kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        self.size = mujoco.mj_stateSize(self.model, self.kind)
        self.rollout = mujoco.rollout.Rollout(nthread=threads if threads > 1 else 0)

    def prepare(self, q, v):
        data = self.data[0]
        self.start = np.empty((len(q), self.size))
        for k in range(len(q)):
            mujoco.mj_resetData(self.model, data)
            data.qpos[:], data.qvel[:] = q[k], v[k]
            mujoco.mj_getState(self.model, data, self.start[k], self.kind)
        self.states = np.empty((len(q), STEPS, self.size))
        self.sensors = np.empty((len(q), STEPS, self.model.nsensordata))

    def run(self):
        self.rollout.rollout(
            self.model, self.data, self.start, nstep=STEPS, state=self.states, sensordata=self.sensors, skip_checks=False
        )
        last = self.states[:, -1, 1:]
        return last[:, : self.model.nq], last[:, self.model.nq : self.model.nq + self.model.nv]


def by_mjbatch(arm, method, q, v):
    """States at the end by `mjbatch`, processor seconds of the best turn, versions; in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "steps.npz")
        np.savez(path, model=arm.to_mjcf(), integrator=METHODS[method], step=STEP, steps=STEPS, turns=TURNS, q=q, v=v)
        script = pathlib.Path(__file__).with_name("mujoco_steps.py")
        done = subprocess.run([MJBATCH, str(script), path], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(report.fail(done.stderr))
        found = np.load(path)
        return found["q"], found["v"], float(found["seconds"]), str(found["version"])


def apart_of(here, q, v):
    """The largest difference of the states at the end."""
    return max(np.abs(here.q - q).max(), np.abs(here.v - v).max() / np.abs(v).max())


def fixed_steps():
    """Rows of steps per second, and their ratios."""
    rows, ratios, own, batch_ratios = [], [], [], []
    for name, arm in robots():
        q = np.array([arm.random(k)[0] for k in range(MEMBERS)])
        v = 0.3 * np.array([arm.random(k)[1] for k in range(MEMBERS)])
        heavier = [free(arm.replace(mass={arm.bodies[-1]: 1.0 + 0.01 * k})) for k in range(MEMBERS)]
        for method in METHODS:
            rollout = Rollout(arm, method)
            rollout.prepare(q, v)
            there, there_v = rollout.run()
            options = dict(duration=STEPS * STEP, method=method, step=STEP)
            here = arm.ensemble(q, v, **options)
            batch_q, batch_v, batch_time, batch_version = by_mjbatch(arm, method, q, v)
            apart = max(apart_of(here, there, there_v), apart_of(here, batch_q, batch_v))
            if not apart < 1e-9 or here.one_by_one or here.failures:
                raise SystemExit(report.fail(f"{name}, {method}: states are {apart:.1e} apart ({here!r})"))
            catena.set_threads(1)
            times = best(
                [
                    lambda: arm.ensemble(q, v, **options),
                    lambda: arm.ensemble(q, v, compile=False, **options),
                    lambda: arm.ensemble(q, v, models=heavier, **options),
                    rollout.run,
                ]
            )
            catena.set_threads(0)
            rates = [MEMBERS * STEPS / t for t in (*times, batch_time)]
            ratios.append(rates[0] / rates[3])
            batch_ratios.append(rates[0] / rates[4])
            own.append(rates[2] / rates[3])
            shown = [f"{rate / 1e6:.2f}" for rate in rates]
            rows.append([name, method, *shown, f"{ratios[-1]:.1f} ×", f"{batch_ratios[-1]:.1f} ×", report.rough(apart)])
            print(report.plain(HEAD, rows[-1:]), file=sys.stderr)
    return rows, ratios, own, batch_ratios, batch_version


HEAD = [
    "model",
    "method",
    "catena",
    "general recursion",
    "own masses",
    "mujoco.rollout",
    "mjbatch",
    "catena ÷ rollout",
    "catena ÷ mjbatch",
    "apart",
]


def falls():
    """The Monte-Carlo: seconds per fall by every way from Python, and how many cores two threads got."""
    arm = catena.model("stanford")
    q = np.array([arm.random(k)[0] for k in range(FALLS)])
    options = dict(duration=1.0, rtol=1e-8)
    cores = 0.0

    def threads(n):
        def run():
            nonlocal cores
            catena.set_threads(n)
            began, used = time.perf_counter(), time.process_time()
            made = arm.ensemble(q, **options)
            share = (time.process_time() - used) / (time.perf_counter() - began)
            cores = max(cores, share if n == 2 else 0.0)
            return made

        return run

    def single():
        for k in range(SINGLE):
            arm.simulate(q[k], interval=1.0, **options)

    one = threads(1)()
    assert one.one_by_one is None and not one.failures
    worst = max(np.abs(one.q[k] - arm.simulate(q[k], interval=1.0, **options).q[-1]).max() for k in range(50))
    times = best([threads(1), single], turns=7)
    wall = best([threads(1), threads(2)], turns=7, clock=time.perf_counter)
    catena.set_threads(0)
    return [times[0] / FALLS, times[1] / SINGLE], wall[0] / wall[1], cores, worst, one


def bench():
    """µs per fall of the bench `ensembles`, in Rust."""
    command = ["cargo", "bench", "--quiet", "--package", "catena", "--bench", "ensembles"]
    done = subprocess.run(command, cwd=report.ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(report.fail(done.stderr))
    return json.loads(done.stdout.splitlines()[-1])


def main():
    load = os.getloadavg()[0]
    rows, ratios, own, batch_ratios, batch_version = fixed_steps()
    each, cores, got, worst, one = falls()
    rust = bench()
    gain = rust["simulation"] / rust["lanes"]
    many = [
        ["ensemble, one core", f"{rust['lanes']:.1f}", f"{0.1 * rust['lanes']:.2f}", "1"],
        *(
            [name, f"{rust[key]:.1f}", f"{0.1 * rust[key]:.1f}", f"{rust[key] / rust['lanes']:.1f}"]
            for name, key in [("`Simulation`, with its audit", "simulation"), ("the integrator alone", "integrator")]
        ),
        ["from Python: `ensemble`", f"{1e6 * each[0]:.1f}", f"{1e5 * each[0]:.2f}", f"{1e6 * each[0] / rust['lanes']:.1f}"],
        ["from Python: `simulate`", f"{1e6 * each[1]:.1f}", f"{1e5 * each[1]:.1f}", f"{1e6 * each[1] / rust['lanes']:.1f}"],
    ]
    goals = [
        ["steps per second and core ÷ `mujoco.rollout`, least", f"{min(ratios):.1f}", "15", "yes" if min(ratios) >= 15 else "no"],
        ["steps per second and core ÷ `mjbatch`, least", f"{min(batch_ratios):.1f}", "15", "yes" if min(batch_ratios) >= 15 else "no"],
        ["the same with masses of their own ÷ `mujoco.rollout`, least", f"{min(own):.1f}", "15", "yes" if min(own) >= 15 else "no"],
        ["falls: `Simulation` ÷ ensemble, one core", f"{gain:.1f}", "6", "yes" if gain >= 6 else "no"],
        ["falls: one core ÷ two", f"{cores:.2f}", "1.8", "yes" if cores >= 1.8 else "no"],
    ]
    text = f"""# Ensembles

{report.origin("peers/run.sh ensembles", Program, "mujoco", "numpy")} One process, taking turns, processor time of the best of many turns; the load of the {os.cpu_count()} cores was {load:.1f} when it began.

## Steps of one size, million steps per second on one core

{report.markdown(HEAD, rows)}
{MEMBERS} members with {STEPS} steps of {1e3 * STEP:g} ms from random states, without efforts, contacts, limits, damping and friction. *catena* runs code generated for
the model, *general recursion* does not, *own masses* has a different mass of the last body in every member. MuJoCo reads the model as catena writes
it in MJCF and records every step, which `mujoco.rollout` always does; {batch_version}, which needs that version and ran in a process of its own, keeps the final state only. catena records the final state and balances the energy of every member. *apart* is the
largest difference of the final states. Members with different masses run the same code, whose inputs are the numbers that differ: {min(own):.1f} to {max(own):.1f} times MuJoCo's steps.

## Steps by tolerance: falls of the Stanford arm

1 s from random positions, DOP853, rtol 1e-8, atol 1e-10; {one.steps.mean():.0f} steps and {one.evaluations.mean():.0f} evaluations on average.

{report.markdown(["", "µs per fall", "s for 100,000", "÷ ensemble"], many)}
Measured on 4,096 falls in Rust (256 single ones) and on {FALLS:,} from Python ({SINGLE} single ones); seconds for 100,000 are extrapolated from them. All of them run code generated
for the model. The integrator alone is `Adaptive` without samples, audit and set-up. The gain of a second core is measured
by the clock: two threads got {got:.2f} cores of this machine at best, the others were busy. States at the end of 50 falls differ by up to {report.rough(worst)} from those of `simulate`: both are within their tolerance, and a fall amplifies errors.

## Goals

{report.markdown(["", "measured", "goal", "met"], goals)}"""
    report.write("ensembles.md", text)
    print(report.plain(["goal", "measured", "wanted", "met"], goals))
    return 0 if all(goal[-1] == "yes" for goal in goals) else 1


if __name__ == "__main__":
    sys.exit(main())
