"""How fast and how accurate is forward dynamics of closed chains?

catena (bench `closed`) and Pinocchio (peers/speed/pinocchio_closed.cpp, compiled with gcc and with clang where they are installed) are programs that
stay alive, load the same mechanism and the same states, and time one call at a time on request. catena finds the states, which satisfy the
constraints. Every method is compared with the accelerations in double-double arithmetic; the goals refer
to the fastest method of Pinocchio that is accurate to 1e-10: half of its time for one state, 0.12 of it per state of a batch. Writes
docs/peers/closed-chains.md (with --quick: into peers/build/speed), and ends with code 1 when catena is inaccurate or misses a goal.
"""

import argparse
import os
import sys

import report

report.need("numpy", "mujoco", "pinocchio")

import numpy as np  # noqa: E402

import closed_models  # noqa: E402
import speed_models  # noqa: E402
from coordinates import Coordinates  # noqa: E402
from program import Joint  # noqa: E402
from speed import BUILD, SCRATCH, Engine, Timing, Trouble, bench_program  # noqa: E402
from speed_results import Point, from_pinocchio, to_pinocchio  # noqa: E402

RIGHT = 1e-10  # relative error of accelerations up to which a method takes part
GOALS = {"single": 0.5, "batch": 0.12}
OURS = ("single", "single-general", "batch", "batch-general")
STATES = 16


class Ours:
    """What the page calls catena."""

    def __init__(self, engine):
        self.told = engine.ask("version")

    def version(self):
        number, cpu = self.told.split()
        return f"catena {number} ({cpu})"


def start(core):
    """All programs, catena first."""
    engines = [Engine("catena", bench_program("closed"), core)]
    for key in ("closed-clang", "closed-gcc"):
        if (BUILD / "bin" / key).is_file():
            engines.append(Engine(key, BUILD / "bin" / key, core))
    if len(engines) == 1:
        raise Trouble("the programs of the peers are not built\nhint: run peers/speed/build.sh closed first")
    return engines


def prepare(engines, mechanism):
    """Has catena find closed states, and loads them everywhere. Returns what is needed to compare."""
    tree, ours = SCRATCH / f"{mechanism.name}.tree", SCRATCH / f"{mechanism.name}.states"
    theirs = SCRATCH / f"{mechanism.name}.pinocchio.states"
    closed_models.write_tree(mechanism, tree)
    engines[0].ask(f"states {mechanism.name} {STATES} {ours}")
    words = [word.split(":") for word in engines[0].ask(f"joints {mechanism.name}").split()]
    joints = [Joint(name, kind, int(q), int(v)) for name, kind, q, v in words]
    coordinates = Coordinates(joints, closed_models.python_model(mechanism.bodies))
    count, nq, nv = np.fromfile(ours, dtype="<i8", count=3)
    numbers = np.fromfile(ours, dtype="<f8", offset=24)
    q, rest = numbers[: count * nq].reshape(count, nq), numbers[count * nq :].reshape(3, count, nv)
    v, vdot, tau = rest[0], rest[1], mechanism.efforts(joints, q, rest[2])
    points = [Point(*point) for point in zip(q, v, vdot, tau)]
    converted = [to_pinocchio(coordinates, point) for point in points]
    speed_models.write_states(theirs, *map(np.array, zip(*converted)))
    for engine in engines:
        engine.load(tree, ours if engine is engines[0] else theirs)
    for path in (tree, ours, theirs):
        path.unlink()
    return coordinates, points


def errors(engines, mechanism, coordinates, points):
    """How far every method is from the exact accelerations, relative to their largest: the worst of all states."""
    nv = sum(joint.nv for joint in coordinates.model.joints)
    exact = [parts[0] for parts in engines[0].results("forward/exact", STATES, "forward", nv)]
    found = {}
    for engine in engines:
        for call in engine.calls:
            results = engine.results(call, STATES, "forward", nv)
            if engine is not engines[0]:
                pairs = zip(results, points)
                results = [from_pinocchio("forward", parts, coordinates, point, {}) for parts, point in pairs]
            apart = [np.max(np.abs(parts[0] - a)) / np.max(np.abs(a)) for parts, a in zip(results, exact)]
            found[engine.key, call] = float(np.max(apart))  # NaN stays
    return found


def measure(engines, error, rounds, seconds):
    """Turns: every method once, in every round."""
    ways = [(engine, Timing(engine.key, call)) for engine in engines for call in engine.calls]
    ways = [(engine, timing) for engine, timing in ways if np.isfinite(error[engine.key, timing.call])]
    for _ in range(rounds):
        for engine, timing in ways:
            timing.add(*engine.time(timing.call, seconds))
    return {(timing.engine, timing.call): timing for _, timing in ways}


def fastest(timings, error):
    """Pinocchio's fastest method that is right."""
    fitting = [t for key, t in timings.items() if key[0] != "catena" and error[key] <= RIGHT]
    return min(fitting, key=lambda t: t.best, default=None)


def micro(timing):
    return "–" if timing is None else f"{timing.best / 1e3:.2f}"


