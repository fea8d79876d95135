//! A tree with its inputs as an implicit system E(t, y, ẏ) = 0, solved by Newton's method along the tree.
//!
//! y = (q, v, W, D) as in `tree_system.rs`. The equations are
//!
//! ```text
//! E_q = q̇ − N(q) v                                  N v: v itself, or ½ p ∘ ω for a quaternion p       (1)
//! E_v = inverse dynamics(q, v, v̇) − τ − friction    v̇ alone for a freedom that dry friction holds      (2)
//! E_W = Ẇ − power,   E_D = Ḋ − power lost                                                              (3)
//! ```
//!
//! and Newton's method needs, with σ from the formula, A δ = r with A = ∂E/∂y + σ ∂E/∂ẏ. (1) is eliminated exactly, body by body:
//!
//! ```text
//! δq = g + G δv,   g = (σ − ∂(N v)/∂q)⁻¹ r_q,   G = (σ − ∂(N v)/∂q)⁻¹ N                                (4)
//! (σ I + B + K G) δv = r_v − K g,   B = ∂E_v/∂v,   K = ∂E_v/∂q                                          (5)
//! ```
//!
//! where the inverse is 1/σ for a scalar coordinate and p ↦ (σ p + ½ p ∘ ω)/(σ² + ¼|ω|²) for a quaternion.
//!
//! *Along the tree*, for many freedoms: of B and K only the diagonal terms are kept, damping b and stiffness k of the joint
//! and of a proportional-derivative controller. (5) is then σ times a generalized inertia matrix with the rotor inertias
//!
//! ```text
//! J' = J + (b + k/σ)/σ                                                                                  (6)
//! ```
//!
//! and the UDUᵀ factorization of the tree solves it in O(n). Joint springs and dampers, however stiff, are treated exactly; the omitted
//! gyroscopic and gravity terms have the time scales of the motion, which the steps resolve anyway, and the iteration
//! converges. Computed torque makes E_v = I (v̇ + d v + s q) + …, without springs and dampers: σ becomes σ + d + s/σ, and K = s I. A held
//! freedom gets J' = 10³⁰.
//!
//! *Dense*, for few: B and K from differences of (2), then LU.

use super::inputs::{Controller, Inputs, controlled};
use super::tree_system::TreeSystem;
use crate::algorithm::body_coordinates::Formulation;
use crate::algorithm::factorization::Factorization;
use crate::algorithm::pendulum::Scheme;
use crate::dense::Lu;
use crate::error::{Error, ErrorKind, Result};
use crate::integrate::System;
use crate::integrate::bdf::Implicit;
use crate::matrix::Matrix;
use crate::model::Model;
use crate::state::position_rates;
use crate::thresholds::DENSE_NEWTON;

/// How the linear systems of Newton's method are solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NewtonMatrix {
    /// In body coordinates where there are loops, else in joint coordinates.
    #[default]
    Automatic,
    /// In joint coordinates: dense up to 32 freedoms, along the tree beyond.
    Joints,
    /// Along the tree, in O(n).
    Tree,
    /// By LU of the whole matrix.
    Dense,
    /// A chain of spherical joints in Chou's implicit equations, by one of his schemes.
    Pendulum(Scheme),
    /// Any model, including loops, in redundant coordinates of its bodies, along the tree.
    Bodies(Formulation),
}

/// Rotor inertia of a held freedom, kg·m²: so large that it does not move.
const HELD: f64 = 1e30;

/// The matrix of Newton's method for a tree.
#[derive(Clone, Debug)]
pub(super) struct TreeNewton {
    /// The model with the rotor inertias of (6).
    loaded: Model,
    factors: Factorization<f64>,
    whole: Option<Box<Whole>>,
    /// The state at which it was prepared.
    q: Vec<f64>,
    v: Vec<f64>,
    sigma: f64,
    /// What (6) multiplies: σ, or σ + d + s/σ under computed torque.
    inertial: f64,
    /// s over `inertial` under computed torque: K is s I there, so that K g needs no product with I.
    pull: f64,
    stiffness: Vec<f64>,
    held: Vec<bool>,
    /// ∂E_W/∂v and ∂E_D/∂v.
    powers: [Vec<f64>; 2],
    g: Vec<f64>,
    rates: Vec<f64>,
}

