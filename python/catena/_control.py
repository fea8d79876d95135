"""What drives a simulation without calling Python: controllers that run at full speed, and events."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Sequence, Tuple

import numpy as np

from ._convert import numbers, real, word
from .errors import InputError


class Control:
    """A controller for `Model.simulate`; its description is stored with the run."""

    def __init__(self, **description: Any) -> None:
        self.description: Dict[str, Any] = description

    def __repr__(self) -> str:
        return f"<catena.Control: {self.description['kind']}>"


def _motion(target: Any, move_time: Optional[float], trajectory: Any) -> Dict[str, Any]:
    if (target is None) == (trajectory is None):
        raise TypeError("give either a target or a trajectory (t, q, v, a)")
    if trajectory is not None:
        if not isinstance(trajectory, (tuple, list)) or len(trajectory) != 4:
            raise InputError("trajectory must be four arrays (t, q, v, a)", hint="`follow` gives them: (motion.t, motion.q, motion.v, motion.a)")
        return {key: numbers(f"{key} of the trajectory", value).tolist() for key, value in zip("tqva", trajectory)}
    return {"target": numbers("target", target).tolist(), "move_time": None if move_time is None else real("move_time", move_time)}


def _gain(name: str, x: Any) -> Any:
    """One number for all joints, or one for each."""
    many = isinstance(x, (list, tuple)) or getattr(x, "ndim", 0) > 0
    return numbers(name, x).tolist() if many else real(name, x)


def pd(
    target: Any = None,
    *,
    stiffness: Any = 100.0,
    damping: Any = 20.0,
    move_time: Optional[float] = None,
    trajectory: Any = None,
) -> Control:
    """stiffness (q_d − q) + damping (v_d − v) at every joint without a quaternion.

    q_d is `target`, approached along a cycloid in `move_time` s, or as a step if this is left out; or a `trajectory` (t, q, v, a) of times
    (T,) and rows (T, n), one column for each coordinate of these joints. Stiffness and damping are one number for all, or one for each (n,).

    >>> arm = catena.model("planar3")
    >>> run = arm.simulate([0, 0, 0], duration=2, control=catena.pd([0.3, 0.2, 0.1], stiffness=[400, 400, 200], damping=40))
    >>> bool(np.abs(run.v[-1]).max() < 0.1)
    True
    """
    gains = {"stiffness": _gain("stiffness", stiffness), "damping": _gain("damping", damping)}
    return Control(kind="pd", **gains, **_motion(target, move_time, trajectory))


def computed_torque(
    target: Any = None,
    *,
    stiffness: Any = 100.0,
    damping: Any = 20.0,
    move_time: Optional[float] = None,
    trajectory: Any = None,
) -> Control:
    """Inverse dynamics of a_d + damping (v_d − v) + stiffness (q_d − q): the tracking errors of the joints decouple.

    The desired motion and the gains are given as for `pd`; the stiffness is in 1/s², the damping in 1/s.
    """
    gains = {"stiffness": _gain("stiffness", stiffness), "damping": _gain("damping", damping)}
    return Control(kind="computed-torque", **gains, **_motion(target, move_time, trajectory))


def gravity_compensation() -> Control:
    """Efforts that balance the weight of the bodies, and nothing else."""
    return Control(kind="gravity")


class _WithSensors:
    """A control function that gets the readings of the sensors."""

    takes_sensors = True

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)


def with_sensors(function: Callable[..., Any]) -> Callable[..., Any]:
    """A control function (t, q, v, sensors) → efforts (nv,) that reads the model's sensors: `sensors["imu"]["wx"]`.

    It needs a `rate`: sensors measure under the efforts that act up to this instant, before the new ones are applied.
    """
    return _WithSensors(function)


def sine(amplitude: Any, frequency: Any) -> Control:
    """amplitude · sin(frequency · t), (nv,) each; frequency in rad/s."""
    return Control(
        kind="sine",
        amplitude=numbers("amplitude", amplitude).tolist(),
        frequency=numbers("frequency", frequency).tolist(),
    )


def table(t: Any, tau: Any) -> Control:
    """Efforts over time, linear between the instants: t (T,), tau (T, nv)."""
    return Control(kind="table", t=numbers("t", t).tolist(), tau=numbers("tau", tau).tolist())


def plane(frame: str, normal: Sequence[float], offset: float = 0.0) -> Tuple[str, str, Tuple[float, ...], float]:
    """An event: the origin of a frame crosses the plane normal · x = offset (world axes, m)."""
    direction = numbers("normal", normal)
    if direction.shape != (3,) or not np.isfinite(direction).all() or not direction.any():
        raise InputError(f"normal of a plane must be three finite numbers, not all zero, not {normal!r}")
    return ("plane", word("frame", frame), tuple(direction.tolist()), _finite("offset", offset))


def reaches(freedom: str, value: float) -> Tuple[str, str, float]:
    """An event: the position of a freedom reaches a value, rad or m."""
    return ("reaches", word("freedom", freedom), _finite("value", value))


def _finite(name: str, x: Any) -> float:
    number = real(name, x)
    if not np.isfinite(number):
        raise InputError(f"{name} of an event must be finite, not {number}")
    return number
