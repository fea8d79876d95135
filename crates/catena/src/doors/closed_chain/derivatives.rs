//! Derivatives of accelerations and multipliers of a closed chain with respect to q, v, τ, masses and lengths.
//!
//! Both equations hold identically in these; their total derivatives are linear in those of v̇ and λ, with the same matrix:
//!
//! ```text
//! ID(q, v, v̇) − Jᵀ λ = τ                  I dv̇ − Jᵀ dλ = dτ − ∂(ID − Jᵀ λ)           v̇ and λ held on the right
//! J v̇ + bias + α ξ̇ + β ξ = 0              J dv̇ = −∂(J v̇ + bias + α ξ̇ + β ξ)
//! ```
//!
//! so that each direction costs one solve with the factors of the accelerations. ∂ID is that of the tree
//! ([`derivatives::inverse`](crate::algorithm::derivatives::inverse)), the derivatives of the rows are exact, by their
//! recursion in dual numbers.
//!
//! Where rows are dependent the accelerations have derivatives only along changes that keep all loops closed; for others
//! these are the derivatives with dependent rows left out. dλ then has minimum norm.

use super::{ClosedChain, finite};
use crate::algorithm::constrained::rows::{Axes, Rows, Stabilisation};
use crate::algorithm::inverse_dynamics::{InverseDynamics, inverse_dynamics};
use crate::algorithm::kinematics::{Kinematics, forward_kinematics};
use crate::card::Card;
use crate::error::{Error, ErrorKind, Result};
use crate::matrix::Matrix;
use crate::model::Model;
use crate::scalar::{Dual, Parameter, Scalar};
use crate::spatial::Force;
use crate::state::{Base, State, StateView, step_kernel};

/// Derivatives of closed chains.
pub const CARD: Card = Card {
    name: "Derivatives of closed chains",
    question: "derivatives of closed-chain accelerations and multipliers",
    call: "ClosedChain::derivatives",
    file: "doors/closed_chain/derivatives.rs",
    order: "O(n) solutions of O(n + m) or O(m²)",
    source: "implicit function theorem on Mufti 65–73; Carpentier & Mansard 2018 for the tree",
};

/// Directions that are computed together.
const DIRECTIONS: usize = 4;

type Number = Dual<f64, DIRECTIONS>;

/// v̇, λ and their derivatives. Row: acceleration or multiplier; column: freedom.
#[derive(Clone, Debug)]
pub struct ClosedDerivatives {
    /// v̇.
    pub vdot: Vec<f64>,
    /// λ.
    pub lambda: Vec<f64>,
    /// ∂v̇/∂q along the increments of [`State::step`], ∂v̇/∂v, ∂v̇/∂τ.
    pub accelerations: [Matrix; 3],
    /// ∂λ/∂q, ∂λ/∂v, ∂λ/∂τ.
    pub multipliers: [Matrix; 3],
}

/// Change of the right-hand side in a direction.
struct Change {
    efforts: Vec<f64>,
    rows: Vec<f64>,
}