/// The dense matrix and the parts that (5) needs, from differences.
#[derive(Clone, Debug)]
struct Whole {
    factors: Lu,
    /// (5) and the rows of (3) along δv, and K with those rows.
    along_v: Matrix,
    along_q: Matrix,
    y: Vec<f64>,
    ydot: Vec<f64>,
    before: Vec<f64>,
    after: Vec<f64>,
    unit: Vec<f64>,
    direction: Vec<f64>,
}

impl TreeNewton {
    pub fn new(system: &TreeSystem, matrix: NewtonMatrix) -> Self {
        let model = system.model();
        let (nq, nv) = (model.nq(), model.nv());
        let dense = match matrix {
            NewtonMatrix::Automatic | NewtonMatrix::Joints => {
                nv <= DENSE_NEWTON || !model.forces().is_empty() || !tree_knows(system.inputs())
            }
            NewtonMatrix::Tree | NewtonMatrix::Pendulum(_) | NewtonMatrix::Bodies(_) => false,
            NewtonMatrix::Dense => true,
        };
        let n = nq + nv + 2;
        TreeNewton {
            loaded: model.clone(),
            factors: Factorization::new(model),
            whole: dense.then(|| {
                Box::new(Whole {
                    factors: Lu::new(nv),
                    along_v: Matrix::zeros(nv + 2, nv),
                    along_q: Matrix::zeros(nv + 2, nq),
                    y: vec![0.0; n],
                    ydot: vec![0.0; n],
                    before: vec![0.0; n],
                    after: vec![0.0; n],
                    unit: vec![0.0; nv],
                    direction: vec![0.0; nq],
                })
            }),
            q: vec![0.0; nq],
            v: vec![0.0; nv],
            sigma: 1.0,
            inertial: 1.0,
            pull: 0.0,
            stiffness: vec![0.0; nv],
            held: vec![false; nv],
            powers: [vec![0.0; nv], vec![0.0; nv]],
            g: vec![0.0; nq],
            rates: vec![0.0; nq],
        }
    }

    /// x ← (σ − ∂(N v)/∂q)⁻¹ x, of (4).
    fn untangle(&self, x: &mut [f64]) {
        let sigma = self.sigma;
        for body in &self.loaded.tree().bodies[1..] {
            let plain = body.kind.quaternion().unwrap_or(body.kind.nq());
            for x in &mut x[body.q..body.q + plain] {
                *x /= sigma;
            }
            if let Some(k) = body.kind.quaternion() {
                let p = &mut x[body.q + k..body.q + k + 4];
                let w = &self.v[body.v + k..body.v + k + 3];
                let speed = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
                let scale = 1.0 / (sigma * sigma + 0.25 * speed);
                // p ∘ (0, ω)
                let turned = [
                    -p[1] * w[0] - p[2] * w[1] - p[3] * w[2],
                    p[0] * w[0] + p[2] * w[2] - p[3] * w[1],
                    p[0] * w[1] - p[1] * w[2] + p[3] * w[0],
                    p[0] * w[2] + p[1] * w[1] - p[2] * w[0],
                ];
                for (p, turned) in p.iter_mut().zip(turned) {
                    *p = scale * (sigma * *p + 0.5 * turned);
                }
            }
        }
    }

