"""Do the engines return the same quantities? Results in Pinocchio's coordinates are taken to catena's and compared.

Coordinates differ on a free base only, by v_pin = T(q) v_cat with T orthogonal (coordinates.py). Derivatives are with respect to
small motions δ in the directions of the velocities, so δ_pin = T δ_cat. With

    v_pin = T v,   a_pin = T a + Ṫ v,   τ_pin = T τ      and      V = ∂v_pin/∂q,   A = ∂a_pin/∂q,   B = ∂a_pin/∂v,   F = ∂τ_pin/∂q

the chain rule gives everything else.
"""

from dataclasses import dataclass

import numpy as np

from coordinates import rotation, skew

VECTORS = ("inverse", "forward", "factorization")


@dataclass(frozen=True)
class Point:
    """One state in catena's coordinates."""

    q: np.ndarray
    v: np.ndarray
    vdot: np.ndarray
    tau: np.ndarray


def shaped(quantity, numbers, nv):
    """The numbers of one state as a list of vectors and matrices."""
    if quantity in VECTORS:
        return [numbers]
    return list(numbers.reshape(-1, nv, nv))


def to_pinocchio(coordinates, point):
    """The same state for Pinocchio: q, v, v̇, τ."""
    transform = coordinates.transform(point.q)
    drift = coordinates.transform_rate_times_velocity(point.q, point.v)
    return coordinates.positions(point.q), transform @ point.v, transform @ point.vdot + drift, transform @ point.tau


def free_joints(coordinates, q):
    """Where free joints have their velocities here and there, and how they are turned."""
    for pair in coordinates.pairs:
        if pair.kind == "free":
            yield pair.cat_v, pair.pin_v, rotation(q[pair.cat_q + 3 : pair.cat_q + 7])


def slopes(coordinates, point, vdot):
    """V, A and B at a state with these accelerations."""
    size = len(point.v)
    by_v, by_a, rate = np.zeros((3, size, size))
    for here, there, turn in free_joints(coordinates, point.q):
        lines, turned = slice(there, there + 3), slice(here + 3, here + 6)
        velocity, acceleration = turn.T @ point.v[here : here + 3], turn.T @ vdot[here : here + 3]
        omega = skew(point.v[turned])
        by_v[lines, turned] = skew(velocity)
        by_a[lines, turned] = skew(acceleration) - omega @ skew(velocity)
        rate[lines, here : here + 3] = -omega @ turn.T
        rate[lines, turned] = skew(velocity)
    return by_v, by_a, rate


def from_pinocchio(quantity, parts, coordinates, point, others):
    """Pinocchio's result at a state in catena's coordinates. `others`: results of other quantities there, already converted."""
    transform = coordinates.transform(point.q)
    back = transform.T
    if quantity == "inverse":
        return [back @ parts[0]]
    if quantity == "forward":
        return [back @ (parts[0] - coordinates.transform_rate_times_velocity(point.q, point.v))]
    if quantity == "factorization":
        return [back @ parts[0]]
    if quantity in ("inertia", "inertia-upper"):
        return [back @ parts[0] @ transform]
    by_q, by_v, by_input = parts
    if quantity == "inverse-derivatives":
        v_slope, a_slope, rate = slopes(coordinates, point, point.vdot)
        dq = back @ (by_q @ transform + by_v @ v_slope + by_input @ a_slope)
        for here, _, turn in free_joints(coordinates, point.q):
            force = turn.T @ others["inverse"][0][here : here + 3]
            dq[here : here + 3, here + 3 : here + 6] -= turn @ skew(force)
        return [dq, back @ (by_v @ transform + by_input @ rate), back @ by_input @ transform]
    if quantity == "forward-derivatives":
        v_slope, a_slope, rate = slopes(coordinates, point, others["forward"][0])
        f_slope = np.zeros_like(v_slope)
        for here, there, turn in free_joints(coordinates, point.q):
            f_slope[there : there + 3, here + 3 : here + 6] = skew(turn.T @ point.tau[here : here + 3])
        dq = back @ (by_q @ transform + by_v @ v_slope + by_input @ f_slope - a_slope)
        return [dq, back @ (by_v @ transform - rate), back @ by_input @ transform]
    raise ValueError(quantity)


def weights(quantity, part, inertia):
    """What makes the entries of a result comparable: efforts are divided, and accelerations multiplied, by the square root of the
    inertia each freedom sees."""
    root = np.sqrt(np.diag(inertia))
    if quantity == "inverse":
        return 1 / root
    if quantity == "forward":
        return root
    if quantity in ("inertia", "inertia-upper") or part == 2:
        return np.outer(1 / root, 1 / root)
    return (1 / root)[:, None]


def difference(quantity, ours, theirs, inertia):
    """Largest difference of an entry over the largest entry, the worst of the parts both have; NaN if they do not fit."""
    worst = 0.0
    for part, (a, b) in enumerate(zip(ours, theirs)):
        if a.shape != b.shape:
            return np.nan
        weight = weights(quantity, part, inertia)
        worst = np.maximum(worst, np.abs((a - b) * weight).max() / np.abs(b * weight).max())
    return float(worst)


def residual(inertia, solutions, sides):
    """I X − B over the largest entry of |I| |X| + |B|, the worst of the parts there are; rows weighted as efforts are. How ill
    conditioned I is plays no part: with 1000 joints solutions of different routes differ by 1e-8."""
    worst, root = 0.0, np.sqrt(np.diag(inertia))
    for x, b in zip(solutions, sides):
        if x.shape != b.shape:
            return np.nan
        left = (inertia @ x - b).T / root
        size = (np.abs(inertia) @ np.abs(x) + np.abs(b)).T / root
        worst = np.maximum(worst, np.abs(left).max() / size.max())
    return float(worst)
