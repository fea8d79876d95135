//! Near a position where rows lose rank: the equations in double-double arithmetic.
//!
//! Let σ be the singular value that vanishes. Round-off ε of ξ displaces the positions from their branch by ε/σ, consistent velocities
//! have errors of ε/σ², and accelerations of ε/σ³: at σ = 1e-3 a position with an error of 1e-16 gives accelerations with errors of 1e-7,
//! which no integrator at a tight tolerance accepts. The mechanism itself passes smoothly; only digits are
//! missing. So ξ, ξ̇, J and the bias are evaluated in [`DoubleDouble`] there, and corrections with the `f64` factors are
//! repeated until they vanish (iterative refinement): the remaining error is ε²/σ³.

use super::ClosedChain;
use crate::algorithm::constrained::rows::{Axes, Rows};
use crate::algorithm::kinematics::{Kinematics, forward_kinematics};
use crate::error::{Error, ErrorKind, Result};
use crate::model::Model;
use crate::residual::largest;
use crate::scalar::{DoubleDouble, Scalar};
use crate::state::{Base, State, StateView, step_kernel};

/// Rows are close to losing rank where their smallest pivot is below this fraction of the largest row of its kind.
const WEAK: f64 = 0.05;

/// Maximum number of corrections.
const MOST: usize = 8;

/// Residual at the level of round-off.
const DONE: f64 = 1e-28;

/// Residual that must be reached in any case, m or rad.
pub(super) const NEEDED: f64 = 1e-12;

/// A state and its rows.
#[derive(Clone, Debug)]
pub(super) struct Sharp {
    pub(super) q: Vec<DoubleDouble>,
    pub(super) v: Vec<DoubleDouble>,
    a: Vec<DoubleDouble>,
    delta: Vec<DoubleDouble>,
    still: Vec<DoubleDouble>,
    pub(super) kinematics: Kinematics<DoubleDouble>,
    rows: Rows<DoubleDouble>,
    products: Vec<DoubleDouble>,
    /// Residual to be removed, rounded.
    left: Vec<f64>,
}

impl Sharp {
    pub(super) fn new(model: &Model, axes: Axes, held: &[usize]) -> Self {
        let rows = Rows::with_more(model, axes, &[], held);
        let zero = DoubleDouble::zero();
        let (nv, m) = (model.nv(), rows.count());
        Sharp {
            q: vec![zero; model.nq()],
            v: vec![zero; nv],
            a: vec![zero; nv],
            delta: vec![zero; nv],
            still: vec![zero; nv],
            kinematics: Kinematics::new(model),
            products: vec![zero; m],
            left: vec![0.0; m],
            rows,
        }
    }

    pub(super) fn load(&mut self, model: &Model, state: &State) {
        lift(&state.q, &mut self.q);
        lift(&state.v, &mut self.v);
        // a zero step normalises quaternions
        self.delta.fill(DoubleDouble::zero());
        step_kernel(model, &mut self.q, &self.delta);
    }

    pub(super) fn evaluate(&mut self, model: &Model, time: f64, base: &Base<f64>) {
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
        self.rows
            .evaluate(model, time.into(), &self.q, &self.v, &self.kinematics);
    }

    /// Moves the positions onto the constraints by at most the given number of corrections, with the factors of the chain.
    pub(super) fn close(
        &mut self,
        chain: &mut ClosedChain,
        time: f64,
        base: &Base<f64>,
        most: usize,
    ) {
        let mut before = f64::INFINITY;
        for _ in 0..most {
            self.evaluate(&chain.model, time, base);
            let worst = round(&self.rows.residual, &mut self.left);
            if worst <= DONE || worst > 0.5 * before {
                break;
            }
            before = worst;
            chain.work.remove(&chain.model, &self.left);
            lift(chain.work.correction(), &mut self.delta);
            step_kernel(&chain.model, &mut self.q, &self.delta);
        }
    }