    /// Prepares (6).
    fn prepare_tree(&mut self, system: &mut TreeSystem, t: f64) -> Result<()> {
        let sigma = self.sigma;
        self.inertial = sigma;
        self.pull = 0.0;
        let model = system.model();
        let (mut springs, mut dampers) = (vec![0.0; model.nv()], vec![0.0; model.nv()]);
        let mut is_computed = false;
        // a command that is held does not depend on the state
        let continuous = system.inputs().rate.is_none();
        match &system.inputs().controller {
            Controller::ProportionalDerivative {
                stiffness, damping, ..
            } if continuous => {
                for (k, (v, _)) in controlled(model).enumerate() {
                    if system.drives(v) {
                        (springs[v], dampers[v]) = (stiffness.at(k), damping.at(k));
                    }
                }
            }
            Controller::ComputedTorque {
                stiffness, damping, ..
            } if continuous => {
                // gains that differ between joints are left to the dense matrix; here they only cost iterations
                let stiffness = stiffness.common().unwrap_or_default();
                let damping = damping.common().unwrap_or_default();
                is_computed = true;
                self.inertial = sigma + damping + stiffness / sigma;
                self.pull = stiffness / self.inertial;
            }
            _ => {}
        }
        let tree = model.tree();
        for k in 0..model.nv() {
            let dof = &model.dofs[k];
            let is_plain = tree.nodes[tree.dofs[k].body].kind.quaternion().is_none();
            let (mut spring, mut damper) = (0.0, dof.damping);
            if is_plain && is_computed {
                (spring, damper) = (0.0, 0.0); // the controller compensates them
            } else if is_plain {
                spring = dof.stiffness + springs[k];
                damper += dampers[k];
            }
            let [stopped, slowed] = system.cushion_slopes(k);
            spring += stopped;
            damper += slowed;
            self.stiffness[k] = spring;
            self.loaded.dofs[k].armature = if self.held[k] {
                HELD
            } else {
                dof.armature + (damper + spring / sigma) / self.inertial
            };
        }
        self.rates.copy_from_slice(&self.q);
        system.project(t, &mut self.rates);
        self.factors.factorize(&self.loaded, &self.rates);
        match self.factors.singular_freedom() {
            None => Ok(()),
            Some(k) => Err(singular(&self.loaded, k)),
        }
    }

    /// Solves (5) along the tree, in place: δv overwrites r_v in `v`.
    fn solve_tree(&mut self, v: &mut [f64]) {
        let tree = self.loaded.tree();
        let inverse = 1.0 / self.inertial;
        for k in 0..v.len() {
            let body = &tree.nodes[tree.dofs[k].body];
            if self.stiffness[k] != 0.0 {
                v[k] -= self.stiffness[k] * self.g[body.q + (k - body.v)];
            }
            v[k] = if self.held[k] { 0.0 } else { v[k] * inverse };
        }
        self.factors.solve(&self.loaded, v);
        if self.pull != 0.0 {
            for k in 0..v.len() {
                let body = &tree.nodes[tree.dofs[k].body];
                if body.kind.quaternion().is_none() && !self.held[k] {
                    v[k] -= self.pull * self.g[body.q + (k - body.v)];
                }
            }
        }
    }
}

/// Does the matrix along the tree include the controller?
fn tree_knows(inputs: &Inputs) -> bool {
    match &inputs.controller {
        _ if inputs.rate.is_some() => true,
        Controller::ComputedTorque {
            stiffness, damping, ..
        } => inputs.actuators.is_none() && stiffness.common().and(damping.common()).is_some(),
        Controller::Own(_) => false,
        _ => inputs.loads.is_empty(),
    }
}

fn singular(model: &Model, k: usize) -> Error {
    Error::new(
        ErrorKind::Singular,
        format!(
            "the motion of `{}` has no inertia, spring or damper",
            model.tree().dofs[k].name
        ),
    )
    .hint("give its body mass, or the joint a rotor inertia or damping")
}

