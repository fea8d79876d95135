"""The articulated-body recursion for a chain of rods on ball joints, in versions that differ in one line each: is the inertia that
the parent sees computed by subtraction or are its zeros written, and is it kept symmetric or not?

Written to be read, not to be fast; link axes, reference at the joint, angular part first.
"""

import numpy as np

from coordinates import rotation, skew


def by_subtraction(inertia, force, torque):
    """What the parent feels: M − U D⁻¹ Uᵀ and p + U D⁻¹ (τ − Sᵀp), computed as written."""
    columns = inertia[:, :3]
    gain = columns @ np.linalg.inv(inertia[:3, :3])
    return inertia - gain @ columns.T, force + gain @ (torque - force[:3])


def with_zeros(inertia, force, torque):
    """The same, its angular rows and columns written down: no resistance to rotation, and the moment is τ itself."""
    coupling = inertia[:3, 3:]
    gain = coupling.T @ np.linalg.inv(inertia[:3, :3])
    left, moment = np.zeros((6, 6)), np.array([*torque, *force[3:]])
    left[3:, 3:] = inertia[3:, 3:] - gain @ coupling
    moment[3:] += gain @ (torque - force[:3])
    return left, moment


def unchanged(matrix):
    return matrix


def made_symmetric(matrix):
    return (matrix + matrix.T) / 2


TWINS = {  # how a joint is eliminated, and what is done to the inertia that the parent feels
    "by subtraction": (by_subtraction, unchanged),
    "with zeros": (with_zeros, unchanged),
    "by subtraction, symmetric": (by_subtraction, made_symmetric),
    "with zeros, symmetric": (with_zeros, made_symmetric),
}


def accelerations(rod, state, eliminate, keep):
    """v̇ (n×3, child axes)."""
    n = len(state.quaternions)
    own = rod_inertia(rod)
    moves, velocities, drifts = [], [], []
    velocity = np.zeros(6)
    for k in range(n):
        at = rod.next_joint if k else np.zeros(3)
        move = motion_transform(rotation(state.quaternions[k]), at)
        velocity = move @ velocity
        velocity[:3] += state.velocities[k]
        moves.append(move)
        velocities.append(velocity)
        drifts.append(motion_cross(velocity) @ np.array([*state.velocities[k], 0, 0, 0]))

    inertia, force = np.zeros((6, 6)), np.zeros(6)
    kept = [None] * n
    for k in reversed(range(n)):  # tip to root
        inertia = inertia + own
        force = force - motion_cross(velocities[k]).T @ (own @ velocities[k])
        kept[k] = inertia, force
        left, load = eliminate(inertia, force, state.torques[k])
        inertia = keep(moves[k].T @ left @ moves[k])
        force = moves[k].T @ (load + left @ drifts[k])

    out = np.empty((n, 3))
    acceleration = np.array([0, 0, 0, *(-np.array(rod.gravity))])
    for k in range(n):  # root to tip
        inertia, force = kept[k]
        acceleration = moves[k] @ acceleration + drifts[k]
        free = state.torques[k] - force[:3] - inertia[:3] @ acceleration
        out[k] = np.linalg.solve(inertia[:3, :3], free)
        acceleration[:3] += out[k]
    return out


def rod_inertia(rod):
    """6×6 inertia of a rod about its joint."""
    first = rod.mass * skew(rod.centre)
    about = np.diag(rod.moments) - first @ skew(rod.centre)
    return np.block([[about, first], [first.T, rod.mass * np.eye(3)]])


def motion_transform(turn, at):
    """Motions of the parent, seen at `at` in axes turned by `turn`."""
    return np.block([[turn.T, np.zeros((3, 3))], [-turn.T @ skew(at), turn.T]])


def motion_cross(velocity):
    angular, linear = skew(velocity[:3]), skew(velocity[3:])
    return np.block([[angular, np.zeros((3, 3))], [linear, angular]])
