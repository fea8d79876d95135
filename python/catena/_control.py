"""What drives a simulation without calling Python: controllers that run at full speed, and events."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Sequence, Tuple

import numpy as np


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
        t, q, v, a = trajectory
        rows = {"t": t, "q": q, "v": v, "a": a}
        return {key: np.asarray(value, dtype=float).tolist() for key, value in rows.items()}
    return {"target": np.asarray(target, dtype=float).tolist(), "move_time": move_time}


def pd(
    target: Any = None,
    *,
    stiffness: float = 100.0,
    damping: float = 20.0,
    move_time: Optional[float] = None,
    trajectory: Any = None,
) -> Control:
    """stiffness (q_d − q) + damping (v_d − v) at every joint without a quaternion.

    q_d is `target`, approached along a cycloid in `move_time` s, or as a step if this is left out; or a `trajectory` (t, q, v, a) of times
    (T,) and rows (T, n), one column for each coordinate of these joints.

    >>> arm = catena.model("planar3")
    >>> run = arm.simulate([0, 0, 0], duration=2, control=catena.pd([0.3, 0.2, 0.1], stiffness=400, damping=40))
    >>> bool(np.abs(run.v[-1]).max() < 0.1)
    True
    """
    return Control(kind="pd", stiffness=stiffness, damping=damping, **_motion(target, move_time, trajectory))


def computed_torque(
    target: Any = None,
    *,
    stiffness: float = 100.0,
    damping: float = 20.0,
    move_time: Optional[float] = None,
    trajectory: Any = None,
) -> Control:
    """Inverse dynamics of a_d + damping (v_d − v) + stiffness (q_d − q): the tracking errors of the joints decouple.

    The desired motion is given as for `pd`; the stiffness is in 1/s², the damping in 1/s.
    """
    return Control(kind="computed-torque", stiffness=stiffness, damping=damping, **_motion(target, move_time, trajectory))


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
        amplitude=np.asarray(amplitude, dtype=float).tolist(),
        frequency=np.asarray(frequency, dtype=float).tolist(),
    )


def table(t: Any, tau: Any) -> Control:
    """Efforts over time, linear between the instants: t (T,), tau (T, nv)."""
    return Control(kind="table", t=np.asarray(t, dtype=float).tolist(), tau=np.asarray(tau, dtype=float).tolist())


def plane(frame: str, normal: Sequence[float], offset: float = 0.0) -> Tuple[str, str, Tuple[float, ...], float]:
    """An event: the origin of a frame crosses the plane normal · x = offset (world axes, m)."""
    return ("plane", frame, tuple(float(x) for x in normal), float(offset))


def reaches(freedom: str, value: float) -> Tuple[str, str, float]:
    """An event: the position of a freedom reaches a value, rad or m."""
    return ("reaches", freedom, float(value))