impl Whole {
    /// Prepares B and K from differences along δv (with the δq and δv̇ that come with it) and along q, (5).
    fn prepare(
        &mut self,
        newton: &TreeNewton,
        system: &mut TreeSystem,
        t: f64,
        y: &[f64],
        ydot: &[f64],
    ) -> Result<()> {
        let (nq, nv) = (newton.q.len(), newton.v.len());
        let sigma = newton.sigma;
        system.residual(t, y, ydot, &mut self.before)?;
        let root = f64::EPSILON.sqrt();
        let fastest = y[nq..nq + nv].iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        self.y.copy_from_slice(y);
        self.ydot.copy_from_slice(ydot);
        for j in 0..nv {
            self.unit[j] = 1.0;
            position_rates(&newton.loaded, &newton.q, &self.unit, &mut self.direction);
            self.unit[j] = 0.0;
            newton.untangle(&mut self.direction);
            let size = y[nq + j].abs().max((ydot[nq + j] / sigma).abs());
            let delta = root * size.max(0.1 * fastest).max(1e-3);
            for k in 0..nq {
                self.y[k] = y[k] + delta * self.direction[k];
            }
            self.y[nq + j] = y[nq + j] + delta;
            self.ydot[nq + j] = ydot[nq + j] + sigma * delta;
            system.residual(t, &self.y, &self.ydot, &mut self.after)?;
            self.y[nq + j] = y[nq + j];
            self.ydot[nq + j] = ydot[nq + j];
            for i in 0..nv + 2 {
                self.along_v[(i, j)] = (self.after[nq + i] - self.before[nq + i]) / delta;
            }
        }
        self.y[..nq].copy_from_slice(&y[..nq]);
        for k in 0..nq {
            let delta = root * y[k].abs().max(1e-1);
            self.y[k] = y[k] + delta;
            system.residual(t, &self.y, &self.ydot, &mut self.after)?;
            self.y[k] = y[k];
            for i in 0..nv + 2 {
                self.along_q[(i, k)] = (self.after[nq + i] - self.before[nq + i]) / delta;
            }
        }
        for i in 0..nv {
            self.factors
                .matrix_mut()
                .row_mut(i)
                .copy_from_slice(self.along_v.row(i));
        }
        self.factors
            .factorize_scaled()
            .map_err(|k| singular(&newton.loaded, k))
    }
}

/// The equations of a tree with the matrix of their Newton iteration.
pub(super) struct TreeImplicit<'a> {
    pub system: &'a mut TreeSystem,
    pub newton: &'a mut TreeNewton,
}

