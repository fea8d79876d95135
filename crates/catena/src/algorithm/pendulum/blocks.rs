//! The exact Jacobian J = ∂E/∂X + σ ∂E/∂Ẋ, block by block.
//!
//! ```text
//! ∂ᵗG_k/∂p_i = ∂ᵗĠ_k/∂s_i = 2E_i(ā_i − r̄_i) (k = i),  2E_i ā_i (k > i)                                  (10, 17)
//! ∂ᵗĠ_k/∂p_i = 2Ė_i(ā_i − r̄_i) (k = i),  2Ė_i ā_i (k > i)                                               (20)
//! ∂F_i/∂V_k  = σ M_i (ã_i − r̃_i) A_iᵀ (k = i),  σ M_k ã_i A_iᵀ (k > i)                                  (27)
//! ∂F_i/∂p_i  = 2 I G̈ + 2 (ω̃ I − ψ̃) Ġ − 2 r̃ G z⁺ + 2 ã G τ⁺,   ψ = I ω                                   (31)
//! ∂F_i/∂s_i  = −2 (ω̃ I − ψ̃) G − 2σ I G                                                                 (34)
//! ∂I¹/∂p = 2pᵀ,  ∂I²/∂p = sᵀ,  ∂I²/∂s = pᵀ,  ∂I³/∂s_v = 1,  ∂I³/∂p_v = −σ 1
//! ```
//!
//! (31) and (34) are the paper's with ω̃ = 2GĠᵀ − 2(p·s)1 substituted. Blocks not listed are zero, or the identity of eq. 4.

use super::euler::{
    Four, dot, g_columns, g_times, rotation, turned_back_derivative, turned_derivative,
};
use super::residual::{Equations, independent};
use super::unknowns::{UNKNOWNS, Unknowns};
use super::{Link, Pendulum};
use crate::matrix::Matrix;
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{Mat3, Vec3};

/// The blocks of one body. 3×4 blocks are stored by columns.
#[derive(Clone, Copy, Debug)]
pub struct Blocks<S> {
    /// p.
    pub parameters: Four<S>,
    /// s.
    pub rates: Four<S>,
    /// 2E(ā − r̄).
    pub own: [Vec3<S>; 4],
    /// 2E ā.
    pub outer: [Vec3<S>; 4],
    /// 2Ė(ā − r̄).
    pub own_rate: [Vec3<S>; 4],
    /// 2Ė ā.
    pub outer_rate: [Vec3<S>; 4],
    /// σ (ã − r̃) Aᵀ.
    pub own_force: Mat3<S>,
    /// σ ã Aᵀ.
    pub outer_force: Mat3<S>,
    /// ∂F/∂p.
    pub moment_by_parameters: [Vec3<S>; 4],
    /// ∂F/∂s + σ ∂F/∂ṡ.
    pub moment_by_rates: [Vec3<S>; 4],
}

impl<S: Scalar> Blocks<S> {
    /// Blocks of zeros.
    pub fn zero() -> Self {
        let (four, columns) = ([S::zero(); 4], [Vec3::zero(); 4]);
        Blocks {
            parameters: four,
            rates: four,
            own: columns,
            outer: columns,
            own_rate: columns,
            outer_rate: columns,
            own_force: Mat3::zero(),
            outer_force: Mat3::zero(),
            moment_by_parameters: columns,
            moment_by_rates: columns,
        }
    }

    /// The blocks of every body.
    pub fn fill<P: Parameter<S>>(
        pendulum: &Pendulum<P>,
        x: &[S],
        xdot: &[S],
        sigma: S,
        blocks: &mut [Blocks<S>],
    ) {
        let gravity: Vec3<S> = pendulum.gravity.lift();
        let mut beyond = Vec3::zero();
        for body in (0..pendulum.bodies()).rev() {
            let link: Link<S> = pendulum.rods[body].lift();
            let z = (Unknowns::of(xdot, body).velocity - gravity) * link.rod.mass;
            let force = z + beyond;
            blocks[body] = Blocks::of_body(
                &link,
                &Unknowns::of(x, body),
                Unknowns::of(xdot, body).rates,
                (z, force),
                sigma,
            );
            beyond = force;
        }
    }

    fn of_body(
        link: &Link<S>,
        own: &Unknowns<S>,
        sdot: Four<S>,
        (z, force): (Vec3<S>, Vec3<S>),
        sigma: S,
    ) -> Self {
        let two = S::constant(2.0);
        let (p, s) = (own.parameters, own.rates);
        let inertia = link.rod.inertia.full();
        let omega = g_times(p, s) * two;
        // 2 (ω̃ I − ψ̃)
        let gyration = (inertia.cross_columns(omega) - Mat3::skew(inertia * omega)) * two;
        let twice = inertia * two;
        let inertial = twice * sigma + gyration;
        let (g, g_rate) = (g_columns(p), g_columns(s));
        let g_rate_rate = g_columns(sdot);
        let by_z = turned_back_derivative(p, z);
        let by_force = turned_back_derivative(p, force);
        let mut moment_by_parameters = [Vec3::zero(); 4];
        let mut moment_by_rates = [Vec3::zero(); 4];
        for k in 0..4 {
            let carried = link.rod.a.cross(by_force[k]) - link.rod.r.cross(by_z[k]);
            moment_by_parameters[k] = twice * g_rate_rate[k] + gyration * g_rate[k] + carried; //   (31)
            moment_by_rates[k] = -(inertial * g[k]); //                                             (34)
        }
        let back = rotation(p).transpose() * sigma;
        Blocks {
            parameters: p,
            rates: s,
            own: turned_derivative(p, link.c),
            outer: turned_derivative(p, link.rod.a),
            own_rate: turned_derivative(s, link.c),
            outer_rate: turned_derivative(s, link.rod.a),
            own_force: back.cross_columns(link.c),
            outer_force: back.cross_columns(link.rod.a),
            moment_by_parameters,
            moment_by_rates,
        }
    }
}

