//! The inertia matrix, its factors and the Coriolis matrix against their definitions.

use super::{
    Case, D1, ROUNDING, Results, absolute, dual, plain_inverse, relative, skeel_condition, solving,
};
use crate::algorithm::energy::mechanical_state;
use crate::algorithm::factorization::{Factorization, reverse_gaussian_elimination};
use crate::algorithm::inertia_matrix::{
    CompositeBodies, CoriolisMatrix, coriolis_matrix, inertia_matrix,
};
use crate::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use crate::algorithm::kinematics::{Kinematics, forward_kinematics};
use crate::matrix::Matrix;
use crate::model::Model;
use crate::residual::{difference, larger, largest, largest_of, ratio};
use crate::scalar::{Dual, Scalar};
use crate::state::{State, StateView};

impl Case<'_> {
    pub(super) fn matrices(&mut self, rigid: &Model, results: &mut Results) {
        let (model, s) = (self.model, &self.state);
        let nv = model.nv();
        let mut inertia = Matrix::zeros(nv, nv);
        inertia_matrix(
            model,
            &s.q,
            &mut CompositeBodies::new(model),
            inertia.as_mut_slice(),
        );
        let size_of_inertia = largest(inertia.as_slice());

        let by_dual = inertia_by_dual_numbers(rigid, s);
        results.add(
            "inertia matrix",
            "composite bodies and ∂τ/∂v̇ by dual numbers",
            ratio(
                difference(inertia.as_slice(), by_dual.as_slice()),
                size_of_inertia,
            ),
            ROUNDING,
        );

        let mut factors = Factorization::new(model);
        factors.factorize(model, &s.q);
        let (u, d) = (factors.u(model), factors.d());
        let product = udu(&u, &d);
        results.add(
            "inertia matrix",
            "composite bodies and U D Uᵀ",
            ratio(
                difference(inertia.as_slice(), product.as_slice()),
                size_of_inertia,
            ),
            ROUNDING,
        );
        let condition = skeel_condition(model, &s.q, &mut factors);
        // pivots without correct digits have no reliable sign
        let (residual, tolerance) = match d.iter().all(|&m| m > 0.0) {
            true => (0.0, 0.5),
            false if condition.is_finite() => (1.0, solving(condition).max(0.5)),
            false => (1.0, 0.5),
        };
        results.add(
            "inertia matrix is positive",
            "smallest pivot m̂ of U D Uᵀ",
            residual,
            tolerance,
        );
        let steps = reverse_gaussian_elimination(&inertia);
        let pivots = largest_of(d.iter().zip(&steps.d).map(|(a, b)| (a - b).abs() / a.abs()));
        results.add(
            "pivots m̂",
            "recursion and reverse Gaussian elimination",
            pivots,
            solving(condition),
        );
        let b: Vec<f64> = self.vdot.clone();
        let mut x = b.clone();
        factors.solve(model, &mut x);
        results.add(
            "I x = b",
            "U D Uᵀ recursion and reverse Gaussian elimination",
            relative(&x, &steps.solve(&b)),
            solving(condition),
        );
        let magnitude = absolute(&inertia).times(&x.iter().map(|x| x.abs()).collect::<Vec<_>>());
        let residual = difference(&inertia.times(&x), &b);
        results.add(
            "I x = b",
            "U D Uᵀ recursion, put back into composite bodies",
            ratio(residual, largest(&magnitude)),
            ROUNDING,
        );

        // kinetic energy, Coriolis and gravity terms
        let mut kinematics = Kinematics::new(model);
        let still = vec![0.0; nv];
        forward_kinematics(model, s.view(), &still, &mut kinematics);
        let energies = mechanical_state(model, &s.q, &s.v, &kinematics);
        let half: f64 = inertia
            .times(&s.v)
            .iter()
            .zip(&s.v)
            .map(|(p, v)| 0.5 * p * v)
            .sum();
        results.add(
            "kinetic energy",
            "½ vᵀ I v and sum over bodies",
            ratio((half - energies.kinetic).abs(), energies.kinetic.abs()),
            ROUNDING,
        );

        let mut coriolis = Matrix::zeros(nv, nv);
        coriolis_matrix(
            rigid,
            s.view(),
            &mut CoriolisMatrix::new(rigid),
            &mut coriolis,
        );
        let zero_gravity = rigid.clone().with_gravity([0.0; 3]);
        let convective = plain_inverse(&zero_gravity, &s.q, &s.v, &still);
        let speeds: Vec<f64> = s.v.iter().map(|v| v.abs()).collect();
        let scale = largest(&absolute(&inertia).times(&speeds)) * largest(&speeds);
        results.add(
            "C v",
            "C matrix and inverse dynamics",
            ratio(difference(&coriolis.times(&s.v), &convective), scale),
            ROUNDING,
        );

        let mut moving: State<D1> = s.lift();
        let rates: Vec<D1> = s.v.iter().map(|&v| dual(0.0, v)).collect();
        moving.step(model, &rates);
        let mut dual_inertia = vec![D1::constant(0.0); nv * nv];
        inertia_matrix(
            model,
            &moving.q,
            &mut CompositeBodies::new(model),
            &mut dual_inertia,
        );
        let mut skew = 0.0f64;
        let mut rate_size = size_of_inertia * largest(&speeds);
        for i in 0..nv {
            for j in 0..nv {
                let rate = |i: usize, j: usize| dual_inertia[i * nv + j].derivative[0];
                let entry =
                    rate(i, j) - 2.0 * coriolis[(i, j)] + rate(j, i) - 2.0 * coriolis[(j, i)];
                skew = larger(skew, entry.abs());
                rate_size = rate_size.max(rate(i, j).abs()).max(coriolis[(i, j)].abs());
            }
        }
        results.add(
            "İ − 2C is skew-symmetric",
            "İ by dual numbers and C matrix",
            ratio(skew, rate_size),
            ROUNDING,
        );

        let gravity = plain_inverse(rigid, &s.q, &still, &still);
        let slope = potential_slope(rigid, s);
        let weight = model.mass() * model.gravity().norm();
        if weight > 0.0 {
            results.add(
                "gravity efforts = ∂V/∂q",
                "inverse dynamics and dual numbers",
                ratio(
                    difference(&gravity, &slope),
                    largest(&gravity).max(1e-3 * weight),
                ),
                ROUNDING,
            );
        }
    }
}

