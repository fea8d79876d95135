"""The class `Model`: `_catena.Model` with named results, methods that build a model, and displays."""

from __future__ import annotations

import html as _html
import json
import os
import re
import tempfile
import warnings
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _catena
from ._ask import arrays, at_state, row, state_options
from ._control import Control
from ._convert import by_name, names, numbers, real, whole, word
from ._ensemble import Ensemble
from ._reach import Followed, Reached, wanted
from ._run import Run, html_table
from ._trace import Traced
from ._view import Viewer, port_number
from .errors import InputError, ShapeError

Array = np.ndarray
PathLike = Union[str, "os.PathLike[str]"]


class Joint(NamedTuple):
    """A joint that moves. `q` and `v` are the slices of its coordinates; `limits` has (lower, upper) or None per freedom."""

    name: str
    kind: str
    parent: str
    child: str
    q: slice
    v: slice
    limits: List[Optional[Tuple[float, float]]]
    max_velocity: List[Optional[float]]
    max_effort: List[Optional[float]]


class Energies(NamedTuple):
    """Energies in J; numbers for one state, arrays (N,) for many."""

    kinetic: Any
    gravitational: Any
    elastic: Any

    @property
    def total(self) -> Any:
        """The sum of the three."""
        return self.kinetic + self.gravitational + self.elastic


class Momenta(NamedTuple):
    """Momentum about the world's origin, (6,), angular part first; total mass; mass centre and its velocity, (3,); world axes."""

    momentum: Array
    mass: float
    centre: Array
    centre_velocity: Array


class Centroidal(NamedTuple):
    """h = `matrix` v, the momentum about the mass centre, angular first, world axes; dh/dt = `matrix` v̇ + `bias`.

    `rate` is the time derivative of the matrix, `inertia` the inertia of the whole system about the mass centre `centre`.
    """

    matrix: Array
    rate: Array
    bias: Array
    mass: float
    centre: Array
    inertia: Array


class InverseDerivatives(NamedTuple):
    """∂τ/∂q, ∂τ/∂v, ∂τ/∂v̇ (the inertia matrix), (nv, nv) or (N, nv, nv) each: rows are efforts, columns freedoms."""

    q: Array
    v: Array
    a: Array


class ForwardDerivatives(NamedTuple):
    """∂v̇/∂q, ∂v̇/∂v, ∂v̇/∂τ (the inverse of the inertia matrix), (nv, nv) or (N, nv, nv) each: columns are freedoms."""

    q: Array
    v: Array
    tau: Array


class FrameMotion(NamedTuple):
    """Pose (4, 4), velocity (6,) and acceleration (6,) of a frame: angular first, world axes, at its origin."""

    pose: Array
    velocity: Array
    acceleration: Array


class Kinematics(Mapping):
    """The motion of every link and frame, by name.

    `poses` (…, F, 4, 4), `velocities` (…, F, 6) and `accelerations` (…, F, 6) hold them all in the order of `frames`.
    """

    def __init__(self, frames: List[str], numbers: Array) -> None:
        self.frames = frames
        self.poses = numbers[..., :16].reshape(numbers.shape[:-1] + (4, 4))
        self.velocities = numbers[..., 16:22]
        self.accelerations = numbers[..., 22:]

    def __getitem__(self, frame: str) -> FrameMotion:
        try:
            k = self.frames.index(frame)
        except ValueError:
            raise KeyError(f"there is no link or frame `{frame}`; known are {', '.join(self.frames)}") from None
        return FrameMotion(self.poses[..., k, :, :], self.velocities[..., k, :], self.accelerations[..., k, :])

    def __iter__(self) -> Iterator[str]:
        return iter(self.frames)

    def __len__(self) -> int:
        return len(self.frames)

    def __repr__(self) -> str:
        states = "one state" if self.poses.ndim == 3 else f"{len(self.poses)} states"
        return f"<catena.Kinematics of {states}: {', '.join(self.frames)}>"