impl Implicit for TreeImplicit<'_> {
    fn dimension(&self) -> usize {
        System::dimension(self.system)
    }

    fn residual(&mut self, t: f64, x: &[f64], xdot: &[f64], out: &mut [f64]) -> Result<()> {
        self.system.residual(t, x, xdot, out)
    }

    fn linearize(&mut self, t: f64, x: &[f64], xdot: &[f64], sigma: f64) -> Result<()> {
        let Self { system, newton } = self;
        let (nq, nv) = (newton.q.len(), newton.v.len());
        newton.q.copy_from_slice(&x[..nq]);
        newton.v.copy_from_slice(&x[nq..nq + nv]);
        newton.sigma = sigma;
        system.held_freedoms(&mut newton.held);
        if let Some(mut whole) = newton.whole.take() {
            let done = whole.prepare(newton, system, t, x, xdot);
            newton.whole = Some(whole);
            return done;
        }
        newton.prepare_tree(system, t)?;
        let [work, lost] = &mut newton.powers;
        system.power_slopes(t, x, work, lost)
    }

    fn solve(&mut self, rhs: &mut [f64]) -> Result<()> {
        let newton = &mut *self.newton;
        let (nq, nv) = (newton.q.len(), newton.v.len());
        let mut g = std::mem::take(&mut newton.g);
        g.copy_from_slice(&rhs[..nq]);
        newton.untangle(&mut g);
        newton.g = g;
        let (r_q, rest) = rhs.split_at_mut(nq);
        let (v, powers) = rest.split_at_mut(nv);
        if let Some(whole) = &mut newton.whole {
            for i in 0..nv {
                let row = whole.along_q.row(i);
                v[i] -= dot(row, &newton.g); // (5)
            }
            whole.factors.solve_in_place(v);
            for (i, power) in powers.iter_mut().enumerate() {
                *power -= dot(whole.along_q.row(nv + i), &newton.g);
                *power -= dot(whole.along_v.row(nv + i), v);
                *power /= newton.sigma;
            }
        } else {
            newton.solve_tree(v);
            for (power, slopes) in powers.iter_mut().zip(&newton.powers) {
                *power = (*power - dot(slopes, v)) / newton.sigma;
            }
        }
        // δq = g + G δv                                                                   (4)
        let mut rates = std::mem::take(&mut newton.rates);
        position_rates(&newton.loaded, &newton.q, v, &mut rates);
        newton.untangle(&mut rates);
        for ((q, g), rate) in r_q.iter_mut().zip(&newton.g).zip(&rates) {
            *q = g + rate;
        }
        newton.rates = rates;
        Ok(())
    }

    fn name(&self, i: usize) -> String {
        let tree = self.system.model().tree();
        let (nq, nv) = (tree.nq, tree.nv);
        if i < nq {
            let body = tree.bodies[1..]
                .iter()
                .find(|b| (b.q..b.q + b.kind.nq()).contains(&i));
            let joint = body.map_or("", |b| b.joint.as_str());
            format!("the position of joint `{joint}`")
        } else if i < nq + nv {
            format!("the velocity of `{}`", tree.dofs[i - nq].name)
        } else {
            "the energy balance".to_string()
        }
    }

    fn project(&mut self, t: f64, x: &mut [f64]) {
        self.system.project(t, x);
    }

    fn event_count(&self) -> usize {
        System::event_count(self.system)
    }

    fn events(&mut self, t: f64, x: &[f64], values: &mut [f64]) {
        System::events(self.system, t, x, values);
    }

    fn sample_interval(&self) -> f64 {
        System::sample_interval(self.system)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (a, b) in a.iter().zip(b) {
        sum += a * b;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::embedded;
    use crate::random::Random;
    use crate::simulate::Inputs;
    use crate::state::State;
    use crate::trajectory::{PointToPoint, Profile, Reference};

    /// ‖A δ − r‖/‖r‖ for the δ that `solve` gives for a random r, A by central differences of E along δ.
    fn defect(
        model: &Model,
        inputs: Inputs,
        matrix: NewtonMatrix,
        state: &State,
        vdot: f64,
        sigma: f64,
    ) -> f64 {
        let mut system = TreeSystem::new(model, inputs, Vec::new()).unwrap();
        let mut newton = TreeNewton::new(&system, matrix);
        let mut problem = TreeImplicit {
            system: &mut system,
            newton: &mut newton,
        };
        let mut random = Random::new(5);
        let (nq, nv) = (model.nq(), model.nv());
        let mut y = problem.system.pack(state);
        let mut ydot: Vec<f64> = y.iter().map(|_| vdot * random.uniform(-1.0, 1.0)).collect();
        // q̇ need not be N v, and quaternions need not be of unit length
        if nq != nv {
            y[..nq].iter_mut().for_each(|q| *q *= 1.001);
        }
        ydot[nq + nv..].fill(0.3);
        problem.linearize(0.1, &y, &ydot, sigma).unwrap();
        let r: Vec<f64> = (0..y.len())
            .map(|i| random.uniform(-1.0, 1.0) * if i < nq { 1.0 } else { sigma })
            .collect();
        let mut delta = r.clone();
        problem.solve(&mut delta).unwrap();
        let size = delta.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        // central differences of two sizes, extrapolated: round-off is 1e-13 over the size, truncation its fourth power
        let mut product = vec![0.0; y.len()];
        for (part, weight) in [(1.0, -1.0 / 3.0), (0.5, 4.0 / 3.0)] {
            let epsilon = part * 1e-2 / size;
            for side in [epsilon, -epsilon] {
                let mut out = vec![0.0; y.len()];
                let moved: Vec<f64> = y.iter().zip(&delta).map(|(y, d)| y + side * d).collect();
                let rates: Vec<f64> = ydot
                    .iter()
                    .zip(&delta)
                    .map(|(y, d)| y + side * sigma * d)
                    .collect();
                problem.residual(0.1, &moved, &rates, &mut out).unwrap();
                for (product, out) in product.iter_mut().zip(&out) {
                    *product += weight * out / (2.0 * side);
                }
            }
        }
        let mut worst: f64 = 0.0;
        for (product, r) in product.iter().zip(&r) {
            worst = worst.max((product - r).abs());
        }
        worst / r.iter().fold(0.0, |m: f64, x| m.max(x.abs()))
    }

    /// Stiff controllers; computed torque holds the plain coordinates where they are, else its inertia matrix changes too.
    fn gains(model: &Model, state: &State, computed: bool) -> Inputs {
        let count = crate::simulate::inputs::controlled(model).count();
        let (start, end) = match computed {
            true => (state.q.clone(), state.q.clone()),
            false => (vec![0.0; count], vec![0.5; count]),
        };
        let motion = PointToPoint::new(Profile::Cycloid, &start, &end, 1.0).unwrap();
        let motion = Reference::PointToPoint(motion);
        let (stiffness, damping) = (3e3.into(), 2e2.into());
        let controller = match computed {
            true => Controller::ComputedTorque {
                motion,
                stiffness,
                damping,
            },
            false => Controller::ProportionalDerivative {
                motion,
                stiffness,
                damping,
            },
        };
        Inputs {
            controller,
            ..Inputs::default()
        }
    }

    /// The defect is the convergence rate of Newton's method. Differences have errors of 1.5e-8 of the largest entries, and the lightest
    /// freedoms are lighter than the heaviest by 1e4: 1e-3 is the accuracy they can have, and a missing term would show as 0.1 to 1
    /// at σ = 3.
    #[test]
    fn the_dense_matrix_is_that_of_the_equations() {
        for name in [
            "zoo",
            "random-8-1",
            "random-8-2",
            "space-robot",
            "pendulum-4",
        ] {
            let model = embedded::model(name).unwrap();
            let state = State::random(&model, 4);
            for sigma in [3.0, 1e3] {
                let dense = NewtonMatrix::Dense;
                let found = defect(&model, Inputs::default(), dense, &state, 1.0, sigma);
                assert!(found < 1e-3, "{name}, {sigma}: {found:e}");
            }
        }
    }

    /// At rest, without gravity and accelerations, B and K consist of springs, dampers and controllers alone.
    #[test]
    fn the_tree_solves_springs_dampers_and_controllers_exactly() {
        for name in ["zoo", "random-30-1", "random-30-2", "chain-9"] {
            let mut model = embedded::model(name).unwrap().with_gravity([0.0; 3]);
            // dry friction jumps at rest
            model.dofs.iter_mut().for_each(|dof| dof.friction = 0.0);
            let state = State {
                v: vec![0.0; model.nv()],
                ..State::random(&model, 4)
            };
            for sigma in [3.0, 1e3] {
                let mut cases = vec![Inputs::default(), gains(&model, &state, false)];
                if model.nq() == model.nv() && name == "chain-9" {
                    cases.push(gains(&model, &state, true));
                }
                for inputs in cases {
                    let matrix = NewtonMatrix::Tree;
                    let found = defect(&model, inputs, matrix, &state, 0.0, sigma);
                    assert!(found < 1e-6, "{name}, {sigma}: {found:e}");
                }
            }
        }
    }
}
