"""Who is right about long chains of spherical joints?

Chains of equal rods (catena's embedded `pendulum-N`) in random states, their accelerations computed by catena, by Pinocchio's
articulated-body algorithm, by Pinocchio's inertia matrix and LAPACK's Cholesky, and by MuJoCo; each measured against the exact
accelerations (exact_chain.py) and by its own inverse dynamics. Writes docs/peers/spherical-chains.md and .svg, and ends with
code 1 when catena exceeds its bounds.
"""

import sys
from dataclasses import dataclass

import report

report.need("numpy", "mpmath", "matplotlib", "mujoco", "pinocchio")

import matplotlib  # noqa: E402
import mujoco  # noqa: E402
import numpy as np  # noqa: E402
import pinocchio as pin  # noqa: E402
from matplotlib import pyplot  # noqa: E402

import exact_chain  # noqa: E402
from program import Program, Refused  # noqa: E402

LENGTHS = [10, 20, 30, 50, 70, 100, 200, 300, 1000]
SEED = 7
STATES = 5
STATES_OF_THE_LONGEST = 2
BOUNDS = {  # on catena: what the page claims, and exit code 1 otherwise
    "released": ("acceleration", 1e-12),
    "driven": ("torque", 1e-13),
}
PINOCCHIO, CHOLESKY, MUJOCO, CATENA = "Pinocchio `aba`", "Pinocchio `crba` + Cholesky", "MuJoCo", "catena"
ENGINES = [PINOCCHIO, CHOLESKY, MUJOCO, CATENA]
LAST_BIT = "last bit of τ"


@dataclass(frozen=True)
class Rod:
    """A rod of `pendulum-N`: a solid cylinder hanging along −z from its joint."""

    mass: float = 1.0
    length: float = 1.0
    radius: float = 0.05
    gravity: tuple = (0.0, 0.0, -9.81)

    @property
    def centre(self):
        return np.array([0.0, 0.0, -self.length / 2])

    @property
    def next_joint(self):
        return np.array([0.0, 0.0, -self.length])

    @property
    def moments(self):
        across = self.mass * (3 * self.radius**2 + self.length**2) / 12
        return np.array([across, across, self.mass * self.radius**2 / 2])


ROD = Rod()


@dataclass
class State:
    """One state of a chain: n×4 quaternions (w, x, y, z), n×3 relative angular velocities and torques, child axes."""

    quaternions: np.ndarray
    velocities: np.ndarray
    torques: np.ndarray | None = None
    exact: np.ndarray | None = None


class Catena:
    """catena's factorization with exact zeros."""

    def __init__(self, n, program):
        self.program, self.model = program, f"pendulum-{n}"

    def forward(self, states):
        asked = [self._state(s) | {"tau": s.torques.ravel().tolist()} for s in states]
        return [np.array(answer).reshape(-1, 3) for answer in self.program.forward(self.model, asked)]

    def inverse(self, states, accelerations):
        asked = [self._state(s) | {"a": a.ravel().tolist()} for s, a in zip(states, accelerations, strict=True)]
        return [np.array(answer).reshape(-1, 3) for answer in self.program.inverse(self.model, asked)]

    @staticmethod
    def _state(state):
        return {"q": state.quaternions.ravel().tolist(), "v": state.velocities.ravel().tolist()}


class OneByOne:
    """An engine that takes one state at a time."""

    def forward(self, states):
        return [self.forward_one(state) for state in states]

    def inverse(self, states, accelerations):
        return [self.inverse_one(s, a) for s, a in zip(states, accelerations, strict=True)]


class PinocchioAba(OneByOne):
    """Pinocchio's articulated-body algorithm, in its default convention (LOCAL)."""

    def __init__(self, n):
        self.model = pinocchio_chain(n)
        self.data = pin.Data(self.model)

    def arguments(self, state):
        return self.model, self.data, np.roll(state.quaternions, -1, axis=1).ravel(), state.velocities.ravel()

    def forward_one(self, state):
        return pin.aba(*self.arguments(state), state.torques.ravel()).reshape(-1, 3).copy()

    def inverse_one(self, state, acceleration):
        return pin.rnea(*self.arguments(state), acceleration.ravel()).reshape(-1, 3).copy()


class PinocchioCholesky(PinocchioAba):
    """Composite bodies (Pinocchio's crba) and Cholesky (LAPACK through NumPy)."""

    def __init__(self, sibling):
        self.model, self.data = sibling.model, sibling.data

    def forward_one(self, state):
        model, data, q, v = self.arguments(state)
        inertia = np.triu(pin.crba(model, data, q))
        inertia += np.triu(inertia, 1).T
        factor = np.linalg.cholesky(inertia)
        force = state.torques.ravel() - pin.nle(model, data, q, v)
        return np.linalg.solve(factor.T, np.linalg.solve(factor, force)).reshape(-1, 3)