/// ∂τ/∂v̇, six columns at a time.
fn inertia_by_dual_numbers(model: &Model, s: &State) -> Matrix {
    let nv = model.nv();
    let state: State<Dual<f64, 6>> = s.lift();
    let mut work = InverseDynamics::new(model);
    let mut tau = vec![Dual::constant(0.0); nv];
    let mut inertia = Matrix::zeros(nv, nv);
    for start in (0..nv).step_by(6) {
        let mut vdot = vec![Dual::<f64, 6>::constant(0.0); nv];
        for k in start..(start + 6).min(nv) {
            vdot[k] = Dual::variable(0.0, k - start);
        }
        inverse_dynamics(model, state.view(), &vdot, &[], &mut work, &mut tau);
        for i in 0..nv {
            for k in start..(start + 6).min(nv) {
                inertia[(i, k)] = tau[i].derivative[k - start];
            }
        }
    }
    inertia
}

/// ∂V/∂q along each freedom.
fn potential_slope(model: &Model, s: &State) -> Vec<f64> {
    let nv = model.nv();
    let mut work = Kinematics::<Dual<f64, 6>>::new(model);
    let still = vec![Dual::constant(0.0); nv];
    let mut slope = vec![0.0; nv];
    for start in (0..nv).step_by(6) {
        let mut state: State<Dual<f64, 6>> = s.lift();
        let mut step = still.clone();
        for k in start..(start + 6).min(nv) {
            step[k] = Dual::variable(0.0, k - start);
        }
        state.step(model, &step);
        forward_kinematics(
            model,
            StateView {
                q: &state.q,
                v: &still,
                base: &state.base,
            },
            &still,
            &mut work,
        );
        let potential = mechanical_state(model, &state.q, &still, &work).gravitational;
        let end = (start + 6).min(nv);
        slope[start..end].copy_from_slice(&potential.derivative[..end - start]);
    }
    slope
}

fn udu(u: &Matrix, d: &[f64]) -> Matrix {
    let n = d.len();
    let mut scaled = u.clone();
    for i in 0..n {
        for (x, d) in scaled.row_mut(i).iter_mut().zip(d) {
            *x *= d;
        }
    }
    scaled.product(&u.transpose())
}
