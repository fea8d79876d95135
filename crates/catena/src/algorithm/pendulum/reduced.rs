//! Dimension reduction (eqs. 38–48): one dense system for the 3n independent parameters ΔP^v, then everything else.
//!
//! Inside a body, with h = p_v/p_u,
//!
//! ```text
//! Δp_u = I¹/(2p_u) − ν·Δp_v,                          ν = h                                              (44)
//! Δs_v = I³ + σ Δp_v                                                                                     (45)
//! Δs_u = [I² − p_v·I³ − s_u I¹/(2p_u)]/p_u − ε·Δp_v,   ε = (σ p_v + s_v − s_u h)/p_u                       (46)
//! ```
//!
//! so a 3×4 pair of blocks X_p Δp + X_s Δs becomes X̂ Δp_v + x̂ with X̂ = X_pv − X_pu νᵀ + σ X_sv − X_su εᵀ, which gathers eqs. 41
//! and 43. Eqs. 47 and 48 substitute ΔV into F. F_V Ġ is a product of an upper and a lower triangular matrix whose rows and
//! columns repeat (eqs. 11, 21, 28); with the mass beyond body j, m̄_j = Σ_{k>j} M_k, each of its blocks is one product:
//!
//! ```text
//! J_R(i,j) = −σ ã_i A_iᵀ [M_j Ĝ_j + m̄_j Ĝ'_j]                    i < j      Ĝ: 2E(ā−r̄), 2Ė(ā−r̄) reduced
//! J_R(i,i) = F̂_i − M_i σ (ã−r̃)_i A_iᵀ Ĝ_i − m̄_i σ ã_i A_iᵀ Ĝ'_i               Ĝ': 2Eā, 2Ėā reduced
//! J_R(i,j) = −[M_i σ (ã−r̃)_i A_iᵀ + m̄_i σ ã_i A_iᵀ] Ĝ'_j          i > j
//! ```

use super::Pendulum;
use super::blocks::{Blocks, times};
use super::euler::Four;
use super::residual::{Equations, independent};
use super::unknowns::Unknowns;
use crate::dense::Lu;
use crate::scalar::{Parameter, Scalar};
use crate::spatial::{Mat3, Vec3};

/// Workspace of the reduced scheme.
#[derive(Clone, Debug)]
pub(super) struct Reduced<S> {
    lu: Lu<S>,
    blocks: Vec<Blocks<S>>,
    locals: Vec<Local<S>>,
    right: Vec<S>,
    solution: Vec<S>,
    sigma: S,
}

/// The elimination inside a body.
#[derive(Clone, Copy, Debug)]
struct Local<S> {
    /// ν.
    nu: [S; 3],
    /// ε.
    epsilon: [S; 3],
    /// Mass of all bodies beyond this one.
    beyond: S,
    mass: S,
    own: Mat3<S>,
    outer: Mat3<S>,
}

impl<S: Scalar<Mask = bool>> Reduced<S> {
    pub fn new(bodies: usize) -> Self {
        let zero = S::zero();
        let local = Local {
            nu: [zero; 3],
            epsilon: [zero; 3],
            beyond: zero,
            mass: zero,
            own: Mat3::zero(),
            outer: Mat3::zero(),
        };
        Reduced {
            lu: Lu::new(3 * bodies),
            blocks: vec![Blocks::zero(); bodies],
            locals: vec![local; bodies],
            right: vec![zero; 3 * bodies],
            solution: vec![zero; 3 * bodies],
            sigma: zero,
        }
    }

    /// The blocks of J.
    pub fn linearize<P: Parameter<S>>(
        &mut self,
        pendulum: &Pendulum<P>,
        x: &[S],
        xdot: &[S],
        sigma: S,
    ) {
        self.sigma = sigma;
        Blocks::fill(pendulum, x, xdot, sigma, &mut self.blocks);
    }

    /// Computes J_R of eq. 41 and its factors; the body without a pivot is the error.
    pub fn factorize<P: Parameter<S>>(
        &mut self,
        pendulum: &Pendulum<P>,
        dependent: &[u8],
    ) -> Result<(), usize> {
        let n = pendulum.bodies();
        let sigma = self.sigma;
        let mut beyond = S::zero();
        for body in (0..n).rev() {
            let block = &self.blocks[body];
            let local = &mut self.locals[body];
            let (p, s) = (block.parameters, block.rates);
            let u = dependent[body] as usize;
            let inverse = p[u].recip();
            let v = independent(dependent[body]);
            for k in 0..3 {
                let nu = p[v[k]] * inverse;
                local.nu[k] = nu;
                local.epsilon[k] = sigma.mul_add(p[v[k]], s[v[k]] - s[u] * nu) * inverse;
            }
            (local.mass, local.beyond) = (pendulum.rods[body].rod.mass.lift(), beyond);
            beyond += local.mass;
            local.own = local.reduce(&block.own_rate, &block.own, sigma, u, v);
            local.outer = local.reduce(&block.outer_rate, &block.outer, sigma, u, v);
        }
        for i in 0..n {
            let (block, local) = (&self.blocks[i], &self.locals[i]);
            let (u, v) = (dependent[i] as usize, independent(dependent[i]));
            let own_force = block.own_force * local.mass;
            let below = own_force + block.outer_force * local.beyond;
            for j in 0..n {
                let other = &self.locals[j];
                let entry = if i < j {
                    let both = other.own * other.mass + other.outer * other.beyond;
                    Mat3::zero() - block.outer_force * both
                } else if i > j {
                    Mat3::zero() - below * other.outer
                } else {
                    let moment = local.reduce(
                        &block.moment_by_parameters,
                        &block.moment_by_rates,
                        sigma,
                        u,
                        v,
                    );
                    let outer = block.outer_force * local.beyond;
                    moment - own_force * local.own - outer * local.outer
                };
                let matrix = self.lu.matrix_mut();
                for (row, entries) in entry.rows().into_iter().enumerate() {
                    matrix.row_mut(3 * i + row)[3 * j..3 * j + 3].copy_from_slice(&entries);
                }
            }
        }
        self.lu.factorize().map_err(|unknown| unknown / 3)
    }