class MuJoCo(OneByOne):
    """MuJoCo: composite bodies and the sparse LᵀDL factorization."""

    def __init__(self, n):
        self.model = mujoco_chain(n)
        self.data = mujoco.MjData(self.model)

    def _set(self, state):
        self.data.qpos[:] = state.quaternions.ravel()
        self.data.qvel[:] = state.velocities.ravel()

    def forward_one(self, state):
        self._set(state)
        self.data.qfrc_applied[:] = state.torques.ravel()
        mujoco.mj_forward(self.model, self.data)
        return self.data.qacc_smooth.reshape(-1, 3).copy()

    def inverse_one(self, state, acceleration):
        self._set(state)
        self.data.qacc[:] = acceleration.ravel()
        mujoco.mj_inverse(self.model, self.data)
        return self.data.qfrc_inverse.reshape(-1, 3).copy()


def pinocchio_chain(n):
    model = pin.Model()
    model.gravity.linear = np.array(ROD.gravity)
    body = pin.Inertia(ROD.mass, ROD.centre, np.diag(ROD.moments))
    parent = 0
    for k in range(n):
        at = ROD.next_joint if k else np.zeros(3)
        parent = model.addJoint(parent, pin.JointModelSpherical(), pin.SE3(np.eye(3), at), f"ball{k + 1}")
        model.appendBodyToJoint(parent, body, pin.SE3.Identity())
    return model


def mujoco_chain(n):
    spec = mujoco.MjSpec()
    spec.option.gravity = ROD.gravity
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    body = spec.worldbody
    for k in range(n):
        at = ROD.next_joint if k else np.zeros(3)
        body = body.add_body(
            name=f"rod{k + 1}", pos=at, mass=ROD.mass, ipos=ROD.centre, inertia=ROD.moments, explicitinertial=True
        )
        body.add_joint(name=f"ball{k + 1}", type=mujoco.mjtJoint.mjJNT_BALL)
    return spec.compile()


def pinocchio_memory(n):
    """Bytes that Pinocchio's Data takes: it keeps four tensors with nv³ entries."""
    return 4 * 8 * (3 * n) ** 3


def available_memory():
    """Bytes free for use, or None where the system does not tell."""
    try:
        lines = open("/proc/meminfo").read().splitlines()
    except OSError:
        return None
    kilobytes = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return 1024 * int(kilobytes[0]) if kilobytes else None


def fits_in_memory(n):
    """Whether Pinocchio's Data fits with room to spare (beyond 8 GB not tried where the system does not tell)."""
    free = available_memory()
    return 1.5 * pinocchio_memory(n) < (8e9 if free is None else free)


def random_states(n, count, rng):
    states = []
    for _ in range(count):
        quaternions = rng.normal(size=(n, 4))
        quaternions /= np.linalg.norm(quaternions, axis=1)[:, None]
        states.append(State(quaternions, rng.uniform(-1, 1, (n, 3))))
    return states


def with_torques(states, torques):
    """The states with these torques, and the exact accelerations they give."""
    return [
        State(s.quaternions, s.velocities, t, exact_chain.accelerations(ROD, s.quaternions, s.velocities, t))
        for s, t in zip(states, torques, strict=True)
    ]


def relative(difference, scale):
    return np.abs(difference).max() / np.abs(scale).max()


@dataclass
class Result:
    """Worst over the states: error of the accelerations, and of the torques that inverse dynamics returns for them."""

    acceleration: float
    torque: float | None


def measure(engine, states):
    found = engine.forward(states)
    returned = engine.inverse(states, found)
    return Result(
        max(relative(a - s.exact, s.exact) for a, s in zip(found, states, strict=True)),
        max(relative(t - s.torques, s.torques) for t, s in zip(returned, states, strict=True)),
    )


def engines(n, program):
    """The engines that can hold a chain of n rods."""
    chosen = {CATENA: Catena(n, program), MUJOCO: MuJoCo(n)}
    if fits_in_memory(n):
        chosen[PINOCCHIO] = PinocchioAba(n)
        chosen[CHOLESKY] = PinocchioCholesky(chosen[PINOCCHIO])
    return chosen


def experiments(n, helper, rng):
    """The two experiments: states with torques and exact accelerations."""
    states = random_states(n, STATES if n < max(LENGTHS) else STATES_OF_THE_LONGEST, rng)
    small = [rng.uniform(-1, 1, (n, 3)) for _ in states]
    large = helper.inverse(states, [rng.uniform(-1, 1, (n, 3)) for _ in states])
    return {"released": with_torques(states, small), "driven": with_torques(states, large)}