    /// Moves the velocities onto the constraints; the rows must have been evaluated.
    pub(super) fn keep_closed(
        &mut self,
        chain: &mut ClosedChain,
        time: f64,
        base: &Base<f64>,
        most: usize,
    ) {
        let mut before = f64::INFINITY;
        for _ in 0..most {
            let worst = round(&self.rows.rate, &mut self.left);
            if worst <= DONE || worst > 0.5 * before {
                break;
            }
            before = worst;
            chain.work.remove(&chain.model, &self.left);
            for (v, &change) in self.v.iter_mut().zip(chain.work.correction()) {
                *v += change.into();
            }
            self.evaluate(&chain.model, time, base);
        }
    }

    /// Largest ξ and ξ̇ of the rows evaluated.
    pub(super) fn violations(&mut self) -> [f64; 2] {
        [&self.rows.residual, &self.rows.rate].map(|rows| round(rows, &mut self.left))
    }

    /// J a + bias, rounded, into `left`.
    fn accelerations_left(&mut self, a: &[f64]) {
        lift(a, &mut self.a);
        self.rows.times(&self.a, &mut self.products);
        for (k, left) in self.left.iter_mut().enumerate() {
            *left = (self.products[k] + self.rows.bias[k]).value();
        }
    }
}

fn lift(from: &[f64], into: &mut [DoubleDouble]) {
    for (into, &x) in into.iter_mut().zip(from) {
        *into = x.into();
    }
}

fn round(from: &[DoubleDouble], into: &mut [f64]) -> f64 {
    let mut largest = 0.0f64;
    for (into, x) in into.iter_mut().zip(from) {
        *into = x.value();
        if into.is_nan() {
            return f64::NAN;
        }
        largest = largest.max(into.abs());
    }
    largest
}

impl ClosedChain {
    /// Were rows close to losing rank in the last factorization? Not where there are user-defined constraints, which are not available in
    /// double-double, or nonholonomic rows, whose factors do not suit position steps.
    pub(crate) fn is_weak(&self) -> bool {
        self.user.is_empty() && self.positions.is_none() && self.work.weakest() < WEAK
    }

    /// Projects a state that is closed to round-off, and whose factors are the last ones, onto the constraints in double-double arithmetic.
    pub(crate) fn sharpen(&mut self, time: f64, state: &mut State) -> Result<()> {
        let mut sharp = match self.sharp.take() {
            Some(sharp) => sharp,
            None => Box::new(Sharp::new(&self.model, self.axes(), self.held())),
        };
        let done = self.sharpen_with(&mut sharp, time, state);
        self.sharp = Some(sharp);
        done
    }

    fn sharpen_with(&mut self, sharp: &mut Sharp, time: f64, state: &mut State) -> Result<()> {
        sharp.load(&self.model, state);
        sharp.close(self, time, &state.base, MOST);
        sharp.keep_closed(self, time, &state.base, MOST);
        let left = round(&sharp.rows.residual, &mut sharp.left);
        if left.is_nan() || left > NEEDED {
            return Err(Error::new(
                ErrorKind::Integration,
                format!(
                    "too near to a position in which rows lose rank: {left:.3e} m or rad cannot be closed"
                ),
            )
            .hint("another tolerance leads to other steps, which may pass that position"));
        }
        round(&sharp.q, &mut state.q);
        round(&sharp.v, &mut state.v);
        Ok(())
    }

    /// Corrects the last accelerations, of a state that was [sharpened](Self::sharpen), in double-double arithmetic.
    pub(crate) fn refine_accelerations(&mut self) {
        let Some(mut sharp) = self.sharp.take() else {
            return;
        };
        let mut before = f64::INFINITY;
        for _ in 0..MOST {
            sharp.accelerations_left(&self.work.vdot);
            let worst = largest(&sharp.left);
            if worst == 0.0 || worst.is_nan() || worst > 0.5 * before {
                break;
            }
            before = worst;
            self.work.remove(&self.model, &sharp.left);
            self.work.refine();
        }
        self.sharp = Some(sharp);
    }
}
