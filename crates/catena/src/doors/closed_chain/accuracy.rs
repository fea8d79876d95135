//! How many digits do the accelerations of a closed chain have?
//!
//! Double precision loses digits in two ways. The *arithmetic* loses them where masses differ widely or rows are nearly dependent: the same equations
//! with the same numbers in [`DoubleDouble`], with as many independent rows, show how many. And a state in `f64` is *closed* to round-off only: where
//! a singular value σ of the rows is small, a violation ε of the positions changes the accelerations by ε/σ³ (see `sharp.rs`). The accelerations of
//! the nearest closed state, in [`DoubleDouble`] too, show that. Substituting the accelerations into the equations reveals neither.

use super::ClosedChain;
use super::sharp::{NEEDED, Sharp};
use crate::algorithm::constrained::cut_loops::CutLoops;
use crate::error::{Error, ErrorKind, Result};
use crate::residual::{larger, largest_of, ratio};
use crate::scalar::DoubleDouble;
use crate::spatial::Force;
use crate::state::{Base, State, StateView};

/// Maximum number of refinements; with factors in `f64` each gains at least a few digits, except next to a singular position.
const MOST: usize = 40;

/// Errors of accelerations, relative to the largest one, or to 1 rad/s² or m/s² where all are smaller.
#[derive(Clone, Copy, Debug)]
pub struct Accuracy {
    /// Difference from double-double arithmetic at the same state.
    pub arithmetic: f64,
    /// Difference from double-double arithmetic at the nearest state that satisfies the constraints to the last digit; infinite if none is found
    /// nearby.
    pub closing: f64,
    /// By how much the state violates the constraints on positions and velocities, m or rad, m/s or rad/s.
    pub violation: f64,
    /// Length of the largest row that counts as dependent, as a fraction of the largest one. If it lies between round-off and the limit of 1e-9, a
    /// row that is not dependent is being ignored. Zero where loops are eliminated one by one.
    pub ignored: f64,
}

impl Accuracy {
    /// The larger error.
    pub fn error(self) -> f64 {
        larger(self.arithmetic, self.closing)
    }
}

impl ClosedChain {
    /// The errors of accelerations under these forces, found by [`forward`](Self::forward) or otherwise. It costs about as much as fifty evaluations.
    pub fn accuracy(
        &mut self,
        time: f64,
        state: &State,
        tau: &[f64],
        external: &[Force<f64>],
        found: &[f64],
    ) -> Result<Accuracy> {
        self.tree.check_forward(state, tau, external)?;
        if !self.user.is_empty() {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "the accuracy of user-defined constraints is not known: they have no double-double arithmetic",
            )
            .hint("compare the two methods for the multipliers: `choose_route`"));
        }
        self.evaluate(time, state);
        self.factorize(state)?;
        let mut exact = self.work.map(&self.model, DoubleDouble::from);
        let load = |f: &Force<f64>| Force::new(f.moment.lift(), f.force.lift());
        let forces = Forces {
            time,
            base: &state.base,
            tau: tau.iter().map(|&x| x.into()).collect(),
            external: external.iter().map(load).collect(),
        };
        let mut sharp = Sharp::new(&self.model, self.axes(), self.held());
        sharp.load(&self.model, state);
        sharp.evaluate(&self.model, time, &state.base);
        let [open, opening] = sharp.violations();
        let arithmetic = self.apart(&mut exact, &sharp, &forces, found);
        let ignored = match exact.decomposition.rank() {
            0 => 0.0,
            _ => {
                let (_, first) = exact.decomposition.pivot(0);
                (exact.decomposition.dropped() / first).value()
            }
        };
        self.close_sharply(&mut sharp, time, state)?;
        let closing = match sharp.violations() {
            [left, slipping] if left <= NEEDED && slipping <= NEEDED.max(1e-3 * opening) => {
                self.apart(&mut exact, &sharp, &forces, found)
            }
            _ => f64::INFINITY,
        };
        Ok(Accuracy {
            arithmetic,
            closing,
            violation: larger(open, opening),
            ignored,
        })
    }

    /// Moves to the nearest closed state. Nonholonomic rows do not restrict positions.
    fn close_sharply(&mut self, sharp: &mut Sharp, time: f64, state: &State) -> Result<()> {
        match self.positions.take() {
            Some(mut positions) => {
                let mut placed = Sharp::new(&positions.model, positions.axes(), positions.held());
                placed.load(&positions.model, state);
                positions.evaluate(time, state);
                let made = positions.factorize(state);
                placed.close(&mut positions, time, &state.base, MOST);
                sharp.q.copy_from_slice(&placed.q);
                sharp.evaluate(&self.model, time, &state.base);
                self.positions = Some(positions);
                made?;
            }
            None => sharp.close(self, time, &state.base, MOST),
        }
        sharp.keep_closed(self, time, &state.base, MOST);
        Ok(())
    }

    /// How far accelerations are from the exact ones.
    fn apart(
        &self,
        exact: &mut CutLoops<DoubleDouble>,
        sharp: &Sharp,
        forces: &Forces<'_>,
        found: &[f64],
    ) -> f64 {
        let base = forces.base.lift();
        let (model, q, v) = (&self.model, &sharp.q, &sharp.v);
        let time = forces.time.into();
        exact.rows.evaluate(model, time, q, v, &sharp.kinematics);
        let state = StateView { q, v, base: &base };
        let (tau, external) = (&forces.tau, &forces.external);
        exact.solve(model, state, tau, external, self.stabilisation(), true);
        let scale = exact.vdot.iter().map(|a| a.value().abs());
        let scale = larger(largest_of(scale), 1.0);
        let errors = found.iter().zip(&exact.vdot);
        let errors = errors.map(|(&a, right)| (DoubleDouble::from(a) - *right).value().abs());
        ratio(largest_of(errors), scale)
    }
}

/// The applied efforts and wrenches, in a type with more digits.
struct Forces<'a> {
    time: f64,
    base: &'a Base<f64>,
    tau: Vec<DoubleDouble>,
    external: Vec<Force<DoubleDouble>>,
}
