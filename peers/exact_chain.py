"""Accelerations of a chain of rods on spherical joints, in as many digits as asked for.

The method shares nothing with the recursions that it checks. Each rod obeys Newton and Euler on its own; the unknowns are the forces
λᵢ that hold neighbouring rods together, and that the joints stay closed gives one equation each:

    m aᵢ = λᵢ − λᵢ₊₁ + m g                                                      (1)   a: of the mass centre
    Jᵢ αᵢ = Nᵢ − hᵢ × (λᵢ + λᵢ₊₁),   Nᵢ = Tᵢ − Tᵢ₊₁ − ωᵢ × Jᵢ ωᵢ                 (2)   h: centre to the far joint, T = R τ
    aᵢ + hᵢ × αᵢ − wᵢ = aᵢ₋₁ − hᵢ₋₁ × αᵢ₋₁ + wᵢ₋₁,   wᵢ = ωᵢ × (ωᵢ × hᵢ)         (3)   a joint has one acceleration

(1) and (2) in (3) leave a symmetric positive definite system with 3×3 blocks in three diagonals,

    (Kᵢ₋₁ − E) λᵢ₋₁ + (Kᵢ₋₁ + Kᵢ + 2E) λᵢ + (Kᵢ − E) λᵢ₊₁ = −eᵢ₋₁ − eᵢ          (4)   E = 1/m,  e = H J⁻¹ N − w
    Kᵢ = −Hᵢ Jᵢ⁻¹ Hᵢ,   Hᵢ = hᵢ ×

(in the first row, at the fixed point, K₀ + E is absent and −e₀ is −g), solved from the tip to the root and back.
World axes throughout.
"""

import mpmath
import numpy as np


def cross(a, b):
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def skew(a):
    zero = a[0] * 0
    return np.array([[zero, -a[2], a[1]], [a[2], zero, -a[0]], [-a[1], a[0], zero]])


def inverse(a):
    """Inverse of a 3×3 matrix by cofactors."""
    rows = np.array([cross(a[1], a[2]), cross(a[2], a[0]), cross(a[0], a[1])])
    return rows.T / (a[0] @ rows[0])


def rotation(quaternion):
    """Rotation matrix of a quaternion (w, x, y, z) of any length."""
    w, x, y, z = quaternion
    s = 2 / (w * w + x * x + y * y + z * z)
    return np.array(
        [
            [1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)],
            [s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x)],
            [s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)],
        ]
    )


def exact(values):
    """Doubles as numbers of mpmath's current precision."""
    return np.vectorize(mpmath.mpf, otypes=[object])(np.asarray(values, dtype=float))


def accelerations(rod, quaternions, velocities, torques, digits=50):
    """v̇ (n×3, child axes) at exactly these doubles, rounded to doubles at the end.

    quaternions: n×4, child → parent; velocities: of each rod relative to the one before; torques: on it from the one before.
    """
    with mpmath.workdps(digits):
        return _accelerations(rod, exact(quaternions), exact(velocities), exact(torques)).astype(float)


def _accelerations(rod, quaternions, velocities, torques):
    n = len(quaternions)
    zero = exact(np.zeros(3))
    unit = exact(np.eye(3)) / mpmath.mpf(rod.mass)  # E
    gravity = exact(rod.gravity)
    half = exact(rod.next_joint) / 2
    moments = exact(rod.moments)

    turn = exact(np.eye(3))
    omega = zero
    turns, omegas = [], []
    for k in range(n):
        turn = turn @ rotation(quaternions[k])
        omega = omega + turn @ velocities[k]
        turns.append(turn)
        omegas.append(omega)

    carried = [turns[k] @ torques[k] for k in range(n)] + [zero]  # T
    far, spin, loads, stiff, drift = [], [], [], [], []
    for k in range(n):
        h = turns[k] @ half
        tensor = (turns[k] * moments) @ turns[k].T
        inverse_tensor = (turns[k] / moments) @ turns[k].T
        load = carried[k] - carried[k + 1] - cross(omegas[k], tensor @ omegas[k])  # N
        far.append(h)
        spin.append(inverse_tensor)
        loads.append(load)
        stiff.append(-skew(h) @ inverse_tensor @ skew(h))  # K
        drift.append(cross(h, inverse_tensor @ load) - cross(omegas[k], cross(omegas[k], h)))  # e

    forces = _joint_forces(stiff, drift, unit, gravity)
    out = []
    before, turning = zero, zero  # α and ω of the rod before
    for k in range(n):
        alpha = spin[k] @ (loads[k] - cross(far[k], forces[k] + forces[k + 1]))  # (2)
        out.append(turns[k].T @ (alpha - before + cross(omegas[k], turning)))
        before, turning = alpha, omegas[k]
    return np.array(out)


def _joint_forces(stiff, drift, unit, gravity):
    """λ from (4); the last entry is the force beyond the tip, zero."""
    n = len(stiff)
    diagonal = [stiff[0] + unit] + [stiff[k - 1] + stiff[k] + 2 * unit for k in range(1, n)]
    right = [-drift[0] - gravity] + [-drift[k - 1] - drift[k] for k in range(1, n)]
    beside = [stiff[k] - unit for k in range(n - 1)]  # between k and k + 1, symmetric
    for k in range(n - 1, 0, -1):
        factor = beside[k - 1] @ inverse(diagonal[k])
        diagonal[k - 1] = diagonal[k - 1] - factor @ beside[k - 1]
        right[k - 1] = right[k - 1] - factor @ right[k]
    forces = [inverse(diagonal[0]) @ right[0]]
    for k in range(1, n):
        forces.append(inverse(diagonal[k]) @ (right[k] - beside[k - 1] @ forces[k - 1]))
    return [*forces, gravity * 0]