def sensitivity(states, rng):
    """How far the exact accelerations move when every torque changes in its last bit: no engine can be expected to do better
    on torques that were rounded once."""
    worst = 0.0
    for state in states:
        direction = np.where(rng.random(state.torques.shape) < 0.5, -np.inf, np.inf)
        moved = with_torques([state], [np.nextafter(state.torques, direction)])[0]
        worst = max(worst, relative(moved.exact - state.exact, state.exact))
    return Result(worst, None)


def measure_all(program):
    """results[experiment][n][engine]."""
    results = {"released": {}, "driven": {}}
    for n in LENGTHS:
        print(f"{n} joints …", file=sys.stderr)
        chosen = engines(n, program)
        rng = np.random.default_rng([SEED, n])
        for experiment, states in experiments(n, chosen[MUJOCO], rng).items():
            results[experiment][n] = {name: measure(engine, states) for name, engine in chosen.items()}
            results[experiment][n][LAST_BIT] = sensitivity(states, rng)
    return results


def table(results, quantity, names):
    rows = []
    for n, row in results.items():
        values = [getattr(row[name], quantity) if name in row else None for name in names]
        rows.append([n, *map(report.rough, values)])
    return ["joints", *names], rows


def draw(results, path):
    """Relative error of the accelerations against the number of joints, both experiments side by side."""
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.fonttype": "path", "svg.hashsalt": "catena", "font.size": 10})
    # colours of Okabe and Ito, told apart by every kind of sight; markers differ too
    styles = {
        PINOCCHIO: ("#d55e00", "o"),
        CHOLESKY: ("#e69f00", "s"),
        MUJOCO: ("#009e73", "^"),
        CATENA: ("#0072b2", "D"),
    }
    titles = {"released": "released: torques within ±1 N·m", "driven": "driven: torques for accelerations within ±1 rad/s²"}
    figure, panels = pyplot.subplots(1, 2, figsize=(9.6, 4.4), sharey=True, layout="constrained")
    for panel, (experiment, rows) in zip(panels, results.items(), strict=True):
        for name, (colour, marker) in styles.items():
            points = [(n, row[name].acceleration) for n, row in rows.items() if name in row]
            panel.plot(*zip(*points, strict=True), color=colour, marker=marker, markersize=5, label=name.replace("`", ""))
        floor = [(n, row[LAST_BIT].acceleration) for n, row in rows.items()]
        panel.plot(*zip(*floor, strict=True), color="#666666", linestyle=":", label="exact, last bit of τ changed")
        panel.axhline(1, color="#666666", linewidth=0.8, linestyle="--")
        panel.set(xscale="log", yscale="log", xlabel="spherical joints", title=titles[experiment])
        panel.set_xticks([10, 30, 100, 300, 1000], labels=["10", "30", "100", "300", "1000"])
        panel.minorticks_off()
        panel.grid(color="#dddddd", linewidth=0.5)
    panels[0].set(ylabel="relative error of the accelerations", ylim=(1e-17, 1e7))
    panels[0].annotate("no digit right", (1000, 1), xytext=(0, 3), textcoords="offset points", ha="right", fontsize=8)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    figure.savefig(path, metadata={"Date": None, "Creator": None})


def growth(rows, first, last):
    """By how much Pinocchio's error grows per joint between two lengths."""
    ratio = rows[last][PINOCCHIO].acceleration / rows[first][PINOCCHIO].acceleration
    return ratio ** (1 / (last - first))


def unmeasured(results):
    """Why Pinocchio is not in every row."""
    missing = [n for n, row in results["released"].items() if PINOCCHIO not in row]
    if not missing:
        return ""
    needs = ", ".join(f"{pinocchio_memory(n) / 1e9:.0f} GB for {n} joints" for n in missing)
    return (
        "A dash: not measured. Pinocchio's `Data`, as the Python package builds it, holds four tensors of nv³ numbers "
        f"(for second derivatives, not used here), which take {needs}.\n"
    )