    /// E_R of eq. 42, ΔP^v of eq. 38, and the dependent corrections.
    pub fn solve(&mut self, dependent: &[u8], e: &[S], correction: &mut [S]) {
        let n = self.blocks.len();
        let sigma = self.sigma;
        // with ΔP^v = 0: the effect of the dependent corrections alone, ΔV of eq. 47
        let (mut reach, mut reach_rate) = (Vec3::zero(), Vec3::zero());
        for body in 0..n {
            let (block, local) = (&self.blocks[body], &self.locals[body]);
            let equations = Equations::of(e, body);
            let (dp, ds) =
                local.dependent(block, &equations, dependent[body], [S::zero(); 3], sigma);
            let turning = times(&block.own, ds) + times(&block.own_rate, dp);
            Unknowns {
                position: Vec3::zero(),
                velocity: equations.joint_rate - (turning + reach_rate),
                parameters: dp,
                rates: ds,
            }
            .store(correction, body);
            reach_rate += times(&block.outer, ds) + times(&block.outer_rate, dp);
        }
        let mut push_beyond = Vec3::zero();
        for body in (0..n).rev() {
            let (block, local) = (&self.blocks[body], &self.locals[body]);
            let delta = Unknowns::of(correction, body);
            let push = delta.velocity * local.mass;
            let right = Equations::of(e, body).moment
                - times(&block.moment_by_parameters, delta.parameters)
                - times(&block.moment_by_rates, delta.rates)
                - (block.own_force * push + block.outer_force * push_beyond);
            self.right[3 * body..3 * body + 3].copy_from_slice(&right.to_array());
            push_beyond += push;
        }
        self.lu.solve(&self.right, &mut self.solution);
        reach_rate = Vec3::zero();
        for body in 0..n {
            let (block, local) = (&self.blocks[body], &self.locals[body]);
            let equations = Equations::of(e, body);
            let solved = &self.solution[3 * body..3 * body + 3];
            let independent = [solved[0], solved[1], solved[2]];
            let (dp, ds) = local.dependent(block, &equations, dependent[body], independent, sigma);
            let turning = times(&block.own, ds) + times(&block.own_rate, dp);
            Unknowns {
                position: equations.joint - (times(&block.own, dp) + reach), //                         (48)
                velocity: equations.joint_rate - (turning + reach_rate), //                             (47)
                parameters: dp,
                rates: ds,
            }
            .store(correction, body);
            reach += times(&block.outer, dp);
            reach_rate += times(&block.outer, ds) + times(&block.outer_rate, dp);
        }
    }
}

impl<S: Scalar> Local<S> {
    /// X̂ of the blocks X_p and X_s.
    fn reduce(
        &self,
        by_parameters: &[Vec3<S>; 4],
        by_rates: &[Vec3<S>; 4],
        sigma: S,
        u: usize,
        v: [usize; 3],
    ) -> Mat3<S> {
        let mut columns = [Vec3::zero(); 3];
        for k in 0..3 {
            let free = by_rates[v[k]].scale_add(sigma, by_parameters[v[k]]);
            let carried = by_parameters[u].scale_add(-self.nu[k], free);
            columns[k] = by_rates[u].scale_add(-self.epsilon[k], carried);
        }
        Mat3::from_columns(columns[0], columns[1], columns[2])
    }

    /// Δp and Δs from Δp_v, eqs. 44–46.
    fn dependent(
        &self,
        block: &Blocks<S>,
        equations: &Equations<S>,
        u: u8,
        solved: [S; 3],
        sigma: S,
    ) -> (Four<S>, Four<S>) {
        let (p, s) = (block.parameters, block.rates);
        let v = independent(u);
        let u = u as usize;
        let inverse = p[u].recip();
        let length = equations.length * S::constant(0.5) * inverse;
        let (mut dp, mut ds) = ([S::zero(); 4], [S::zero(); 4]);
        let mut last = length;
        let mut last_rate = equations.length_rate - s[u] * length;
        for k in 0..3 {
            last_rate -= p[v[k]] * equations.rates[k];
        }
        last_rate *= inverse;
        for k in 0..3 {
            dp[v[k]] = solved[k];
            ds[v[k]] = sigma.mul_add(solved[k], equations.rates[k]); //                                 (45)
            last -= self.nu[k] * solved[k]; //                                                          (44)
            last_rate -= self.epsilon[k] * solved[k]; //                                                (46)
        }
        dp[u] = last;
        ds[u] = last_rate;
        (dp, ds)
    }
}
