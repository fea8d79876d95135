"""Which results for long chains of spherical joints are accurate, and why?

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
import recursion_twins  # noqa: E402
from program import Program, Refused  # noqa: E402

LENGTHS = [10, 20, 30, 50, 70, 100, 200, 300, 1000]
TWIN_LENGTHS = [10, 30, 50, 100, 300]
DEPTHS = [2, 10, 20, 30, 40, 50, 60]  # rods beyond the joint where Pinocchio's inertia is looked at
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
    panels[0].set(ylabel="relative error of the accelerations", ylim=(1e-17, 1e11))
    panels[0].set_yticks([1e-15, 1e-10, 1e-5, 1, 1e5, 1e10])
    panels[0].annotate("no digit right", (1000, 1), xytext=(0, 3), textcoords="offset points", ha="right", fontsize=8)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    figure.savefig(path, metadata={"Date": None, "Creator": None})


def measure_twins():
    """Worst error of the accelerations per length and twin, released chains."""
    results = {}
    for n in TWIN_LENGTHS:
        rng = np.random.default_rng([SEED, n])
        states = random_states(n, STATES, rng)
        states = with_torques(states, [rng.uniform(-1, 1, (n, 3)) for _ in states])
        results[n] = {
            name: max(relative(recursion_twins.accelerations(ROD, s, *twin) - s.exact, s.exact) for s in states)
            for name, twin in recursion_twins.TWINS.items()
        }
    return results


def rotational_rests():
    """What Pinocchio leaves of the rotational block, exactly zero, behind a joint with so many rods beyond it: the largest entry
    of its symmetric and of its antisymmetric part, over the largest entry of the translational block."""
    n = max(DEPTHS)
    engine = PinocchioAba(n + 1)
    rng = np.random.default_rng([SEED, n])
    worst = {depth: [0.0, 0.0] for depth in DEPTHS}
    for state in random_states(n + 1, STATES, rng):
        state.torques = rng.uniform(-1, 1, (n + 1, 3))
        engine.forward_one(state)
        for depth in DEPTHS:
            inertia = engine.data.Yaba[n + 2 - depth]  # joints count from 1, the tip is n + 1
            rest, scale = inertia[3:, 3:], inertia[:3, :3]  # linear part first there
            parts = relative((rest + rest.T) / 2, scale), relative((rest - rest.T) / 2, scale)
            worst[depth] = np.maximum(worst[depth], parts)
    return worst


def growth(first, last, ratio):
    """The factor per step that makes this ratio between two counts."""
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


def page(results, twins, rests, program):
    """The text of docs/peers/spherical-chains.md."""
    released, driven = results["released"], results["driven"]
    rough, longest = report.rough, max(LENGTHS)
    ours = max(row[CATENA].acceleration for row in released.values())
    residual = max(row[CATENA].torque for row in driven.values())
    per_joint = growth(20, 100, released[100][PINOCCHIO].acceleration / released[20][PINOCCHIO].acceleration)
    per_rest = growth(10, 60, rests[60][1] / rests[10][1])
    packages = ("pin", "mujoco", "numpy", "mpmath")
    parts = [
        "# Long chains of spherical joints\n",
        "Rods are connected by ball joints. Given a random state and torques, what are the accelerations? The error of "
        f"Pinocchio's articulated-body algorithm grows by a factor of about {per_joint:.1f} per joint (from 20 to 100 joints): at 50 joints "
        f"it is {rough(released[50][PINOCCHIO].acceleration)} (released, see below) or "
        f"{rough(driven[50][PINOCCHIO].acceleration)} (driven), at 100 joints "
        f"{rough(released[100][PINOCCHIO].acceleration)} or {rough(driven[100][PINOCCHIO].acceleration)}, without a warning to the "
        f"user. catena's factorization has the same O(n) cost; its error is {rough(ours)} or less up to {longest} joints "
        "(released), or the effect of the last bit of the torques (driven).\n",
        "![Relative error of the accelerations against the number of joints](spherical-chains.svg)\n",
        report.origin("peers/run.sh spherical-chains", program, *packages) + "\n",
        "## What is measured\n",
        "The chain is catena's embedded `pendulum-N`: cylinders of 1 kg, 1 m long, of radius 0.05 m, gravity 9.81 m/s². "
        "Orientations are uniformly random, relative angular velocities within ±1 rad/s. Two kinds of torques:\n",
        "- *released*: within ±1 N·m at every joint;\n"
        "- *driven*: what inverse dynamics (MuJoCo's) requires to accelerate every joint within ±1 rad/s². In a chain tangled like "
        "this these torques are large and nearly cancel. They are rounded to double precision, and the "
        "rounding alone moves the answer: the column *last bit of τ* shows how far the exact accelerations move "
        "when each torque changes in its last bit.\n",
        "Accelerations are compared with the exact ones for the same input doubles, computed independently in "
        "50 digits (Newton and Euler for each rod, the joint forces from a block-tridiagonal system; "
        "[exact_chain.py](../../peers/exact_chain.py)). An error is the largest component error over the largest acceleration; the tables show "
        f"the worst of {STATES} states ({STATES_OF_THE_LONGEST} for {longest} joints). Pinocchio runs in its default convention; "
        "`crba` + Cholesky is its inertia matrix and bias forces with LAPACK's Cholesky factorization; MuJoCo also "
        "factorizes the inertia matrix.\n",
        "## Released: error of the accelerations\n",
        report.markdown(*table(released, "acceleration", [*ENGINES, LAST_BIT])),
        "## Driven: error of the accelerations\n",
        report.markdown(*table(driven, "acceleration", [*ENGINES, LAST_BIT])),
        "## Driven: torques returned by each engine's own inverse dynamics\n",
        "The accelerations are put into inverse dynamics of the same engine; the table shows the difference from the given torques, "
        f"over the largest torque. catena: {rough(residual)} or less.\n",
        report.markdown(*table(driven, "torque", ENGINES)),
        unmeasured(results),
        "## Why\n",
        WHY_FORMULA,
        report.markdown(
            ["outboard rods", "symmetric part", "antisymmetric part"],
            [[depth, *map(rough, parts)] for depth, parts in rests.items()],
        ),
        f"The antisymmetric part grows by a factor of {per_rest:.1f} per joint, the symmetric part does not grow.\n",
        WHY_TWINS,
        report.markdown(
            ["joints", *recursion_twins.TWINS], [[n, *map(rough, row.values())] for n, row in twins.items()]
        ),
        WHY_CATENA,
    ]
    return "\n".join(part for part in parts if part)


WHY_FORMULA = """\
The articulated-body recursion goes from the tip to the root and computes, for each body, the inertia M that it has when
all outboard joints are free: a rotational block A, a translational block C, and the coupling B between them. Crossing a
joint removes the inertia along its freedoms. About the centre of a ball joint the result is simple: the outboard bodies do
not resist rotation, so A and B become zero, and C becomes C − Bᵀ A⁻¹ B.