impl ClosedChain {
    /// Accelerations, multipliers and their derivatives with respect to q, v and τ. External wrenches are constant in body axes.
    pub fn derivatives(
        &mut self,
        time: f64,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
    ) -> Result<ClosedDerivatives> {
        self.refuse_user_rows()?;
        let motion = self.forward(time, state, tau, external)?;
        let (vdot, lambda) = (motion.accelerations.to_vec(), motion.multipliers.to_vec());
        let (nv, m) = (vdot.len(), lambda.len());
        let mut accelerations = [(); 3].map(|()| Matrix::zeros(nv, nv));
        let mut multipliers = [(); 3].map(|()| Matrix::zeros(m, nv));
        let tree = self.tree.inverse_derivatives(state, &vdot, external)?;
        let efforts = [tree.dq.clone(), tree.dv.clone()];
        let mut moving = DualRows::new(&self.model, self.axes());
        let mut from = vec![0.0; nv];
        for (which, efforts) in efforts.iter().enumerate() {
            for first in (0..nv).step_by(DIRECTIONS) {
                let count = DIRECTIONS.min(nv - first);
                moving.seed(&self.model, state, which, first..first + count);
                moving.evaluate(&self.model, time, &state.base);
                for d in 0..count {
                    let change = moving.change(d, &vdot, &lambda, self.stabilisation());
                    for k in 0..nv {
                        from[k] = change.efforts[k] - efforts[(k, first + d)];
                    }
                    self.answer(&from, &change.rows);
                    self.store(
                        first + d,
                        &mut accelerations[which],
                        &mut multipliers[which],
                    );
                }
            }
        }
        let nothing = vec![0.0; m];
        for k in 0..nv {
            from.fill(0.0);
            from[k] = 1.0;
            self.answer(&from, &nothing);
            self.store(k, &mut accelerations[2], &mut multipliers[2]);
        }
        for matrix in accelerations.iter().chain(&multipliers) {
            finite("a derivative of the closed chain", matrix.as_slice())?;
        }
        Ok(ClosedDerivatives {
            vdot,
            lambda,
            accelerations,
            multipliers,
        })
    }

    /// dv̇ and dλ along changes of masses, lengths and all other numbers of the model: `varied` is the model in dual numbers of
    /// one direction each. τ and the external wrenches are constant.
    pub fn parameter_derivatives<const N: usize>(
        &mut self,
        time: f64,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
        varied: &Model<Dual<f64, N>>,
    ) -> Result<[(Vec<f64>, Vec<f64>); N]>
    where
        Dual<f64, N>: Parameter<Dual<f64, N>>,
    {
        self.refuse_user_rows()?;
        if varied.nv() != self.model.nv() || varied.body_count() != self.model.body_count() {
            return Err(Error::new(
                ErrorKind::Input,
                "the varied model is not this one with other numbers",
            ));
        }
        let motion = self.forward(time, state, tau, external)?;
        let (vdot, lambda) = (motion.accelerations.to_vec(), motion.multipliers.to_vec());
        let lift =
            |x: &[f64]| -> Vec<Dual<f64, N>> { x.iter().map(|&x| Dual::constant(x)).collect() };
        let [q, v, a, multipliers] = [&state.q, &state.v, &vdot, &lambda].map(|x| lift(x));
        let base = state.base.lift();
        let pushed: Vec<Force<Dual<f64, N>>> = external
            .iter()
            .map(|f| Force::new(f.moment.lift(), f.force.lift()))
            .collect();
        let mut efforts = lift(&vec![0.0; v.len()]);
        let mut work = InverseDynamics::new(varied);
        inverse_dynamics(
            varied,
            StateView {
                q: &q,
                v: &v,
                base: &base,
            },
            &a,
            &pushed,
            &mut work,
            &mut efforts,
        );
        let mut kinematics = Kinematics::new(varied);
        let still = lift(&vec![0.0; v.len()]);
        forward_kinematics(
            varied,
            StateView {
                q: &q,
                v: &v,
                base: &base,
            },
            &still,
            &mut kinematics,
        );
        let mut rows: Rows<Dual<f64, N>> = Rows::new(varied, self.axes());
        rows.evaluate(varied, Dual::constant(time), &q, &v, &kinematics);
        let mut held = lift(&vec![0.0; v.len()]);
        rows.add_transpose_times(&multipliers, &mut held);
        let mut products = lift(&vec![0.0; lambda.len()]);
        rows.times(&a, &mut products);
        let Stabilisation { alpha, beta } = self.stabilisation();
        let mut found = [(); N].map(|()| (Vec::new(), Vec::new()));
        for (d, found) in found.iter_mut().enumerate() {
            let from: Vec<f64> = held
                .iter()
                .zip(&efforts)
                .map(|(held, effort)| held.derivative[d] - effort.derivative[d])
                .collect();
            let change: Vec<f64> = (0..lambda.len())
                .map(|k| {
                    -products[k].derivative[d]
                        - rows.bias[k].derivative[d]
                        - alpha * rows.rate[k].derivative[d]
                        - beta * rows.residual[k].derivative[d]
                })
                .collect();
            self.answer(&from, &change);
            let (a, lambda) = self.work.answer();
            *found = (a.to_vec(), lambda.to_vec());
            finite("a derivative of the closed chain", &found.0)?;
            finite("a derivative of the closed chain", &found.1)?;
        }
        Ok(found)
    }