class Model(_catena.Model):
    """A model of links and joints: read from a file (`catena.load`), embedded (`catena.model`), or built by the methods below.

    Units are SI and radians. Twists are (ω; v) and wrenches (n; f), angular part first. Quaternions are (w, x, y, z) and rotate
    child components into parent components. A free joint has q = x, y, z and a quaternion, v = ẋ, ẏ, ż in the axes of the joint
    (fixed in the parent; the world's for a floating base), then ω in the axes of the child.

    >>> pendulum = catena.Model("pendulum")
    >>> pendulum = pendulum.add_link("rod", mass=1, centre=[0, 0, -0.5], inertia=[0.1, 0.1, 0.01])
    >>> pendulum = pendulum.add_joint("hinge", "revolute", child="rod", axis=[0, 1, 0])
    >>> pendulum.gravity([np.pi / 2]).round(3)
    array([4.905])
    """

    # --- building a model --------------------------------------------------------------------------------------------

    def add_link(self, name: str, **keys: Any) -> "Model":
        """Adds a link and returns the model: `mass`, `centre`, `inertia` (3, 6 or 3×3 numbers about the mass centre).

        The keys are those of model files (docs/model-format.md).
        """
        self._add("link", {"name": name, **keys})
        return self

    def add_joint(self, name: str, type: str, *, child: str, parent: Optional[str] = None, **keys: Any) -> "Model":
        """Adds a joint and returns the model: `axis`, `origin`, `rotation`, `limits`, `damping` …, as in model files.

        The default `parent` is the child of the previous joint; for the first joint it is the world.
        """
        entry: Dict[str, Any] = {"name": name, "type": type, "child": child, **keys}
        if parent is not None:
            entry["parent"] = parent
        self._add("joint", entry)
        return self

    def add_frame(self, name: str, link: str, **keys: Any) -> "Model":
        """Adds a frame on a link, at `origin` and `rotation`, and returns the model."""
        self._add("frame", {"name": name, "link": link, **keys})
        return self

    def close_loop(self, name: str, type: str = "revolute", **keys: Any) -> "Model":
        """Adds a constraint and returns the model: a joint that closes a loop (`parent`, `child`, `origin` …), a `weld`,
        `point`, `distance`, `coupling`, `driver`, `rolling`, `contact`, `knife_edge` or `velocity`, as in model files."""
        self._add("constraint", {"name": name, "type": type, **keys})
        return self

    def add_force(self, name: str, type: str, **keys: Any) -> "Model":
        """Adds a force element and returns the model: a `spring`, `torsion`, `constant`, `drag` or `gravity_gradient`, with the keys
        of model files.

        >>> swing = catena.Model("swing").add_link("rod", mass=1.0, centre=[0, 0, -0.5], inertia=[0.1, 0.1, 0.01])
        >>> swing = swing.add_joint("pivot", "revolute", child="rod", axis=[0, 1, 0])
        >>> swing = swing.add_force("coil", "torsion", parent="world", child="rod", axis=[0, 1, 0], stiffness=2.0)
        >>> float(swing.gravity([0.5])[0]) > 2.0 * 0.5
        True
        """
        self._add("force", {"name": name, "type": type, **keys})
        return self

    def add_sensor(self, name: str, type: str, **keys: Any) -> "Model":
        """Adds a sensor and returns the model: an `imu` at a `frame`, or a `force_torque` sensor in a `joint`, as in model files."""
        self._add("sensor", {"name": name, "type": type, **keys})
        return self

    def replace(
        self,
        *,
        mass: Optional[Mapping[str, float]] = None,
        centre: Optional[Mapping[str, Sequence[float]]] = None,
        inertia: Optional[Mapping[str, Any]] = None,
        gravity: Optional[Sequence[float]] = None,
        armature: Optional[Mapping[str, float]] = None,
        damping: Optional[Mapping[str, float]] = None,
        friction: Optional[Mapping[str, float]] = None,
        stiffness: Optional[Mapping[str, float]] = None,
        rest: Optional[Mapping[str, float]] = None,
    ) -> "Model":
        """A copy with other parameters: by link `mass` (kg), `centre` (m, link axes) and `inertia` (kg·m² about the mass centre: 3, 6
        or 3×3 numbers); by joint `armature`, `damping`, `friction`, `stiffness`, `rest` (for all its freedoms); `gravity`.

        >>> arm = catena.model("stanford")
        >>> heavy = arm.replace(mass={arm.bodies[-1]: 2.0})
        >>> heavy.mass > arm.mass
        True
        """
        copy = type(self)(self.name)
        joints = []
        for key, values in (
            ("armature", armature),
            ("damping", damping),
            ("friction", friction),
            ("stiffness", stiffness),
            ("rest", rest),
        ):
            joints += [(key, name, real(key, value)) for name, value in _named(key, values)]
        copy._replace(
            self,
            [(name, real("mass", value)) for name, value in _named("mass", mass)],
            [(name, _vector("centre", value)) for name, value in _named("centre", centre)],
            [(name, _tensor(value)) for name, value in _named("inertia", inertia)],
            None if gravity is None else _vector("gravity", gravity),
            joints,
        )
        return copy

    def __reduce__(self):
        return _unpickled, (type(self), self._state())

    def __copy__(self) -> "Model":
        return _unpickled(type(self), self._state())

    def __deepcopy__(self, memo: Any) -> "Model":
        return self.__copy__()

    def save(self, path: PathLike) -> None:
        """Writes the model as `.toml` or `.json` in catena's own format; reading the file gives the same model to the last bit.

        Also as `.urdf`, `.sdf` or, for MJCF, `.xml` or `.mjcf`, if the format can express the model; otherwise an error names what it cannot express.
        """
        name = _path(path)
        if name.lower().endswith(".toml"):
            text = self.to_toml()
        elif name.lower().endswith(".json"):
            text = self.to_json()
        elif name.lower().endswith(".urdf"):
            text = self.to_urdf()
        elif name.lower().endswith((".xml", ".mjcf")):
            text = self.to_mjcf()
        elif name.lower().endswith(".sdf"):
            text = self.to_sdf()
        else:
            raise InputError(f"{name}: models are written as .toml, .json, .urdf, .sdf or .xml (MJCF)")
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)

    # --- structure ---------------------------------------------------------------------------------------------------

    @property
    def joints(self) -> List[Joint]:
        """The joints that move, in the order of their coordinates."""
        return [
            Joint(
                j["name"],
                j["kind"],
                j["parent"],
                j["child"],
                slice(*j["q"]),
                slice(*j["v"]),
                [None if pair is None else (pair[0], pair[1]) for pair in j["limits"]],
                j["max_velocity"],
                j["max_effort"],
            )
            for j in self._joints()
        ]

    def joint(self, name: str) -> Joint:
        """The joint of this name."""
        for joint in self.joints:
            if joint.name == name:
                return joint
        raise InputError(
            f"model `{self.name}` has no moving joint called `{name}`",
            hint="known are " + ", ".join(joint.name for joint in self.joints),
        )

    def tree(self) -> str:
        """The tree as text: joint, kind, link, mass."""
        joints = self._joints()
        children: Dict[str, List[Any]] = {}
        for joint in joints:
            children.setdefault(joint["parent"], []).append(joint)
        lines = [f"{self.name}: {len(joints)} bodies, {self.nv} freedoms, {self.mass:.6g} kg", "world"]
        # without recursion: chains of a thousand bodies are common
        stack = [(joint, "", k == len(children["world"]) - 1) for k, joint in enumerate(children.get("world", []))]
        stack.reverse()
        while stack:
            joint, indent, last = stack.pop()
            freedoms = joint["v"][1] - joint["v"][0]
            span = f"v[{joint['v'][0]}]" if freedoms == 1 else f"v[{joint['v'][0]}:{joint['v'][1]}]" if freedoms else "follows"
            lines.append(
                f"{indent}{'└─' if last else '├─'} {joint['child']}  ({joint['name']}, {joint['kind']}, {span}, {joint['mass']:.4g} kg)"
            )
            below = children.get(joint["child"], [])
            deeper = indent + ("   " if last else "│  ")
            stack += reversed([(child, deeper, k == len(below) - 1) for k, child in enumerate(below)])
        lines += [f"coupling {how}" for how in self.couplings]
        for name in self.constraints:
            lines.append(f"constraint {name}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        try:
            text = self.tree()
        except Exception as error:
            return f"<catena.Model, incomplete: {str(error).splitlines()[0]}>"
        lines = text.splitlines()
        if len(lines) > 60:
            lines = lines[:58] + [f"… {len(lines) - 58} more: `print(model.tree())` shows all"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        text = f"<pre>{_html.escape(repr(self))}</pre>"
        try:
            return text + self.figure(self.neutral())
        except Exception:
            return text

    # --- results with names ------------------------------------------------------------------------------------------

    def inverse_derivatives(
        self, q: Any, v: Any = None, a: Any = None, *, wrenches: Any = None, out: Optional[Array] = None
    ) -> InverseDerivatives:
        """Derivatives of inverse dynamics: `.q`, `.v`, `.a`, (nv, nv) each, or (N, nv, nv) for many states.

        ∂/∂q is along the increments of `step`: column k is the change per unit of δₖ. Wrenches are constant in body axes. The results are
        written to `out`, (3, nv, nv) or (N, 3, nv, nv), if it is given.
        SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
        body's.
        """
        d = self._inverse_derivatives(q, v, a, wrenches, out)
        return InverseDerivatives(d[..., 0, :, :], d[..., 1, :, :], d[..., 2, :, :])

    def forward_derivatives(
        self, q: Any, v: Any = None, tau: Any = None, *, wrenches: Any = None, time: float = 0.0, out: Optional[Array] = None
    ) -> ForwardDerivatives:
        """Derivatives of forward dynamics: `.q`, `.v`, `.tau`, (nv, nv) each, or (N, nv, nv) for many states.

        ∂/∂q is along the increments of `step`: column k is the change per unit of δₖ. Wrenches are constant in body axes. For a model with
        loops these are the derivatives of the closed mechanism at a closed state; where constraints are redundant they hold along
        changes that keep the loops closed. Only drivers depend on `time`. The results are written to `out`, (3, nv, nv) or (N, 3, nv, nv), if
        it is given.
        SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
        body's.

        >>> arm = catena.model("stanford")
        >>> q, v = arm.random(1)
        >>> d = arm.forward_derivatives(q, v, np.zeros(6))
        >>> bool(np.allclose(d.tau @ arm.inertia(q), np.eye(6)))
        True
        """
        d = self._forward_derivatives(q, v, tau, wrenches, time, out)
        return ForwardDerivatives(d[..., 0, :, :], d[..., 1, :, :], d[..., 2, :, :])

    def energies(self, q: Any, v: Any = None) -> Energies:
        """Kinetic, gravitational (zero at the world's origin) and elastic energy, J: numbers, or arrays (N,) for many states.

        SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
        body's.
        """
        m = self._mechanical(q, v)
        if m.ndim == 1:
            return Energies(float(m[0]), float(m[1]), float(m[2]))
        return Energies(m[..., 0], m[..., 1], m[..., 2])

    def momenta(self, q: Any, v: Any = None) -> Momenta:
        """Momentum about the world's origin (angular first), mass, mass centre and its velocity; world axes.

        SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
        body's.
        """
        m = self._mechanical(q, v)
        return Momenta(m[..., 3:9], float(self.mass), m[..., 10:13], m[..., 13:16])

    def centroidal(self, q: Any, v: Any = None, *, out: Optional[Array] = None) -> Centroidal:
        """The centroidal momentum matrix A with h = A v about the mass centre (angular first, world axes), its time derivative, and more.

        With `out`, (12 nv + 19,) or (N, 12 nv + 19), the arrays of the result are views of it.
        SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
        body's.
        """
        c, nv = self._centroidal(q, v, out), self.nv
        rest, shape = c[..., 12 * nv :], c.shape[:-1]
        return Centroidal(
            c[..., : 6 * nv].reshape(shape + (6, nv)),
            c[..., 6 * nv : 12 * nv].reshape(shape + (6, nv)),
            rest[..., :6],
            float(self.mass),
            rest[..., 6:9],
            rest[..., 10:19].reshape(shape + (3, 3)),
        )

    def kinematics(self, q: Any, v: Any = None, a: Any = None, *, out: Optional[Array] = None) -> Kinematics:
        """Pose, velocity and acceleration of every link and frame, by name (angular first, world axes, at the frame's origin).
        With `out`, (frames, 28) or (N, frames, 28), the arrays of the result are views of it.
        SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
        body's.

        >>> arm = catena.model("stanford")
        >>> motion = arm.kinematics(*arm.random(1))
        >>> motion[arm.bodies[-1]].velocity.shape
        (6,)
        """
        return Kinematics(self.frames, self._kinematics(q, v, a, out))

    def factor(self, q: Any) -> "Factorization":
        """I(q) = U D Uᵀ, U unit upper triangular, D diagonal, as an object that solves linear systems; `U, D = arm.factor(q)` gives the factors.
        SI units, radians; quaternions of q are (w, x, y, z), from child to parent.

        >>> arm = catena.model("stanford")
        >>> q, _ = arm.random(1)
        >>> U, D = arm.factor(q)
        >>> bool(np.allclose(U @ np.diag(D) @ U.T, arm.inertia(q)))
        True
        """
        return Factorization(self._factor(q), self.nv)

    def denoc(self, q: Any, v: Any = None) -> "Complement":
        """The decoupled natural orthogonal complement at one state: twists of all mass centres are N v, N = N_l N_d, world axes.
        SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
        body's.

        >>> arm = catena.model("stanford")
        >>> q, v = arm.random(1)
        >>> it = arm.denoc(q, v)
        >>> it.N_l.shape, it.N_d.shape
        ((36, 36), (36, 6))
        >>> bool(np.allclose(it.N_l @ it.N_d, it.N) and np.allclose(it.U @ np.diag(it.m_hat) @ it.U.T, arm.inertia(q)))
        True
        """
        return Complement(**self._denoc(q, v))

    def linearize(self, q: Any, tau: Any = None, *, hold: bool = False) -> "Linearisation":
        """The equilibrium near q under the efforts `tau` (default: zero), the linear equations about it and their modes, for trees and
        closed chains. With `hold`, the equations about q itself under the efforts that hold it.
        SI units, radians; quaternions of q are (w, x, y, z), from child to parent.

        >>> arm = catena.model("planar3")
        >>> linear = arm.linearize([0.1, 0.2, 0.3], hold=True)
        >>> linear.A.shape, linear.B.shape
        ((6, 6), (6, 3))
        """
        r = self._linearize(q, tau, hold)
        # joints that follow others are among all freedoms
        f, n = len(r["independent"]), len(r["tau"])
        matrix = lambda name, rows, columns: np.array(r[name], dtype=float).reshape(rows, columns)  # noqa: E731
        values = np.array(r["values"], dtype=float).reshape(-1, 2)
        return Linearisation(
            np.array(r["q"]),
            np.array(r["tau"]),
            tuple(r["independent"]),
            matrix("A", 2 * f, 2 * f),
            matrix("B", 2 * f, n),
            matrix("M", f, f),
            matrix("D", f, f),
            matrix("K", f, f),
            matrix("Z", n, f),
            values[:, 0] + 1j * values[:, 1],
            matrix("real", -1, n) + 1j * matrix("imaginary", -1, n),
            r["residual"],
        )

    def linearize_motion(self, q: Any, v: Any = None, tau: Any = None, *, find: bool = False) -> "SteadyMotion":
        """The linear equations about a steady motion through q with constant velocities v under the efforts `tau`, and their modes: for rolling
        and for any other motion whose velocities stay constant. With `find`, q is first moved to nearby positions at which the velocities v stay constant.
        SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
        body's.

        >>> bicycle = catena.model("bicycle")
        >>> straight = bicycle.linearize_motion([0, 0, 0.3, 1, 0, 0, 0, 0, 0, 0], [6, 0, 0, 0, 0, 0, 6 / 0.3, 0, 6 / 0.35])
        >>> straight.A.shape, straight.zeros, bool(np.all(straight.values.real < 0))
        ((10, 10), 6, True)
        >>> governor = catena.model("governor")
        >>> turning = governor.linearize_motion([0, 0.5, 0.5, 0.5], [6.0, 0, 0, 0], find=True)
        >>> turning.A.shape, turning.zeros, bool(turning.residual < 1e-9)
        ((8, 8), 2, True)
        """
        r = self._linearize_motion(q, v, tau, find)
        # joints that follow others are among all freedoms
        n, nv = len(r["variables"]), len(r["Z"]) // 2
        matrix = lambda name, rows, columns: np.array(r[name], dtype=float).reshape(rows, columns)  # noqa: E731
        values = np.array(r["values"], dtype=float).reshape(-1, 2)
        return SteadyMotion(
            tuple(r["variables"]),
            matrix("A", n, n),
            matrix("B", n, nv),
            matrix("Z", 2 * nv, n),
            values[:, 0] + 1j * values[:, 1],
            matrix("real", -1, nv) + 1j * matrix("imaginary", -1, nv),
            r["zeros"],
            r["residual"],
            np.array(r["q"], dtype=float),
            np.array(r["v"], dtype=float),
        )

    # --- motion in time ----------------------------------------------------------------------------------------------

    def simulate(
        self,
        q: Any,
        v: Any = None,
        duration: float = 10.0,
        *,
        interval: Optional[float] = None,
        method: Optional[str] = None,
        rtol: float = 1e-8,
        atol: Optional[float] = None,
        step: Optional[float] = None,
        control: Any = None,
        wrenches: Optional[Mapping[str, Any]] = None,
        events: Optional[Mapping[str, Any]] = None,
        limits: Union[bool, str] = False,
        stop: Union[str, Sequence[str]] = (),
        progress: Any = None,
        closing: str = "projection",
        compile: bool = True,
        rate: Optional[float] = None,
        record: Union[str, Sequence[str]] = (),
        loads: bool = False,
        restitution: Union[None, float, Mapping[str, float]] = None,
        base: Union[str, Sequence[str]] = (),
        unlimited: bool = False,
        newton: Optional[str] = None,
        coordinates: Optional[str] = None,
        max_order: Optional[int] = None,
        formulation: Optional[str] = None,
        alpha: Optional[float] = None,
        beta: Optional[float] = None,
        verify: Optional[float] = None,
    ) -> Run:
        """Simulates the model from one state, with an audit of energy, momentum and residuals at the end.

        q, v: the initial state. A run of a model with couplings has all coordinates of its tree (`open_tree()`), and so have its efforts.
        duration in s; a sample every `interval` s (default: about 0.01 s, a whole fraction of the duration).
        method: "dop853" (the default), "verner9", "verner6", "tsit5", "dopri5" (adaptive steps within `rtol`, `atol`), "bdf" (implicit, for stiff
        joints), "rk4", "semi-implicit-euler", "implicit-midpoint" (fixed steps of `step` s). For adaptive methods `step` is the largest step.
        control: `catena.pd`, `catena.computed_torque`, `catena.gravity_compensation`, `catena.table`, `catena.sine`, an array of
        constant efforts (nv,), or a function (t, q, v) → efforts (nv,). A function is called at every stage of a step: it must be
        smooth and have no internal state. `catena.traced` compiles one to machine code. With a rate, `catena.with_sensors` makes a function (t, q, v, sensors) a control.
        rate: the sampling rate of the control, in Hz; efforts are held between samples, as by a digital controller, and a function may
        have internal state. The default method is then "rk4" with one step in each interval; a sample at an instant
        of control has its new efforts.
        wrenches: constant, by frame: moment, then force, world axes, the force at the frame's origin.
        events: by name `catena.plane`, `catena.reaches` or a function (t, q, v) → number, whose zero crossings are located;
        `stop` names events that end the run, with a last sample at the event.
        limits: what joint limits do: "ignore" (or False), "report" (or True: exceeding a limit is an event), "stop" (limits are stops: rigid, or
        compliant where the joint has a `stop_stiffness`), "soft" (limits are compliant stops). restitution: of rigid stops, one number or by
        joint; the default is that of the model, else 0. An initial state outside a rigid stop is rejected.
        progress: a function (t, duration) called from time to time, or True for a tqdm progress bar, if tqdm is installed.
        record: names of further columns of `run.to_dict()` and of saved runs, with `*` as a wildcard, as in `catena simulate --record`:
        "frame.tool.*", "joint.*", "forces", "sensors" …
        loads: record the loads of all joints and constraints, "joint.*" and "constraint.*".
        base: the motion of the base, as in `catena simulate --base`: "move:vx,vy,vz" (m/s), "accelerate:ax,ay,az" (m/s²), "turn:wx,wy,wz"
        (rad/s), "shake:dx,dy,dz,HZ" (m), "swing:rx,ry,rz,HZ" (rad), in world axes, one or several; or a file of poses, "poses.csv".
        unlimited: a control drives the model's actuators (if there are none: the joints without quaternions). Actuators limit and delay its
        efforts, and joints without an actuator are passive. With True the efforts of the control act unchanged, on any joint. An array of
        constant efforts and a `catena.table` always act unchanged.
        closing: how loops stay closed, "projection" or "baumgarte" with `alpha` in 1/s and `beta` in 1/s² (default: critical damping).
        formulation: the formulation that computes the accelerations, one of those of `solve`.
        For "bdf": max_order 1 to 5; coordinates "joints" or "bodies" (the default for models with loops); newton, how its linear systems are
        solved: "tree" (O(n)) or "dense" in joints; "index-2", "index-3" or "stabilised" in bodies; for a chain of ball joints in the
        implicit equations of LINPEN "numerical-full", "exact-full", "reduced" or "linear".
        verify: the error allowed at the end; it is estimated by a second run at a hundredth of the tolerances (or a quarter of the step) and
        added to the audit.

        Control-C stops the run. An exception of a function ends the run and is raised here, with the samples so far as `error.run`.
        SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
        body's.

        >>> run = catena.model("planar3").simulate([0.1, 0.2, 0.3], duration=1.0, rtol=1e-10)
        >>> run.q.shape, run.audit.kept
        ((101, 3), True)
        """
        duration, rtol = _duration(duration), real("rtol", rtol)
        atol, step, rate = (None if x is None else real(name, x) for name, x in (("atol", atol), ("step", step), ("rate", rate)))
        method, step = _stepping(method, step, rate, control is not None)
        if interval is None:
            interval = duration / max(1.0, np.ceil(duration / 0.01 * (1 - 1e-12))) if 0 < duration < np.inf else 0.01
        else:
            interval = _interval(interval, duration)
        if verify is not None:
            verify = real("verify", verify)
            if not (np.isfinite(verify) and verify > 0):
                raise InputError(f"verify must be a positive error, not {verify:g}")
            if rate is not None and callable(control) and not isinstance(control, Traced):
                raise InputError(
                    "verify: a function called at a rate may carry state over from the first run",
                    hint="compare two runs with different steps, or use a control without Python",
                )
        for name, number, unit in (("alpha", alpha, "1/s"), ("beta", beta, "1/s²")):
            if number is not None and not (np.isfinite(real(name, number)) and number > 0):
                raise InputError(f"{name} must be a positive number of {unit}, not {number}")
        for name, text in (("newton", newton), ("coordinates", coordinates), ("formulation", formulation)):
            if text is not None and not isinstance(text, str):
                raise InputError(f"{name} must be a name, not {text!r}")
        if max_order is not None and (isinstance(max_order, bool) or max_order not in range(1, 6)):
            raise InputError(f"max_order must be a whole number from 1 to 5, not {max_order!r}")
        if unlimited and control is None:
            raise InputError("unlimited: there is no control whose efforts the actuators could limit")
        if closing not in ("projection", "baumgarte"):
            raise InputError(f"closing cannot be {closing!r}", hint='it is "projection" or "baumgarte"')
        limits = _limits(limits)
        stop = names("stop", stop)
        control = _described(control)
        checked = _events(events)
        record = names("record", record)
        if loads:
            record += ["joint.*"] + (["constraint.*"] if self.constraints else [])
        bar = None
        if progress is True:
            progress, bar = _bar(duration)
        elif progress is not None and not callable(progress):
            raise InputError(f"progress must be a function (t, duration) or True, not {progress!r}")
        try:
            data, error = self._simulate(
                q, v, duration, interval, method, rtol, atol, step, control,
                wrenches, checked, limits, stop, progress, closing, compile, rate,
                record,
                _restitution(restitution),
                {
                    "base": names("base", base),
                    "unlimited": bool(unlimited),
                    "newton": newton,
                    "coordinates": coordinates,
                    "max_order": None if max_order is None else int(max_order),
                    "formulation": formulation,
                    "alpha": None if alpha is None else float(alpha),
                    "beta": None if beta is None else float(beta),
                    "verify": None if verify is None else float(verify),
                },
            )
        finally:
            if bar is not None:
                bar.close()
        run = Run(self, data)
        if error is not None:
            try:
                error.run = run
            except AttributeError:
                pass
            raise error
        return run

    def ensemble(
        self,
        q: Any = None,
        v: Any = None,
        duration: float = 1.0,
        *,
        interval: Optional[float] = None,
        method: Optional[str] = None,
        rtol: float = 1e-8,
        atol: Optional[float] = None,
        step: Optional[float] = None,
        tau: Any = None,
        target: Any = None,
        stiffness: Any = None,
        damping: Any = None,
        models: Optional[Sequence["Model"]] = None,
        compile: bool = True,
        seeds: Optional[Sequence[int]] = None,
        control: Any = None,
        rate: Optional[float] = None,
        wrenches: Optional[Mapping[str, Any]] = None,
        events: Optional[Mapping[str, Any]] = None,
        limits: Union[bool, str] = False,
        restitution: Union[None, float, Mapping[str, float]] = None,
        unlimited: bool = False,
    ) -> Ensemble:
        """Simulates many copies of the model at once, each from its own state: in SIMD lanes, on all cores.

        q (N, nq), v (N, nv): the initial states; a single row is used for all. States are recorded at the start and at the end, or every `interval` s, a whole fraction of the duration.
        method, rtol, atol, step: as in `simulate`.
        Efforts are tau + stiffness (target - q) - damping v at joints without quaternions, tau at others; each (nv,) or (N, nv), default zero.
        models: a model for each member, with the bodies and joints of this one and other parameters (`replace`).
        seeds: instead of q and v, a seed for each member, which starts from `random(seed)`.
        control, rate, wrenches, events, limits, restitution, unlimited: as in `simulate`, instead of tau, target, stiffness and damping; a
        list of controls has one for each member. A single Python function is called for all members.

        The result of a member depends on its own inputs alone, to the last bit. Members with dry friction, stops, events, controls other than
        linear feedback, loops, couplings, force elements or implicit methods run one by one on all cores, as in `simulate`; `one_by_one` says why.
        A member that fails is in `failures`; an exception of a function is raised here.
        SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
        body's.

        >>> falls = catena.model("stanford").ensemble(np.linspace(0, 1, 600).reshape(100, 6), duration=0.5)
        >>> falls.q.shape, falls.one_by_one, bool(abs(falls.energy_error).max() < 1e-5)
        ((100, 6), None, True)
        """
        if seeds is not None:
            if q is not None or v is not None:
                raise InputError("seeds and q or v exclude each other", hint="members start from random(seed), or from q and v")
            if not np.iterable(seeds):
                raise InputError(f"seeds must be whole numbers, one for each member, not {seeds!r}")
            starts = [self.random(whole("seed", seed)) for seed in seeds]
            q = np.array([start[0] for start in starts]).reshape(len(starts), self.nq)
            v = np.array([start[1] for start in starts]).reshape(len(starts), self.nv)
        elif q is None:
            raise InputError("ensemble needs q or seeds")
        controls = _controls(control)
        duration, rtol = _duration(duration), real("rtol", rtol)
        atol, step, rate = (None if x is None else real(name, x) for name, x in (("atol", atol), ("step", step), ("rate", rate)))
        interval = duration if interval is None else _interval(interval, duration)
        method, step = _stepping(method, step, rate, bool(controls))
        if models is not None and not (np.iterable(models) and all(isinstance(own, Model) for own in models)):
            raise InputError("models must be a list of models, one for each member")
        record = self._ensemble(
            q, v, duration, interval, method, rtol, atol, step,
            tau, target, stiffness, damping, None if models is None else list(models), compile,
            controls, rate, wrenches, _events(events), _limits(limits), _restitution(restitution), bool(unlimited),
        )
        return Ensemble(record)

    def reach(
        self,
        targets: Optional[Mapping[str, Any]] = None,
        start: Any = None,
        *,
        centre: Any = None,
        limits: bool = True,
        tolerance: float = 1e-9,
        iterations: int = 200,
        time: float = 0.0,
    ) -> Reached:
        """Inverse kinematics: joint positions that bring frames to target poses, near `start` (default: `neutral()`).

        `targets` maps names of links or frames to poses (4, 4) or positions (3,) in the world; `centre` is the target of the mass centre.
        Joints stay within their limits (unless `limits` is False), and loops stay closed. The result says whether it `converged`; `residual`
        is the largest remaining error, in m or rad.
        SI units, radians; quaternions of q are (w, x, y, z), from child to parent.

        >>> arm = catena.model("stanford")
        >>> q, _ = arm.random(1)
        >>> found = arm.reach({"tool": arm.pose(q, "tool")}, q + 0.1)
        >>> found.converged, bool(np.allclose(arm.pose(found.q, "tool"), arm.pose(q, "tool"), atol=1e-8))
        (True, True)
        """
        goal = wanted(targets, centre)
        q, record = self._reach(
            self.neutral() if start is None else start, goal, bool(limits), real("tolerance", tolerance), whole("iterations", iterations),
            real("time", time),
        )
        return Reached(q, record["converged"], record["residual"], record["iterations"])

    def follow(
        self,
        t: Any,
        targets: Optional[Mapping[str, Any]] = None,
        start: Any = None,
        *,
        centre: Any = None,
        limits: bool = True,
        tolerance: float = 1e-9,
        iterations: int = 200,
    ) -> Followed:
        """The joint motion that moves frames along target trajectories in the world: for `inverse`, `catena.pd` and
        `catena.computed_torque`.

        `t` (T,) are times, `targets` maps names of links or frames to poses (T, 4, 4) or positions (T, 3), `centre` is (T, 3). Each
        instant is solved as in `reach`, starting from the previous one, and the first one from `start`. Velocities and accelerations are
        those of polynomials through five neighbouring positions: the instants must be close enough for that.
        SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
        body's.

        >>> arm = catena.model("stanford")
        >>> t = np.linspace(0, 1, 101)
        >>> q = np.array([0.1, 1.2, 0.5, 0.3, 0.4, 0.5]) + 0.1 * np.sin(t)[:, None]
        >>> motion = arm.follow(t, {"tool": arm.pose(q, "tool")}, q[0])
        >>> motion.converged, bool(np.allclose(motion.v, 0.1 * np.cos(t)[:, None], atol=1e-6))
        (True, True)
        >>> arm.inverse(motion.q, motion.v, motion.a).shape
        (101, 6)
        """
        times = numbers("t", t)
        if times.ndim != 1:
            raise ShapeError(f"t has shape {times.shape}, expected (T,)", argument="t", expected="(T,)", given=str(times.shape))
        goal = wanted(targets, centre, len(times))
        # accelerations are second differences: positions are found as accurately as possible
        q, v, a, residual = self._follow(
            times.tolist(), self.neutral() if start is None else start, goal, bool(limits), min(1e-12, real("tolerance", tolerance)),
            whole("iterations", iterations),
        )
        return Followed(times, q, v, a, bool((residual <= tolerance).all()), residual)

    def view(self, *, live: bool = False, browser: bool = True, port: int = 0) -> Viewer:
        """Shows the model in a browser, with sliders for its joints; `live` simulates it there. `port` 0 chooses a free port.

        The page is served to this computer only, until `close()` of the returned viewer or the end of Python.
        """
        folder = tempfile.mkdtemp(prefix="catena-")
        path = os.path.join(folder, "model.json")
        self.save(path)
        return Viewer([path, "--port", str(port_number(port)), *(["--live"] if live else [])], folder, browser)

    # --- closed chains -----------------------------------------------------------------------------------------------

    def assemble(self, q: Any, v: Any = None, *, hold: Sequence[str] = (), time: float = 0.0) -> "Assembled":
        """The closed state near a guess: `.q`, `.v`, iterations, residuals and rank. `hold` names joints or freedoms that stay fixed.
        SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
        body's.

        >>> bar = catena.model("four-bar-1")
        >>> closed = bar.assemble([1.2, -1.1, 1.3], hold=[bar.freedoms[0]])
        >>> closed.residuals[0] < 1e-12, closed.freedoms
        (True, 1)
        """
        q, v, record = self._assemble(q, v, names("hold", hold), real("time", time))
        return Assembled(q, v, record["iterations"], tuple(record["residuals"]), record["rows"], record["rank"], record["freedoms"])

    def loads(
        self, q: Any, v: Any = None, tau: Any = None, *, wrenches: Any = None, sharing: str = "all-joints", time: float = 0.0
    ) -> "Loads":
        """Accelerations and loads of the joints at one state: `.joints` and `.constraints` map names to (6,), moment first, world
        axes, on the child about its origin. Where constraints are redundant, `sharing` is "all-joints" (the loads of least norm over all
        joints and constraints) or "constraints" (over the constraints alone).
        SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
        body's.
        """
        r = self._loads(q, v, tau, wrenches, word("sharing", sharing), real("time", time))
        return Loads(
            np.array(r["accelerations"]),
            {name: np.array(load) for name, load in r["joints"].items()},
            {name: np.array(load) for name, load in r["constraints"].items()},
            np.array(r["multipliers"]),
            r["rank"],
            None,
        )

    def accuracy(self, q: Any, v: Any = None, tau: Any = None, *, wrenches: Any = None, time: float = 0.0) -> "Accuracy":
        """The accuracy of the accelerations of `forward` at one state, q (nq,), v and tau (nv,): `.error` is their error relative to the largest
        one, or to 1 rad/s² or m/s² where all are smaller, found by double-double arithmetic (32 digits). With an ill-conditioned inertia
        matrix, as of a heavy hand on light links, `forward` silently loses digits.

        For a model with loops, which must be closed at the state, it is the larger of `.arithmetic`, the difference at this state, and `.closing`, that at the nearest state
        that is closed to 32 digits (`None` for a tree, and where no such state is found nearby: then `.error` is `None`, too). It costs about as much as fifty calls of `forward`.
        v and tau default to zero; `wrenches` are as in `forward`.
        SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
        body's.

        >>> arm = catena.model("stanford")
        >>> arm.accuracy(arm.neutral()).error < 1e-12
        True
        >>> bar = catena.model("four-bar-1")
        >>> bar.accuracy([1.2, -1.2, 1.2], [0.5, -0.5, 0.5]).closing < 1e-12
        True
        """
        return Accuracy(**self._accuracy(q, v, tau, wrenches, real("time", time)))

    def solve(
        self,
        q: Any,
        v: Any = None,
        tau: Any = None,
        *,
        formulation: Optional[str] = None,
        wrenches: Any = None,
        time: float = 0.0,
    ) -> "Loads":
        """Accelerations and loads at one state by one of Mufti's formulations: "lagrangian", "constraint-forces", "rotational", "augmented-bodies",
        "relative-rates", "null-space", "tree-null-space", "cut-loops", "along-tree", "qr", "svd", "proximal"; the default suits the model.
        SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
        body's.
        """
        r = self._formulation(
            q, v, tau, wrenches, None if formulation is None else word("formulation", formulation), real("time", time)
        )
        return Loads(
            np.array(r["accelerations"]),
            {name: np.array(load) for name, load in r["joints"].items() if load is not None},
            {name: np.array(load) for name, load in r["constraints"].items()},
            np.array(r["multipliers"]),
            r["rank"],
            r["residual"],
        )

    def doctor(self, q: Any = None, *, samples: int = 8, seed: int = 1, time: float = 0.0) -> "Diagnosis":
        """A diagnosis of a mechanism near a position: freedoms, redundant constraints, loads that are not determined, suggested changes.
        SI units, radians; quaternions of q are (w, x, y, z), from child to parent.

        >>> print(catena.model("four-bar-1").doctor([1.2, -1.2, 1.2]).freedoms)
        1
        """
        at, record = self._doctor(self.neutral() if q is None else q, whole("samples", samples), whole("seed", seed), real("time", time))
        return Diagnosis(at, record)

    # --- equations, code, laws ---------------------------------------------------------------------------------------

    def derive(
        self,
        format: str = "markdown",
        *,
        symbols: Union[str, Sequence[str]] = (),
        style: Optional[str] = None,
        notation: str = "catena",
        elimination: bool = False,
    ) -> "Equations":
        """The equations of motion as text: "markdown", "latex", "html" or "sympy". `symbols` names the parameters that stay
        symbols: "masses", "lengths", "inertias", "gravity", "rotors", "passive" (springs and dampers), "all"; or single ones such as "link2.mass" or "joint1.damping". `style` is "closed" or
        "recursive"; the latter has the `notation` "catena" or "paper" (the variables of Saha's papers).
        """
        chosen = names("symbols", symbols)
        style = None if style is None else word("style", style)
        return Equations(self._derive(word("format", format), chosen, style, word("notation", notation), bool(elimination)), format)

    def generate(
        self,
        language: str = "c",
        *,
        functions: Sequence[str] = ("inverse", "forward", "inertia"),
        folder: Optional[PathLike] = None,
        name: str = "",
        frame: str = "",
        parameters: Union[str, Sequence[str]] = (),
        snap: float = 1e-14,
        casadi: bool = False,
    ) -> Dict[str, str]:
        """Source code of this model's dynamics in "c", "rust", "python" or "matlab": a dictionary from file names to text, written to
        `folder` if one is given. `functions` are those of `catena generate`; `parameters` become arguments instead of constants.

        With `casadi` there is one more file, `NAME_casadi.c`: compiled into one library with `NAME.c`, it makes `inverse` and `forward` external
        functions of CasADi, called `NAME_casadi_inverse` and `NAME_casadi_forward`, with their Jacobians (docs/generated-code.md).
        """
        chosen, wanted_functions = names("parameters", parameters), names("functions", functions)
        if not wanted_functions:
            raise InputError("functions: none is named, there is nothing to generate")
        files = dict(
            self._generate(
                word("language", language), wanted_functions, word("name", name), word("frame", frame), chosen, real("snap", snap), bool(casadi)
            )
        )
        if folder is not None:
            os.makedirs(folder, exist_ok=True)
            for file, text in files.items():
                with open(os.path.join(folder, file), "w", encoding="utf-8") as out:
                    out.write(text)
        return files

    def count(self, functions: Sequence[str] = ("inverse", "forward", "inertia")) -> Dict[str, Tuple[int, int]]:
        """Multiplications and additions of the simplified expressions of these functions.

        >>> sorted(catena.model("stanford").count())
        ['forward', 'inertia', 'inverse']
        """
        return {name: (m, a) for name, m, a in self._count(names("functions", functions))}

    def check(self, states: int = 10, *, seed: int = 1) -> "Laws":
        """Checks every law and every pair of algorithms that applies to a tree, at random states. `.hold` says whether all hold; `.undecided` lists
        those that cannot be decided in double precision because the model is too ill-conditioned: `accuracy` says how many digits are left.

        >>> catena.model("planar3").check(2).hold
        True
        """
        return Laws([Law(**law) for law in self._check(whole("states", states, 1), whole("seed", seed))])

    def space(self, q: Any, v: Any = None, *, point: Optional[Sequence[float]] = None, frame: Optional[str] = None) -> Dict[str, Any]:
        """A free-floating robot in the variables of Saha's paper, at one state: v = (t_e; θ̇), t_e the twist (ω; ṙ) of a point E of the
        root link, world axes.

        `I_e`, `I_em`, `I_m`: blocks of the inertia matrix; `I_e_hat`, `alpha_e`, `U_m`, `m_hat`: of its factors I = U D Uᵀ; the generalized
        Jacobian and the inertia Λ of a `frame` (default: the last); the centroidal matrix and the momentum. Arrays by name, SI units, as
        `catena space` prints them. E is `point`, in m and the axes of the root link (default: its mass centre).
        q is x, y, z, a quaternion (w, x, y, z) from body to world, and the joints.
        SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
        body's.

        >>> robot = catena.model("space-robot")
        >>> found = robot.space(robot.neutral())
        >>> found["I_e"].shape, found["I_em"].shape
        ((6, 6), (6, 6))
        """
        options = [] if point is None else [f"--point={row('point', point, 3)}"]
        if frame is not None:
            options += ["--frame", frame]
        return arrays(at_state(self, "space", state_options(self, q, v), options))

    def barycentres(self, q: Any, v: Any = None) -> Dict[str, Any]:
        """Augmented bodies of a free-floating tree, at one state: `barycentres` (bodies, 3) in m, vectors `D` (bodies, bodies, 3) in m
        and tensors `K` (bodies, …) in kg·m², world axes, as `catena barycentres` prints them.
        SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
        body's.

        >>> robot = catena.model("space-robot")
        >>> robot.barycentres(robot.neutral())["barycentres"].shape
        (7, 3)
        """
        return arrays(at_state(self, "barycentres", state_options(self, q, v)))

    def compare(self, q: Any, v: Any = None, tau: Any = None) -> Dict[str, Dict[str, Any]]:
        """Accelerations and loads at one state by every formulation: by name the accelerations `a`, the multipliers, rank and condition number, the
        number of operations, and the differences of motion and loads from those of "cut-loops", as `catena compare` prints them; `refused` says
        why a formulation does not apply.
        SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
        body's.

        >>> found = catena.model("four-bar-1").compare([1.2, -1.2, 1.2])
        >>> all(one["motion_difference"] < 1e-9 for one in found.values() if "refused" not in one)
        True
        """
        return arrays(at_state(self, "compare", state_options(self, q, v, tau))["formulations"])

    def rerooted(self, link: str, q: Any = None, v: Any = None) -> "Rerooted":
        """The model of a free-floating tree with another root link: the free joint moves there, the joints in between are reversed.
        Given one state q (nq,), v (nv,), also this state in the new coordinates.
        SI units, radians; quaternions of q are (w, x, y, z), from child to parent; v of a free joint is ẋ, ẏ, ż in joint axes, then ω in the
        body's.

        >>> robot = catena.model("space-robot")
        >>> q, v = robot.random(1)
        >>> new = robot.rerooted("link6", q, v)
        >>> bool(np.allclose(new.model.pose(new.q, "tool"), robot.pose(q, "tool")))
        True
        """
        copy = type(self)(self.name)
        state = copy._reroot(self, word("link", link), q, v)
        return Rerooted(copy, *(state or (None, None)))

    def conformance_case(self, name: str, *, states: int = 3, seed: int = 1) -> str:
        """A conformance case of this model as JSON, to compare other programs with."""
        return self._case(word("name", name), whole("states", states), whole("seed", seed))

    def figure(self, q: Any, *, labels: Optional[Sequence[str]] = None, side_by_side: bool = True) -> str:
        """Stick figures of one or several positions as SVG."""
        count = 1 if np.ndim(q) < 2 else len(q)
        shown = [""] * count if labels is None else names("labels", labels)
        if len(shown) != count:
            raise InputError(f"there are {len(shown)} labels for {count} position(s)", hint="give one label for each, or none")
        return self._figure(q, shown, bool(side_by_side))

    def open_tree(self) -> "Model":
        """The tree without its constraints: every loop is open, and no joint is coupled to another."""
        document = json.loads(self.to_json())
        document.pop("constraint", None)
        return loads(json.dumps(document), "json")


class Rerooted(NamedTuple):
    """A model with another root link, and a state in its coordinates: q (nq,), v (nv,), or None if no state was given."""

    model: Model
    q: Optional[Array]
    v: Optional[Array]


class Factorization:
    """I = U D Uᵀ at one state or many. `U` is (nv, nv) or (N, nv, nv), `D` the diagonal, (nv,) or (N, nv)."""

    def __init__(self, factors: Any, nv: int) -> None:
        self._factors, self._nv = factors, nv
        self._parts: Optional[Tuple[Array, Array]] = None

    def _both(self) -> Tuple[Array, Array]:
        if self._parts is None:
            parts, n = self._factors.parts(), self._nv
            self._parts = parts[..., : n * n].reshape(parts.shape[:-1] + (n, n)), parts[..., n * n :]
        return self._parts

    @property
    def U(self) -> Array:
        """Unit upper triangular."""
        return self._both()[0]

    @property
    def D(self) -> Array:
        """The diagonal: the articulated-body inertia at each freedom, with the efforts of all joints outward of it held constant."""
        return self._both()[1]

    @property
    def log_det(self) -> Any:
        """Logarithm of the determinant of I: a number, or (N,)."""
        return np.log(self.D).sum(axis=-1)

    def __iter__(self) -> Iterator[Array]:
        return iter(self._both())

    def solve(self, b: Any, *, out: Optional[Array] = None) -> Array:
        """Solves I x = b in O(n) for each right-hand side, with shapes as in `numpy.linalg.solve`: b (nv,) or (nv, k) for one state,
        (N, nv) or (N, nv, k) for many. Results are written to `out`, of the same shape, if it is given.

        >>> arm = catena.model("stanford")
        >>> q, _ = arm.random(1)
        >>> bool(np.allclose(arm.inertia(q) @ arm.factor(q).solve(np.eye(6)), np.eye(6)))
        True
        """
        b = numbers("b", b)
        single, n = self._factors.states is None, self._nv
        shape = (n,) if single else (self._factors.states, n)
        if b.shape[: len(shape)] != shape or b.ndim > len(shape) + 1:
            expected = f"{shape} or {str(shape)[:-1].rstrip(',')}, k)"
            raise ShapeError(f"b has shape {b.shape}, expected {expected}", argument="b", expected=expected, given=str(b.shape))
        if out is not None and np.shape(out) != b.shape:
            raise ShapeError(
                f"out has shape {np.shape(out)}, expected {b.shape}", argument="out", expected=str(b.shape), given=str(np.shape(out))
            )
        if out is not None and not (isinstance(out, np.ndarray) and out.dtype == np.float64):
            raise InputError("out must be a NumPy array of float64", hint="make it with `np.empty(shape)`")
        if b.ndim == len(shape):
            rows = None if out is None else out[..., np.newaxis, :]
            x = self._factors.solve(b[..., np.newaxis, :], rows)[..., 0, :]
            return x if out is None else out
        x = np.swapaxes(self._factors.solve(np.ascontiguousarray(np.swapaxes(b, -1, -2))), -1, -2)
        if out is None:
            return x
        out[...] = x
        return out

    def _repr_html_(self) -> str:
        text = _html.escape(repr(self))
        if self._factors.states is not None or self._nv > 12:
            return f"<p>{text}</p>"
        rows = [tuple(f"{number:.4g}" for number in (*u, d)) for u, d in zip(self.U, self.D)]
        return f"<p>{text}</p>" + html_table(("U",) + ("",) * (self._nv - 1) + ("D",), rows)

    def __repr__(self) -> str:
        states = self._factors.states
        return f"<catena.Factorization of {'one state' if states is None else f'{states} states'}, {self._nv} freedoms>"


class Complement(NamedTuple):
    """The decoupled natural orthogonal complement of n bodies and nv freedoms, for twists (ω; ċ) of the mass centres in world axes.

    `M` and `M_composite` have one block per body, `M_articulated`, `p`, `psi_hat`, `psi` and `m_hat` one per freedom; `T_l` and `T_d` are
    `N_l` and `N_d` with one block per freedom. `N_dot` and `C` are zero if no velocities are given.
    """

    c: Array
    p: Array
    N_l: Array
    N_d: Array
    N: Array
    T_l: Array
    T_d: Array
    M: Array
    M_composite: Array
    M_articulated: Array
    psi_hat: Array
    psi: Array
    m_hat: Array
    U: Array
    I: Array  # noqa: E741
    N_dot: Array
    C: Array


class SteadyMotion(NamedTuple):
    """Linear equations about a steady motion: dx/dt = A x + B δτ. x holds the `variables`: increments of positions and, with a prime, of
    velocities; Z x are the increments of all positions, then of all velocities.

    `values` are the nonzero eigenvalues of A, one of each conjugate pair, slowest first; `zeros` counts the others. `shapes` are the amplitudes of all
    freedoms, one row per mode. `residual` is the largest remaining acceleration. `q` and `v` are the state of the motion; in a model with
    couplings, that of all joints of the tree.
    """

    variables: Tuple[str, ...]
    A: Array
    B: Array
    Z: Array
    values: Array
    shapes: Array
    zeros: int
    residual: float
    q: Array
    v: Array


class Linearisation(NamedTuple):
    """Linear equations about an equilibrium: x = (y; dy/dt) of the `independent` freedoms, dx/dt = A x + B δτ, M ÿ + D ẏ + K y = Zᵀ δτ.

    `values` are the eigenvalues of A, one of each conjugate pair, slowest first; `shapes` the amplitudes of all freedoms, one row per mode.
    `residual` is the largest remaining acceleration at the equilibrium.
    """

    q: Array
    tau: Array
    independent: Tuple[str, ...]
    A: Array
    B: Array
    M: Array
    D: Array
    K: Array
    Z: Array
    values: Array
    shapes: Array
    residual: float

    @property
    def frequencies(self) -> Array:
        """Natural frequencies |λ|/2π of the modes, Hz."""
        return np.abs(self.values) / (2 * np.pi)

    @property
    def damping_ratios(self) -> Array:
        """−Re λ / |λ|: 0 undamped, 1 without oscillation, negative for growing modes; NaN for rigid-body modes, λ = 0."""
        size = np.abs(self.values)
        return np.divide(-self.values.real, size, out=np.full(size.shape, np.nan), where=size > 0)


class Assembled(NamedTuple):
    """A closed state: positions and velocities, iterations, residuals (position, velocity), constraint rows, their rank, freedoms."""

    q: Array
    v: Array
    iterations: int
    residuals: Tuple[float, float]
    rows: int
    rank: int
    freedoms: int


class Loads(NamedTuple):
    """Accelerations, loads (6,) by name of joint or constraint, multipliers, rank of the constraints, residual (if known)."""

    accelerations: Array
    joints: Dict[str, Array]
    constraints: Dict[str, Array]
    multipliers: Array
    rank: Optional[int]
    residual: Optional[float]


class Accuracy(NamedTuple):
    """Errors of accelerations, relative to the largest one: `error` is the larger of `arithmetic` and `closing`. `violation` is how far the state
    violates the constraints (m or rad, m/s or rad/s), `ignored` the length of the largest row treated as dependent, as a fraction of the largest row."""

    error: Optional[float]
    arithmetic: float
    closing: Optional[float]
    violation: float
    ignored: float


class Diagnosis:
    """The diagnosis of a mechanism. Its text has all findings; the numbers are attributes (`freedoms`, `redundant`, `singular`, …)."""

    def __init__(self, q: Array, record: Dict[str, Any]) -> None:
        self.q, self.record = q, record

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["record"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __str__(self) -> str:
        r = self.record
        lines = [
            f"{r['freedoms']} freedom(s): {r['tree_freedoms']} of the tree, {r['rows']} rows of constraints of which "
            f"{r['redundant']} depend on others (counting alone gives {r['counted']})"
        ]
        if r["velocity_rows"]:
            lines.append(f"{r['position_freedoms']} freedom(s) of position: {r['velocity_rows']} row(s) limit velocities alone")
        if r["singular"]:
            lines.append(f"this position is singular: it has {r['freedoms_here']} freedoms, others have {r['freedoms']}")
        if r["contradiction"]:
            lines.append("drivers that contradict each other: " + ", ".join(r["contradiction"]["drivers"]))
        lines += [f"dependent: row {row['row']} of {row['kind']} `{row['name']}`, {row['words']}" for row in r["dependent"]]
        lines += [f"loads of {hinge['kind']} `{hinge['name']}` are not determined" for hinge in r["undetermined"]]
        lines += [f"change {c['from']} `{c['name']}` to {c['to']}: {c['removes']} dependent row(s) fewer" for c in r["changes"]]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        words = {
            "freedoms": "freedoms",
            "tree_freedoms": "freedoms of the tree",
            "rows": "rows of constraints",
            "redundant": "rows that depend on others",
        }
        findings = "".join(f"<li>{_html.escape(line)}</li>" for line in str(self).splitlines())
        return html_table(tuple(words.values()), [tuple(str(self.record[key]) for key in words)]) + f"<ul>{findings}</ul>"


class Law(NamedTuple):
    """A law, the two algorithms compared, the largest relative residual (`None` where one of them has no result), the tolerance, and whether it holds.
    If the model is so ill-conditioned that the tolerance exceeds 1e-6, the law neither holds nor fails, and `decided` is false."""

    law: str
    routes: str
    residual: Optional[float]
    tolerance: Optional[float]
    holds: bool
    decided: bool = True

    @property
    def verdict(self) -> str:
        """One word: ok, undecided or FAILS."""
        return "ok" if self.holds else "FAILS" if self.decided else "undecided"


class Laws(list):
    """A list of laws."""

    @property
    def hold(self) -> bool:
        """True if all laws hold. An undecided law does not hold."""
        return all(law.holds for law in self)

    @property
    def undecided(self) -> "Laws":
        """The laws that cannot be decided because the model is too ill-conditioned."""
        return Laws(law for law in self if not law.decided)

    def __repr__(self) -> str:
        width = max((5, *(len(law.verdict) for law in self)))
        return "\n".join(
            f"{law.verdict:{width}} {_residual(law.residual):>8} of {_residual(law.tolerance)}  {law.law} ({law.routes})" for law in self
        )

    def _repr_html_(self) -> str:
        rows = [
            (law.law, law.routes, _residual(law.residual), _residual(law.tolerance), law.verdict) for law in self
        ]
        return html_table(("law", "routes", "residual, relative", "allowed", ""), rows)


class Equations(str):
    """Equations of motion as text; notebooks typeset them."""

    format: str

    def __new__(cls, text: str, format: str) -> "Equations":
        made = super().__new__(cls, text)
        made.format = format
        return made

    def _repr_markdown_(self) -> Optional[str]:
        return str(self) if self.format == "markdown" else None

    def _repr_html_(self) -> Optional[str]:
        return str(self) if self.format == "html" else None

    def _repr_latex_(self) -> Optional[str]:
        if self.format != "latex":
            return None
        # a notebook shows formulas, not documents
        blocks = re.findall(r"\\begin\{align\*\}(.*?)\\end\{align\*\}", self, re.DOTALL)
        return "\n\n".join(f"$$\n\\begin{{aligned}}{block}\\end{{aligned}}\n$$" for block in blocks)


def _residual(x: Optional[float]) -> str:
    """A residual as text, also where there is none."""
    return "no result" if x is None else f"{x:.1e}"


def _stepping(method: Optional[str], step: Optional[float], rate: Optional[float], driven: bool) -> Tuple[str, Optional[float]]:
    """Method and step of a run; with a rate the default is one step of rk4 in each control interval."""
    if method is not None:
        word("method", method)
    if rate is not None:
        if not (np.isfinite(rate) and rate > 0):
            raise InputError(f"rate must be a positive number of Hz, not {rate:g}")
        if not driven:
            raise InputError("rate: there is no control")
        if method is None:
            return "rk4", 1 / rate if step is None else step
    return method or "dop853", step


def _duration(duration: Any) -> float:
    """The duration of a run."""
    seconds = real("duration", duration)
    if not np.isfinite(seconds):
        raise InputError(f"duration of the simulation must be a finite number of s, not {seconds}")
    return seconds


def _interval(interval: Any, duration: float) -> float:
    """The time between samples: a whole fraction of the duration."""
    seconds = real("interval", interval)
    parts = duration / seconds if seconds else np.inf
    if np.isfinite(parts) and parts > 0 and abs(parts - round(parts)) > 1e-9 * max(1.0, parts):
        raise InputError(
            f"the duration ({duration:g} s) is not a multiple of the interval ({seconds:g} s)",
            hint="the last sample is the end of the run; choose another interval or duration",
        )
    return seconds


def _restitution(restitution: Any) -> Any:
    """Restitutions of stops: one number, or one by joint."""
    if restitution is None or isinstance(restitution, Mapping):
        given = by_name("restitution", restitution or {}, '{"elbow": 0.5}')
        return {name: real(f"restitution of `{name}`", number) for name, number in given.items()} if given else restitution
    return real("restitution", restitution)


def _limits(limits: Union[bool, str]) -> str:
    """How joint limits are treated."""
    if isinstance(limits, (bool, np.bool_)):
        limits = "report" if limits else "ignore"
    if limits not in ("ignore", "report", "stop", "soft"):
        raise InputError(f"limits cannot be {limits!r}", hint='it is "ignore", "report", "stop" or "soft"')
    return limits


def _described(control: Any) -> Any:
    """A control as the library takes it: a function or a description."""
    if isinstance(control, Traced):
        return control.code
    if isinstance(control, Control):
        return control.description
    if control is None or callable(control):
        return control
    if isinstance(control, str):
        raise InputError(
            f"control cannot be {control!r}",
            hint="it is catena.pd(…), catena.computed_torque(…) and the like, an array of constant efforts, or a function (t, q, v)",
        )
    return {"kind": "constant", "tau": numbers("control", control).tolist()}


def _controls(control: Any) -> List[Any]:
    """Controls of members: none, one for all, or a list with one for each."""
    if control is None:
        return []
    is_list = isinstance(control, (list, tuple)) and not all(isinstance(own, (int, float, np.number)) for own in control)
    return [_described(own) for own in (control if is_list else [control])]


def _events(events: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    """Checked events."""
    for name, event in by_name("events", events or {}, '{"floor": catena.plane("hand", [0, 0, 1])}').items():
        kind = event[0] if isinstance(event, tuple) and event else None
        if not callable(event) and (kind, len(event) if kind else 0) not in (("plane", 4), ("reaches", 3)):
            raise InputError(f"event `{name}` is not an event", hint="give catena.plane(…), catena.reaches(…) or a function (t, q, v)")
    return dict(events or {})


def _bar(duration: float) -> Tuple[Any, Any]:
    """A function that updates a tqdm progress bar, and the bar; nothing if tqdm is not installed."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None, None
    bar = tqdm(total=duration, unit="s", bar_format="{l_bar}{bar}| {n:.2f}/{total:.2f} s")

    def move(t: float, _: float) -> None:
        bar.update(t - bar.n)

    return move, bar


def read_run(path: PathLike) -> Run:
    """Reads a run from a file `.csv`, `.parquet` or `.mcap` that `Run.save` or `catena simulate -o` has written, finished or not, with the model it contains.

    >>> import os, tempfile
    >>> arm = catena.model("planar3")
    >>> run = arm.simulate([0.3, 0, 0], duration=0.1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run.save(os.path.join(folder, "run.csv"))
    ...     again = catena.read_run(os.path.join(folder, "run.csv"))
    >>> bool((again.q == run.q).all()), again.model.name, again.audit.kept
    (True, 'planar3', True)
    """
    name = _path(path)
    data = _catena.read_run(name)
    if data.dropped:
        warnings.warn(f"{name}: the last {data.dropped} bytes were left out: a block of rows that is not complete", stacklevel=2)
    return Run(loads(data.document, "json"), data)


def verify(path: PathLike) -> Dict[str, Any]:
    """Compares catena with a conformance case, a file of reference results from another program: `["passed"]` and every quantity."""
    return _catena.verify(_path(path))


def _unpickled(kind: type, text: str) -> Model:
    model = kind()
    model._restore(text)
    return model


def _named(key: str, values: Optional[Mapping[str, Any]]) -> List[Tuple[str, Any]]:
    """The entries of a mapping of names."""
    if values is None:
        return []
    if not isinstance(values, Mapping):
        raise InputError(f"{key} must be a dictionary, not {values!r}")
    for name in values:
        if not isinstance(name, str):
            raise InputError(f"the names in {key} must be strings, not {type(name).__name__}")
    return list(values.items())


def _numbers(value: Any) -> Optional[np.ndarray]:
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return None


def _vector(key: str, value: Any) -> List[float]:
    vector = _numbers(value)
    if vector is None or vector.shape != (3,):
        raise InputError(f"{key} must be three numbers, not {value!r}")
    return vector.tolist()


def _tensor(value: Any) -> List[float]:
    tensor = _numbers(value)
    if tensor is None:
        tensor = np.empty(0)
    if tensor.shape == (3,):
        return tensor.tolist() + [0.0, 0.0, 0.0]
    if tensor.shape == (6,):
        return tensor.tolist()
    if tensor.shape == (3, 3) and np.array_equal(tensor, tensor.T):
        return [tensor[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    raise InputError("inertia must be 3 numbers (xx yy zz), 6 (xx yy zz xy xz yz) or a symmetric 3×3 matrix")


def load(
    path: PathLike,
    *,
    base: Optional[str] = None,
    strict: bool = False,
    ignore_unknown: bool = False,
    ignore: Sequence[str] = (),
) -> Model:
    """Reads a model file: `.toml` or `.json` in catena's own format, `.urdf`, `.mjcf`, `.sdf`, or `.xml`
    with one of these three in it.

    `base` is "fixed" or "free": how the root link is held. By default the root of a URDF is fixed, and a link of an SDF without a joint to
    the world is free. `strict` rejects inertias that no rigid body can have, `ignore_unknown` ignores elements that are not
    supported. `ignore` names elements of an MJCF or SDF file to ignore although they change the dynamics, such as "fluid" or "wind";
    otherwise a file with such elements is rejected. `model.assumptions` lists what was assumed.
    """
    model = Model()
    model._read(_path(path), _base(base), bool(strict), bool(ignore_unknown), names("ignore", ignore))
    return model


def _path(path: Any) -> str:
    """The name of a file."""
    try:
        return os.fsdecode(path)
    except TypeError:
        raise InputError(f"the path of a file must be a str or a Path, not {path!r}") from None


def _base(base: Any) -> Optional[str]:
    return None if base is None else word("base", base)


def loads(
    text: str,
    format: str,
    *,
    base: Optional[str] = None,
    strict: bool = False,
    ignore_unknown: bool = False,
    ignore: Sequence[str] = (),
) -> Model:
    """Reads a model from text; `format` is "toml", "json", "urdf", "mjcf" or "sdf". The rest is as for `load`."""
    model = Model()
    if not isinstance(text, str):
        raise InputError(f"text must be a str, not {type(text).__name__}", hint="decode bytes, or read a file with `catena.load`")
    model._read_text(text, word("format", format), _base(base), bool(strict), bool(ignore_unknown), names("ignore", ignore))
    return model


def model(name: str) -> Model:
    """An embedded model, such as "stanford", "space-robot", "chain-7" or "four-bar-1"; `catena.models()` lists them.

    >>> catena.model("chain-7").nv
    7
    """
    made = Model()
    made._embed(word("name", name))
    return made


def models() -> Dict[str, str]:
    """Names of the embedded models, with a one-line description of each."""
    return dict(_catena.embedded_models())