/// Σ columns · x.
#[inline(always)]
pub(super) fn times<S: Scalar>(columns: &[Vec3<S>; 4], x: Four<S>) -> Vec3<S> {
    columns[0].scale_add(
        x[0],
        columns[1].scale_add(x[1], columns[2].scale_add(x[2], columns[3] * x[3])),
    )
}

fn put<S: Scalar>(matrix: &mut Matrix<S>, (row, column): (usize, usize), columns: &[Vec3<S>]) {
    for (j, v) in columns.iter().enumerate() {
        for (i, x) in v.to_array().into_iter().enumerate() {
            matrix[(row + i, column + j)] = x;
        }
    }
}

/// The whole Jacobian, 14n × 14n; rows as in [`Equations`], columns as in [`Unknowns`].
pub fn jacobian<S: Scalar, P: Parameter<S>>(
    pendulum: &Pendulum<P>,
    dependent: &[u8],
    blocks: &[Blocks<S>],
    sigma: S,
    matrix: &mut Matrix<S>,
) {
    let n = pendulum.bodies();
    let (velocity, parameters, rates) = (3, 6, 10);
    let (joint_rate, length, length_rate, kept, moment) = (3, 6, 7, 8, 11);
    matrix.clear();
    for i in 0..n {
        let at = i * UNKNOWNS;
        let block = &blocks[i];
        for k in 0..6 {
            matrix[(at + k, at + k)] = S::one();
        }
        for (k, (p, s)) in block.parameters.iter().zip(&block.rates).enumerate() {
            matrix[(at + length, at + parameters + k)] = *p + *p;
            matrix[(at + length_rate, at + parameters + k)] = *s;
            matrix[(at + length_rate, at + rates + k)] = *p;
        }
        for (row, v) in independent(dependent[i]).into_iter().enumerate() {
            matrix[(at + kept + row, at + rates + v)] = S::one();
            matrix[(at + kept + row, at + parameters + v)] = -sigma;
        }
        put(
            matrix,
            (at + moment, at + parameters),
            &block.moment_by_parameters,
        );
        put(matrix, (at + moment, at + rates), &block.moment_by_rates);
        for k in i..n {
            let to = k * UNKNOWNS;
            let (turned, turned_rate, pushed) = if k == i {
                (&block.own, &block.own_rate, block.own_force)
            } else {
                (&block.outer, &block.outer_rate, block.outer_force)
            };
            put(matrix, (to, at + parameters), turned);
            put(matrix, (to + joint_rate, at + rates), turned);
            put(matrix, (to + joint_rate, at + parameters), turned_rate);
            let pushed = pushed * pendulum.rods[k].rod.mass.lift();
            put(
                matrix,
                (at + moment, to + velocity),
                &[pushed.x, pushed.y, pushed.z],
            );
        }
    }
}

/// J Δ without the matrix, in O(n): for checking solutions of long pendulums.
pub fn jacobian_times<S: Scalar, P: Parameter<S>>(
    pendulum: &Pendulum<P>,
    dependent: &[u8],
    blocks: &[Blocks<S>],
    sigma: S,
    correction: &[S],
    product: &mut [S],
) {
    let n = pendulum.bodies();
    let two = S::constant(2.0);
    let (mut reach, mut reach_rate) = (Vec3::zero(), Vec3::zero());
    for body in 0..n {
        let block = &blocks[body];
        let delta = Unknowns::of(correction, body);
        let (dp, ds) = (delta.parameters, delta.rates);
        let turning = times(&block.own, ds) + times(&block.own_rate, dp);
        let mut kept = [S::zero(); 3];
        for (row, v) in independent(dependent[body]).into_iter().enumerate() {
            kept[row] = (-sigma).mul_add(dp[v], ds[v]);
        }
        Equations {
            joint: delta.position + (times(&block.own, dp) + reach),
            joint_rate: delta.velocity + (turning + reach_rate),
            length: two * dot(block.parameters, dp),
            length_rate: dot(block.rates, dp) + dot(block.parameters, ds),
            rates: kept,
            moment: times(&block.moment_by_parameters, dp) + times(&block.moment_by_rates, ds),
        }
        .store(product, body);
        reach += times(&block.outer, dp);
        reach_rate += times(&block.outer, ds) + times(&block.outer_rate, dp);
    }
    let mut beyond = Vec3::zero();
    for body in (0..n).rev() {
        let mass: S = pendulum.rods[body].rod.mass.lift();
        let push = Unknowns::of(correction, body).velocity * mass;
        let mut equations = Equations::of(product, body);
        equations.moment += blocks[body].own_force * push + blocks[body].outer_force * beyond;
        equations.store(product, body);
        beyond += push;
    }
}