TEXT = """# Closed chains compared with Pinocchio

Forward dynamics of closed chains, µs per state, the best of {rounds} turns of {seconds} s on one core. Both engines are compiled programs and compute the same
{states} states, which satisfy the constraints. *one state*: `CompiledChain::forward`, code generated for the mechanism;
*general*: `ClosedChain::forward`, without that code. *batch*: `Batch` with that code, and without it, per state, on one thread. *Pinocchio*: its fastest
method that is accurate to 1e-10, with its name. *ratio*: catena's time over Pinocchio's, for one state and in a batch; the goals are {single} and {batch}.
Missed: {missed}. The general algorithm has no goal: it finds the rank at every state, and takes about as long as Pinocchio where
loops are few.

{origin}{flags}

{table}

{mechanisms}

## Accuracy of every method

Largest relative error of the accelerations, against double-double arithmetic, and µs. `constraintDynamics` takes one exact step (zero rows
make it singular), or proximal steps with 1e-8 until its residual is below 1e-12; `lcaba` takes such steps with 1e-6, 1e-8 and 1e-10, at most 20;
`pv` takes one exact step, `constrainedABA` steps with 1e-6; both support loops to the ground only. Of two compilers the faster is listed.

{methods}"""


def row(mechanism, timings, error):
    """A line of the table, and the ratios."""
    ours = {way: timings.get(("catena", f"forward/{way}")) for way in OURS}
    best = fastest(timings, error)
    ratios = {way: ours[way].best / best.best if best else None for way in GOALS}
    told = ["–" if not ratio else f"{ratio:.2f}" if ratio >= 0.01 else f"{ratio:.4f}" for ratio in ratios.values()]
    method = f"{best.route}, {best.engine.split('-')[1]}" if best else "none is right"
    cells = [mechanism.name, *(micro(ours[way]) for way in OURS), micro(best), method, *told]
    return cells, ratios


def methods(mechanisms, all_timings, all_errors):
    """Every method of both on every mechanism: error, and time."""
    calls = list(dict.fromkeys((key[0] == "catena", key[1]) for error in all_errors for key in error))
    rows = []
    for is_ours, call in calls:
        cells = []
        for timings, error in zip(all_timings, all_errors):
            fitting = [key for key in timings if key[1] == call and (key[0] == "catena") == is_ours]
            best = min(fitting, key=lambda key: timings[key].best, default=None)
            cells.append("–" if best is None else f"{report.rough(error[best])}, {micro(timings[best])}")
        rows.append([("catena " if is_ours else "Pinocchio ") + call.split("/")[1], *cells])
    return report.markdown(["method", *(m.name for m in mechanisms)], rows)


def arguments():
    parser = argparse.ArgumentParser(prog="peers/run.sh closed-chains", description="Closed chains compared with Pinocchio.")
    parser.add_argument("--quick", action="store_true", help="short turns; the page goes to peers/build/speed")
    parser.add_argument("--models", help="only these, separated by commas; the page goes to peers/build/speed")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)), help="the core to run on (default: the last)")
    return parser.parse_args()


def main():
    """Runs both and compares."""
    wishes = arguments()
    rounds, seconds = (3, 0.02) if wishes.quick else (15, 0.05)
    SCRATCH.mkdir(parents=True, exist_ok=True)
    mechanisms = closed_models.mechanisms()
    if wishes.models:
        mechanisms = [m for m in mechanisms if m.name in wishes.models.split(",")]
    engines, rows, missed, all_timings, all_errors = [], [], [], [], []
    head = ["mechanism", "one state", "general", "batch", "batch, general", "Pinocchio", "by", "ratio", "ratio in a batch"]
    try:
        engines = start(wishes.core)
        for mechanism in mechanisms:
            error = errors(engines, mechanism, *prepare(engines, mechanism))
            wrong = [f"{key[1]}: {value:.1e}" for key, value in error.items() if key[0] == "catena" and not value <= RIGHT]
            if wrong:
                raise Trouble(f"{mechanism.name}: catena is not right: {', '.join(wrong)}")
            timings = measure(engines, error, rounds, seconds)
            cells, ratios = row(mechanism, timings, error)
            print("  ".join(cells), flush=True)
            for way, goal in GOALS.items():
                if ratios[way] and ratios[way] > goal:
                    where = "one state" if way == "single" else "a batch"
                    missed.append(f"{mechanism.name}, {where}: {ratios[way]:.2f} (goal {goal})")
            rows.append(cells)
            all_timings.append(timings)
            all_errors.append(error)
        program = Ours(engines[0])
    except (Trouble, OSError) as problem:
        return report.fail(problem)
    finally:
        for engine in engines:
            engine.close()
    print(report.plain(head, rows))
    for goal in missed:
        print(f"missed: {goal}")
    flags = "".join("\n" + one.read_text(encoding="utf-8").strip() + "." for one in sorted((BUILD / "bin").glob("closed-*.flags")))
    page = (SCRATCH if wishes.quick or wishes.models else report.DOCS) / "closed-chains.md"
    page.write_text(
        TEXT.format(
            rounds=rounds,
            seconds=seconds,
            states=STATES,
            **GOALS,
            missed=", ".join(missed) or "nothing",
            origin=report.origin("peers/run.sh closed-chains", program, "pin", "numpy"),
            flags=flags,
            table=report.markdown(head, rows),
            mechanisms="\n".join(f"* *{m.name}*: {m.title}" for m in mechanisms),
            methods=methods(mechanisms, all_timings, all_errors),
        ),
        encoding="utf-8",
    )
    print(f"wrote {page}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