def page(results, program):
    """The text of docs/peers/spherical-chains.md."""
    released, driven = results["released"], results["driven"]
    longest = max(LENGTHS)
    ours = max(row[CATENA].acceleration for row in released.values())
    residual = max(row[CATENA].torque for row in driven.values())
    rough = report.rough
    packages = ("pin", "mujoco", "numpy", "mpmath")
    parts = [
        "# Long chains of spherical joints\n",
        "Rods hang from each other by ball joints. Given a random state and torques, what are the accelerations? "
        f"Pinocchio's articulated-body algorithm loses about a factor of {growth(released, 20, 100):.1f} per joint: at 50 joints "
        f"its worst relative error is {rough(released[50][PINOCCHIO].acceleration)} (released) or "
        f"{rough(driven[50][PINOCCHIO].acceleration)} (driven), at 100 joints "
        f"{rough(released[100][PINOCCHIO].acceleration)} and {rough(driven[100][PINOCCHIO].acceleration)}, and nothing tells the "
        f"user. catena's factorization has the same O(n) cost and stays at {rough(ours)} or better up to {longest} joints "
        "(released), which is also better than forming the inertia matrix and factorizing it.\n",
        "![Relative error of the accelerations against the number of joints](spherical-chains.svg)\n",
        report.origin("peers/run.sh spherical-chains", program, *packages) + "\n",
        "## What is measured\n",
        f"The chain is catena's embedded `pendulum-N`: cylinders of 1 kg, 1 m long, 0.05 m thick in radius, gravity 9.81 m/s². "
        "Orientations are uniformly random, relative angular velocities within ±1 rad/s. Two kinds of torques:\n",
        "- *released*: within ±1 N·m at every joint;\n"
        "- *driven*: what inverse dynamics (MuJoCo's) asks for to accelerate every joint within ±1 rad/s². In a chain tangled like "
        "this these torques are large and nearly cancel. They are numbers rounded to double precision, and the "
        "rounding alone moves the answer; the column *last bit of τ* shows how much the exact accelerations move "
        "when each torque changes in its last bit.\n",
        "Accelerations are compared with the exact ones for the very numbers every engine was given, from a route of its own in "
        "50 digits (Newton and Euler for each rod, the joint forces from a block-tridiagonal system; "
        "[exact_chain.py](../../peers/exact_chain.py)). An error is the largest one over the largest acceleration; the tables show "
        f"the worst of {STATES} states ({STATES_OF_THE_LONGEST} for {longest} joints). Pinocchio runs in its default convention; "
        "`crba` + Cholesky is its inertia matrix and bias forces with LAPACK's Cholesky factorization; MuJoCo also "
        "factorizes the inertia matrix.\n",
        "## Released: error of the accelerations\n",
        report.markdown(*table(released, "acceleration", [*ENGINES, LAST_BIT])),
        "## Driven: error of the accelerations\n",
        report.markdown(*table(driven, "acceleration", [*ENGINES, LAST_BIT])),
        "## Driven: torques returned by each engine's own inverse dynamics\n",
        f"The accelerations go back into inverse dynamics of the same engine; the difference to the torques given, over the largest "
        f"torque. catena: {rough(residual)} or better.\n",
        report.markdown(*table(driven, "torque", ENGINES)),
        unmeasured(results),
        "## Why\n",
        WHY,
    ]
    return "\n".join(part for part in parts if part)


WHY = """\
Both recursions walk from the tip to the root and keep, for each body, the inertia it shows when everything beyond it is free to
move: six by six, a rotational block A, a translational block C and the coupling B between them. Passing a joint takes away what
the joint's freedoms can absorb. Seen from the centre of a ball joint the result is simple: nothing beyond it resists
rotation, so A and B become zero, and C becomes C − Bᵀ A⁻¹ B.

Computed as a difference, A − A A⁻¹ A is not zero but round-off, some 1e-16 of A. It looks harmless, but it claims that the
joint resists rotation a little, or pushes a little, and the next body takes this for true and multiplies it. The measured
growth of Pinocchio's error is the evidence; after some sixty joints there is more round-off than chain.

catena keeps the reference point at the joint and *writes* those zeros instead of computing them, one freedom after the other
(`crates/catena/src/spatial/elimination.rs`). There is nothing left to grow. All joints with several freedoms are eliminated in
this way, which is one reason why they are native blocks here and not chains of simple joints with massless bodies in between.

Composite bodies with a Cholesky factorization do not suffer from this growth, at a cost of O(n³). They lose digits in another
way: the inertia matrix adds the slender rod's small moment about its own axis to the large moments of all that hangs below it,
and what is rounded away there does not come back. In the driven chains that loss is hidden, because the torques themselves
carry no more digits; in the released ones it shows.
"""


def broken_claims(results):
    """Where catena does not keep what the page claims; written so that NaN is found."""
    for experiment, (quantity, bound) in BOUNDS.items():
        for n, row in results[experiment].items():
            value = getattr(row[CATENA], quantity)
            if not value <= bound:
                yield f"{experiment}, {n} joints: {quantity} error {report.rough(value)} exceeds {report.rough(bound)}"


def main():
    try:
        program = Program()
        results = measure_all(program)
    except (Refused, OSError) as problem:
        return report.fail(problem)
    for experiment, rows in results.items():
        print(f"\n{experiment}: relative error of the accelerations")
        print(report.plain(*table(rows, "acceleration", [*ENGINES, LAST_BIT])))
    print("\ndriven: relative error of the torques that inverse dynamics returns")
    print(report.plain(*table(results["driven"], "torque", ENGINES)))
    broken = list(broken_claims(results))
    for claim in broken:
        print(f"failed: {claim}", file=sys.stderr)
    if broken:
        return 1
    report.write("spherical-chains.md", page(results, program))
    draw(results, report.DOCS / "spherical-chains.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
