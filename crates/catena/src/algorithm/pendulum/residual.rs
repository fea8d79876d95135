//! The six sets of equations E(X, Ẋ) = 0.
//!
//! ```text
//! ᵗG_i  = R_i − R_sp1 − A_i r_i + Σ_{k≤i} A_k a_k                        (5)    3
//! ᵗĠ_i  = V_i − Ȧ_i r_i + Σ_{k≤i} Ȧ_k a_k                                (12)   3
//! I¹_i  = p·p − 1                                                        (35)   1
//! I²_i  = p·s                                                                   1
//! I³_i  = s_v − ṗ_v    (v: three of the four, all but the dependent u)          3
//! F_i   = T_i − r̃_i A_iᵀ z_i + ã_i A_iᵀ τ_i                              (22)   3
//!         z_i = M_i (V̇_i − g),  τ_i = z_i + τ_{i+1},  T_i = −(I_i ω̇_i + ω_i × I_i ω_i)
//! ```
//!
//! The sums run along the chain (eqs. 6, 13 outwards, eq. 23 inwards), so the cost is O(n). Position and velocity
//! constraints are both kept: the differentiation index is 1, and no stabilisation is needed.

use super::euler::{dot, g_times, rotation, rotation_rate};
use super::unknowns::{UNKNOWNS, Unknowns};
use super::{Link, Pendulum};
use crate::scalar::{Parameter, Scalar};
use crate::spatial::Vec3;

/// Equations per body, in the order of [`Equations`].
pub const EQUATIONS: usize = UNKNOWNS;

/// The residuals of one body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Equations<S = f64> {
    /// ᵗG: position of the joint.
    pub joint: Vec3<S>,
    /// ᵗĠ: velocity of the joint.
    pub joint_rate: Vec3<S>,
    /// I¹: length of the Euler parameters.
    pub length: S,
    /// I²: its rate.
    pub length_rate: S,
    /// I³: s = ṗ for the three independent parameters, in their order.
    pub rates: [S; 3],
    /// F: balance of moments about the mass centre, body axes.
    pub moment: Vec3<S>,
}

impl<S: Copy> Equations<S> {
    /// Residuals of a body, from the vector of all.
    #[inline(always)]
    pub fn of(e: &[S], body: usize) -> Self {
        let e = &e[body * EQUATIONS..(body + 1) * EQUATIONS];
        Equations {
            joint: Vec3::new(e[0], e[1], e[2]),
            joint_rate: Vec3::new(e[3], e[4], e[5]),
            length: e[6],
            length_rate: e[7],
            rates: [e[8], e[9], e[10]],
            moment: Vec3::new(e[11], e[12], e[13]),
        }
    }

    /// Writes them into the vector of all.
    #[inline(always)]
    pub fn store(&self, e: &mut [S], body: usize) {
        let e = &mut e[body * EQUATIONS..(body + 1) * EQUATIONS];
        e[..3].copy_from_slice(&self.joint.to_array());
        e[3..6].copy_from_slice(&self.joint_rate.to_array());
        e[6] = self.length;
        e[7] = self.length_rate;
        e[8..11].copy_from_slice(&self.rates);
        e[11..14].copy_from_slice(&self.moment.to_array());
    }
}

/// The independent Euler parameters of a body whose dependent one is `u`, in their order.
#[inline(always)]
pub(super) fn independent(u: u8) -> [usize; 3] {
    match u {
        0 => [1, 2, 3],
        1 => [0, 2, 3],
        2 => [0, 1, 3],
        _ => [0, 1, 2],
    }
}

/// E(X, Ẋ).
///
/// `dependent` holds u of every body, as [`dependent_parameters`](super::dependent_parameters) chooses it.
pub fn residual<S: Scalar, P: Parameter<S>>(
    pendulum: &Pendulum<P>,
    dependent: &[u8],
    x: &[S],
    xdot: &[S],
    e: &mut [S],
) {
    residual_kernel(pendulum, dependent, x, xdot, e);
}

#[inline(always)]
pub(super) fn residual_kernel<S: Scalar, P: Parameter<S>>(
    pendulum: &Pendulum<P>,
    dependent: &[u8],
    x: &[S],
    xdot: &[S],
    e: &mut [S],
) {
    let n = pendulum.bodies();
    let two = S::constant(2.0);
    let gravity: Vec3<S> = pendulum.gravity.lift();
    let mut beyond = Vec3::zero(); // τ_{i+1}
    for body in (0..n).rev() {
        let link: Link<S> = pendulum.rods[body].lift();
        let own = Unknowns::of(x, body);
        let rate = Unknowns::of(xdot, body);
        let (p, s) = (own.parameters, own.rates);
        let z = (rate.velocity - gravity) * link.rod.mass;
        let force = z + beyond; //                                                                          (23)
        let turn = rotation(p);
        let omega = g_times(p, s) * two;
        let omega_rate = g_times(p, rate.rates) * two;
        let inertial = link.rod.inertia * omega_rate + omega.cross(link.rod.inertia * omega); // −T
        let moment = link.rod.a.cross(turn.transpose_times(force))
            - link.rod.r.cross(turn.transpose_times(z))
            - inertial; //                                                                                  (22)
        let [i, j, k] = independent(dependent[body]);
        Equations {
            joint: Vec3::zero(),
            joint_rate: Vec3::zero(),
            length: dot(p, p) - S::one(), //                                                                (35)
            length_rate: dot(p, s),
            rates: [
                s[i] - rate.parameters[i],
                s[j] - rate.parameters[j],
                s[k] - rate.parameters[k],
            ],
            moment,
        }
        .store(e, body);
        beyond = force;
    }
    let mut reach: Vec3<S> = -pendulum.pivot.lift(); // λ_{i−1} − R_sp1
    let mut reach_rate = Vec3::zero();
    for body in 0..n {
        let link: Link<S> = pendulum.rods[body].lift();
        let own = Unknowns::of(x, body);
        let turn = rotation(own.parameters);
        let rate = rotation_rate(own.parameters, own.rates);
        let joint = own.position + (turn * link.c + reach); //                                              (6)
        let joint_rate = own.velocity + (rate * link.c + reach_rate); //                                    (13)
        let own_equations = &mut e[body * EQUATIONS..body * EQUATIONS + 6];
        own_equations[..3].copy_from_slice(&joint.to_array());
        own_equations[3..].copy_from_slice(&joint_rate.to_array());
        reach += turn * link.rod.a;
        reach_rate += rate * link.rod.a;
    }
}