    fn refuse_user_rows(&self) -> Result<()> {
        if self.user.is_empty() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Unsupported,
            "constraints of the user's own come without second derivatives",
        ))
    }

    fn answer(&mut self, f: &[f64], b: &[f64]) {
        self.work.answer_to(&self.model, f, b);
    }

    fn store(&self, column: usize, accelerations: &mut Matrix, multipliers: &mut Matrix) {
        let (a, lambda) = self.work.answer();
        for (k, x) in a.iter().enumerate() {
            accelerations[(k, column)] = *x;
        }
        for (k, x) in lambda.iter().enumerate() {
            multipliers[(k, column)] = *x;
        }
    }
}

/// The rows in dual numbers.
struct DualRows {
    q: Vec<Number>,
    v: Vec<Number>,
    still: Vec<Number>,
    kinematics: Kinematics<Number>,
    rows: Rows<Number>,
}

impl DualRows {
    fn new(model: &Model, axes: Axes) -> Self {
        DualRows {
            q: vec![Number::zero(); model.nq()],
            v: vec![Number::zero(); model.nv()],
            still: vec![Number::zero(); model.nv()],
            kinematics: Kinematics::new(model),
            rows: Rows::new(model, axes),
        }
    }

    /// Directions are these freedoms: of q (0) or of v (1).
    fn seed(
        &mut self,
        model: &Model,
        state: &State,
        which: usize,
        freedoms: std::ops::Range<usize>,
    ) {
        for (into, &x) in self.q.iter_mut().zip(&state.q) {
            *into = Number::constant(x);
        }
        for (into, &x) in self.v.iter_mut().zip(&state.v) {
            *into = Number::constant(x);
        }
        let mut delta = vec![Number::zero(); self.v.len()];
        for (d, k) in freedoms.enumerate() {
            match which {
                0 => delta[k] = Number::variable(0.0, d),
                _ => self.v[k] = Number::variable(state.v[k], d),
            }
        }
        if which == 0 {
            step_kernel(model, &mut self.q, &delta);
        }
    }

    fn evaluate(&mut self, model: &Model, time: f64, base: &Base<f64>) {
        let base = base.lift();
        forward_kinematics(
            model,
            StateView {
                q: &self.q,
                v: &self.v,
                base: &base,
            },
            &self.still,
            &mut self.kinematics,
        );
        self.rows.evaluate(
            model,
            Number::constant(time),
            &self.q,
            &self.v,
            &self.kinematics,
        );
    }

    /// ∂(Jᵀ λ) and −∂(J v̇ + bias + …) in direction d.
    fn change(
        &self,
        d: usize,
        vdot: &[f64],
        lambda: &[f64],
        Stabilisation { alpha, beta }: Stabilisation,
    ) -> Change {
        let rows = &self.rows;
        let mut change = Change {
            efforts: vec![0.0; vdot.len()],
            rows: vec![0.0; lambda.len()],
        };
        for block in rows.blocks() {
            for k in 0..block.rows {
                let row = block.first + k;
                let mut sum = rows.bias[row].derivative[d]
                    + alpha * rows.rate[row].derivative[d]
                    + beta * rows.residual[row].derivative[d];
                for (&column, entry) in block.columns.iter().zip(rows.row(block, k)) {
                    sum += entry.derivative[d] * vdot[column];
                    change.efforts[column] += entry.derivative[d] * lambda[row];
                }
                change.rows[row] = -sum;
            }
        }
        change
    }
}
