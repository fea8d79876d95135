"""How fast is one call, compared with Pinocchio and MuJoCo?

Every engine is a program of its own that stays alive, loads the same tree and the same random states, and times one call at a time on
request. They take turns on one core. Before anything is timed the results are compared; a difference beyond 1e-9 ends the comparison.
Writes docs/peers/speed.{md,csv,svg} (with --quick: into peers/build/speed), and ends with code 1 when engines disagree or a target is
missed.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field

import report

report.need("numpy", "mujoco", "pinocchio")

import numpy as np  # noqa: E402

import speed_models  # noqa: E402
import speed_page  # noqa: E402
from coordinates import Coordinates  # noqa: E402
from program import Joint  # noqa: E402
from speed_results import Point, difference, from_pinocchio, residual, shaped, to_pinocchio  # noqa: E402

BUILD = report.ROOT / "peers" / "build"
SCRATCH = BUILD / "speed"
QUANTITIES = ["inverse", "forward", "inertia-upper", "inertia", "factorization", "inverse-derivatives", "forward-derivatives"]
TOLERANCE = 1e-9
SEED = 7
KEPT = 1.15  # routes of Pinocchio this much slower than its fastest in the first round take no further part


class Trouble(Exception):
    """Something that ends the comparison."""


class Engine:
    """A program that serves orders (peers/speed/engine.h)."""

    def __init__(self, key, program, core):
        def pin_to_core():
            os.sched_setaffinity(0, {core})

        self.key = key
        self.process = subprocess.Popen(
            [str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=pin_to_core
        )
        self.calls = self.ask("calls").split()

    def ask(self, order):
        try:
            self.process.stdin.write(order + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline().strip()
        except OSError as problem:
            raise Trouble(f"{self.key}: {problem}") from problem
        kind, _, rest = answer.partition(" ")
        if kind in ("error", ""):
            raise Trouble(f"{self.key}: {rest or 'ended'} (asked: {order})")
        return rest

    def load(self, tree, states):
        self.ask(f"load {tree} {states}")

    def results(self, call, count, quantity, nv):
        """Results of the first states: for each a list of vectors and matrices."""
        path = SCRATCH / f"{self.key}.results"
        self.ask(f"results {call} {count} {path}")
        numbers = np.fromfile(path, dtype="<f8").reshape(count, -1)
        path.unlink()
        return [shaped(quantity, one, nv) for one in numbers]

    def time(self, call, seconds):
        """Best and median, in ns per state."""
        best, median, _ = self.ask(f"time {call} {seconds}").split()
        return float(best), float(median)

    def of(self, quantity):
        """Its calls for a quantity. The peers fill one triangle of the inertia matrix, whatever is asked for."""
        if self.key != "catena" and quantity == "inertia-upper":
            quantity = "inertia"
        return [call for call in self.calls if call.split("/")[0] == quantity]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


@dataclass
class Timing:
    """One way to one quantity of one engine."""

    engine: str
    call: str
    best: float = np.inf
    medians: list = field(default_factory=list)
    spent: float = 0.0  # seconds

    def add(self, best, median):
        self.best = min(self.best, best)
        self.medians.append(median)

    @property
    def median(self):
        return float(np.median(self.medians))

    @property
    def route(self):
        return self.call.split("/")[1]


@dataclass
class Row:
    """One model and quantity: the fastest way of every engine, and how far their results are apart."""

    entry: speed_models.Entry
    quantity: str
    single: Timing | None
    batch: Timing | None
    single_general: Timing | None  # without code compiled for the model
    batch_general: Timing | None
    pinocchio: Timing | None
    mujoco: Timing | None
    apart: dict
    operations: tuple | None  # of catena's recursion: plain ones, and pairs of sine and cosine


def bench_program(name):
    """Builds a bench of catena, as any user would, and says where it is."""
    build = ["cargo", "bench", "--quiet", "--package", "catena", "--bench", name, "--no-run", "--message-format=json"]
    done = subprocess.run(build, cwd=report.ROOT, stdout=subprocess.PIPE, text=True)
    messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    programs = [message["executable"] for message in messages if message.get("executable")]
    if done.returncode != 0 or not programs:
        raise Trouble("the bench of catena cannot be built")
    return programs[-1]


def start(core):
    engines = {"catena": Engine("catena", bench_program("peers"), core)}
    for key in ("pinocchio-clang", "pinocchio-gcc", "mujoco"):
        program = BUILD / "bin" / key
        if program.is_file():
            engines[key] = Engine(key, program, core)
    if "mujoco" not in engines or not any(key.startswith("pinocchio") for key in engines):
        raise Trouble("the programs of the peers are not built\nhint: run peers/setup.sh first")
    return engines


@dataclass
class Case:
    """A model at its states, loaded everywhere, and what is needed to compare results at the first of them."""

    entry: speed_models.Entry
    points: list  # in catena's coordinates
    coordinates: Coordinates
    checked: int
    slopes: list  # ∂τ/∂q and ∂τ/∂v at the accelerations that τ produces, by Pinocchio, in catena's coordinates


def main_pinocchio(engines):
    return next(engine for key, engine in engines.items() if key.startswith("pinocchio"))


def prepare(engines, entry):
    """Writes tree and states and loads them everywhere."""
    count = 64 if entry.nv <= 100 else 16
    checked = 16 if entry.nv <= 60 else 4 if entry.nv <= 100 else 2
    tree, compiled = SCRATCH / f"{entry.name}.tree", SCRATCH / f"{entry.name}.mjb"
    ours, theirs = SCRATCH / f"{entry.name}.states", SCRATCH / f"{entry.name}.pinocchio.states"
    speed_models.write_tree(entry, tree)
    order = speed_models.write_mujoco(entry, compiled)

    # The order of coordinates, from a load with states that are all at rest.
    speed_models.write_states(ours, *speed_models.neutral_states(entry))
    engines["catena"].load(tree, ours)
    joints = [word.split(":") for word in engines["catena"].ask("joints").split()]
    if order != [joint[0] for joint in joints]:
        raise Trouble(f"{entry.name}: MuJoCo and catena order the bodies differently")
    joints = [Joint(name, kind, int(q), int(v)) for name, kind, q, v in joints]
    coordinates = Coordinates(joints, speed_models.pinocchio_model(entry))

    q, v, vdot, tau = speed_models.random_states(entry, coordinates, count, SEED)
    points = [Point(*point) for point in zip(q, v, vdot, tau)]
    speed_models.write_states(ours, q, v, vdot, tau)
    write_for_pinocchio(theirs, coordinates, points)
    slopes = slopes_of_inverse(main_pinocchio(engines), entry, points[:checked], coordinates, tree, theirs)
    write_for_pinocchio(theirs, coordinates, points)
    for key, engine in engines.items():
        if key == "mujoco":
            engine.load(compiled, ours)
        else:
            engine.load(tree, theirs if key.startswith("pinocchio") else ours)
    for path in (tree, compiled, ours, theirs):
        path.unlink()
    return Case(entry, points, coordinates, checked, slopes)


def write_for_pinocchio(path, coordinates, points):
    converted = [to_pinocchio(coordinates, point) for point in points]
    speed_models.write_states(path, *map(np.array, zip(*converted)))


def slopes_of_inverse(engine, entry, points, coordinates, tree, path):
    """∂τ/∂q and ∂τ/∂v at the accelerations that τ produces: forward dynamics must have the derivatives that follow from them."""
    engine.load(tree, path)
    forward = engine.results(engine.of("forward")[0], len(points), "forward", entry.nv)
    forward = [from_pinocchio("forward", a, coordinates, point, {})[0] for a, point in zip(forward, points)]
    moving = [Point(point.q, point.v, a, point.tau) for point, a in zip(points, forward)]
    write_for_pinocchio(path, coordinates, moving)
    engine.load(tree, path)
    quantity = "inverse-derivatives"
    results = engine.results(engine.of(quantity)[0], len(points), quantity, entry.nv)
    return [
        from_pinocchio(quantity, parts, coordinates, point, {"inverse": [point.tau]})[:2] for parts, point in zip(results, moving)
    ]


def compare(engines, case):
    """How far every way is from the first way of Pinocchio, by quantity and way: the worst of the checked states. Solutions of
    linear equations in the inertia matrix are put back into them instead."""
    first, nv, apart = main_pinocchio(engines), case.entry.nv, {}
    reference = [{} for _ in range(case.checked)]
    for quantity in ["inertia", *(q for q in QUANTITIES if q != "inertia")]:
        theirs = first.results(first.of(quantity)[0], case.checked, quantity, nv)
        for k in range(case.checked):
            converted = from_pinocchio(quantity, theirs[k], case.coordinates, case.points[k], reference[k])
            reference[k][quantity] = converted
        apart[quantity] = {}
        for engine in engines.values():
            for call in engine.of(quantity):
                results = engine.results(call, case.checked, quantity, nv)
                if engine.key.startswith("pinocchio"):
                    results = [
                        from_pinocchio(quantity, result, case.coordinates, point, others)
                        for result, point, others in zip(results, case.points, reference)
                    ]
                found = [distance(case, k, quantity, results[k], reference[k]) for k in range(case.checked)]
                apart[quantity][f"{engine.key} {call}"] = float(np.max(found))  # NaN stays
    return apart


def distance(case, k, quantity, result, reference):
    inertia = reference["inertia"][0]
    if quantity == "factorization":
        return residual(inertia, result, [case.points[k].tau])
    if quantity == "forward-derivatives":
        return residual(inertia, result, [-slope for slope in case.slopes[k]] + [np.eye(len(inertia))])
    return difference(quantity, result, reference[quantity], inertia)


def judge(name, apart):
    """Disagreements that end the comparison, which are those of catena, and ways of peers that are not timed because they are beyond
    the tolerance by themselves."""
    wrong, left_out = [], []
    for quantity, ways in apart.items():
        for way, value in list(ways.items()):
            if value <= TOLERANCE:
                continue
            told = f"{name}: {quantity} of {way} is {report.rough(value)} away"
            (wrong if way.startswith("catena") else left_out).append(told)
            del ways[way]
    return wrong, left_out


def measure(engines, quantity, agreeing, rounds, seconds):
    """Turns: every way once, then the fast ones again and again. Slow calls get fewer turns, but three. Returns the timings."""
    ways = [(engine, Timing(engine.key, call)) for engine in engines.values() for call in engine.of(quantity)]
    ways = [(engine, timing) for engine, timing in ways if f"{engine.key} {timing.call}" in agreeing]
    for turn in range(rounds):
        for engine, timing in ways:
            if turn < 3 or timing.spent < 2 * rounds * seconds:
                began = time.perf_counter()
                timing.add(*engine.time(timing.call, seconds))
                timing.spent += time.perf_counter() - began
        if turn == 0:
            least = min((t.best for _, t in ways if t.engine.startswith("pinocchio")), default=np.inf)
            ways = [(engine, t) for engine, t in ways if not t.engine.startswith("pinocchio") or t.best <= KEPT * least]
    return [timing for _, timing in ways]


def fastest(timings, engine, route=None):
    fitting = [t for t in timings if t.engine.startswith(engine) and route in (None, t.route)]
    return min(fitting, key=lambda t: t.best, default=None)


def peak(core):
    """Clock in GHz and most operations per ns, by kind of register."""
    program = BUILD / "bin" / "peak"
    done = subprocess.run(
        [program], capture_output=True, text=True, check=True, preexec_fn=lambda: os.sched_setaffinity(0, {core})
    )
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


def arguments():
    parser = argparse.ArgumentParser(prog="peers/run.sh speed", description="Speed of single calls compared with Pinocchio and MuJoCo.")
    parser.add_argument("--quick", action="store_true", help="short turns; the page goes to peers/build/speed")
    parser.add_argument("--models", help="only these, separated by commas; the page goes to peers/build/speed")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)), help="the core to run on (default: the last)")
    parser.add_argument("--rounds", type=int, help="turns of every engine (default: 15, quick: 3)")
    parser.add_argument("--seconds", type=float, help="length of a turn (default: 0.05, quick: 0.02)")
    return parser.parse_args()


def chosen(wanted):
    entries = speed_models.entries()
    if not wanted:
        return entries
    unknown = set(wanted.split(",")) - {entry.name for entry in entries}
    if unknown:
        raise Trouble(f"no model of this comparison is called {', '.join(sorted(unknown))}")
    return [entry for entry in entries if entry.name in wanted.split(",")]


def survey(engines, entry, rounds, seconds):
    """All rows of one model, or the differences that forbid them."""
    apart = compare(engines, prepare(engines, entry))
    wrong, left_out = judge(entry.name, apart)
    for one in left_out:
        print(f"left out: {one}")
    if wrong:
        return [], wrong, left_out
    counts = [word.split(":") for word in engines["catena"].ask("operations").split()]
    operations = {quantity: (int(plain), int(sines)) for quantity, plain, sines in counts}
    rows = []
    for quantity in QUANTITIES:
        timings = measure(engines, quantity, apart[quantity], rounds, seconds)
        ours = [fastest(timings, "catena", route) for route in ("single", "batch", "single-general", "batch-general")]
        pinocchio, other = fastest(timings, "pinocchio"), fastest(timings, "mujoco")
        rows.append(Row(entry, quantity, *ours, pinocchio, other, apart[quantity], operations.get(quantity)))
        print(speed_page.line(rows[-1]), flush=True)
    return rows, wrong, left_out


def main():
    wishes = arguments()
    rounds = wishes.rounds or (3 if wishes.quick else 15)
    seconds = wishes.seconds or (0.02 if wishes.quick else 0.05)
    SCRATCH.mkdir(parents=True, exist_ok=True)
    rows, wrong, left_out, engines = [], [], [], {}
    try:
        entries = chosen(wishes.models)
        engines = start(wishes.core)
        limits = peak(wishes.core)
        print(speed_page.line_of_peak(limits))
        print(speed_page.head())
        for entry in entries:
            more, bad, inexact = survey(engines, entry, rounds, seconds)
            rows += more
            wrong += bad
            left_out += inexact
            for one in bad:
                print(f"disagree: {one}", file=sys.stderr)
        version = engines["catena"].ask("version")
    except (Trouble, speed_models.Unfit, OSError, subprocess.CalledProcessError) as problem:
        return report.fail(problem)
    finally:
        for engine in engines.values():
            engine.close()
    if wrong:
        print("no page is written: engines disagree", file=sys.stderr)
        return 1
    whole = not (wishes.quick or wishes.models)
    command = " ".join(["peers/run.sh speed", *sys.argv[1:]])
    record = speed_page.Record(rows, left_out, limits, command, version, rounds, seconds, wishes.core)
    speed_page.write(record, report.DOCS if whole else SCRATCH)
    missed = speed_page.missed(rows)
    for one in missed:
        print(f"missed: {one}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