The usual formula is M − U A⁻¹ Uᵀ, where U are the three rotational columns of M (in Pinocchio: `calc_aba` of
`JointModelSpherical`, on a full 6×6 matrix). Its rotational block is

    A − A A⁻¹ Aᵀ = A − Aᵀ,

which is zero only as long as A is symmetric. Round-off makes it unsymmetric by 1e-16, and then the formula returns *twice the
antisymmetric part*: at every ball joint it is doubled again and passed on to the next body. This can be seen in Pinocchio's own
`data.Yaba`. What is left of the rotational block behind a joint, largest entry over that of the translational block, worst of
five states:
"""

WHY_TWINS = """\
There are two remedies: keep M symmetric, or write the zeros instead of computing them. To separate their effects, the same
recursion was written in NumPy ([recursion_twins.py](../../peers/recursion_twins.py)) with and without each. Error of the
accelerations, released chains:
"""

WHY_CATENA = """\
Symmetry stops the growth. Zeros without symmetry only slow it down, because C can lose its symmetry as well; together
with symmetry they save digits in the shorter chains. catena does both: A and C are stored as six numbers each, so that they
cannot be anything but symmetric, the reference point stays at the joint, and the freedoms of a joint are eliminated one after
the other with the row and column of each *written* as zeros (`crates/catena/src/spatial/elimination.rs`), for joints of every
kind.

Composite bodies with a Cholesky factorization do not suffer from this growth, at a cost of O(n³), but they too lose digits in
the released chains, and in the driven ones they are as good as the torques allow.
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
        twins, rests = measure_twins(), rotational_rests()
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
    report.write("spherical-chains.md", page(results, twins, rests, program))
    draw(results, report.DOCS / "spherical-chains.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
